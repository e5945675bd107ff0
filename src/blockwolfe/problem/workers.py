"""Oracle calls of many blocks at one w, on several cores of one machine.

Compiled tasks run in threads (compiled code holds no GIL), each with scratch of its own.
Python tasks run in processes that hold the task and its data; their answers are put into the
scratch of whoever asks, where the oracle looks first. Either way every block gets the very answer
it would get alone, so the number of workers never changes a certificate.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np
from joblib import cpu_count
from joblib.externals.loky import ProcessPoolExecutor

from blockwolfe.base.checks import is_integer
from blockwolfe.errors import OptionError
from blockwolfe.problem.blocks import Blocks, SweepWork
from blockwolfe.problem.pace import SLICE_SECONDS, Pace
from blockwolfe.problem.python_task import PythonOracle

__all__ = ["Workers", "check_n_jobs", "cut"]

Span = tuple[int, int]

# Pieces per process: some, to even out unequal blocks. A thread gets one: each is a call from
# Python, for which threads wait for each other (1.6 times faster with two pieces, 1.75 with one).
PIECES = 2
# Aim of one slice of calls in processes: each is sent w anew.
PROCESS_SECONDS = 1.0


def check_n_jobs(n_jobs: Any) -> int:
    """The number of workers; None is one, -1 all cores."""
    if n_jobs is None:
        return 1
    if not is_integer(n_jobs) or n_jobs == 0:
        raise OptionError(f"n_jobs={n_jobs!r} must be an integer >= 1, -1 for all cores, or None.")
    return int(n_jobs) if n_jobs > 0 else max(1, cpu_count() + 1 + int(n_jobs))


class Workers:
    """Some workers on one set of blocks; a context manager that ends them."""

    def __init__(self, blocks: Blocks, n_jobs: int) -> None:
        self.blocks, self.n_jobs = blocks, n_jobs
        self.has_threads = blocks.is_compiled and n_jobs > 1
        self._has_processes = isinstance(blocks.data, PythonOracle) and n_jobs > 1
        seconds = PROCESS_SECONDS if self._has_processes else SLICE_SECONDS
        self.pace = Pace(n_jobs, seconds)  # of sweeps over the blocks
        self._executor: Executor | None = None
        self._own: list[tuple[SweepWork, Any]] = []  # of each thread

    def __enter__(self) -> Workers:
        if self.has_threads:
            self._executor = ThreadPoolExecutor(self.n_jobs - 1)
            blocks, jobs = self.blocks, range(self.n_jobs)
            self._own = [blocks.own() for _ in jobs]
        elif self._has_processes:
            received = (self.blocks.data,)
            self._executor = ProcessPoolExecutor(
                self.n_jobs, initializer=_receive, initargs=received, env=_ONE_THREAD_EACH
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True)

    def map(self, fill: Callable[[Span, SweepWork, Any], Any], spans: list[Span]) -> list[Any]:
        """`fill(span, work, scratch)` of every span: in threads, this one among them."""
        assert self._executor is not None
        results: list[Any] = [None] * len(spans)
        waiting = iter(list(enumerate(spans)))

        def take(mine: tuple[SweepWork, Any]) -> None:
            for k, span in waiting:  # (one iterator for all threads: each span is taken once)
                results[k] = fill(span, *mine)

        futures = [self._executor.submit(take, mine) for mine in self._own[1:]]
        try:
            take(self._own[0])
            for future in futures:
                future.result()
        finally:
            wait(futures)  # after Ctrl-C too: their scratch is handed out again
        return results

    def run(self, span: Span, fill: Callable[[Span, SweepWork, Any], int]) -> int:
        """`fill` over the positions of a span, in threads.

        Returns the first position at which one of them stopped early, or the end.
        """
        begin, end = span
        spans = [(begin + a, begin + b) for a, b in cut(end - begin, self.n_jobs)]
        stops = self.map(fill, spans)
        early = [at for at, part in zip(stops, spans, strict=True) if at < part[1]]
        return min(early, default=end)

    def prefetch(self, order: np.ndarray, w: np.ndarray, scratch: Any) -> None:
        """Let processes answer for the blocks of `order` at w; `scratch` remembers the answers."""
        if not self._has_processes or self._executor is None or not len(order):
            return
        pieces = [order[a:b] for a, b in cut(len(order), PIECES * self.n_jobs)]
        try:
            answers = list(self._executor.map(_answer, [w] * len(pieces), pieces))
        except BrokenProcessPool:  # a worker was killed: go on alone
            self._has_processes = False
            return
        scratch.put_answers(w, order, [a for piece in answers for a in piece])


def cut(n: int, n_pieces: int) -> list[Span]:
    """0..n in at most so many pieces of nearly equal length."""
    cuts = np.linspace(0, n, min(n, n_pieces) + 1).astype(int)
    return [(int(a), int(b)) for a, b in itertools.pairwise(cuts)]


_ONE_THREAD_EACH = {
    name: os.environ.get(name, "1")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
}
_received: list[PythonOracle] = []


def _receive(oracle: PythonOracle) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    _received[:] = [oracle]


def _answer(w: np.ndarray, order: np.ndarray) -> list[Any]:
    """In a worker process: the outputs of some blocks."""
    w = w.copy()
    w.flags.writeable = False
    return [_received[0].ask(int(i), w) for i in order]
