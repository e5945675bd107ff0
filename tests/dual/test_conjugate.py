"""Conjugate gradients over stored corners, against a quadratic program over all of them."""

import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import blockwolfe as bw
from at_work import corners_of, engine_of
from blockwolfe.base import memory
from blockwolfe.base.ragged import offsets
from blockwolfe.dual import conjugate
from blockwolfe.dual.conjugate import climb, put
from blockwolfe.dual.differences import added, differences, restricted, scored
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


def restricted_optimum(point, with_idle=True):
    """By SLSQP over all stored corners, or those that have a weight."""
    block, rows, psi, loss = images(point)
    taken = with_idle | (point.arrays.stock.weight[rows] > 0.0)
    block, psi, loss = block[taken], psi[taken], loss[taken]
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
    found = climb(engine.point, engine.ledger.notes.longest, most, tol, lambda: True)
    put(engine.point, found)
    return found.n_done


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


def test_without_idle_corners_the_optimum_over_active_ones_is_reached():
    engine = with_corners(chain(), n_passes=6)
    point, stock = engine.point, engine.point.arrays.stock
    stock.weight[:] = 0.0
    stock.weight[stock.start] += 0.5  # (on two corners of each block, or one)
    stock.weight[stock.start + np.minimum(stock.n_rows, 2) - 1] += 0.5
    point.drop_older(np.zeros(len(point.blocks), dtype=np.int64))
    point.rebuild()
    best, was_active = restricted_optimum(point, with_idle=False), stock.weight > 0.0
    assert best < restricted_optimum(point) * (1.0 - 1e-4)  # (so that there is something to see)
    found = climb(point, engine.ledger.notes.longest, 500, 0.0, lambda: True, with_idle=False)
    put(point, found)
    assert engine.dual() == pytest.approx(best, rel=1e-6)
    assert not (point.arrays.stock.weight[~was_active] > 0.0).any()


@pytest.mark.parametrize("n_moments", [0, 1, 3, 10, 40])
def test_what_is_left_early_changes_nothing(n_moments, monkeypatch):
    monkeypatch.setattr(conjugate, "PAUSE", 0.0)
    engine = with_corners(chain())
    before, moments = engine.to_save(), iter([True] * n_moments + [False] * 100)
    assert climb(engine.point, engine.ledger.notes.longest, 500, 0.0, lambda: next(moments)) is None
    for name, value in engine.to_save().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_sweep_is_asked_for(name, monkeypatch):
    """Of searches, too: between two moments at which a run may end there is one look at w."""
    monkeypatch.setattr(conjugate, "PAUSE", 0.0)
    engine, asked, n_sweeps = with_corners(PROBLEMS[name]()), [], []

    def counted(*args):
        n_sweeps.append(len(asked))
        return added(*args)

    monkeypatch.setattr(conjugate, "added", counted)
    longest = engine.ledger.notes.longest
    found = climb(engine.point, longest, 100, 0.0, lambda: asked.append(True) or True)
    put(engine.point, found)
    assert len(n_sweeps) > found.n_done > 0
    assert n_sweeps == list(range(1, len(asked) + 1))


@pytest.mark.parametrize("name", ["chain", "python"])
def test_a_round_takes_no_more_memory_than_it_asks_for(name, monkeypatch):
    X, Y = chain_data(n=40)
    problem = bw.Problem(bw.tasks.Chain(), X, Y) if name == "chain" else enumerated()
    engine, needed = with_corners(problem, n_passes=6), []
    longest = engine.ledger.notes.longest
    climb(engine.point, longest, 40, 0.0, lambda: True)  # (what is compiled stays)

    def noted(n_bytes, cap):
        needed.append(n_bytes)
        return memory.has_room(n_bytes, cap)

    monkeypatch.setattr(conjugate, "has_room", noted)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        found = climb(engine.point, longest, 40, 0.0, lambda: True)
        taken = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert found.n_done > 0
    few = 20_000  # bytes of Python objects
    assert needed[0] < needed[1]
    assert 0.3 * needed[1] - few < taken <= needed[1] + few


@pytest.mark.parametrize("is_coded", [True, False])
def test_without_room_no_round_is_made(is_coded, monkeypatch):
    engine = with_corners(chain() if is_coded else enumerated())
    before, args = engine.to_save(), (engine.ledger.notes.longest, 40, 0.0, lambda: True)
    asked = []
    monkeypatch.setattr(conjugate, "has_room", lambda n, cap: asked.append(n) or True)
    assert climb(engine.point, *args).n_done > 0
    monkeypatch.undo()
    for n_bytes in asked:  # before lists are made, and when their entries are counted
        found = climb(engine.point, *args, max_bytes=n_bytes - 1)
        assert found.n_done == 0
        put(engine.point, found)
    assert climb(engine.point, *args, max_bytes=asked[-1]).n_done > 0
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda: asked[-1] - 1)
    assert climb(engine.point, *args).n_done == 0
    for name, value in engine.to_save().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_features_of_any_size_are_climbed_without_overflow():
    """(c phi, c^2 lam): the same dual, by numbers of which products overflow."""
    X, Y = chain_data(n=6)
    task = bw.tasks.Chain(transition=False, bias=False, first=False, last=False)
    found = []
    for c in (1.0, 2.0**-332):  # (1e-100)
        engine = with_corners(bw.Problem(task, [c * x for x in X], Y), lam=LAM * c * c)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            assert ascended(engine) > 0
        found.append(engine.dual())
    assert found[0] == pytest.approx(found[1], rel=1e-6)


@pytest.mark.parametrize("name", ["chain", "python"])
def test_some_members_are_those_of_all_without_their_entries_again(name):
    point, rng = with_corners(PROBLEMS[name](), n_passes=5).point, np.random.default_rng(5)
    stock = point.arrays.stock
    rows, block = live_rows(stock), np.repeat(np.arange(len(stock.n_rows)), stock.n_rows)
    lists = point.lists(np.arange(len(point.blocks)), with_idle=True)
    of = differences(point, lists, rows, offsets(stock.n_rows), stock.weight[rows])
    is_member = rng.random(len(rows)) < 0.6
    member = np.flatnonzero(is_member)
    n_members = np.bincount(block[member], minlength=len(point.blocks))
    some = restricted(point, of, member, offsets(n_members))
    assert np.shares_memory(some.part, of.part)
    assert np.shares_memory(some.value, of.value)
    w, factor = rng.normal(size=point.blocks.n_features), rng.normal(size=len(point.blocks))
    np.testing.assert_array_equal(scored(point, some, w), scored(point, of, w)[member])
    change = np.where(is_member, rng.normal(size=len(rows)), 0.0)
    np.testing.assert_allclose(
        added(point, some, change[member], factor), added(point, of, change, factor), atol=1e-12
    )
    for i in range(len(point.blocks)):
        parts = some.distinct[some.part_first[i] : some.part_first[i + 1]].tolist()
        inside = range(some.first[i], some.first[i + 1])
        entries = [p for k in inside for p in some.part[some.begin[k] : some.end[k]].tolist()]
        assert len(parts) == len(set(parts))
        assert set(parts) == set(entries)


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
