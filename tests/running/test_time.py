"""`time_limit` is kept everywhere, and what it leaves is called what it is.

Time is that of a clock which the test holds: an oracle call takes a second of it.
"""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.base import compiled, pace
from blockwolfe.base.pace import OutOfTimeError, Pace
from blockwolfe.methods.bcfw import engine as block_engine
from blockwolfe.problem.sweep import sweep
from blockwolfe.problem.workers import Workers
from blockwolfe.running import clock as run_clock
from blockwolfe.solving import setup
from held_clock import Costly, HeldClock
from plain_tasks import Labels
from zoo import PROBLEMS, multiclass_data

LAM = 0.05
N = 60  # a pass takes a minute
N_PROBES = 9 + 10  # oracle calls before a run: three examples at three w, ten for the unit


@pytest.fixture
def clock(monkeypatch):
    held = HeldClock()
    monkeypatch.setattr(setup, "Clock", lambda: held)
    monkeypatch.setattr(pace, "time", held)
    monkeypatch.setattr(block_engine, "time", held)
    return held


def costly(clock, **options):
    return bw.Problem(Costly(clock, **options), *multiclass_data(n=N))


@pytest.mark.parametrize("method", ["bcfw", "auto", "bcfw+averaging", "bcfw+gap+pairwise+cache"])
@pytest.mark.parametrize("limit", [90.0, 100.0, 250.0])
def test_time_for_the_final_certificate_is_kept_back(clock, method, limit):
    result = bw.solve(costly(clock), LAM, method, 0.0, time_limit=limit, random_state=0)
    assert result.status is bw.Status.TIME_LIMIT
    assert limit - 3.0 <= result.seconds <= 1.03 * limit
    assert result.counts.visits > 0
    assert result.certificate.valid
    assert result.trace[-1].gap == result.certificate.gap


@pytest.mark.parametrize("method", ["bcfw", "auto", "bcfw+gap+pairwise+cache"])
def test_where_no_certificate_can_be_had_all_time_goes_into_visits(clock, method):
    problem = costly(clock)
    result = bw.solve(problem, LAM, method, 0.0, time_limit=30.0, random_state=0)
    assert result.status is bw.Status.TIME_LIMIT
    assert 30.0 <= result.seconds <= 31.0
    assert result.counts.visits == 30 - N_PROBES
    assert np.isnan(result.certificate.gap)
    assert not result.certificate.valid
    assert "takes about 60 s here: raise time_limit=30" in result.remedy
    assert bw.certify(problem, result.state, LAM).valid  # w and state belong together
    np.testing.assert_allclose(result.w, result.state.v / LAM)


@pytest.mark.parametrize("method", ["fw", bw.BCFW(batch_size=N)], ids=["fw", "batch"])
def test_a_full_pass_is_given_up_on_its_way(clock, method):
    result = bw.solve(costly(clock), LAM, method, 0.0, time_limit=30.0, random_state=0)
    assert result.status is bw.Status.TIME_LIMIT
    assert 30.0 <= result.seconds <= 32.0
    assert np.isnan(result.certificate.gap)
    assert not result.w.any()
    assert "No time was left for a final certificate. Not even one was made" in result.remedy


def test_batch_steps_end_with_a_certificate(clock):
    """Probes, the first certificate, and two steps with one each: a fourth would be late."""
    result = bw.solve(costly(clock), LAM, "fw", 0.0, time_limit=200.0)
    assert (result.status, result.trace[-1].passes) == (bw.Status.TIME_LIMIT, 2)
    assert result.seconds == N_PROBES + 3 * N
    assert result.certificate.valid


def test_the_first_full_pass_of_a_path_is_given_up(clock):
    path = bw.solve_path(costly(clock), 0.1, time_limit=30.0)
    assert path.status is bw.Status.TIME_LIMIT
    assert not path.breakpoints
    assert clock.now <= 32.0


