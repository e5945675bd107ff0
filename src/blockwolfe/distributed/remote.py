"""Shards in other processes, wherever these are: messages, lost workers, and new ones.

A worker is lost when its process is gone, or when it has not answered for very long. A round goes
on with the answers of the others (`LostError` has them). A lost worker is replaced by a new one,
which begins where the shard was last kept: after a certificate, on this side.
"""

from __future__ import annotations

import os
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.distributed.runners import LostError, Runner
from blockwolfe.distributed.travel import Answer, packed
from blockwolfe.errors import ShardLostError, WorkerWarning
from blockwolfe.problem.child import LOOK_SECONDS
from blockwolfe.problem.crew import Crew

__all__ = ["Care", "GoneError", "Remote", "Worker", "mended"]

# A worker is taken for hung after so many seconds, and so many times what the slowest of those that
# have answered took; while none has, nothing is known.
PATIENCE_SECONDS, PATIENCE = 60.0, 10.0
# To start, to load its examples and to compile, each may take so many seconds at least.
START_SECONDS = 600.0
LONG_MESSAGES = ("prepare", "see", "name", "hold")


@dataclass(frozen=True)
class Care:
    """What is done about workers that are lost."""

    restarts: int = 3  # of each shard, in a run
    timeout: float | None = None  # seconds until a worker is taken for hung; None: as above


def mended(runner: Runner, work: Callable[[], Any]) -> Any:
    """What `work` returns, with new workers and from its beginning where some were lost."""
    while True:
        try:
            return work()
        except LostError:
            runner.replace_lost()


class GoneError(Exception):
    """A worker is gone; the message says what became of it."""


