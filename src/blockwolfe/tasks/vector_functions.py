"""Block functions for whole feature vectors, all but the oracle: parts are features, F_i = I."""

from __future__ import annotations

from typing import Any

from blockwolfe.base.compiled import jit
from blockwolfe.tasks.base import BlockFunctions

__all__ = ["functions"]


@jit
def score(data: Any, i: int, w: Any) -> None:
    """Nothing to prepare: theta is w."""


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


def functions(maximize: Any) -> BlockFunctions:
    """The seven functions around an oracle that writes phi as (index, value) pairs."""
    return BlockFunctions(score, maximize, read, read, sqnorm, add, spread)
