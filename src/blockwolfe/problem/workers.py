"""Oracle calls of many blocks at one w, on several cores of one machine.

Compiled tasks run in threads (compiled code holds no GIL), each with scratch of its own.
Python tasks run in processes that hold the task and its data; their answers are put into the
scratch of whoever asks, where the oracle looks first. Either way every block gets the very answer
it would get alone, so the number of workers never changes a certificate.
"""

from __future__ import annotations

import itertools
import multiprocessing
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from joblib import cpu_count

from blockwolfe.base.checks import is_integer
from blockwolfe.base.pace import SLICE_SECONDS, Pace
from blockwolfe.errors import OptionError, WorkerWarning
from blockwolfe.problem.blocks import Blocks, SweepWork
from blockwolfe.problem.processes import Processes
from blockwolfe.problem.python_task import PythonOracle

__all__ = ["Workers", "check_n_jobs", "cut"]

Span = tuple[int, int]

# Aim of one slice of calls in processes, which look at the clock themselves.
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
        self._executor: ThreadPoolExecutor | None = None
        self._processes: Processes | None = None
        self._own: list[tuple[SweepWork, Any]] = []  # of each thread

    def __enter__(self) -> Workers:
        if self.has_threads:
            self._executor = ThreadPoolExecutor(self.n_jobs - 1)
            blocks, jobs = self.blocks, range(self.n_jobs)
            self._own = [blocks.own() for _ in jobs]
        elif self._has_processes and _may_start():
            self._processes = Processes(self.blocks.data, self.n_jobs)
        return self

    def __exit__(self, *_: object) -> None:
        self.pace.look_up = lambda: None  # (whose it is goes at once, with all that it holds)
        if self._executor is not None:
            self._executor.shutdown(wait=True)
        if self._processes is not None:
            self._processes.end()

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
        """`fill` over the positions of a span, in threads, a piece each.

        (A piece is a call from Python, for which threads wait for each other: two cores are 1.6
        times faster with two pieces each, and 1.75 times with one.)

        Returns the first position at which one of them stopped early, or the end.
        """
        begin, end = span
        spans = [(begin + a, begin + b) for a, b in cut(end - begin, self.n_jobs)]
        stops = self.map(fill, spans)
        early = [at for at, part in zip(stops, spans, strict=True) if at < part[1]]
        return min(early, default=end)

    def prefetch(self, blocks: Blocks, order: np.ndarray, w: np.ndarray, scratch: Any) -> None:
        """Let processes answer for the blocks of `order` at w; `scratch` remembers the answers.

        `blocks` are those that the workers were made for, or the same as visits see them.
        """
        if self._processes is not None:
            is_rough = blocks.oracles is blocks.rough
            answers = self._processes.answers(order, w, self.pace.look_up, is_rough)
            method = (blocks.data.rough if is_rough else blocks.data).method
            scratch.put_answers(method, w, answers.keys(), answers.values())


def cut(n: int, n_pieces: int) -> list[Span]:
    """0..n in at most so many pieces of nearly equal length."""
    cuts = np.linspace(0, n, min(n, n_pieces) + 1).astype(int)
    return [(int(a), int(b)) for a, b in itertools.pairwise(cuts)]


def _may_start() -> bool:
    """Whether this process may have children: those of `multiprocessing.Pool` may not."""
    is_daemon = multiprocessing.current_process().daemon
    if is_daemon:
        text = "n_jobs is taken as 1: a daemonic process may not start worker processes."
        warnings.warn(text, WorkerWarning, stacklevel=2)
    return not is_daemon
