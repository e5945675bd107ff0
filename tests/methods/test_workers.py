"""Several cores: they change nothing but the time. Batches of oracle calls: still exact steps."""

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.methods.bcfw import batches
from blockwolfe.methods.bcfw import engine as block_engine
from blockwolfe.problem.certificate import examine
from blockwolfe.problem.state import rebuild_v
from blockwolfe.problem.sweep import sweep
from blockwolfe.problem.workers import Workers, check_n_jobs
from plain_tasks import Labels
from zoo import PROBLEMS, bounded, multiclass_data

LAM = 0.05
COMPILED = ["chain-dense", "multiclass-dense", "toy-jitted"]
STEPS = [bw.FW(), bw.Pairwise(), bw.Away(), bw.BestOf(), bw.BlendedPairwise(), bw.Corrective()]
SAMPLINGS = [bw.Uniform(), bw.Permutation(), bw.Cyclic(), bw.GapSampling(), bw.MaxGap()]


@pytest.fixture(scope="module")
def problems():
    """Each problem once: its functions are compiled a single time."""
    return {name: PROBLEMS[name]() for name in COMPILED}


@pytest.fixture(scope="module")
def optimum(problems):
    return bw.solve(
        problems["chain-dense"], LAM, "bcfw+gap+pairwise", 1e-6, random_state=0
    ).certificate


def assert_same_certificate(a, b):
    """Bit by bit."""
    assert (a.primal, a.dual, a.gap, a.exact) == (b.primal, b.dual, b.gap, b.exact)
    np.testing.assert_array_equal(a.block_gaps, b.block_gaps)


def assert_same_run(a, b):
    assert_same_certificate(a.certificate, b.certificate)
    np.testing.assert_array_equal(a.w, b.w)
    assert a.counts == b.counts
    np.testing.assert_array_equal(a.trace["dual"], b.trace["dual"])


# -- threads -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
@pytest.mark.parametrize("name", COMPILED)
def test_certificates_do_not_depend_on_n_jobs(problems, name, n_jobs):
    problem = problems[name]
    for passes in (0, 1, 7):
        state = bw.solve(problem, LAM, "bcfw", 0.0, max_passes=passes, random_state=0).state
        alone = bw.certify(problem, state, LAM)
        assert_same_certificate(bw.certify(problem, state, LAM, n_jobs=n_jobs), alone)


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize(
    "method",
    [
        bw.BCFW(batch_size=1),
        bw.BCFW(bw.GapSampling(), bw.Pairwise(), bw.Cache(), averaging=True, batch_size=1),
        bw.BCFW(bw.GapSampling(), bw.BlendedPairwise(), batch_size=3),
        bw.BCFW(bw.MaxGap(), bw.FW(), averaging=True, batch_size=5),
        bw.FrankWolfe(),
    ],
    ids=["visits", "cache", "batches", "averaged", "fw"],
)
def test_runs_do_not_depend_on_n_jobs(problems, name, method):
    options = {"tol": 1e-9, "max_passes": 13, "random_state": 0}
    runs = [bw.solve(problems[name], LAM, method, n_jobs=n, **options) for n in (1, 2)]
    assert_same_run(*runs)


def test_cheap_compiled_oracles_are_not_called_in_batches(problems, monkeypatch):
    """The default batch size follows the steps of a call: one below the threshold, more above."""
    alone = bw.solve(problems["chain-dense"], LAM, "bcfw", 1e-9, max_passes=25, random_state=0)
    for expensive, is_alike in ((np.inf, True), (0.0, False)):
        monkeypatch.setattr(batches, "EXPENSIVE_STEPS", expensive)
        result = bw.solve(
            problems["chain-dense"], LAM, "bcfw", 1e-9, max_passes=25, random_state=0, n_jobs=2
        )
        assert np.array_equal(result.w, alone.w) == is_alike
        gap = max(result.certificate.gap, alone.certificate.gap)
        assert abs(result.certificate.primal - alone.certificate.primal) <= gap


