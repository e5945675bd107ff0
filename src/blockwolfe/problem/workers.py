"""Oracle calls of many blocks at one w, on several cores of one machine.

Compiled tasks run in threads (compiled code holds no GIL), each with scratch of its own. They take
pieces of the work one after another, inside compiled code (`base/claims.py`).
Python tasks run in processes that hold the task and its data; their answers are put into the
scratch of whoever asks, where the oracle looks first. Either way every block gets the very answer
it would get alone, so the number of workers never changes a certificate.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import cpu_count

from blockwolfe.base.checks import is_integer
from blockwolfe.base.claims import Pieces
from blockwolfe.base.pace import SLICE_SECONDS, Pace
from blockwolfe.base.packed import Packed
from blockwolfe.errors import OptionError, WorkerWarning
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.crew import Crew
from blockwolfe.problem.processes import Processes
from blockwolfe.problem.python_task import PythonOracle

__all__ = ["Workers", "check_n_jobs", "each", "shared_out"]

Span = tuple[int, int]

# Aim of one slice of calls in processes, which look at the clock themselves.
PROCESS_SECONDS = 1.0
# Pieces of a span for every thread: the last ones are waited for, and each costs next to nothing.
PIECES = 32


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
        self._crew: Crew | None = None
        self._processes: Processes | None = None
        self._own: list[Packed | None] = [None] * n_jobs  # of each thread

    def __enter__(self) -> Workers:
        if self.has_threads:
            self._crew = Crew(self.n_jobs)
        elif self._has_processes and _may_start():
            self._processes = Processes(self.blocks.data, self.n_jobs)
        return self

    def __exit__(self, *_: object) -> None:
        self.pace.look_up = lambda: None  # (whose it is goes at once, with all that it holds)
        if self._crew is not None:
            self._crew.end()
        if self._processes is not None:
            self._processes.end()

    def each(self, work: Callable[[int], Any]) -> list[Any]:
        """`work(k)` in the k-th thread, for all of them."""
        assert self._crew is not None
        return self._crew.run(work)

    def run(self, span: Span, fill: Callable[[Pieces, Packed], int]) -> int:
        """`fill(pieces, own)` in every thread, which share the pieces of a span.

        `own` is packed: taking work and scratch apart holds the interpreter's lock, which threads
        would wait for one after another.

        Returns the first position at which one of them stopped early, or the end.
        """
        pieces = shared_out(*span, self)
        return int(min(self.each(lambda k: fill(pieces, self._own_of(k)))))

    def _own_of(self, k: int) -> Packed:
        """Work and scratch, made by their thread, beside others that are at work already."""
        own = self._own[k]
        if own is None:
            self._own[k] = own = self.blocks.packed("own", *self.blocks.own())
        return own

    def prefetch(self, blocks: Blocks, order: np.ndarray, w: np.ndarray, scratch: Any) -> None:
        """Let processes answer for the blocks of `order` at w; `scratch` remembers the answers.

        `blocks` are those that the workers were made for, or the same as visits see them.
        """
        if self._processes is not None:
            is_rough = blocks.oracles is blocks.rough
            answers = self._processes.answers(order, w, self.pace.look_up, is_rough)
            method = (blocks.data.rough if is_rough else blocks.data).method
            scratch.put_answers(method, w, answers.keys(), answers.values())


def each(workers: Workers | None, work: Callable[[int], Any]) -> None:
    """`work(k)` in every thread, or `work(0)` in this one where there are no others."""
    if workers is not None and workers.has_threads:
        workers.each(work)
    else:
        work(0)


def shared_out(begin: int, end: int, workers: Workers | None) -> Pieces:
    """The positions begin:end in pieces that threads take, or in one."""
    has_threads = workers is not None and workers.has_threads
    return Pieces.of(begin, end, PIECES * workers.n_jobs if workers and has_threads else 1)


def _may_start() -> bool:
    """Whether this process may have children: those of `multiprocessing.Pool` may not."""
    is_daemon = multiprocessing.current_process().daemon
    if is_daemon:
        text = "n_jobs is taken as 1: a daemonic process may not start worker processes."
        warnings.warn(text, WorkerWarning, stacklevel=2)
    return not is_daemon
