"""Numbers in the trace that tell how a run goes: gaps' uniformity and age, hits, active sets."""

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.methods.bcfw.engine import BlockEngine
from blockwolfe.methods.diagnostics import non_uniformity
from zoo import PROBLEMS

LAM = 0.05
EPS = np.finfo(float).eps


@pytest.fixture(scope="module")
def problem():
    return PROBLEMS["chain-dense"]()


def advance(engine, n_passes):
    for _ in range(n_passes):
        engine.advance(engine.n_blocks, lambda: True)


# -- chi -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 9, 100])
def test_chi_lies_between_one_and_root_n(n):
    rng = np.random.default_rng(n)
    for power in (0.0, 1.0, 8.0, 60.0):
        x = rng.random(n) ** power + 1e-300
        chi = non_uniformity(x)
        assert 1.0 - n * EPS <= chi <= np.sqrt(n) * (1 + n * EPS)
        variance = np.mean((x / x.sum() - 1 / n) ** 2)
        assert chi == pytest.approx(np.sqrt(1 + n**2 * variance), rel=10 * n * EPS)
        assert non_uniformity(1e-5 * x) == pytest.approx(chi, rel=10 * n * EPS)  # free of scale


@pytest.mark.parametrize(("n", "k"), [(16, 1), (16, 4), (16, 16), (100, 25)])
def test_chi_of_k_equal_numbers_among_n_is_the_root_of_n_over_k(n, k):
    x = np.zeros(n)
    x[:k] = 0.3
    assert non_uniformity(x) == pytest.approx(np.sqrt(n / k), rel=10 * n * EPS)


@pytest.mark.parametrize("scale", [1e-323, 1e-300, 1e200, 1e308])
def test_chi_of_numbers_whose_squares_or_sums_no_float_holds(scale):
    assert non_uniformity(np.array([0.0, 1.0, 1.0, 0.0]) * scale) == pytest.approx(np.sqrt(2))


def test_chi_of_nothing_is_one():
    assert non_uniformity(np.zeros(5)) == 1.0


def test_the_toy_problem_after_one_pass():
    """One step solves all easy blocks, so that the hard one, visited first, holds all the gap.

    Directions seen: |psi|^2 / n^2 = 1/2 / n^2 of the hard block, 1 / n^2 of the first easy one.
    """
    toy = bw.datasets.toy_problem(n=6, n_labels=4)
    problem = bw.Problem(toy.task, toy.X, toy.Y)
    method = bw.BCFW(sampling=bw.Cyclic(), certify_every=1)
    row = bw.solve(problem, toy.lam, method, 0.0, max_passes=1).trace[-1]
    curvatures = np.array([0.5, 1.0, 0.0, 0.0, 0.0, 0.0])
    assert row.chi == pytest.approx(np.sqrt(6), rel=100 * EPS)
    expected = np.sqrt(6) ** 3 / non_uniformity(curvatures)
    assert row.sampling_factor == pytest.approx(expected, rel=100 * EPS)


def test_chi_and_factor_are_of_the_certified_block_gaps(problem):
    for method in ("bcfw", "bcfw+gap+pairwise", "fw"):
        result = bw.solve(problem, LAM, method, 0.0, max_passes=7, random_state=0)
        trace, gaps = result.trace, np.maximum(result.certificate.block_gaps, 0.0)
        assert trace[-1].chi == non_uniformity(gaps)
        # known exactly where there is a certificate
        np.testing.assert_array_equal(np.isnan(trace["chi"]), np.isnan(trace["gap"]))
        chi = trace["chi"][~np.isnan(trace["chi"])]
        assert (chi >= 1.0 - 8 * EPS).all()
        assert (chi <= np.sqrt(8) * (1 + 8 * EPS)).all()


# -- staleness -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["bcfw", "bcfw+gap+pairwise+cache", "bcfw+blended"])
def test_estimates_are_not_stale_when_just_made(problem, method):
    """Two certificates of one point: the ratio is one up to the resolution of the numbers."""
    engine = engine_of(problem, method, LAM)
    advance(engine, 3)
    estimate = engine.gap_estimate
    first = engine.certify()
    assert engine.ledger.staleness == estimate / first.gap
    assert abs(engine.ledger.staleness - 1.0) > 0.1  # (what the visits saw was another gap)
    second = engine.certify()
    assert second.gap == pytest.approx(first.gap, abs=10 * first.resolution)
    assert abs(engine.ledger.staleness - 1.0) <= 10 * first.resolution / first.gap


