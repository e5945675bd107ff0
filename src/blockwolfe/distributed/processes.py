"""Shards in processes of this machine: one each, which ends with the one that started it."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import connection
from threading import Thread
from typing import Any

from joblib.externals.loky.backend.reduction import dumps, loads

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.distributed.remote import Care, GoneError, Remote, Worker
from blockwolfe.distributed.travel import Answer, Desk, opened
from blockwolfe.errors import OptionError
from blockwolfe.problem.child import END_SECONDS, Child
from blockwolfe.problem.serving import end_with, messages_of

__all__ = ["Processes"]


def serve(there: connection.Connection, lifeline: connection.Connection) -> None:
    """What the process of a shard does."""
    end_with(lifeline)
    desk = Desk()
    for message in messages_of(there):
        try:
            there.send_bytes(desk.answer(*loads(message)))
        except (BrokenPipeError, ConnectionResetError):  # the parent is gone
            return


class _Process(Worker):
    """The process of one shard, as seen from outside."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.child, self._n_owed = Child(serve), 0
        self._sender: Thread | None = None

    @property
    def is_owing(self) -> bool:
        return self._n_owed > 0

    # (No message is cut in two, after which neither side would understand the other: it is sent by
    # a thread, which Ctrl-C does not reach; and one that arrives is awaited to its end.)

    def send(self, own: bytes, common: Any) -> None:
        """By a thread: a worker that does not read would hold up the run for ever."""
        message = dumps((own, common))
        with uninterrupted():
            self._sender = Thread(target=self._write, args=(message,), daemon=True)
            self._sender.start()
            self._n_owed += 1

    def _write(self, message: Any) -> None:
        with suppress(OSError):  # (that it is gone is seen where its answer is waited for)
            self.child.connection.send_bytes(message)

    def receive(self) -> Answer:
        try:
            with uninterrupted():
                message = self.child.connection.recv_bytes()
                self._n_owed -= 1
        except (EOFError, OSError) as error:
            raise GoneError(self.child.fate) from error
        return opened(message)

    def kill(self) -> None:
        self.child.end_within(0.0)
        if self._sender is not None:  # (nobody reads any more: it ends at once)
            self._sender.join()
        self.child.connection.close()


class Processes(Remote):
    """A process for every shard: also oracles in Python run at once."""

    def __init__(self, n_shards: int, beginning: Callable[[int], Any], care: Care) -> None:
        if multiprocessing.current_process().daemon:
            raise OptionError(
                'engine="processes": a daemonic process may not start others; use "threads".'
            )
        super().__init__(n_shards, beginning, care)

    def _new(self, number: int) -> _Process:
        return _Process(number)

    def _shared(self, common: bytes) -> bytes:
        return common

    def _ready(self, workers: Sequence[Any], seconds: float) -> list[Any]:
        of = {worker.child.connection: worker for worker in workers}
        return [of[ready] for ready in connection.wait(list(of), seconds)]

    def end(self) -> None:
        """Let the processes go: those that listen by themselves, the others at once."""
        workers, self._workers = self._workers, []
        listening = [worker for worker in workers if not (worker.is_owing or worker.fate)]
        for worker in listening:
            worker.child.connection.close()
        for worker in workers:
            if worker.is_owing and not worker.fate:
                worker.kill()
        until = time.monotonic() + END_SECONDS
        for worker in listening:
            worker.child.end_within(max(0.0, until - time.monotonic()))
        self._crew.end()
