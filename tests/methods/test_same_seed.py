"""The same seed gives the same run, whatever the clock shows and wherever a pass was cut."""

import itertools
import signal

import numpy as np
import pytest

import blockwolfe as bw
from amount import ALL
from blockwolfe.base import pace
from blockwolfe.base.compiled import call, uninterrupted
from blockwolfe.methods import auto
from blockwolfe.methods.bcfw import batches
from blockwolfe.methods.bcfw import engine as block_engine
from blockwolfe.problem import evaluate
from held_clock import HeldClock
from plain_tasks import Labels
from same_runs import assert_same, content
from zoo import PROBLEMS, chain_data, multiclass_data

LAM = 0.05


@pytest.fixture(scope="module")
def problem():
    return bw.Problem(bw.tasks.Chain(3), *chain_data(n=30))


class Erratic(HeldClock):
    """Between two looks a microsecond passes, or a minute."""

    def __init__(self, seed):
        super().__init__()
        self._rng = np.random.default_rng(seed)

    def perf_counter(self):
        self.now += self._rng.choice([1e-6, 1e-3, 1.0, 60.0])
        return self.now


TIGHT = bw.Cache(max_bytes=8_000)
METHODS = {
    "bcfw": "bcfw",
    "auto": "auto",
    "averaged": bw.Auto(averaging=True),
    "planes": "bcfw+gap+pairwise+multiplane",
    "capped": bw.BCFW(bw.GapSampling(), bw.Pairwise(), cache=TIGHT),
    "corrective": bw.BCFW(bw.Uniform(), bw.Corrective(), bw.Cache(), averaging=True),
}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("is_expensive", [False, True], ids=["cheap", "expensive"])
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_clock_decides_nothing(problem, method, is_expensive, n_jobs, monkeypatch):
    if is_expensive:
        monkeypatch.setattr(batches, "EXPENSIVE_STEPS", 0.0)
        monkeypatch.setattr(batches, "BATCH_STEPS", 1e4)
        monkeypatch.setattr(auto, "LONG_STEPS", 0.0)
        monkeypatch.setattr(auto, "LONG_LOOKS", 0.0)
    options = {"tol": 0.0, "max_passes": 12, "random_state": 0, "n_jobs": n_jobs}
    runs = []
    for seed in range(4 if ALL else 2):
        monkeypatch.setattr(block_engine, "time", Erratic(seed))
        monkeypatch.setattr(pace, "time", Erratic(seed))
        runs.append(bw.solve(problem, LAM, method, **options))
    for run in runs[1:]:
        assert_same(content(run), content(runs[0]))


def test_the_cap_is_tight_enough_to_tell(problem):
    """Corners were evicted in the run above: with more memory it is another."""
    options = {"tol": 0.0, "max_passes": 12, "random_state": 0}
    free = bw.BCFW(bw.GapSampling(), bw.Pairwise(), cache=bw.Cache())
    runs = [bw.solve(problem, LAM, method, **options) for method in (METHODS["capped"], free)]
    assert runs[0].counts != runs[1].counts


# -- batches, decided once ---------------------------------------------------------------------------


def test_the_batch_size_follows_the_steps_of_the_oracle(problem):
    """By hand: 3 labels, so many products for the features and sums for the transitions."""
    blocks = problem.blocks
    n_values = sum(x.size for x in problem.X)
    n_positions = sum(len(x) for x in problem.X)
    assert blocks.n_steps == pytest.approx(3 * (n_values + 3 * n_positions) / len(problem), rel=0.2)
    result = bw.solve(problem, LAM, "bcfw", max_passes=1, n_jobs=2)
    assert result.method.batch_size is None  # far below what pays


def test_what_was_decided_is_in_the_result_and_can_be_asked_for(problem, monkeypatch):
    monkeypatch.setattr(batches, "EXPENSIVE_STEPS", 0.0)
    monkeypatch.setattr(batches, "BATCH_STEPS", 7 * problem.blocks.n_steps)
    options = {"tol": 0.0, "max_passes": 5, "random_state": 0}
    chosen = bw.solve(problem, LAM, "bcfw", n_jobs=2, **options)
    assert chosen.method == bw.BCFW(batch_size=7)
    again = bw.solve(problem, LAM, chosen.method, n_jobs=1, **options)
    assert_same(content(again), content(chosen))