def test_every_thread_has_scratch_of_its_own(problems):
    """Many blocks, more threads than cores: sharing scratch would mix their scores up."""
    data = bw.datasets.synthetic_chains(400, n_labels=5, n_features=10, random_state=0)
    problem = bw.Problem(bw.tasks.Chain(5), data.X, data.Y)
    state = bw.solve(problem, LAM, "bcfw", 0.0, max_passes=2, random_state=0).state
    alone = bw.certify(problem, state, LAM)
    for _ in range(10):
        assert_same_certificate(bw.certify(problem, state, LAM, n_jobs=8), alone)


# -- batches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [2, 5, 8])
@pytest.mark.parametrize(
    ("sampling", "step"),
    list(itertools.product(SAMPLINGS, STEPS)),
    ids=lambda rule: type(rule).__name__,
)
def test_batches_never_lose_dual_and_end_at_the_optimum(
    problems, optimum, batch_size, sampling, step
):
    problem = problems["chain-dense"]
    assert len(problem) == 8
    method = bw.BCFW(sampling, step, batch_size=batch_size)
    result = bw.solve(problem, LAM, method, 0.05, max_passes=400, random_state=0)
    assert (np.diff(result.trace["dual"]) >= -1e-14).all()
    assert result.is_certified
    gap = max(result.certificate.gap, optimum.gap)
    assert abs(result.certificate.primal - optimum.primal) <= gap
    assert result.counts.visits == result.counts.oracle_calls


@pytest.mark.parametrize("averaging", [False, True])
def test_batches_under_bounds_and_of_python_tasks(averaging):
    X, Y = multiclass_data()
    bounds = bounded(bw.Problem(Labels(3, 4), X, Y))
    reference = None
    for task in (bw.tasks.Multiclass(bias=False), Labels(3, 4)):
        problem = bw.Problem(task, X, Y, bounds=bounds)
        method = bw.BCFW(bw.GapSampling(), bw.Pairwise(), averaging=averaging, batch_size=4)
        result = bw.solve(problem, LAM, method, 1e-2, max_passes=2000, random_state=0)
        assert result.is_certified
        if not averaging:
            assert (np.diff(result.trace["dual"]) >= -1e-14).all()
        reference = reference or result.certificate
        assert abs(result.certificate.primal - reference.primal) <= 1e-2


def test_a_batch_of_one_is_a_visit(problems):
    options = {"tol": 0.0, "max_passes": 6, "random_state": 0}
    for sampling in SAMPLINGS:
        one = bw.solve(problems["chain-dense"], LAM, bw.BCFW(sampling, batch_size=1), **options)
        none = bw.solve(problems["chain-dense"], LAM, bw.BCFW(sampling), **options)
        assert_same_run(one, none)


def test_a_batch_draws_blocks_as_often_as_their_gaps_say(problems):
    """Drawn one by one from a fixed set of estimates: frequencies within four standard errors."""
    blocks = problems["chain-dense"].blocks
    rng = np.random.default_rng(0)
    gap = np.array([0.0, 1.0, 2.0, 0.0, 5.0, 0.5, 0.0, 1.5])
    method = type("Method", (), {"sampling": bw.GapSampling()})
    engine = type("Engine", (), {"_sampled_gap": gap, "method": method})
    n_draws = 40_000
    drawn = block_engine.BlockEngine._drawn(engine, np.full(n_draws, -1), rng.random(n_draws))
    share = gap / gap.sum()
    errors = np.sqrt(share * (1 - share) / n_draws)
    frequency = np.bincount(drawn, minlength=len(blocks)) / n_draws
    assert (np.abs(frequency - share) <= 4 * errors).all()


def test_an_inexact_oracle_is_remembered_from_batches_as_well():
    """It forgets the loss for a while: no later certificate can show it."""

    class WrongAtFirst(Labels):
        calls = 0

        def augmented_decode(self, x, y, w):
            self.calls += 1
            return self.decode(x, w) if 9 < self.calls < 43 else super().augmented_decode(x, y, w)

    for batch_size in (1, 4):
        problem = bw.Problem(WrongAtFirst(3, 4), *multiclass_data())
        method = bw.BCFW(batch_size=batch_size)
        result = bw.solve(problem, 0.1, method, tol=0.05, random_state=0)
        assert result.status is bw.Status.INEXACT_ORACLE
        assert not result.certificate.exact


