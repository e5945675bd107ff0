"""Threads that do one thing together, and then wait for the next.

A full pass takes a millisecond on many cores: starting threads, or handing work over by futures,
would take as long. Threads that are not needed any more are kept for whoever asks next.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock, Thread
from typing import Any

from blockwolfe.base.compiled import uninterrupted

__all__ = ["Crew"]


class _Member:
    """One thread, which waits at a lock."""

    def __init__(self) -> None:
        self._go, self._over = Lock(), Lock()
        self._go.acquire()
        self._over.acquire()
        self._work: Callable[[], Any] | None = None
        self._error: BaseException | None = None
        Thread(target=self._serve, name="blockwolfe", daemon=True).start()

    def begin(self, work: Callable[[], Any]) -> None:
        """Have it done."""
        self._work = work
        self._go.release()

    def wait(self) -> BaseException | None:
        """Until it is; the error that it ended with, if any."""
        self._over.acquire()
        error, self._error = self._error, None
        return error

    def _serve(self) -> None:
        while True:
            self._go.acquire()
            try:
                assert self._work is not None
                self._work()
            except BaseException as error:
                self._error = error
            self._work = None  # (and all that it holds)
            self._over.release()


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

    def run(self, work: Callable[[int], Any]) -> list[Any]:
        """work(0), work(1), ...: one each, the first in this thread; all are done in the end.

        Errors are raised after that, and Ctrl-C is heard: scratch is handed out again.
        """
        results: list[Any] = [None] * (len(self._members) + 1)

        def one(k: int) -> None:
            results[k] = work(k)

        with uninterrupted():
            for k, member in enumerate(self._members, 1):
                member.begin(lambda k=k: one(k))  # type: ignore[misc]
            try:
                one(0)
            finally:
                errors = [member.wait() for member in self._members]
        for error in errors:
            if error is not None:
                raise error
        return results

    def end(self) -> None:
        """Let the threads go."""
        _idle.extend(self._members)
        self._members = []