def test_the_trace_has_the_staleness_that_a_certificate_found(problem, monkeypatch):
    estimates, certify = [], BlockEngine.certify

    def watched(engine):
        estimates.append(engine.gap_estimate)
        return certify(engine)

    monkeypatch.setattr(BlockEngine, "certify", watched)
    method = bw.BCFW(bw.GapSampling(refresh_every=3), certify_every=3)
    options = {"max_passes": 12, "random_state": 0, "point": "last"}
    trace = bw.solve(problem, LAM, method, 0.0, **options).trace
    is_certified = ~np.isnan(trace["gap"])
    ratio = np.array(estimates) / trace["gap"][is_certified]
    np.testing.assert_allclose(trace["staleness"][is_certified], ratio, rtol=10 * EPS)
    assert np.isnan(trace["staleness"][~is_certified]).all()


def test_staleness_is_unknown_before_every_block_was_seen(problem):
    engine = engine_of(problem, "bcfw", LAM)
    engine.certify()
    assert np.isnan(engine.ledger.staleness)


# -- hits, calls, active sets --------------------------------------------------------------------


def test_hit_rate_is_the_share_of_visits(problem):
    result = bw.solve(problem, LAM, "bcfw+gap+pairwise+cache", 0.0, max_passes=15, random_state=0)
    trace = result.trace
    rates = trace["hit_rate"]
    assert np.isnan(rates[0])  # no visit yet
    np.testing.assert_array_equal(rates[1:], trace["cache_hits"][1:] / trace["visits"][1:])
    assert rates[1] == 0.0  # the first pass finds every block's first corner
    assert 0.0 < rates[-1] < 1.0
    assert trace[-1].hit_rate == result.counts.cache_hits / result.counts.visits
    plain = bw.solve(problem, LAM, "bcfw", 0.0, max_passes=3)
    assert (plain.trace["hit_rate"][1:] == 0.0).all()


def test_oracle_seconds_are_calls_times_the_mean_call_of_the_last_certificate(problem):
    method = bw.BCFW(certify_every=4)
    trace = bw.solve(problem, LAM, method, 0.0, max_passes=11, random_state=0).trace
    is_known = np.maximum.accumulate(~np.isnan(trace["gap"]))
    assert not is_known[:4].any()
    assert np.isnan(trace["oracle_seconds"][~is_known]).all()
    calls = (trace["oracle_calls"] + trace["certificate_calls"])[is_known]
    mean = trace["oracle_seconds"][is_known] / calls
    renewed = np.flatnonzero(~np.isnan(trace["gap"][is_known]))
    for begin, end in zip(renewed, [*renewed[1:], len(mean)], strict=True):
        np.testing.assert_allclose(mean[begin:end], mean[begin], rtol=10 * EPS)
    shares = trace["oracle_share"][is_known]
    np.testing.assert_array_equal(
        shares, trace["oracle_seconds"][is_known] / trace["seconds"][is_known]
    )
    assert (shares > 0.0).all()


@pytest.mark.parametrize("step", ["pairwise", "away", "blended", "cache", "gap+best+cache"])
def test_n_active_counts_the_corners_of_the_state(problem, step):
    sizes = []
    for max_passes in (0, 1, 2, 5, 9):
        result = bw.solve(problem, LAM, f"bcfw+{step}", 0.0, max_passes=max_passes, random_state=0)
        active = result.state.active
        assert (active.weight > 0.0).all()
        sizes.append(len(active.weight) / len(problem))
        assert result.trace[-1].n_active == sizes[-1]
        assert sizes[-1] == np.diff(active.start).mean()
    assert sizes[0] == 1.0  # the true outputs
    assert max(sizes) > 1.0


def test_n_active_is_unknown_where_no_corners_are_kept(problem):
    for method in ("bcfw", "fw"):
        result = bw.solve(problem, LAM, method, 0.0, max_passes=2)
        assert np.isnan(result.trace["n_active"]).all()
        assert result.state.active is None


def test_drops_are_counted_once_each(problem):
    """Without a cache a corner is gone when its weight is: active sets grow by steps less drops."""
    method = bw.BCFW(sampling=bw.Cyclic(), step=bw.Pairwise())
    engine = engine_of(problem, method, lam=0.3)
    found = 0
    for _ in range(12):
        before, n_before = engine.counts, engine.point.n_active() * len(problem)
        advance(engine, 1)
        n_after = engine.point.n_active() * len(problem)
        drops = engine.counts.drops - before.drops
        steps = engine.counts.steps - before.steps
        assert n_before - drops <= n_after <= n_before + steps - drops
        found += drops
    assert found > 0