# -- processes -----------------------------------------------------------------------------------


# Classes made in a function travel to processes by value, like those of a script: processes
# need not be able to import this module.


def counting_task():
    """A task that counts the calls made in the process at hand."""

    class Counting(Labels):
        calls_here = 0

        def augmented_decode(self, x, y, w):
            Counting.calls_here += 1
            return super().augmented_decode(x, y, w)

    return Counting(3, 4)


def growing_task():
    """Later examples have larger corners than the first few, which are probed."""

    class Growing:
        n_features = 19
        calls_here = 0

        def features(self, x, y):
            return np.arange(1 + y * x), np.ones(1 + y * x)

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def decode(self, x, w):
            return int(np.argmax([w[: 1 + y * x].sum() for y in range(3)]))

        def augmented_decode(self, x, y, w):
            Growing.calls_here += 1
            return int(np.argmax([float(h != y) + w[: 1 + h * x].sum() for h in range(3)]))

    return Growing()


def failing_task():
    """Fails in any other process than this one."""

    class Failing(Labels):
        home = os.getpid()

        def augmented_decode(self, x, y, w):
            if os.getpid() != self.home:
                raise ArithmeticError("no answer for this one")
            return super().augmented_decode(x, y, w)

    return Failing(3, 4)


@pytest.fixture
def python_problem():
    return bw.Problem(counting_task(), *multiclass_data())


def test_processes_give_the_answers_that_one_gives(python_problem):
    """All of certificates, kept corners and parts of a pass, from the same three processes."""
    problem, blocks = python_problem, python_problem.blocks
    Counting = type(problem.task)
    with Workers(blocks, 3) as workers:
        for passes in (0, 1, 5):
            state = bw.solve(problem, LAM, "bcfw", 0.0, max_passes=passes, random_state=0).state
            store, own = state.store(), blocks.own()
            alone = bw.certify(problem, state, LAM)
            Counting.calls_here = 0
            together = examine(blocks, store, LAM, *own, workers=workers)[0]
            assert Counting.calls_here == 0
            assert_same_certificate(together, alone)
            order = np.array([7, 2, 11])
            few = [
                sweep(blocks, store, state.v / LAM, *own, order=order, keep=True, workers=w)
                for w in (workers, None)
            ]
            for ours, theirs in zip(few[0].answers, few[1].answers, strict=True):
                np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["chain-dense", "python"])
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_a_long_v_is_whole_whoever_adds_it_up(problems, python_problem, name, n_jobs, monkeypatch):
    """Threads add up some columns each; processes leave all of them to the one that asks."""
    problem = python_problem if name == "python" else problems[name]
    state = bw.solve(problem, LAM, "bcfw", 0.0, max_passes=2, random_state=0).state
    monkeypatch.setattr("blockwolfe.problem.state.ROOM", 10)
    v = rebuild_v(problem.blocks, state.store())
    np.testing.assert_allclose(v, state.v, atol=1e-12)
    with Workers(problem.blocks, n_jobs) as workers:
        np.testing.assert_array_equal(rebuild_v(problem.blocks, state.store(), workers), v)


def test_a_run_in_processes_is_the_run_in_one(python_problem):
    method = bw.BCFW(bw.GapSampling(), bw.Pairwise(), batch_size=4)
    options = {"tol": 1e-2, "random_state": 0}
    alone = bw.solve(python_problem, LAM, method, **options)
    type(python_problem.task).calls_here = 0
    together = bw.solve(python_problem, LAM, method, n_jobs=2, **options)
    probes = 9  # three examples at three w
    assert together.is_certified
    assert_same_run(together, alone)
    assert type(python_problem.task).calls_here == probes


