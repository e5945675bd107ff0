"""Shards in other processes, wherever these are: messages, lost workers, and new ones.

A worker is lost when its process is gone, or when it has not answered for very long. A round goes
on with the answers of the others (`LostError` has them). A lost worker is replaced by a new one,
which begins where the shard was last kept: after a certificate, on this side.
"""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from blockwolfe.distributed.runners import LostError, Runner
from blockwolfe.distributed.travel import Answer, packed
from blockwolfe.errors import ShardLostError, WorkerWarning
from blockwolfe.problem.child import LOOK_SECONDS

__all__ = ["Care", "GoneError", "Remote", "Worker", "mended"]

# A worker is taken for hung after so many seconds, and so many times what the slowest of those that
# have answered took; while none has, nothing is known.
PATIENCE_SECONDS, PATIENCE = 60.0, 10.0
# To start, and to load its examples, each may take so many seconds at least.
START_SECONDS = 600.0


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
        self.n_shards, self._beginning, self._care = n_shards, beginning, care
        self._workers: list[Any] = []
        self._kept: list[Any] = [None] * n_shards  # parts of a checkpoint; None: the beginning
        self._n_restarts = [0] * n_shards
        try:
            for k in range(n_shards):
                self._begin(k)
            _raise_errors(self._collected(START_SECONDS))
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
        own = each if each is not None else [()] * self.n_shards
        for worker, some in zip(self._workers, own, strict=True):
            self._send(worker, packed((message, some)), shared)
        return self._collect()

    def _send(self, worker: Any, own: bytes, shared: Any) -> None:
        if worker.fate:
            return
        try:
            worker.send(own, shared)
        except GoneError as gone:
            self._lose(worker, str(gone))

    def _collect(self) -> list[Any]:
        """The answers in the order of shards; the first error of any, or that some were lost."""
        answers = self._collected()
        _raise_errors(answers)
        values = [None if answer is None else answer.value for answer in answers]
        if any(worker.fate for worker in self._workers):
            raise LostError(values)
        return values

    def _collected(self, least_seconds: float = 0.0) -> list[Answer | None]:
        """One answer of everyone that owes one; None of the others, and of those that hang."""
        answers: list[Answer | None] = [None] * self.n_shards
        began, slowest = time.monotonic(), 0.0
        waited = self._owing()
        while waited:
            for worker in self._ready(waited, LOOK_SECONDS):
                waited.remove(worker)
                slowest = time.monotonic() - began
                try:
                    answers[worker.number] = worker.receive()
                except GoneError as gone:
                    self._lose(worker, str(gone))
            seconds = time.monotonic() - began
            if seconds > max(self._limit(slowest), least_seconds):
                for worker in waited:
                    self._lose(worker, f"has not answered for {seconds:.3g} seconds")
            waited = [worker for worker in waited if not worker.fate]
        return answers

    def _owing(self) -> list[Any]:
        return [worker for worker in self._workers if worker.is_owing and not worker.fate]

    def _limit(self, slowest: float) -> float:
        """Seconds after which a worker hangs, when the slowest answer so far took `slowest`."""
        if self._care.timeout is not None:
            return self._care.timeout
        return PATIENCE_SECONDS + PATIENCE * slowest if slowest else float("inf")

    def _lose(self, worker: Any, fate: str) -> None:
        worker.fate = fate
        worker.kill()

    # -- lost workers ----------------------------------------------------------------------------

    def keep(self, parts: Sequence[Any] | None = None) -> None:
        """Remember where all shards are, or these places: new workers begin there."""
        self._kept = list(self.ask("to_save") if parts is None else parts)

    def replace_lost(self) -> None:
        """New workers for those that are lost; a `ShardLostError` where one is lost for good."""
        while lost := [worker for worker in self._workers if worker.fate]:
            for worker in lost:
                self._note_loss(worker)
            for worker in lost:
                self._begin(worker.number)
            _raise_errors(self._collected(START_SECONDS))

    def _begin(self, number: int) -> None:
        """A new worker, which makes its shard."""
        worker = self._new(number)
        self._workers[number : number + 1] = [worker]
        message = packed(("begin", (self._beginning(number), self._kept[number])))
        self._send(worker, message, self._shared(b""))

    def _note_loss(self, worker: Any) -> None:
        k = worker.number
        self._n_restarts[k] += 1
        what = f"the worker of shard {k} {worker.fate}"
        if self._n_restarts[k] > self._care.restarts:
            often = f" It was replaced {self._care.restarts} times before." * (
                self._care.restarts > 0
            )
            raise ShardLostError(
                f"{what}, and its part of the dual point with it.{often} Give a checkpoint to go "
                "on from, more restarts, or fewer shards where memory was short."
            )
        warnings.warn(
            f"{what}; a new one goes on from where the shard was at the last certificate.",
            WorkerWarning,
            stacklevel=2,
        )

    def end(self) -> None:
        """Let the workers go."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.kill()


def _raise_errors(answers: Sequence[Answer | None]) -> None:
    for answer in answers:
        if answer is not None and answer.error is not None:
            raise answer.error