def test_a_python_oracle_is_timed_once_and_what_follows_is_kept(tmp_path, monkeypatch):
    """By its probes, which take 0.9 ms each here; after a crash the machine may be faster."""

    class CrashError(Exception):
        pass

    def crash(event):
        if event.row.passes == 3:
            raise CrashError

    clock = HeldClock()

    class Timed(Labels):
        def augmented_decode(self, x, y, w):
            clock.now += 9e-4
            return super().augmented_decode(x, y, w)

    monkeypatch.setattr(evaluate, "time", clock)
    problem = bw.Problem(Timed(3, 4), *multiclass_data(n=30))
    monkeypatch.setattr("blockwolfe.problem.workers.Workers.prefetch", lambda *_: None)
    monkeypatch.setattr("blockwolfe.problem.workers.Workers.__enter__", lambda self: self)
    options = {"tol": 0.0, "max_passes": 6, "random_state": 0, "n_jobs": 2}
    whole = bw.solve(problem, LAM, "bcfw", **options)
    assert whole.method.batch_size == 11  # of 10 ms
    options["checkpoint"] = bw.Checkpoint(tmp_path / "run.npz", every=0)
    with pytest.raises(CrashError):
        bw.solve(problem, LAM, "bcfw", callbacks=[crash], **options)
    monkeypatch.setattr(evaluate, "time", Erratic(0))
    assert_same(content(bw.solve(problem, LAM, "bcfw", **options)), content(whole))


# -- Ctrl-C ------------------------------------------------------------------------------------------


class Interrupted(Labels):
    """Ctrl-C in the k-th oracle call."""

    def __init__(self, at):
        super().__init__(3, 4)
        self.calls, self.at = 0, at

    def augmented_decode(self, x, y, w):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return super().augmented_decode(x, y, w)


STOPPED = [
    "bcfw",
    "fw",
    "auto",
    "bcfw+gap+pairwise+cache",
    "bcfw+averaging",
    "bcfw+maxgap+multiplane",
    bw.BCFW(bw.GapSampling(), batch_size=3, certify_every=2),
    bw.BCFW(bw.GapSampling(), averaging=True, certify_every=3),
]


@pytest.mark.parametrize("method", STOPPED, ids=str)
def test_after_ctrl_c_in_an_oracle_call_the_run_goes_on_as_if_undisturbed(method, tmp_path):
    data = multiclass_data(n=8)
    options = {"tol": 0.0, "max_passes": 12, "random_state": 0}
    whole = bw.solve(bw.Problem(Labels(3, 4), *data), LAM, method, **options)
    n_calls = whole.counts.oracle_calls + whole.counts.certificate_calls
    n_before = 9 + len(data[1])  # probes, and calls for the unit
    for at in range(7, n_calls - len(data[1]), 9):  # (a look at the average is left out then)
        options["checkpoint"] = tmp_path / f"{at}.npz"
        problem = bw.Problem(Interrupted(n_before + at), *data)
        first = bw.solve(problem, LAM, method, **options)
        assert first.status is bw.Status.INTERRUPTED
        assert first.certificate.valid
        assert_same(content(bw.solve(problem, LAM, method, **options)), content(whole))


@pytest.mark.parametrize("at", [0, 1, 4, 9])
@pytest.mark.parametrize("method", ["bcfw+gap+pairwise+cache", bw.BCFW(batch_size=4)], ids=str)
def test_after_ctrl_c_in_compiled_code_no_visit_is_made_twice(method, at, tmp_path, monkeypatch):
    """The signal is held back to the end of the call, and raised before anything is returned."""
    problem = PROBLEMS["chain-dense"]()
    options = {"tol": 0.0, "max_passes": 12, "random_state": 0}
    whole = bw.solve(problem, LAM, method, **options)
    calls = itertools.count()

    def interrupted(function, kind, *args):
        with uninterrupted():
            if len(args[0].block) and next(calls) == at:
                signal.raise_signal(signal.SIGINT)
            return call(function, kind, *args)

    options["checkpoint"] = tmp_path / "run.npz"
    with monkeypatch.context() as patch:
        patch.setattr(block_engine, "call", interrupted)
        assert bw.solve(problem, LAM, method, **options).status is bw.Status.INTERRUPTED
    assert_same(content(bw.solve(problem, LAM, method, **options)), content(whole))
