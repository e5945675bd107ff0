"""Block functions for whole feature vectors: parts are features, F_i is the identity."""

from __future__ import annotations

from typing import Any, NamedTuple

from blockwolfe.compiled import jit
from blockwolfe.tasks.base import BlockFunctions

BROKEN = 2**40


class OracleData(NamedTuple):
    """A user's oracle and the data it was written for."""

    own: Any  # (first, because Numba warns about tuples that begin with a function)
    oracle: Any


@jit
def score(data: Any, i: int, w: Any) -> None:
    """Nothing to prepare: theta is w."""


@jit
def maximize(data: Any, i: int, w: Any, part: Any, value: Any) -> tuple[int, float]:
    """The user's own oracle; a size beyond any bound says that it broke its contract."""
    size, loss = data.oracle(data.own, i, w, part, value)
    for s in range(min(size, part.shape[0])):
        if part[s] < 0 or part[s] >= w.shape[0]:
            return BROKEN, loss
    return size, loss


@jit
def read(data: Any, i: int, w: Any, part: Any, size: int, out: Any) -> None:
    """theta[p] = w[p]."""
    for s in range(size):
        out[s] = w[part[s]]


@jit
def sqnorm(data: Any, i: int, part: Any, delta: Any, size: int) -> float:
    """|delta|^2."""
    total = 0.0
    for s in range(size):
        total += delta[s] * delta[s]
    return total


@jit
def add(data: Any, i: int, part: Any, delta: Any, size: int, coefficient: float, out: Any) -> None:
    """Out += coefficient * delta at the parts' own places."""
    for s in range(size):
        out[part[s]] += coefficient * delta[s]


@jit
def spread(data: Any, i: int, moved: Any, image: Any, index: Any, value: Any) -> int:
    """The parts are the indices."""
    part, delta, size, coefficient = moved
    for s in range(size):
        index[s] = part[s]
        value[s] = coefficient * delta[s]
    return int(size)


FUNCTIONS = BlockFunctions(score, maximize, read, read, sqnorm, add, spread)