def test_a_path_keeps_its_limit_and_its_breakpoints(clock):
    path = bw.solve_path(costly(clock), 0.1, time_limit=500.0, random_state=0)
    assert path.status is bw.Status.TIME_LIMIT
    assert path.breakpoints
    assert clock.now <= 502.0


def test_a_slow_beginning_tells_nothing_of_the_rest(clock):
    """A certificate takes 12 s; by the first visits it would seem to take an hour."""
    problem = costly(clock, cost=0.2, first=60.0)
    result = bw.solve(problem, LAM, "bcfw", 0.0, time_limit=200.0, random_state=0)
    assert result.seconds > 190.0
    assert result.certificate.valid


def test_one_oracle_call_is_waited_for_and_no_second(clock):
    problem = costly(clock, cost=50.0)
    result = bw.solve(problem, LAM, "bcfw", 0.0, time_limit=50.0 * N_PROBES + 10.0)
    assert result.seconds == 50.0 * (N_PROBES + 1)
    assert np.isnan(result.certificate.gap)


def test_a_certificate_that_was_cheaper_than_feared_is_not_the_end(clock):
    """Visits cost more than the oracle calls in them, so that a first guess is too high."""

    class Cheaper(Costly):
        def augmented_decode(self, x, y, w):
            self.cost = 1.0 if self.calls < N_PROBES + 34 else 0.1
            return super().augmented_decode(x, y, w)

    problem = bw.Problem(Cheaper(clock), *multiclass_data(n=N))
    result = bw.solve(problem, LAM, "bcfw", 0.0, time_limit=100.0, random_state=0)
    assert result.seconds > 90.0
    assert result.certificate.valid


def test_interrupted_runs_keep_the_limit_as_well(clock):
    class Interrupted(Costly):
        def augmented_decode(self, x, y, w):
            if self.calls == 20:
                self.calls += 1
                raise KeyboardInterrupt
            return super().augmented_decode(x, y, w)

    problem = bw.Problem(Interrupted(clock), *multiclass_data(n=N))
    result = bw.solve(problem, LAM, "bcfw", 0.0, time_limit=30.0)
    assert result.status is bw.Status.INTERRUPTED
    assert result.seconds <= 31.0
    assert np.isnan(result.certificate.gap)


@pytest.mark.parametrize("method", ["bcfw", "fw"])
def test_a_checkpoint_goes_on_with_the_seconds_that_are_left(clock, method, tmp_path):
    problem, path = costly(clock), tmp_path / "run.npz"
    options = {"random_state": 0, "checkpoint": path}
    first = bw.solve(problem, LAM, method, 0.0, time_limit=200.0, **options)
    clock.now = 0.0
    then = bw.solve(problem, LAM, method, 0.0, time_limit=500.0, **options)
    assert then.counts.visits > first.counts.visits
    assert 430.0 < then.seconds <= 515.0
    assert then.certificate.valid


def test_averages_are_not_refreshed_where_no_time_is_left(clock):
    """Gap sampling of an average takes another full pass after each certificate."""
    method = bw.BCFW(bw.GapSampling(), averaging=True, certify_every=1)
    result = bw.solve(costly(clock), LAM, method, 0.0, time_limit=200.0, random_state=0)
    assert result.seconds <= 206.0
    assert result.certificate.valid


@pytest.mark.parametrize("averaging", [False, True])
def test_an_earlier_certificate_is_returned_with_its_own_point(clock, averaging):
    """The final one takes five times as long as the one before, and is given up."""

    class Slower(Costly):
        def augmented_decode(self, x, y, w):
            self.cost = 1.0 if self.calls < N_PROBES + 3 * N else 5.0
            return super().augmented_decode(x, y, w)

    problem = bw.Problem(Slower(clock), *multiclass_data(n=N))
    method = bw.BCFW(certify_every=1, averaging=averaging)
    result = bw.solve(problem, LAM, method, 0.0, time_limit=300.0, random_state=0)
    assert result.status is bw.Status.TIME_LIMIT
    assert 300.0 <= result.seconds <= 314.0  # (with one call that is waited for)
    certified = [row for row in result.trace if row.gap == row.gap]
    assert [row.passes for row in certified] == [1]
    assert result.certificate.gap == certified[0].gap
    again = bw.certify(problem, result.state, LAM)
    assert (again.gap, again.primal) == (result.certificate.gap, result.certificate.primal)
    np.testing.assert_array_equal(result.w, result.state.v / LAM)
    assert bw.certify(problem, result.last_state, LAM).dual > again.dual  # the work is not lost
    assert "The result is an earlier point, which has one" in result.remedy


