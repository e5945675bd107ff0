"""Tasks in worker processes: longest first, until all are done or the time is over."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable, Iterable
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple
from unittest import mock

__all__ = ["Ending", "Task", "work_through"]

ONE_THREAD = dict.fromkeys(
    ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
SPARE = 1.15  # what a task may take, over what it is said to
LOADING = 4.0  # seconds to read the data and the compiled code
LONGEST_WAIT = 1e6  # seconds: there may be no limit


class Task(NamedTuple):
    """A piece of work: picklable, and independent of all others but the one it waits for."""

    name: str
    work: Callable[[], Any]
    seconds: float  # that it takes at most
    after: str = ""  # name of a task that has to end first

    @property
    def needed(self) -> float:
        """Seconds that must be left for it to begin."""
        return SPARE * self.seconds + LOADING


class Ending(NamedTuple):
    """How a task ended: why it failed, or nothing; None where its time was over."""

    name: str
    seconds: float
    trouble: str | None = ""


class _Worker:
    """A process that makes one task after the other."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with mock.patch.dict(os.environ, ONE_THREAD):
            self._process.start()
        theirs.close()
        self.task: Task | None = None

    def begin(self, task: Task) -> None:
        self.task, self._began = task, time.perf_counter()
        self.connection.send(task.work)

    def ended(self, is_late: bool = False) -> Ending:
        """What became of its task; a worker that died has failed."""
        assert self.task is not None
        try:
            trouble = None if is_late else self.connection.recv()
        except EOFError:
            self._process.join()
            trouble = f"its process died (exit code {self._process.exitcode})"
            self.stop()
        found = Ending(self.task.name, time.perf_counter() - self._began, trouble)
        self.task = None
        return found

    @property
    def is_gone(self) -> bool:
        """Whether it has to be replaced."""
        return self.connection.closed

    def stop(self) -> None:
        """At once, whatever it does."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection) -> None:
    """Answer each task with what went wrong; Ctrl-C is for the process that asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            work = connection.recv()
        except EOFError:
            return
        try:
            work()
            trouble = ""
        except Exception:
            trouble = traceback.format_exc()
        connection.send(trouble)


def work_through(
    tasks: Iterable[Task], jobs: int, limit: float, told: Callable[[Ending], None]
) -> list[Task]:
    """Carry out tasks in so many processes; those for which there was no time are returned.

    No task begins that would not end within `limit` seconds, and what is not ready by then is
    stopped. What fails stops nothing else.
    """
    end = time.perf_counter() + limit
    waiting = sorted(tasks, key=lambda task: -task.seconds)
    workers: list[_Worker] = []
    try:
        while True:
            left = max(0.0, end - time.perf_counter())
            _begin_what_fits(waiting, workers, jobs, left)
            busy = [worker for worker in workers if worker.task is not None]
            if not busy:
                return waiting
            ready = wait([worker.connection for worker in busy], min(left, LONGEST_WAIT))
            is_late = not ready and left <= LONGEST_WAIT
            for worker in busy:
                if is_late or worker.connection in ready:
                    told(worker.ended(is_late))
            if is_late:
                return waiting
            workers = [worker for worker in workers if not worker.is_gone]
    finally:
        for worker in workers:
            worker.stop()


def _begin_what_fits(waiting: list[Task], workers: list[_Worker], jobs: int, left: float) -> None:
    """As many tasks as there are free workers, the longest first, each in the time that is left."""
    names = {task.name for task in waiting}
    names |= {worker.task.name for worker in workers if worker.task is not None}
    free = [worker for worker in workers if worker.task is None]
    for task in waiting.copy():
        if not free and len(workers) == jobs:
            return
        if task.after not in names and task.needed <= left:
            if not free:
                free.append(_Worker())
                workers.append(free[0])
            waiting.remove(task)
            free.pop().begin(task)