def test_a_corner_that_outgrows_its_room_keeps_the_other_answers():
    """Answers known beforehand are not asked for again."""
    task = growing_task()
    problem = bw.Problem(task, np.arange(10), [0] * 10)
    blocks, state = problem.blocks, problem.initial_state()
    w, order = rebuild_v(blocks, state.store()) / LAM, np.arange(10)
    scratch = blocks.scratch()
    scratch.put_answers(blocks.data.method, w, order, [blocks.data.ask(i, w) for i in order])
    type(task).calls_here = 0
    prepared = examine(blocks, state.store(), LAM, blocks.sweep_work(), scratch)[0]
    assert type(task).calls_here == 0
    fresh = bw.Problem(growing_task(), np.arange(10), [0] * 10)
    assert_same_certificate(prepared, bw.certify(fresh, state, LAM))


def test_an_error_in_a_process_comes_back():
    problem = bw.Problem(failing_task(), *multiclass_data())
    with pytest.raises(ArithmeticError, match="no answer for this one"):
        bw.solve(problem, LAM, tol=1e-2, n_jobs=2)
    assert bw.solve(problem, LAM, tol=1e-2).is_certified  # the problem is as it was


# -- options -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [0, 1.0, 2.5, "2", True, (2,)])
def test_bad_n_jobs(problems, n_jobs):
    for call in (
        lambda: bw.certify(problems["toy-jitted"], None, LAM, n_jobs=n_jobs),
        lambda: bw.solve(problems["toy-jitted"], LAM, n_jobs=n_jobs),
        lambda: bw.StructuredSVM(n_jobs=n_jobs).fit(*multiclass_data()),
    ):
        with pytest.raises(bw.OptionError, match="n_jobs=.* integer"):
            call()


def test_n_jobs_counts_from_the_end_below_zero():
    every = check_n_jobs(-1)
    assert every >= 1
    assert check_n_jobs(-2) == max(1, every - 1)
    assert check_n_jobs(-1000) == 1
    assert check_n_jobs(None) == 1
    assert check_n_jobs(np.int64(3)) == 3


@pytest.mark.parametrize("batch_size", [0, -1, 2.0, True, "all"])
def test_bad_batch_size(batch_size):
    with pytest.raises(bw.OptionError, match="^batch_size="):
        bw.BCFW(batch_size=batch_size)


INTERRUPTED = """
import sys
sys.path.insert(0, sys.argv[2])
import blockwolfe as bw
from plain_tasks import Labels
from zoo import chain_data, multiclass_data

if __name__ == "__main__":
    if sys.argv[1] == "threads":
        problem = bw.Problem(bw.tasks.Chain(3), *chain_data(n=400, longest=30))
    else:
        problem = bw.Problem(Labels(3, 4), *multiclass_data(n=60))
    say = lambda event: print("pass", event.row.passes, flush=True)
    method = bw.BCFW(certify_every=1)
    options = {"tol": 0.0, "random_state": 0, "n_jobs": 2, "callbacks": say}
    result = bw.solve(problem, 1e-4, method, **options)
    fresh = bw.certify(problem, result.state, 1e-4, w=result.w)
    again = bw.solve(problem, 1e-4, method, start=result.last_state, max_passes=3, **options)
    is_same = abs(fresh.gap - result.certificate.gap) <= 1e-9
    grows = again.certificate.dual >= result.certificate.dual - 1e-12
    print("END", result.status.name, is_same, grows, flush=True)
"""


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_interrupted_workers_leave_a_sound_run(kind, tmp_path):
    """Ctrl-C at some moment of a full pass: a certificate, and a state to go on from."""
    script = tmp_path / "run.py"
    script.write_text(INTERRUPTED)
    with subprocess.Popen(
        [sys.executable, str(script), kind, str(Path(__file__).parent.parent)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        is_sent = False
        for line in process.stdout:
            if not is_sent and line == "pass 3\n":
                time.sleep(0.05)
                process.send_signal(signal.SIGINT)
                is_sent = True
            if line.startswith("END"):
                break
        assert line.split() == ["END", "INTERRUPTED", "True", "True"]
        assert process.wait(60) == 0