# -- what counts -----------------------------------------------------------------------------------


def test_compiling_does_not_count(monkeypatch):
    held = HeldClock()
    monkeypatch.setattr(compiled, "time", held)
    monkeypatch.setattr(run_clock, "time", held)
    clock = run_clock.Clock()
    with compiled.silent_compilation(), compiled.announced_compilation("a loop"):
        held.now += 30.0
        with compiled.announced_compilation("a part of it"):
            held.now += 10.0
    held.now += 2.0
    assert clock() == 2.0
    with clock:
        held.now += 5.0
    assert clock() == 2.0


# -- slices ----------------------------------------------------------------------------------------


class EachSlice(Pace):
    """Slices of a given size."""

    def note(self, done):
        pass


@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_slices_change_no_number(name, n_jobs):
    problem = PROBLEMS[name]()
    blocks, state = problem.blocks, bw.solve(problem, LAM, "bcfw", max_passes=2).state
    whole = sweep(blocks, state.store(), state.v / LAM, *blocks.own(), keep=True)
    workers = Workers(blocks, n_jobs)
    if blocks.is_compiled:
        workers.__enter__()
    for size in (1, 2, 3, len(blocks)):
        workers.pace = EachSlice(size)
        cut = sweep(blocks, state.store(), state.v / LAM, *blocks.own(), keep=True, workers=workers)
        for one, other in zip(whole.answers, cut.answers, strict=True):
            np.testing.assert_array_equal(one, other)
    if blocks.is_compiled:
        workers.__exit__()


def test_no_block_is_asked_for_after_the_time_is_up():
    class Counting(Labels):
        calls = 0

        def augmented_decode(self, x, y, w):
            Counting.calls += 1
            return super().augmented_decode(x, y, w)

    problem = bw.Problem(Counting(3, 4), *multiclass_data(n=N))
    workers, looks = Workers(problem.blocks, 1), iter([None] * 4)
    workers.pace = EachSlice(5)

    def look_up():
        if next(looks, OutOfTimeError) is OutOfTimeError:
            raise OutOfTimeError

    workers.pace.look_up = look_up
    store, w = problem.initial_state().store(), np.zeros(problem.n_features)
    with pytest.raises(OutOfTimeError):
        sweep(problem.blocks, store, w, *problem.blocks.own(), workers=workers)
    assert Counting.calls == 4 * 5


def test_processes_are_asked_slice_by_slice_and_once_for_each_block(monkeypatch):
    asked = []
    monkeypatch.setattr(Workers, "prefetch", lambda self, blocks, order, *rest: asked.append(order))
    problem = bw.Problem(Labels(3, 4), *multiclass_data(n=N))
    workers = Workers(problem.blocks, 1)
    workers.pace = EachSlice(7)
    store, w = problem.initial_state().store(), np.zeros(problem.n_features)
    sweep(problem.blocks, store, w, *problem.blocks.own(), workers=workers)
    assert max(len(order) for order in asked) == 7
    np.testing.assert_array_equal(np.concatenate(asked), np.arange(N))


def test_a_slice_is_cut_by_the_time_of_the_one_before(monkeypatch):
    held = HeldClock()
    monkeypatch.setattr(pace, "time", held)
    slices, done, sizes = Pace(), 0, []
    for cost in (0.0, 0.0, 0.0, 0.01, 1.0, 1.0):
        until = slices.until(done, 10**6)
        sizes.append(until - done)
        held.now += cost * (until - done)
        done = until
        slices.note(done)
    assert sizes == [1, 10, 100, 1000, 20, 1]
