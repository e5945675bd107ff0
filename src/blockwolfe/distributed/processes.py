"""Shards in processes: one each, which holds its examples and answers until its parent is gone.

Messages are a name and arguments; what all shards get is packed once. Vectors of which few numbers
are not zero, as the change of a round over rare features, travel as these numbers alone.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing import connection
from typing import Any

import numpy as np
from joblib.externals.loky.backend.reduction import dumps, loads

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.distributed.runners import Runner
from blockwolfe.distributed.shard import Beginning, Report, Shard
from blockwolfe.errors import InputError, OptionError, ShardLostError
from blockwolfe.problem.child import END_SECONDS, LOOK_SECONDS, Child
from blockwolfe.problem.serving import as_sent, end_with, messages_of

__all__ = ["Processes", "Sparse", "thickened", "thinned"]

# A number and its place take one and a half times the room of a number.
SPARSE_SHARE = 0.5


# -- what travels ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sparse:
    """A vector, by its numbers that are not zero."""

    size: int
    index: np.ndarray
    value: np.ndarray


def thinned(vector: np.ndarray) -> np.ndarray | Sparse:
    """A vector as it takes less room; every number stays as it is.

    >>> thinned(np.array([0.0, 0.0, 3.0])).index
    array([2], dtype=int32)
    """
    # (by bits: minus zero is a number of its own)
    index = np.flatnonzero(vector.view(np.int64))
    if len(index) > SPARSE_SHARE * len(vector) or len(vector) > np.iinfo(np.int32).max:
        return vector
    return Sparse(len(vector), index.astype(np.int32), vector[index])


def thickened(vector: np.ndarray | Sparse) -> np.ndarray:
    """The other way.

    >>> thickened(thinned(np.array([0.0, 0.0, 3.0])))
    array([0., 0., 3.])
    """
    if not isinstance(vector, Sparse):
        return vector
    found = np.zeros(vector.size)
    found[vector.index] = vector.value
    return found


def _sent(answer: Any) -> Any:
    if isinstance(answer, Report):
        change: Any = thinned(answer.change)
        return replace(answer, change=change)
    return answer


def _received(answer: Any) -> Any:
    if isinstance(answer, Report):
        return replace(answer, change=thickened(answer.change))
    return answer


@dataclass(frozen=True)
class _Answer:
    """What a method of a shard has returned, or raised."""

    value: Any = None
    error: Exception | None = None


# -- inside a process ------------------------------------------------------------------------------


def serve(there: connection.Connection, lifeline: connection.Connection) -> None:
    """What the process of a shard does: the first message is what it is made from."""
    end_with(lifeline)
    shard: Any = None
    for message in messages_of(there):
        try:
            name, common, own = loads(message)
            if name == "begin":
                shard, found = Shard(*own), None
            else:
                found = getattr(shard, name)(*loads(common), *own)
            answer = _Answer(_sent(found))
        except Exception as error:
            answer = _Answer(error=as_sent(error))
        try:
            there.send_bytes(dumps(answer))
        except (BrokenPipeError, ConnectionResetError):  # the parent is gone
            return


# -- outside ---------------------------------------------------------------------------------------


class _Member(Child):
    """The process of one shard, as seen from outside."""

    def __init__(self, number: int) -> None:
        super().__init__(serve)
        self.number, self.n_owed = number, 0  # answers that are still to come

    # (Ctrl-C waits for the end of a message: after half of one neither side would understand the
    # other any more)

    def send(self, message: Any) -> None:
        try:
            with uninterrupted():
                self.connection.send_bytes(message)
                self.n_owed += 1
        except OSError as error:
            raise self.lost() from error

    def receive(self) -> _Answer:
        try:
            with uninterrupted():
                message = self.connection.recv_bytes()
                self.n_owed -= 1
        except (EOFError, OSError) as error:
            raise self.lost() from error
        answer: _Answer = loads(message)
        return answer

    def lost(self) -> ShardLostError:
        """What became of a process that is gone."""
        return ShardLostError(
            f"the process of shard {self.number} {self.fate}, and its part of the dual point with "
            "it. Give a checkpoint to go on from, or fewer shards where memory was short."
        )

    def end(self, seconds: float) -> None:
        """Make sure that it has ended, with all that it has started itself."""
        self.end_within(seconds if not self.n_owed else 0.0)


class Processes(Runner):
    """A process for every shard: also oracles in Python run at once."""

    def __init__(self, begun: Sequence[Beginning]) -> None:
        if multiprocessing.current_process().daemon:
            raise OptionError(
                'engine="processes": a daemonic process may not start others; use "threads".'
            )
        packed = [_packed(("begin", b"", (some,))) for some in begun]
        self.n_shards, self._members = len(begun), list[_Member]()
        try:
            self._members += [_Member(k) for k in range(self.n_shards)]
            self._send(packed)
            self._collect()
        except BaseException:
            self.end()
            raise

    def ask(
        self, message: str, *common: Any, each: Sequence[tuple[Any, ...]] | None = None
    ) -> list[Any]:
        """All at once; answers to what was asked before an interruption are thrown away."""
        while any(member.n_owed for member in self._members):
            self._collect(is_heard=False)
        for_all = dumps(common)
        own = each if each is not None else [()] * self.n_shards
        self._send([dumps((message, bytes(for_all), some)) for some in own])
        return self._collect()

    def _send(self, messages: Sequence[Any]) -> None:
        for member, message in zip(self._members, messages, strict=True):
            member.send(message)

    def _collect(self, is_heard: bool = True) -> list[Any]:
        """One answer of everyone that owes one, in the order of shards; the first error of any."""
        waited = {member.connection: member for member in self._members if member.n_owed}
        answers: dict[int, _Answer] = {}
        while waited:
            for ready in connection.wait(list(waited), LOOK_SECONDS):
                member = waited[ready]
                answers[member.number] = member.receive()
                del waited[ready]
        found = [answers[k] for k in sorted(answers)]
        for answer in found:
            if is_heard and answer.error is not None:
                raise answer.error
        return [_received(answer.value) for answer in found]

    def end(self) -> None:
        """Let the processes go: those that listen by themselves, the others at once."""
        members, self._members = self._members, []
        for member in members:
            member.connection.close()
        until = time.monotonic() + END_SECONDS
        for member in members:
            member.end(max(0.0, until - time.monotonic()))


def _packed(message: Any) -> Any:
    try:
        return dumps(message)
    except Exception as error:  # (whatever pickling may raise)
        raise InputError(
            f"the task and its data cannot be sent to processes: {type(error).__name__}: {error}. "
            'Use engine="threads", or leave what cannot be pickled (locks, open files, handles of '
            "solvers) out of the task and make it at first use."
        ) from error
