"""A run ends for a true reason, and what it reports is of the point that it reports."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.methods.dual_engine import DualEngine
from blockwolfe.methods.registry import as_method
from blockwolfe.results.certificate import Certificate
from blockwolfe.rules.sampling import Sampling
from blockwolfe.running import clock
from dense import enumerated_data

LAM = 0.05


def problem_of(n=8, seed=1):
    task, X, Y = enumerated_data(n=n, seed=seed)
    return bw.Problem(task, list(X), list(Y))


@dataclass(frozen=True)
class Given(Sampling):
    """The same blocks in every pass."""

    name: ClassVar[str] = "given"
    words: ClassVar[str] = "given"
    blocks: Any = ()

    def order(self, n_blocks, rng):
        return np.array(self.blocks)

    def draws(self, gap, n_draws, rng):
        return super().draws(gap, 0, rng)


@pytest.mark.parametrize("method", ["bcfw", "fw", "bcfw+gap+pairwise", "bcfw+averaging", "auto"])
def test_certified_means_a_gap_of_at_most_tol_and_of_no_more_work(method):
    problem = problem_of()
    for tol in np.geomspace(0.3, 0.03, 5):
        result = bw.solve(problem, LAM, method, tol, random_state=0, max_passes=3000)
        assert result.status is bw.Status.CERTIFIED
        assert result.certificate.relative_gap <= tol
        certified = result.trace["gap"][~np.isnan(result.trace["gap"])]
        assert (certified[:-1] > tol * problem.unit).all()


@pytest.mark.parametrize("passes", [1, 2, 5, 9])
@pytest.mark.parametrize(
    "method", ["bcfw", "bcfw+gap+pairwise+cache", "bcfw+averaging", bw.BCFW(certify_every=2)]
)
def test_the_certificate_is_of_the_weights_that_are_returned(method, passes):
    """Also where a run ends between two certificates."""
    problem = problem_of()
    result = bw.solve(problem, LAM, method, 1e-9, max_passes=passes, random_state=0)
    found = result.certificate
    if "cache" not in str(method).lower():  # (else visits without an oracle call count less)
        assert result.trace[-1].passes == passes
    assert result.trace[-1].gap == found.gap
    assert found.primal == pytest.approx(problem.primal(result.w, LAM), rel=1e-12)
    again = bw.certify(problem, result.state, LAM, w=result.w)
    assert (found.dual, found.gap) == (pytest.approx(again.dual), pytest.approx(again.gap))


def test_a_row_has_a_gap_only_where_it_was_certified():
    told = []
    method = bw.BCFW(certify_every=4)
    result = bw.solve(
        problem_of(), LAM, method, 1e-9, max_passes=10, random_state=0,
        callbacks=lambda event: told.append(event.row.gap),
    )  # fmt: skip
    assert [k for k, gap in enumerate(told) if not np.isnan(gap)] == [4, 8]
    assert not np.isnan(result.trace["gap"][-1])


def test_estimates_that_promise_too_much_are_believed_ever_less(monkeypatch):
    monkeypatch.setattr(DualEngine, "gap_estimate", property(lambda self: 0.0))
    method = bw.BCFW(certify_every=1000)
    result = bw.solve(problem_of(), LAM, method, 1e-12, max_passes=20, random_state=0)
    certified = result.trace["passes"][~np.isnan(result.trace["gap"])].tolist()
    assert certified == [1, 3, 7, 15, 20]


def test_a_cache_that_always_hits_is_certified_all_the_same():
    method = bw.BCFW(step=bw.Pairwise(), cache=bw.Cache(F=1e-12, nu=0.0), certify_every=2)
    result = bw.solve(problem_of(), LAM, method, 1e-9, max_passes=40, random_state=0)
    trace = result.trace
    certified = trace["passes"][~np.isnan(trace["gap"])]
    assert result.counts.cache_hits > 2 * result.counts.oracle_calls
    assert np.diff(certified).max() <= 4


def test_a_run_has_not_stalled_while_blocks_with_a_gap_were_not_visited():
    """Only block 0 is ever visited: the dual gains nothing, but there is much to gain."""
    problem = problem_of()
    method = bw.BCFW(Given([0] * 8), certify_every=50)
    result = bw.solve(problem, LAM, method, 1e-9, max_passes=300)
    assert result.status is bw.Status.MAX_PASSES
    engine = engine_of(problem, bw.BCFW(Given([0, 1, 2])), LAM)
    engine.certify()
    assert not engine.has_visited_open
    engine.advance(8, lambda: True)
    assert not engine.has_visited_open
    engine.method = bw.BCFW(Given(range(3, 8)))
    engine.advance(8, lambda: True)
    assert engine.has_visited_open


class Time:
    """In place of the module `time`: it stands still unless it is told to go on."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        self.now += 1e-6
        return self.now


