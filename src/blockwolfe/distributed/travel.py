"""What travels between a run and workers in other processes, here or on other machines.

Messages are a name and arguments, pickled; what all shards get is pickled once. Vectors of which
few numbers are not zero, as the change of a round over rare features, travel as these alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib.externals.loky.backend.reduction import dumps, loads

from blockwolfe.base import beside
from blockwolfe.distributed.shard import Report
from blockwolfe.errors import InputError
from blockwolfe.problem.serving import as_sent

__all__ = ["Answer", "Desk", "Sparse", "opened", "packed", "thickened", "thinned"]

# A number and its place take one and a half times the room of a number.
SPARSE_SHARE = 0.5


# -- vectors ---------------------------------------------------------------------------------------


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


# -- messages --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What a method of a shard has returned, or raised."""

    value: Any = None
    error: Exception | None = None


def packed(message: Any) -> bytes:
    """A message as it is sent."""
    try:
        return bytes(dumps(message))
    except Exception as error:  # (whatever pickling may raise)
        raise InputError(
            f"the task and its data cannot be sent to workers: {type(error).__name__}: {error}. "
            'Use engine="threads", or leave what cannot be pickled (locks, open files, handles of '
            "solvers) out of the task and make it at first use."
        ) from error


def opened(message: Any) -> Answer:
    """An answer as it has arrived."""
    answer: Answer = loads(message)
    if isinstance(answer.value, Report):
        value = replace(answer.value, change=thickened(answer.value.change))
        return replace(answer, value=value)
    return answer


class Desk:
    """Where messages to a shard arrive: the first one is what it is made from."""

    def __init__(self) -> None:
        self._shard: Any = None
        self._shelf: dict[str, Any] = {}

    def answer(self, own: bytes, common: bytes) -> bytes:
        """What the shard has to say to a message with arguments of its own, and of all shards."""
        try:
            name, arguments = loads(own)
            if name == "begin":
                self._begin(*arguments)
                return bytes(dumps(Answer()))
            found = getattr(self._shard, name)(*loads(common), *arguments)
            return bytes(dumps(Answer(_sent(found))))
        except Exception as error:
            return bytes(dumps(Answer(error=as_sent(error))))

    def _begin(self, begun: Any, kept: dict[str, Any] | None) -> None:
        """A shard at its beginning, or where it was last kept."""
        os.environ.setdefault(beside.VARIABLE, "0")  # (others like it compile the same, beside it)
        self._shard = None  # (before another takes memory)
        self._shard = begun.make(self._shelf)
        if kept is not None:
            self._shard.restore(kept)


def _sent(answer: Any) -> Any:
    if isinstance(answer, Report):
        change: Any = thinned(answer.change)
        return replace(answer, change=change)
    return answer
