"""Worker processes that answer for an oracle in Python.

Built on the processes of loky, which take classes from notebooks and scripts, but not on its
executor: one that is hung must not keep anyone waiting. The process that asks never blocks for
longer than `LOOK_SECONDS` without a look at the clock, and workers get small pieces one by one.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import deque
from collections.abc import Callable
from multiprocessing import connection
from typing import Any

import numpy as np
from joblib.externals.loky.backend.reduction import dumps, loads

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.memory import check_memory
from blockwolfe.errors import InputError, WorkerWarning
from blockwolfe.problem.child import END_SECONDS, LOOK_SECONDS, Child
from blockwolfe.problem.serving import Reply, Request, serve

__all__ = ["Processes"]

# Aim of one piece of work: long enough to pay for handing it out, short enough to wait for.
PIECE_SECONDS = 0.2
# Pieces that each worker is still to get of what is left, to even out unequal blocks.
PIECES = 2
# After Ctrl-C: how long a last pass may go on without an answer.
PATIENCE_SECONDS = 1.5
# Examples that a warning names.
NAMED = 5


class _Work:
    """What is asked for: blocks that are still to be handed out, and answers so far."""

    def __init__(
        self, number: int, order: np.ndarray, at: tuple[int, np.ndarray], is_rough: bool
    ) -> None:
        self.number, (self.w_number, self.w), self.is_rough = number, at, is_rough
        self.todo = deque(int(i) for i in order)
        self.n_blocks = len(self.todo)
        self.answers: dict[int, Any] = {}

    @property
    def is_done(self) -> bool:
        return len(self.answers) == self.n_blocks

    def take(self, n_blocks: int) -> list[int]:
        return [self.todo.popleft() for _ in range(min(n_blocks, len(self.todo)))]


class _Worker(Child):
    """One process, as seen by the one that asks."""

    def __init__(self) -> None:
        super().__init__(serve)
        self.is_loaded = self.is_listening = False
        self.piece: list[int] = []
        self.number = self.w_number = 0  # of the work and the w that it has last heard of

    def send(self, message: Any) -> None:
        self.is_listening = False
        self.connection.send_bytes(message)

    def give(self, work: _Work, n_blocks: int) -> None:
        w = work.w if work.w_number != self.w_number else None
        self.piece, self.number = work.take(n_blocks), work.number
        self.send(dumps(Request(work.number, self.piece, work.w_number, w, work.is_rough)))
        self.w_number = work.w_number

    def receive(self) -> Reply:
        reply = loads(self.connection.recv_bytes())
        self.is_listening = True
        return reply

    def hang_up(self) -> None:
        """One that listens then ends by itself."""
        self.connection.close()

    def end(self, seconds: float = 0.0) -> None:
        """Make sure that it has ended, with all that it has started itself."""
        self.end_within(seconds if self.is_listening else 0.0)


def _pickled(oracle: Any) -> Any:
    try:
        return dumps(oracle)
    except Exception as error:  # (whatever pickling may raise)
        raise InputError(
            f"the task and its data cannot be sent to worker processes: {type(error).__name__}: "
            f"{error}. Use n_jobs=1, or leave what cannot be pickled (locks, open files, handles "
            "of solvers) out of the task and make it at first use."
        ) from error


class Processes:
    """Some worker processes that hold an oracle and its data."""

    def __init__(self, oracle: Any, n_workers: int) -> None:
        self._oracle, self._pickle = oracle, _pickled(oracle)
        check_memory(
            n_workers * len(self._pickle),
            f"a copy of the training set in each of {n_workers} processes",
            "Use a smaller n_jobs.",
        )
        self._workers = [_Worker() for _ in range(n_workers)]
        self._number, self._seconds = 0, math.inf
        self._at = (0, np.zeros(0))  # the last w, with its number (in one: Ctrl-C is anywhere)
        self._has_replaced = self._is_interrupted = False
        self._heard_at = 0.0

    def answers(
        self, order: np.ndarray, w: np.ndarray, look_up: Callable[[], None], is_rough: bool = False
    ) -> dict[int, Any]:
        """The oracle's answers at w by block; some are missing where no worker is left.

        `look_up` is called again and again, and may raise to give up: what workers are still at is
        of no use then, and nobody waits for it. After Ctrl-C, workers that say nothing are waited
        for a moment only.
        """
        self._number += 1
        self._heard_at = time.monotonic()
        if not np.array_equal(self._at[1], w):
            self._at = (self._number, w.copy())
        work = _Work(self._number, order, self._at, is_rough)
        try:
            while self._workers and not work.is_done:
                self._miss(work)
                self._hand_out(work)
                self._listen(work)
                self._look_up(look_up)
        except KeyboardInterrupt:
            self._is_interrupted = True
            raise
        return work.answers

    def _look_up(self, look_up: Callable[[], None]) -> None:
        look_up()
        if self._is_interrupted and time.monotonic() - self._heard_at > PATIENCE_SECONDS:
            raise KeyboardInterrupt

    # -- work ----------------------------------------------------------------------------------

    def _hand_out(self, work: _Work) -> None:
        for worker in [worker for worker in self._workers if worker.is_listening]:
            try:
                with uninterrupted():  # (a message is sent whole, and known to be sent)
                    if not worker.is_loaded:
                        self._load(worker)
                    elif work.todo:
                        worker.give(work, self._piece_size(len(work.todo)))
            except OSError:
                self._lose(worker, work)

    def _load(self, worker: _Worker) -> None:
        worker.send(self._pickle if self._pickle is not None else _pickled(self._oracle))
        worker.is_loaded = True
        if all(worker.is_loaded for worker in self._workers):
            self._pickle = None

    def _piece_size(self, n_left: int) -> int:
        fair = math.ceil(n_left / (PIECES * len(self._workers)))
        return max(1, min(fair, int(PIECE_SECONDS / self._seconds)))

    def _listen(self, work: _Work) -> None:
        """Wait a moment for answers; take those that come."""
        busy = {worker.connection: worker for worker in self._workers if not worker.is_listening}
        ready = connection.wait(list(busy), LOOK_SECONDS)
        for worker in [worker for at, worker in busy.items() if at in ready]:
            try:
                with uninterrupted():
                    reply = worker.receive()
            except (EOFError, OSError):
                self._lose(worker, work)
            else:
                self._take(reply, worker, work)

    def _take(self, reply: Reply, worker: _Worker, work: _Work) -> None:
        self._heard_at = time.monotonic()
        is_stale = reply.number not in (0, work.number)  # of work that was given up
        if reply.error is not None and not is_stale:
            raise reply.error
        if reply.number:
            self._seconds = max(reply.seconds, 1e-9)
        if not is_stale:
            work.answers |= zip(worker.piece, reply.answers, strict=True)
        worker.piece = []

    # -- workers that are lost -----------------------------------------------------------------

    def _miss(self, work: _Work) -> None:
        for worker in [worker for worker in self._workers if worker.process.exitcode is not None]:
            self._lose(worker, work)

    def _lose(self, worker: _Worker, work: _Work) -> None:
        """Its work is for others, and another takes its place; alone if that happens again."""
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        if worker.number == work.number:
            work.todo.extendleft(reversed(worker.piece))
        news = f"a worker process {worker.fate} {_at_work(worker.piece)}"
        worker.hang_up()
        worker.end()
        if self._has_replaced:
            self.end()
            _warn(f"{news}, and it is not the first: the run goes on with one process.")
            return
        self._has_replaced = True
        _warn(f"{news}; another takes its place.")
        self._workers.append(_Worker())

    def end(self) -> None:
        """Let the workers go: those that listen by themselves, the others at once."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.hang_up()
        until = time.monotonic() + END_SECONDS
        for worker in workers:
            worker.end(max(0.0, until - time.monotonic()))


def _at_work(piece: list[int]) -> str:
    """What a worker was doing."""
    if not piece:
        return "while it had no work"
    named = ", ".join(str(i) for i in piece[:NAMED]) + (", ..." if len(piece) > NAMED else "")
    return f"in the oracle of example{'s' if len(piece) > 1 else ''} {named}"


def _warn(text: str) -> None:
    warnings.warn(text, WorkerWarning, stacklevel=2)