class Worker(ABC):
    """What holds one shard; everything may raise `GoneError`."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.fate = ""  # what became of it, once it is gone

    @property
    @abstractmethod
    def is_owing(self) -> bool:
        """Whether an answer is still to come."""

    @abstractmethod
    def send(self, own: bytes, common: Any) -> None:
        """A message, which is answered later."""

    @abstractmethod
    def receive(self) -> Answer:
        """The next answer, which is there."""

    @abstractmethod
    def kill(self) -> None:
        """At once."""


class Remote(Runner):
    """A worker for every shard; subclasses say what a worker is, and how to wait for some."""

    def __init__(self, n_shards: int, beginning: Callable[[int], Any], care: Care) -> None:
        self.n_shards, self._beginning, self.care = n_shards, beginning, care
        self._workers: list[Any] = []
        # Parts of a checkpoint, or the files that hold them; None: the beginning.
        self._kept: list[Any] = [None] * n_shards
        self._n_restarts = [0] * n_shards
        self._crew = Crew(min(n_shards, os.cpu_count() or 1))
        # When the last message was sent, what the slowest answer to it took, and to start.
        self._asked, self._slowest, self._slowest_start = time.monotonic(), 0.0, 0.0
        try:
            for k in range(n_shards):
                self._begin(k)
            _raise_errors(self._collected(START_SECONDS))
            self._slowest_start = self._slowest
            self.replace_lost()
        except BaseException:
            self.end()
            raise

    # -- what subclasses define ------------------------------------------------------------------

    @abstractmethod
    def _new(self, number: int) -> Any:
        """A worker that has no shard yet."""

    @abstractmethod
    def _shared(self, common: bytes) -> Any:
        """What all workers get, as `Worker.send` takes it."""

    @abstractmethod
    def _ready(self, workers: Sequence[Any], seconds: float) -> list[Any]:
        """Those of some workers whose answers are there, after a wait of at most `seconds`."""

    # -- messages --------------------------------------------------------------------------------

    def ask(
        self, message: str, *common: Any, each: Sequence[tuple[Any, ...]] | None = None
    ) -> list[Any]:
        """All at once; answers to what was asked before an interruption are thrown away."""
        while self._owing():
            self._collected()
        shared = self._shared(packed(common))
        self._asked, self._slowest = time.monotonic(), 0.0
        own = each if each is not None else [()] * self.n_shards
        for worker, some in zip(self._workers, own, strict=True):
            self._send(worker, packed((message, some)), shared)
        return self._collect(START_SECONDS if message in LONG_MESSAGES else 0.0)

    def share(self, work: Callable[[int, int], None]) -> None:
        """By threads of this process."""
        n_threads = min(self.n_shards, os.cpu_count() or 1)
        self._crew.run(lambda k: work(k, n_threads))

    def _send(self, worker: Any, own: bytes, shared: Any) -> None:
        if worker.fate:
            return
        try:
            worker.send(own, shared)
        except GoneError as gone:
            self._lose(worker, str(gone))

    def _collect(self, least_seconds: float) -> list[Any]:
        """The answers in the order of shards; the first error of any, or that some were lost."""
        answers = self._collected(least_seconds)
        _raise_errors(answers)
        values = [None if answer is None else answer.value for answer in answers]
        if any(worker.fate for worker in self._workers):
            raise LostError(values)
        return values

    def _collected(self, least_seconds: float = 0.0) -> list[Answer | None]:
        """One answer of everyone that owes one; None of the others, and of those that hang."""
        answers: list[Answer | None] = [None] * self.n_shards
        waited = self._owing()
        while waited:
            for worker in self._ready(waited, LOOK_SECONDS):
                waited.remove(worker)
                self._slowest = max(self._slowest, time.monotonic() - self._asked)
                try:
                    answers[worker.number] = worker.receive()
                except GoneError as gone:
                    self._lose(worker, str(gone))
            seconds = time.monotonic() - self._asked
            if seconds > max(self._limit(), least_seconds):
                for worker in waited:
                    self._lose(worker, f"has not answered for {seconds:.3g} seconds")
            waited = [worker for worker in waited if not worker.fate]
        return answers

    def _owing(self) -> list[Any]:
        return [worker for worker in self._workers if worker.is_owing and not worker.fate]

    def _limit(self) -> float:
        """Seconds after which a worker hangs, by the slowest answer to the message so far."""
        if self.care.timeout is not None:
            return self.care.timeout
        return PATIENCE_SECONDS + PATIENCE * self._slowest if self._slowest else float("inf")

    def _lose(self, worker: Any, fate: str) -> None:
        worker.fate = fate
        worker.kill()

    # -- lost workers ----------------------------------------------------------------------------

    def keep(self, parts: Sequence[Any] | None = None) -> None:
        """Remember where all shards are, or these places: new workers begin there."""
        if not self.care.restarts and parts is None:  # (there will be none)
            return
        self._kept = list(self.ask("to_save") if parts is None else parts)

    def renew(self, beginning: Callable[[int], Any]) -> None:
        """By the same workers, and new ones for those that were lost meanwhile."""
        while self._owing():
            self._collected()
        self._beginning, self._kept = beginning, [None] * self.n_shards
        self._n_restarts = [0] * self.n_shards
        self._asked, self._slowest = time.monotonic(), 0.0
        for worker in self._workers:
            self._send_beginning(worker)
        _raise_errors(self._collected(START_SECONDS))
        self.replace_lost()

    def leave(self) -> None:
        """The workers keep theirs until they get others."""
        self._beginning = _nothing

    def replace_lost(self) -> None:
        """New workers for those that are lost; a `ShardLostError` where one is lost for good."""
        while lost := [worker for worker in self._workers if worker.fate]:
            for worker in lost:
                self._note_loss(worker)
            self._asked, self._slowest = time.monotonic(), self._slowest_start
            for worker in lost:
                self._begin(worker.number)
            _raise_errors(self._collected(START_SECONDS))

    def _begin(self, number: int) -> None:
        """A new worker, which makes its shard."""
        worker = self._new(number)
        # (a worker that nothing was sent to is not among them)
        with uninterrupted():
            self._send_beginning(worker)
            self._workers[number : number + 1] = [worker]

    def _send_beginning(self, worker: Any) -> None:
        begun = (self._beginning(worker.number), self._kept[worker.number])
        self._send(worker, packed(("begin", begun)), self._shared(b""))

    def _note_loss(self, worker: Any) -> None:
        k = worker.number
        self._n_restarts[k] += 1
        what = f"the worker of shard {k} {worker.fate}"
        if self._n_restarts[k] > self.care.restarts:
            often = f" It was replaced {self.care.restarts} times before." * (
                self.care.restarts > 0
            )
            raise ShardLostError(
                f"{what}, and its part of the dual point with it.{often} Give a checkpoint to go "
                "on from, more restarts, a larger timeout where it was only slow, or fewer shards "
                "where memory was short."
            )
        where = "when it was last kept" if self._kept[k] is not None else "at the beginning"
        warnings.warn(
            f"{what}; a new one goes on from where the shard was {where}.",
            WorkerWarning,
            stacklevel=2,
        )

    def end(self) -> None:
        """Let the workers go."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.kill()
        self._crew.end()


def _nothing(number: int) -> Any:
    raise AssertionError(f"shard {number} has no beginning")


def _raise_errors(answers: Sequence[Answer | None]) -> None:
    for answer in answers:
        if answer is not None and answer.error is not None:
            raise answer.error
