"""Features of blocks whose parts are the features themselves: F_i = I, so theta is w."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.tasks.base import Features, Oracles

__all__ = ["FEATURES", "NoScratch", "oracles"]


class NoScratch(NamedTuple):
    """For functions that need none (a tuple that compiled code takes has a field)."""

    nothing: np.ndarray = np.zeros(0)


@jit
def score(data: Any, i: int, w: Any, scale: float, theta: Any) -> None:
    """Copy w into theta, times `scale`; where that is one, solvers pass w itself."""
    for p in range(w.shape[0]):
        theta[p] = scale * w[p]


@jit
def peek(data: Any, i: int, w: Any, part: Any, size: int, theta: Any) -> None:
    """theta[p] = w[p] at some parts."""
    for s in range(size):
        theta[part[s]] = w[part[s]]


@jit
def sqnorm(data: Any, i: int, part: Any, delta: Any, size: int, scratch: Any) -> float:
    """|delta|^2."""
    total = 0.0
    for s in range(size):
        total += delta[s] * delta[s]
    return total


@jit
def add(data: Any, i: int, part: Any, delta: Any, size: int, coefficient: float, out: Any) -> None:
    """Add coefficient * delta to `out`, at the places of the parts."""
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


@jit
def copy_parts(data: Any, i: int, code: Any, size: int, part: Any) -> int:
    """Unpack a code that is the list of parts itself."""
    for s in range(size):
        part[s] = code[s]
    return size


@jit
def list_parts(mean: Any, n_parts: int, part: Any, value: Any) -> int:
    """Write the parts whose means are not zero, and these; how many there are."""
    size = 0
    for p in range(n_parts):
        if mean[p] != 0.0:
            part[size], value[size] = p, mean[p]
            size += 1
    return size


FEATURES = Features(score, peek, sqnorm, add, spread)


def oracles(maximize: Any) -> Oracles:
    """Around an oracle that writes phi as (index, value) pairs."""
    return Oracles(maximize, copy_parts)