def test_callbacks_take_no_time(monkeypatch):
    time = Time()
    monkeypatch.setattr(clock, "time", time)
    result = bw.solve(
        problem_of(), LAM, tol=1e-9, max_passes=5, random_state=0,
        callbacks=lambda event: setattr(time, "now", time.now + 100.0),
    )  # fmt: skip
    assert time.now > 500.0
    assert result.seconds < 1.0


def test_seconds_of_an_earlier_process_count(monkeypatch, tmp_path):
    time = Time()
    monkeypatch.setattr(clock, "time", time)
    problem, path = problem_of(), tmp_path / "run.npz"

    class Costly(type(problem.task)):
        def augmented_decode(self, x, y, w):
            time.now += 1.0
            return super().augmented_decode(x, y, w)

    problem = bw.Problem(Costly(problem.task.costs, 8), problem.X, problem.Y)
    options = {"method": "bcfw", "tol": 1e-9, "random_state": 0, "checkpoint": path}
    first = bw.solve(problem, LAM, max_passes=3, **options)
    second = bw.solve(problem, LAM, max_passes=6, **options)
    calls = [r.counts.oracle_calls + r.counts.certificate_calls for r in (first, second)]
    for result, n_calls in zip((first, second), calls, strict=True):  # (and a few to begin with)
        assert n_calls <= result.seconds <= n_calls + 30.0
    assert second.trace["seconds"][-1] >= first.seconds + calls[1] - calls[0]


@pytest.mark.parametrize("method", ["bcfw+gap", "bcfw+gap+averaging"])
def test_the_last_calls_are_kept_for_the_certificate(method):
    """And with averages, whose estimates are renewed by a full pass of their own, for that."""
    problem, chosen = problem_of(), replace(as_method(method), certify_every=1)
    for budget in range(8, 120, 5):
        result = bw.solve(problem, LAM, chosen, 1e-9, max_oracle_calls=budget, random_state=0)
        assert result.counts.oracle_calls + result.counts.certificate_calls <= budget
        assert np.isfinite(result.certificate.gap)


def test_every_target_on_the_way_is_certified():
    """By a certificate of its own, as soon as the estimates promise it."""
    method = bw.BCFW(step=bw.Pairwise(), certify_every=10_000)
    result = bw.solve(
        problem_of(), LAM, method, 0.01, targets=(0.5, 0.1), random_state=0, max_passes=500
    )
    certified = result.trace["gap"][~np.isnan(result.trace["gap"])]
    assert result.status is bw.Status.CERTIFIED
    assert ((certified > 0.1) & (certified <= 0.5)).any()
    assert ((certified > 0.01) & (certified <= 0.1)).any()


def test_a_gap_below_what_rounding_lets_one_tell_certifies_nothing():
    numbers = {"primal": 1.0, "dual": 1.0, "gap": 0.0, "block_gaps": np.zeros(1), "lam": 1.0}
    for resolution, is_reached in ((1e-3, False), (1e-7, True)):
        certificate = Certificate(**numbers, exact=True, resolution=resolution, slack=0.0)
        assert certificate.reaches(1e-6) is is_reached
