"""Worker processes that hang, die or cannot be talked to: said, replaced, and never left behind."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

import blockwolfe as bw
from blockwolfe.base.pace import OutOfTimeError
from blockwolfe.errors import WorkerWarning
from blockwolfe.problem.processes import Processes, dumps
from plain_tasks import Labels
from zoo import multiclass_data

LAM = 0.05
LONG = 180.0  # seconds: for whatever should happen at once, on a machine that is busy


def workers_of(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        children = psutil.Process(process).children(recursive=True)
        return [child for child in children if "popen_loky" in " ".join(child.cmdline())]
    return []


@pytest.fixture(autouse=True)
def _no_orphans():
    yield
    assert workers_of(os.getpid()) == []


# Classes made in a function travel to processes by value, like those of a script.


def task_that(does):
    """Labels, whose oracle first does something, in any other process than this one."""

    class Doing(Labels):
        home = os.getpid()

        def augmented_decode(self, x, y, w):
            if os.getpid() != self.home:
                does(x, y)
            return super().augmented_decode(x, y, w)

    return Doing(3, 4)


def problem_that(does):
    return bw.Problem(task_that(does), *multiclass_data())


def certified(problem, n_jobs):
    certificate = bw.certify(problem, problem.initial_state(), LAM, n_jobs=n_jobs)
    return certificate.primal, certificate.gap, certificate.block_gaps.tolist()


# -- workers that are lost -------------------------------------------------------------------------


def exit_by_sys():
    sys.exit(3)


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("end", "words"), [(exit_by_sys, "exited with 3"), (killed, "was killed by SIGKILL")]
)
def test_a_lost_worker_is_named_and_replaced(end, words, tmp_path):
    first = str(tmp_path / "first")
    end = end.__code__  # (a function of this module could not be imported by a worker)

    def once(x, y):
        with contextlib.suppress(FileExistsError):
            os.close(os.open(first, os.O_CREAT | os.O_EXCL))
            exec(end, {"os": os, "sys": sys, "signal": signal})

    problem = problem_that(once)
    with pytest.warns(WorkerWarning) as caught:
        together = certified(problem, n_jobs=2)
    assert [words in str(warning.message) for warning in caught] == [True]
    assert "in the oracle of example" in str(caught[0].message)
    assert "another takes its place" in str(caught[0].message)
    assert together == certified(problem, n_jobs=1)


def test_after_a_second_loss_the_run_goes_on_alone():
    problem = problem_that(lambda x, y: os._exit(1))
    with pytest.warns(WorkerWarning) as caught:
        together = certified(problem, n_jobs=2)
    endings = [str(warning.message).split(" ", 1)[1][-40:] for warning in caught]
    assert len(endings) == 2
    assert endings[0].endswith("another takes its place.")
    assert endings[1].endswith("the run goes on with one process.")
    assert together == certified(problem, n_jobs=1)


def test_workers_that_are_killed_while_they_listen_are_missed():
    problem = problem_that(lambda x, y: None)
    order, w = np.arange(12), np.zeros(12)
    processes = Processes(problem.blocks.data, 2)
    try:
        before = processes.answers(order, w, lambda: None)
        for worker in workers_of(os.getpid()):
            worker.kill()
            while worker.status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.01)
        with pytest.warns(WorkerWarning, match="killed by SIGKILL while it had no work"):
            after = processes.answers(order, w, lambda: None)
        alone = {i: problem.blocks.data.ask(i, w) for i in order}
        assert before == alone
        assert after.items() <= alone.items()  # (of both that were lost only one is replaced)
    finally:
        processes.end()


def test_a_daemonic_process_does_without(monkeypatch):
    problem = problem_that(lambda x, y: os._exit(1))
    here = SimpleNamespace(daemon=True)
    monkeypatch.setattr(multiprocessing, "current_process", lambda: here)
    with pytest.warns(WorkerWarning, match="n_jobs is taken as 1"):
        assert certified(problem, n_jobs=2) == certified(problem, n_jobs=1)


# -- what cannot be sent ---------------------------------------------------------------------------


def test_a_task_that_cannot_be_sent_is_refused_before_any_call():
    class Held(Labels):
        calls = 0

        def __init__(self, *args):
            super().__init__(*args)
            self.lock = threading.Lock()

        def augmented_decode(self, x, y, w):
            Held.calls += 1
            return super().augmented_decode(x, y, w)

    problem = bw.Problem(Held(3, 4), *multiclass_data())
    with pytest.raises(bw.InputError, match="cannot be sent to worker processes.*lock.*n_jobs=1"):
        bw.solve(problem, LAM, n_jobs=2)
    assert Held.calls == 0


def test_a_task_that_cannot_be_read_by_a_worker_is_refused():
    class Stuck(Labels):
        def __reduce__(self):
            return __import__, ("no_module_of_this_name",)

    problem = bw.Problem(Stuck(3, 4), *multiclass_data())
    with pytest.raises(bw.InputError, match="no_module_of_this_name.*n_jobs=1"):
        bw.solve(problem, LAM, n_jobs=2)


def test_an_output_that_cannot_be_sent_back_is_refused():
    class Odd(int):
        def __reduce__(self):
            raise TypeError("this output stays here")

    class Keeping(Labels):
        def augmented_decode(self, x, y, w):
            return Odd(super().augmented_decode(x, y, w))

    problem = bw.Problem(Keeping(3, 4), *multiclass_data())
    with pytest.raises(
        bw.InputError, match="output of the oracle .* this output stays here.*n_job"
    ):
        certified(problem, n_jobs=2)


def test_errors_come_back_with_their_notes():
    def fail(x, y):
        raise FileNotFoundError(2, "of the user's own")  # (no loss of the worker, as for a pipe)

    with pytest.raises(FileNotFoundError, match="of the user's own") as caught:
        certified(problem_that(fail), n_jobs=2)
    where, traceback = caught.value.__notes__
    assert where.startswith("It was raised by Doing.augmented_decode() for example ")
    assert traceback.startswith("It was raised in a worker process:\nTraceback")
    assert "in fail" in traceback


def test_errors_that_cannot_be_sent_are_described():
    class OddError(Exception):
        def __init__(self, one, two):
            super().__init__(f"{one} of {two}")

    def fail(x, y):
        raise OddError("one", "a kind")

    with pytest.raises(
        bw.OracleError, match=r"(?s)worker process.*in fail.*OddError: one of a kind"
    ):
        certified(problem_that(fail), n_jobs=2)


# -- giving up -------------------------------------------------------------------------------------


def test_what_was_given_up_is_not_taken_for_an_answer(tmp_path):
    """Workers go on with the old request; their late answers are of another w."""
    gate = str(tmp_path / "gate")

    def wait(x, y):
        while not os.path.exists(gate):
            time.sleep(0.01)

    problem = problem_that(wait)
    order, rng = np.arange(12), np.random.default_rng(0)
    processes = Processes(problem.blocks.data, 2)

    def give_up():
        if all(worker.piece for worker in processes._workers):
            raise OutOfTimeError

    try:
        for w in rng.normal(size=(2, 12)):
            with pytest.raises(OutOfTimeError):
                processes.answers(order, w, give_up)
        Path(gate).touch()
        for w in rng.normal(size=(3, 12)):
            found = processes.answers(order, w, lambda: None)
            assert found == {i: problem.blocks.data.ask(i, w) for i in order}
    finally:
        processes.end()


def test_weights_that_change_in_place_are_sent_again():
    problem = problem_that(lambda x, y: None)
    processes, order, w = Processes(problem.blocks.data, 2), np.arange(12), np.zeros(12)
    try:
        for change in np.random.default_rng(0).normal(size=(4, 12)):
            w += change
            found = processes.answers(order, w, lambda: None)
            assert found == {i: problem.blocks.data.ask(i, w) for i in order}
    finally:
        processes.end()


def test_an_interrupt_while_weights_are_sent_leaves_no_old_ones(monkeypatch):
    """Else a worker would answer at an old w, and be taken at its word in a certificate."""
    problem = problem_that(lambda x, y: None)
    processes, order = Processes(problem.blocks.data, 2), np.arange(12)
    rng = np.random.default_rng(0)

    def interrupted_at(message):
        left = iter([False] * message + [True])

        def packed(request):
            if next(left, False):
                os.kill(os.getpid(), signal.SIGINT)
            return dumps(request)

        return packed

    try:
        for message in range(3):
            first, second = rng.normal(size=(2, 12))
            processes.answers(order, first, lambda: None)
            with monkeypatch.context() as patch:
                patch.setattr("blockwolfe.problem.processes.dumps", interrupted_at(message))
                with pytest.raises(KeyboardInterrupt):
                    processes.answers(order, second, lambda: None)
            found = processes.answers(order, second, lambda: None)
            assert found == {i: problem.blocks.data.ask(i, second) for i in order}
    finally:
        processes.end()


HUNG = """
import contextlib, ctypes, os, subprocess, sys, time
folder, limit, tests = sys.argv[1:4]
sys.path.insert(0, tests)
import blockwolfe as bw
from blockwolfe.running.clock import Clock
from plain_tasks import Labels
from zoo import multiclass_data

