"""Acceleration: what is certified, what stays when the centre moves, and when it ends."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.errors import InputError, OptionError
from blockwolfe.methods import auto, catalyst
from blockwolfe.problem.state import rebuild_v, weights_at
from same_runs import assert_same, content
from zoo import (
    PROBLEMS,
    bounded,
    chain_data,
    enumerated_optimum,
    enumerated_primal,
    multiclass_data,
)

LAM = 0.002
STRONG = bw.Catalyst(every=2, strength=10.0)
METHOD = bw.BCFW(sampling=bw.GapSampling(), step=bw.Pairwise(), cache=bw.Cache(), catalyst=STRONG)
FREE, BOUNDED = (bw.Problem(bw.tasks.Chain(), *chain_data(n=10)) for _ in range(2))
BOUNDED = bw.Problem(bw.tasks.Chain(), *chain_data(n=10), bounds=bounded(FREE))
BOTH = pytest.mark.parametrize("problem", [FREE, BOUNDED], ids=["free", "bounded"])


def always():
    return True


def accelerated(problem, n_passes=5, method=METHOD):
    """An engine in the midst of it."""
    engine = engine_of(problem, method, LAM)
    for _ in range(n_passes):
        engine.advance(len(problem), always)
    assert engine._centre.is_at_work
    return engine


# -- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", None, True, np.nan])
def test_bad_numbers_of_passes_are_refused(value):
    with pytest.raises(OptionError, match="every"):
        bw.Catalyst(every=value)


@pytest.mark.parametrize("value", [1.0, 0.5, -2, "2", True, np.nan, np.inf])
def test_bad_strengths_are_refused(value):
    with pytest.raises(OptionError, match="strength"):
        bw.Catalyst(strength=value)


def test_options_that_do_not_go_together_are_refused():
    with pytest.raises((OptionError, InputError), match=r"catalyst.*Catalyst\(\)"):
        bw.BCFW(catalyst=3)
    with pytest.raises(OptionError, match="averaging=True"):
        bw.BCFW(catalyst=STRONG, averaging=True)
    with pytest.raises(OptionError, match="line_search=False"):
        bw.BCFW(catalyst=STRONG, step=bw.FW(line_search=False))
    kernel = bw.Problem(bw.tasks.Chain(kernel="rbf"), *chain_data(n=4))
    with pytest.raises(OptionError, match="kernel"):
        bw.solve(kernel, LAM, METHOD)


# -- certificates -------------------------------------------------------------------------------


@functools.cache
def solved_by_enumeration(name, has_bounds):
    """A problem and its optimum."""
    problem = PROBLEMS[name]()
    bounds = bounded(problem) if has_bounds else None
    if has_bounds:
        weight = len(problem) * problem.weight
        problem = bw.Problem(
            problem.task, problem.X, problem.Y, sample_weight=weight, bounds=bounds
        )
    return problem, enumerated_optimum(problem, 0.05, bounds)[0]


@pytest.mark.parametrize(
    "name", ["chain-dense", "chain-weighted", "tree", "matching", "toy-python"]
)
@pytest.mark.parametrize("has_bounds", [False, True])
@pytest.mark.parametrize("step", [bw.FW(), bw.Pairwise(), bw.Away()])
def test_the_optimum_is_between_primal_and_dual(name, has_bounds, step):
    problem, best = solved_by_enumeration(name, has_bounds)
    method = bw.BCFW(step=step, catalyst=STRONG)
    found = bw.solve(problem, 0.05, method, 0.01, max_passes=2000, random_state=0)
    certificate = found.certificate
    assert found.is_certified
    assert certificate.dual <= best + 1e-9
    assert certificate.primal >= best - 1e-9
    assert certificate.primal == pytest.approx(enumerated_primal(problem, found.w, 0.05), abs=1e-10)


@BOTH
def test_a_gap_is_that_of_blocks_and_a_distance(problem):
    """P(w) - D = sum_i g_i + lam / 2 |w - v / lam|^2, under bounds less what those cut off."""
    engine = accelerated(problem)
    certificate = engine.certify()
    v, box = rebuild_v(problem.blocks, engine.point.store()), problem.bounds
    own = v / LAM if box is None else np.clip(v / LAM, *box)
    distance = LAM / 2 * (engine.w @ engine.w - own @ own) - v @ (engine.w - own)
    assert distance > 1e-6
    assert certificate.gap == pytest.approx(certificate.block_gaps.sum() + distance, rel=1e-9)
    assert engine._centre.distance == pytest.approx(distance, rel=1e-9)
    assert engine.gap_estimate == pytest.approx(certificate.gap, rel=1e-9)
    assert engine.ledger.total_gap == pytest.approx(certificate.block_gaps.sum(), rel=1e-9)
    assert engine.dual() == pytest.approx(certificate.dual, abs=1e-12)
    assert certificate.lam == engine.lam == LAM
    assert certificate.primal == pytest.approx(enumerated_primal(problem, engine.w, LAM), abs=1e-10)
    other = bw.certify(problem, engine.state(), LAM)
    assert other.dual == pytest.approx(certificate.dual, abs=1e-12)
    assert other.primal == pytest.approx(certificate.primal, abs=1e-12)
    np.testing.assert_allclose(other.block_gaps, certificate.block_gaps, atol=1e-12)
    np.testing.assert_allclose(
        weights_at(problem.blocks, engine.last_state(), LAM), engine.w, atol=1e-12
    )


def test_w_beside_a_far_dual_point_has_the_rounding_of_both():
    engine = accelerated(FREE)
    certificate = engine.certify()
    own = bw.certify(FREE, replace(engine.state(), pull=None), LAM)
    assert certificate.resolution > 0.0
    centre = engine._centre
    centre.leave(engine.point)
    assert engine.certify().resolution == pytest.approx(own.resolution, rel=1e-6)


@BOTH
def test_what_visits_climb_never_falls(problem):
    engine, n, n_compared = accelerated(problem), len(problem), 0
    for _ in range(20):
        if not engine._centre.is_at_work:
            break
        centre = engine.point.rest.copy()
        before = engine.point.dual()
        engine.advance(n, always)
        if np.array_equal(centre, engine.point.rest):
            assert engine.point.dual() >= before - 1e-13
            n_compared += 1
    assert n_compared > 2


# -- the centre ---------------------------------------------------------------------------------


@BOTH
def test_w_is_that_of_the_dual_point_and_the_centre(problem):
    engine = accelerated(problem)
    point = engine.point
    v = rebuild_v(problem.blocks, point.store())
    np.testing.assert_allclose(point.v, v, atol=1e-13)
    np.testing.assert_allclose(point.weights(v), engine.w, atol=1e-10)
    assert point.lam == pytest.approx(engine._centre.strength * LAM)


@BOTH
def test_w_stays_where_it_begins_and_where_the_strength_changes(problem):
    engine = engine_of(problem, replace(METHOD, catalyst=None), LAM)
    engine.advance(len(problem), always)
    w, v, centre = engine.w.copy(), engine.point.v, engine._centre
    centre.before_pass(STRONG, engine.point, engine.gap_estimate, 10, engine._curvature)
    assert centre.strength == 10.0
    np.testing.assert_allclose(engine.w, w, atol=1e-13)
    np.testing.assert_allclose(engine.point.v, v, atol=1e-13)
    centre._take(engine.point, 4.0)
    assert engine.point.lam == 4.0 * LAM
    np.testing.assert_allclose(engine.w, w, atol=1e-13)
    np.testing.assert_allclose(engine.point.v, v, atol=1e-13)
    centre.leave(engine.point)
    assert (engine.point.lam, engine.point.rest, centre.is_at_work) == (LAM, None, False)
    np.testing.assert_allclose(engine.w, w, atol=1e-12)


@BOTH
def test_a_move_leaves_the_dual_point_and_takes_w_along(problem):
    engine = accelerated(problem, 4)
    point, centre = engine.point, engine._centre
    w, v, before, s = engine.w.copy(), point.v, centre._before.copy(), centre.strength
    raw, rest = point.raw.copy(), point.rest.copy()
    centre._move(point)
    beta = (1 - s**-0.5) / (1 + s**-0.5)
    y = w + beta * (w - before)
    np.testing.assert_allclose(point.rest, (1 - 1 / s) * y)
    np.testing.assert_allclose(point.raw, raw + point.rest - rest)
    np.testing.assert_allclose(point.v, v, atol=1e-13)
    np.testing.assert_array_equal(centre._before, w)
    assert problem.bounds is None or engine.allows(engine.w)


def test_the_strength_is_the_root_of_what_steps_ask_for():
    engine = engine_of(FREE, replace(METHOD, catalyst=bw.Catalyst()), LAM)
    engine.advance(10, always)
    while not engine._centre.is_at_work:
        lengths = engine.ledger.notes.longest / FREE.weight
        engine.advance(10, always)
    expected = np.sqrt(lengths.mean() / FREE.unit / LAM)
    assert expected > 3.0
    assert engine._centre.strength == pytest.approx(expected)


def test_it_begins_where_a_pass_undoes_its_own_steps():
    """|sum of steps|^2 is below half of the sum of |step|^2, by their gain."""
    engine = engine_of(FREE, bw.BCFW(catalyst=bw.Catalyst()), LAM)
    engine.advance(10, always)
    shares = []
    while not engine._centre.is_at_work:
        before, dual = engine.point.v, engine.point.dual()
        engine.advance(10, always)
        gain, moved = engine.point.dual() - dual, engine.point.v - before
        shares.append(moved @ moved / (2.0 * LAM * gain))
    assert len(shares) > 1
    assert shares[-2] < 0.5
    assert min([0.5, *shares[:-2]]) >= 0.5


def orthogonal():
    """Examples that share no feature but a few."""
    rng, n = np.random.default_rng(0), 30
    X = sp.csr_array((np.ones(6 * n), rng.integers(8_000, size=6 * n), np.arange(0, 6 * n + 1, 6)))
    X = sp.csr_array((X.data, X.indices, X.indptr), shape=(n, 8_000))
    return bw.Problem(bw.tasks.Multiclass(3, bias=False), X, rng.integers(3, size=n))


def test_there_is_none_where_blocks_do_not_interfere():
    method = bw.BCFW(step=bw.Pairwise(), catalyst=bw.Catalyst())
    found, plain = (
        bw.solve(orthogonal(), 0.001, m, 1e-6, random_state=0)
        for m in (method, replace(method, catalyst=None))
    )
    np.testing.assert_array_equal(found.w, plain.w)


def test_there_is_none_where_weights_are_very_many(monkeypatch):
    monkeypatch.setattr(catalyst, "MOST_WEIGHTS", FREE.n_features / len(FREE) - 0.1)
    engine = engine_of(FREE, replace(METHOD, catalyst=bw.Catalyst()), LAM)
    for _ in range(10):
        engine.advance(10, always)
    assert not engine._centre.is_at_work


@BOTH
@pytest.mark.parametrize("method", [METHOD, "auto"])
def test_a_state_goes_on_around_its_centre(problem, method, monkeypatch):
    monkeypatch.setattr(auto, "CATALYST", STRONG)
    first = bw.solve(problem, LAM, method, 1e-9, max_passes=6, random_state=0, point="last")
    assert first.state.pull.strength > 1.0
    np.testing.assert_allclose(weights_at(problem.blocks, first.state, LAM), first.w, atol=1e-12)
    engine = engine_of(problem, method, LAM, state=first.last_state)
    np.testing.assert_allclose(engine.w, first.w, atol=1e-12)
    assert engine.certify().gap == pytest.approx(first.certificate.gap, abs=1e-12)
    tol = 1.001 * first.certificate.relative_gap
    again = bw.solve(problem, LAM, method, tol, start=first.last_state, random_state=1)
    assert again.counts.visits == 0
    elsewhere = bw.solve(problem, 2 * LAM, method, 1e-2, start=first.last_state, random_state=1)
    best = bw.solve(problem, 2 * LAM, "bcfw+pairwise", 1e-6, random_state=1).certificate
    assert elsewhere.is_certified
    assert elsewhere.certificate.dual <= best.primal + 1e-12
    assert elsewhere.certificate.primal >= best.dual - 1e-12


def test_blocks_without_a_weight_do_not_count():
    problem = PROBLEMS["chain-weighted"]()
    assert (problem.weight == 0.0).any()
    found = bw.solve(problem, LAM, replace(METHOD, catalyst=bw.Catalyst()), 1e-3, random_state=0)
    assert found.is_certified


def test_there_is_none_where_lambda_is_large():
    method = replace(METHOD, catalyst=bw.Catalyst())
    found, plain = (
        bw.solve(FREE, 1.0, m, 1e-6, random_state=0)
        for m in (method, replace(method, catalyst=None))
    )
    np.testing.assert_array_equal(found.w, plain.w)


def test_it_begins_when_all_blocks_were_seen():
    method = bw.BCFW(sampling=bw.Uniform(), catalyst=STRONG)
    engine = engine_of(FREE, method, LAM)
    while not np.isfinite(engine.ledger.gap).all():
        engine.advance(3, always)
        assert not engine._centre.is_at_work
    engine.advance(3, always)
    assert engine._centre.is_at_work


@pytest.mark.parametrize(
    ("left", "distance", "n_passes", "least", "expected"),
    [
        (1.0, 0.5, 2, 10.0, 10.0),  # falls
        (1.0, 1.1, 2, 10.0, 10.0 / 1.5),  # the centre is far
        (1.0, 0.5, 58, 1.6, 10.0 / 1.5),  # slow
        (1.0, 0.5, 57, 1.6, 10.0),  # slow, but not for long
        (1.0, 0.4, 58, 1.6, 10.0),  # a tenth in so many passes
    ],
)
def test_it_is_weakened_where_it_does_not_pay(left, distance, n_passes, least, expected):
    engine = accelerated(FREE, 2)
    centre = engine._centre
    centre.distance, centre._n_passes, centre._mark = distance, 2, (least, n_passes)
    centre._adapt(engine.point, left)
    assert centre.strength == pytest.approx(expected)


def test_too_weak_it_is_left():
    engine = accelerated(FREE, 2)
    for _ in range(5):
        engine._centre.distance = 2.0
        if engine._centre.is_at_work:
            engine._centre._adapt(engine.point, 1.0)
    assert not engine._centre.is_at_work
    engine.advance(10, always)
    assert not engine._centre.is_at_work  # for good


# -- runs ---------------------------------------------------------------------------------------


@BOTH
def test_a_run_agrees_with_another_method_and_may_stall(problem, monkeypatch):
    monkeypatch.setattr(auto, "CATALYST", STRONG)
    found = bw.solve(problem, LAM, "auto", 1e-6, max_passes=5000, random_state=0)
    other = bw.solve(problem, LAM, "bcfw+pairwise", 1e-3, max_passes=5000, random_state=1)
    assert found.certificate.dual <= other.certificate.primal + 1e-12
    assert found.certificate.primal >= other.certificate.dual - 1e-12
    assert found.is_certified
    end = bw.solve(problem, LAM, "auto", 0.0, max_passes=5000, random_state=0)
    assert end.status is bw.Status.STALLED
    assert end.certificate.gap < 1e-9


def test_no_run_has_stalled_while_it_is_accelerated():
    method = replace(METHOD, catalyst=bw.Catalyst(strength=1e9))  # (far too much: w stays)
    found = bw.solve(FREE, LAM, method, 1e-3, max_passes=20_000, random_state=0)
    assert found.is_certified


def test_fewer_visits_where_lambda_is_small():
    digits = bw.datasets.digit_strings(n_strings=60)
    problem = bw.Problem(bw.tasks.Chain(10), digits.X, digits.Y)
    method = replace(METHOD, catalyst=bw.Catalyst())
    n_visits = [
        bw.solve(problem, 0.01, m, 1e-3, max_passes=2000, random_state=0).counts.visits
        for m in (method, replace(method, catalyst=None))
    ]
    assert n_visits[0] < 0.6 * n_visits[1]


def test_a_run_that_was_cut_goes_on_to_the_bit():
    whole, cut = (engine_of(BOUNDED, METHOD, LAM) for _ in range(2))
    for _ in range(9):
        whole.advance(10, always)
    for k in range(9):
        moments = iter([True] * k)
        cut.advance(10, lambda moments=moments: next(moments, False))
        again = engine_of(BOUNDED, METHOD, LAM, seed=5)
        again.restore(cut.to_save())
        assert again.gap_estimate == cut.gap_estimate
        cut = again
        while cut._is_open:
            cut.advance(10, always)
    assert whole.counts == cut.counts
    np.testing.assert_array_equal(whole.w, cut.w)
    assert whole._centre.strength == cut._centre.strength > 1.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("strength", 0.5),
        ("strength", 11.0),
        ("lam", -1.0),
        ("lam", 0.5),
        ("rest", np.zeros(0)),
        ("rest", np.full(FREE.n_features, np.nan)),
        ("before", np.zeros(3)),
        ("distance", "far"),
        ("distance", -1.0),
        ("dual", None),
        ("is_over", 0),
        ("n_passes", -1),
        ("mark_gap", None),
        ("mark_passes", 0.5),
    ],
)
def test_bad_files_are_refused(name, value):
    saved = accelerated(FREE).to_save() | {f"centre.{name}": value}
    with pytest.raises(Exception, match="centre"):
        engine_of(FREE, METHOD, LAM).restore(saved)


def test_threads_change_nothing():
    one, two = (bw.solve(FREE, LAM, METHOD, 1e-4, random_state=0, n_jobs=k) for k in (1, 2))
    assert_same(content(one), content(two))


def test_paths_go_without_it():
    paths = [
        bw.solve_path(FREE, eps=0.1, lam_min=0.01, method=m, random_state=0)
        for m in (METHOD, replace(METHOD, catalyst=None))
    ]
    lams = [[point.lam for point in path.breakpoints] for path in paths]
    assert lams[0] == lams[1]
    assert len(lams[0]) > 3
    from_given = bw.solve_path(
        FREE, eps=0.1, lam_max=0.02, lam_min=0.01, method=METHOD, random_state=0
    )
    for point in from_given.breakpoints:
        best = bw.solve(FREE, point.lam, "bcfw+pairwise", 1e-6, random_state=0).certificate
        assert point.dual <= best.primal + 1e-12
        assert point.primal >= best.dual - 1e-12


# -- auto ---------------------------------------------------------------------------------------


def test_auto_has_it_where_there_is_one_w_to_centre():
    found = bw.solve(FREE, LAM, "auto", 1e-6, random_state=0)
    assert isinstance(found.method.catalyst, bw.Catalyst)
    assert "acceleration" in found.note
    assert not bw.Auto().is_monotone
    assert bw.Auto().can_stall
    averaged = bw.solve(FREE, LAM, "auto+averaging", 0.1, random_state=0)
    assert averaged.method.catalyst is None
    kernel = bw.Problem(bw.tasks.Multiclass(kernel="rbf"), *multiclass_data(n=8))
    assert bw.solve(kernel, LAM, "auto", 0.1, random_state=0).method.catalyst is None


@pytest.mark.parametrize("seed", range(3))
def test_auto_agrees_with_enumeration(seed, monkeypatch):
    monkeypatch.setattr(auto, "CATALYST", STRONG)  # (also where it is not worth it)
    problem = bw.Problem(bw.tasks.Chain(), *chain_data(n=6, seed=seed))
    found = bw.solve(problem, 0.01, "auto", 1e-5, random_state=seed)
    best, _ = enumerated_optimum(problem, 0.01)
    assert found.is_certified
    assert found.certificate.dual <= best + 1e-9
    assert found.certificate.primal >= best - 1e-9
