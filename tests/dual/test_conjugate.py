"""Conjugate gradients over stored corners, against a quadratic program over all of them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import blockwolfe as bw
from at_work import corners_of, engine_of
from blockwolfe.base.ragged import offsets
from blockwolfe.dual.conjugate import ascend
from blockwolfe.dual.differences import added, differences, scored
from blockwolfe.dual.growth import live_rows
from dense import enumerated_data
from zoo import chain_data, multiclass_data

LAM = 0.05
CACHED = bw.BCFW(step=bw.Pairwise(), cache=bw.Cache())


def weights(n):
    return np.random.default_rng(7).uniform(0.5, 2.0, n)


def chain(**given):
    X, Y = chain_data(n=6)
    return bw.Problem(bw.tasks.Chain(), X, Y, sample_weight=weights(len(X)), **given)


def enumerated(**given):
    task, X, Y = enumerated_data(n=6)
    return bw.Problem(task, X, Y, sample_weight=weights(len(X)), **given)


PROBLEMS = {
    "chain": chain,
    "python": enumerated,
    "chain-bounded": lambda: chain(bounds=(-0.3, 0.4)),
    "python-bounded": lambda: enumerated(bounds=(0.0, 0.5)),
}


def with_corners(problem, n_passes=3, lam=LAM, method=CACHED):
    """A method at work with some stored corners per block."""
    engine = engine_of(problem, method, lam)
    for _ in range(n_passes):
        engine.advance(10**6, lambda: True)
    return engine


def images(point):
    """psi = weight (F truth - F z) and weight L of every stored corner, one by one, by block."""
    blocks, stock, found = point.blocks, point.arrays.stock, []
    for i in range(len(blocks)):
        for row, corner in corners_of(point, i):
            psi = np.zeros(blocks.n_features)
            truth = blocks.truth
            begin, end = truth.start[i], truth.start[i + 1]
            blocks.features.add(
                blocks.data, i, truth.part[begin:end], truth.value[begin:end], end - begin, 1.0, psi
            )
            part = np.array(list(corner), dtype=np.int32)
            value = np.array(list(corner.values()))
            blocks.features.add(blocks.data, i, part, value, len(part), -1.0, psi)
            found.append((i, row, blocks.weight[i] * psi, blocks.weight[i] * stock.loss[row]))
    block, rows, psi, loss = zip(*found, strict=True)
    return np.array(block), np.array(rows), np.array(psi), np.array(loss)


def restricted_dual(point, alpha, psi, loss):
    """(2) and its form under bounds, term by term: the maximum over w of a sum over features."""
    raw, blocks = alpha @ psi / point.lam, point.blocks
    w = np.clip(raw, blocks.lower, blocks.upper) if blocks.is_bounded else raw
    return alpha @ loss + point.lam * (0.5 * w @ w - raw @ w)


def restricted_optimum(point):
    """By SLSQP over all stored corners, from several starts."""
    block, _, psi, loss = images(point)
    equal = {
        "type": "eq",
        "fun": lambda a: np.bincount(block, weights=a) - 1.0,
        "jac": lambda a: (block[None, :] == np.arange(block.max() + 1)[:, None]).astype(float),
    }

    def slope(alpha):
        raw, blocks = alpha @ psi / point.lam, point.blocks
        w = np.clip(raw, blocks.lower, blocks.upper) if blocks.is_bounded else raw
        return loss - psi @ w

    start = 1.0 / np.bincount(block)[block]
    found = minimize(
        lambda a: -restricted_dual(point, a, psi, loss),
        start,
        jac=lambda a: -slope(a),
        bounds=[(0.0, 1.0)] * len(block),
        constraints=[equal],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return -found.fun


def ascended(engine, most=500, tol=0.0):
    return ascend(engine.point, engine.ledger.notes.longest, most, tol, lambda: True)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("lam", [0.5, LAM, 0.005])
def test_the_optimum_over_stored_corners_is_reached(name, lam):
    engine = with_corners(PROBLEMS[name](), lam=lam)
    point, before = engine.point, engine.dual()
    best = restricted_optimum(point)
    n_done = ascended(engine)
    assert n_done > 0 or best <= before * (1.0 + 1e-9)
    assert engine.dual() == pytest.approx(best, rel=1e-6)
    assert engine.dual() <= best * (1.0 + 1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_point_stays_what_it_says(name):
    """Weights sum to one, ell and w are theirs, and nothing but the conditions of a maximum."""
    engine = with_corners(PROBLEMS[name]())
    ascended(engine)
    point, stock = engine.point, engine.point.arrays.stock
    block, rows, psi, loss = images(point)
    alpha = stock.weight[rows]
    assert (alpha >= 0.0).all()
    np.testing.assert_allclose(np.bincount(block, weights=alpha), 1.0, rtol=1e-14)
    np.testing.assert_allclose(point.arrays.ell, np.bincount(block, weights=alpha * loss))
    np.testing.assert_allclose(point.v, alpha @ psi, atol=1e-14)
    assert engine.dual() == pytest.approx(restricted_dual(point, alpha, psi, loss), rel=1e-12)
    height = loss - psi @ engine.w
    highest = np.full(block.max() + 1, -np.inf)
    np.maximum.at(highest, block, height)
    lacking = highest[block] - height
    assert (alpha * lacking).sum() <= 1e-5 * abs(engine.dual())


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("most", [1, 2, 3, 7, 40])
def test_the_dual_never_falls(name, most):
    engine = with_corners(PROBLEMS[name]())
    for _ in range(8):
        before = engine.dual()
        n_done = ascended(engine, most)
        assert n_done <= most
        assert engine.dual() >= before
        certificate = engine.certify()
        assert certificate.gap >= 0.0
        assert certificate.dual >= before - 1e-15
        engine.advance(10**6, lambda: True)


def test_it_ends_at_the_gap_asked_for():
    engine = with_corners(chain(), n_passes=6)
    n_all = ascended(with_corners(chain(), n_passes=6))
    assert ascended(engine, tol=np.inf) == 0
    assert 0 < ascended(engine, tol=0.05 * engine.ledger.gap.sum()) < n_all


@pytest.mark.parametrize("n_moments", [0, 1, 3])
def test_what_is_left_early_changes_nothing(n_moments):
    engine = with_corners(chain())
    before, moments = engine.to_save(), iter([True] * n_moments + [False] * 100)
    assert (
        ascend(engine.point, engine.ledger.notes.longest, 500, 0.0, lambda: next(moments)) is None
    )
    for name, value in engine.to_save().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


@pytest.mark.parametrize("name", ["chain", "python"])
def test_sweeps_are_sums_over_corners_one_by_one(name):
    problem, rng = PROBLEMS[name](), np.random.default_rng(3)
    point = with_corners(problem).point
    block, rows, psi, _ = images(point)
    assert rows.tolist() == live_rows(point.arrays.stock).tolist()
    first, weight = offsets(np.bincount(block)), problem.blocks.weight
    alpha = point.arrays.stock.weight[rows]
    lists = point.lists(np.arange(len(weight)), with_idle=True)
    of = differences(point, lists, rows, first, alpha)
    w, change = rng.normal(size=problem.blocks.n_features), rng.normal(size=len(rows))
    change -= (np.bincount(block, weights=change) / np.bincount(block))[block]
    factor = rng.normal(size=len(weight))
    expected = -(change * (factor / weight)[block]) @ psi
    np.testing.assert_allclose(added(point, of, change, factor), expected, atol=1e-12)
    score, plain = scored(point, of, w), -(psi @ w) / weight[block]
    for i in range(len(weight)):
        inside = block == i
        np.testing.assert_allclose(
            score[inside] - score[inside][0], plain[inside] - plain[inside][0], atol=1e-12
        )


def test_parts_in_which_all_corners_agree_are_left_out():
    engine = with_corners(chain(), n_passes=4)
    point = engine.point
    rows = live_rows(point.arrays.stock)
    first = offsets(point.arrays.stock.n_rows)
    lists = point.lists(np.arange(len(point.blocks)), with_idle=True)
    of = differences(point, lists, rows, first, point.arrays.stock.weight[rows])
    for i in range(len(point.blocks)):
        corners = [corner for _, corner in corners_of(point, i)]
        parts = set().union(*corners)
        expected = {p for p in parts if len({corner.get(p, 0.0) for corner in corners}) > 1}
        assert set(of.distinct[of.part_first[i] : of.part_first[i + 1]].tolist()) == expected


def test_interpreted_and_compiled_are_the_same_to_the_bit():
    engines = [with_corners(chain()) for _ in range(2)]
    engines[1].point.blocks = replace(engines[1].point.blocks, is_compiled=False)
    assert engines[1].point.blocks.kind is None
    for engine in engines:
        assert ascended(engine, 40) > 0
    a, b = (engine.point.arrays for engine in engines)
    np.testing.assert_array_equal(a.w, b.w)
    np.testing.assert_array_equal(a.stock.weight, b.stock.weight)


def test_blocks_of_one_corner_and_states_without_lengths():
    """A point of which no step is known, and one with nothing to move."""
    X, Y = multiclass_data(n=8)
    problem = bw.Problem(bw.tasks.Multiclass(), X, Y)
    first = engine_of(problem, CACHED, LAM)
    assert ascended(first) == 0
    state = bw.solve(problem, LAM, CACHED, 1e-3, max_passes=3).last_state
    engine = engine_of(problem, CACHED, LAM, state=state)
    before = engine.dual()
    assert not engine.ledger.notes.longest.any()
    ascended(engine)
    assert engine.dual() >= before