class Hanging(Labels):
    home = os.getpid()

    def augmented_decode(self, x, y, w):
        if os.getpid() != self.home:
            own = subprocess.Popen(["sleep", "1000"])  # some solver of its own
            for pid in (os.getpid(), own.pid):
                open(os.path.join(folder, str(pid)), "w").close()
            with contextlib.suppress(FileExistsError):  # (one hangs in C, the other in Python)
                os.mkdir(folder + "-in-C")
                ctypes.PyDLL(None).pause()  # never lets go of the interpreter
            while True:
                time.sleep(1)
        return super().augmented_decode(x, y, w)

problem = bw.Problem(Hanging(3, 4), *multiclass_data())
Clock.__call__ = lambda self: 1000.0 if len(os.listdir(folder)) == 4 else 0.0  # once both hang
result = bw.solve(problem, 0.05, "bcfw", n_jobs=2, time_limit=float(limit))
print(result.status.name, result.certificate.gap, flush=True)
"""


@contextlib.contextmanager
def hung_run(folder, limit="inf"):
    """A run in which both workers hang, one in C, each with a process of its own."""
    script = folder / "run.py"
    script.write_text(HUNG)
    marks = folder / "marks"
    marks.mkdir()
    arguments = [str(script), str(marks), limit, str(Path(__file__).parent.parent)]
    run = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until = time.monotonic() + LONG
        while len(list(marks.iterdir())) < 4 and time.monotonic() < until:
            if run.poll() is not None:
                break
            time.sleep(0.05)
        assert (folder / "marks-in-C").is_dir()
        yield run, [int(mark.name) for mark in marks.iterdir()]
    finally:
        run.kill()
        run.communicate()


def assert_all_end(pids):
    until = time.monotonic() + LONG
    while any(psutil.pid_exists(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.05)
    left = [pid for pid in pids if psutil.pid_exists(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def test_a_time_limit_ends_a_run_whose_workers_hang(tmp_path):
    with hung_run(tmp_path, limit="10") as (run, pids):
        out, err = run.communicate(timeout=LONG)
        assert out.split() == ["TIME_LIMIT", "nan"], err
        assert len(pids) == 4
        assert_all_end(pids)


def test_one_interrupt_ends_a_run_whose_workers_hang(tmp_path):
    with hung_run(tmp_path) as (run, pids):
        assert len(pids) == 4
        run.send_signal(signal.SIGINT)
        assert run.stderr.readline().startswith("blockwolfe: interrupted")
        out, err = run.communicate(timeout=LONG)
        assert out.split() == ["INTERRUPTED", "nan"], err
        assert_all_end(pids)


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    with hung_run(tmp_path) as (run, pids):
        assert len(pids) == 4
        run.kill()
        run.wait(LONG)
        assert_all_end(pids)


def test_workers_that_the_kernel_does_not_watch_for_end_as_well(tmp_path):
    """Where there is no signal for a closed pipe, a thread waits for that."""
    code = """
import multiprocessing, os, subprocess, sys, time
from blockwolfe.problem import serving
lifeline, other = multiprocessing.Pipe(duplex=False)
if os.fork():
    lifeline.close()
    while len(os.listdir(sys.argv[1])) < 2:
        time.sleep(0.05)
    os._exit(0)
other.close()
sys.platform = "another"
serving.end_with(lifeline)
own = subprocess.Popen(["sleep", "1000"])
for pid in (os.getpid(), own.pid):
    open(os.path.join(sys.argv[1], str(pid)), "w").close()
time.sleep(1000)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=LONG, check=True)
    pids = [int(mark.name) for mark in tmp_path.iterdir()]
    assert len(pids) == 2
    assert_all_end(pids)


def test_runs_that_end_leave_no_warning(tmp_path):
    problem = problem_that(lambda x, y: None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert certified(problem, n_jobs=2) == certified(problem, n_jobs=1)
