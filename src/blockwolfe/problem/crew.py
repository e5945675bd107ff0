"""Threads that do one thing together, and then wait for the next.

A full pass takes a millisecond on many cores: starting threads, or handing work over by futures,
would take as long. Threads that are not needed any more are kept for whoever asks next.

Handlers of signals (timeouts, `sys.exit` at SIGTERM) raise wherever the main thread is, between any
two of its instructions. So all that it does here can be done twice: a job that is handed out again
is not done again, and one that is waited for again has ended.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from blockwolfe.base.compiled import uninterrupted

__all__ = ["Crew"]


class _Job:
    """Work for one thread."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work: Callable[[], Any] | None = work
        self._taken, self._over = Lock(), Lock()
        self._over.acquire()
        self._is_done = False
        self.error: BaseException | None = None

    def do(self) -> None:
        """Do it, whatever it raises; nothing where it was begun before."""
        if not self._taken.acquire(blocking=False):
            return
        try:
            assert self._work is not None
            self._work()
        except BaseException as error:
            self.error = error
        self._work = None  # (and all that it holds)
        self._is_done = True
        self._over.release()

    def wait(self) -> None:
        """Until it is done."""
        while not self._is_done:
            self._over.acquire(timeout=1.0)


class _Member:
    """A thread, which does what it is given."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self.give = self._jobs.put
        Thread(target=self._serve, name="blockwolfe", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._jobs.get().do()


_idle: list[_Member] = []
if hasattr(os, "register_at_fork"):  # (a forked process has none of them)
    os.register_at_fork(after_in_child=_idle.clear)


def _take() -> _Member:
    """An idle thread, or a new one."""
    try:  # (and not a look first: other threads may take the last one in between)
        return _idle.pop()
    except IndexError:
        return _Member()


class Crew:
    """So many threads, the one that asks among them.

    >>> crew = Crew(3)
    >>> sorted(crew.run(lambda k: 10 * k))
    [0, 10, 20]
    >>> crew.end()
    """

    def __init__(self, n_threads: int) -> None:
        self._members = [_take() for _ in range(n_threads - 1)]
        self._process = os.getpid()

    def run(self, work: Callable[[int], Any]) -> list[Any]:
        """work(0), work(1), ...: one each, the first in this thread; all are done in the end.

        Errors are raised after that, and Ctrl-C is heard: scratch is handed out again.
        """
        results: list[Any] = [None] * (len(self._members) + 1)

        def one(k: int) -> None:
            results[k] = work(k)

        jobs = [_Job(lambda k=k: one(k)) for k in range(1, len(results))]  # type: ignore[misc]
        with uninterrupted():
            errors = _until_done(lambda: self._hand_out(jobs))
            errors += _tried(lambda: one(0))
            for job in jobs:
                errors += _until_done(job.wait)
        for error in [*errors, *(job.error for job in jobs)]:
            if error is not None:
                raise error
        return results

    def _hand_out(self, jobs: list[_Job]) -> None:
        if self._process != os.getpid():  # (forked: its threads are not here)
            self._members = [_Member() for _ in self._members]
            self._process = os.getpid()
        for member, job in zip(self._members, jobs, strict=True):
            member.give(job)

    def end(self) -> None:
        """Let the threads go."""
        members, self._members = self._members, []
        if self._process == os.getpid():
            _idle.extend(members)


def _tried(work: Callable[[], Any]) -> list[BaseException]:
    """Do it; what it raised, if anything."""
    try:
        work()
    except BaseException as error:
        return [error]
    return []


def _until_done(work: Callable[[], Any]) -> list[BaseException]:
    """Do it again until nothing is raised; all that was."""
    errors: list[BaseException] = []
    while new := _tried(work):
        errors += new
    return errors
