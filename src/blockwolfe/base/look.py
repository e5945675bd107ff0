"""Sums over parts of a block, met one after another: sparse vectors added up without wiping."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit

__all__ = ["Look", "make_look", "meet", "meet_one"]


class Look(NamedTuple):
    """Parts met one after another, numbered in the order met, and what was added up of each.

    `seen` holds the number of the look at which a part was last met, so that nothing has to be
    wiped between two looks.
    """

    number: np.ndarray  # (1,): of the present look
    seen: np.ndarray  # by part: number of the look that met it last
    met: np.ndarray  # parts in the order met, and room for one more
    sum: np.ndarray  # by part: what `meet` has added up, valid where seen at this look


def make_look(n_parts: int) -> Look:
    """A look at blocks of at most so many parts.

    >>> look = make_look(3)
    >>> meet_one(2, 1.0, look, meet_one(0, 0.5, look, 0))
    2
    """
    number, seen = np.ones(1, dtype=np.int64), np.zeros(n_parts, dtype=np.int64)
    return Look(number, seen, np.zeros(n_parts + 1, dtype=np.int32), np.zeros(n_parts))


@jit
def meet_one(part: Any, change: float, look: Look, n_met: int) -> int:
    """Add to the sum of one part; how many parts were met."""
    p, number = np.uint64(part), look.number[0]
    if look.seen[p] == number:
        look.sum[p] += change
        return n_met
    look.seen[p], look.sum[p], look.met[n_met] = number, change, p
    return n_met + 1


@jit
def meet(
    part: np.ndarray, value: np.ndarray, at: int, size: int, factor: float, look: Look, n_met: int
) -> int:
    """Add factor times a sparse vector to the sums of this look; how many parts it has met.

    The vector has entries at ... at + size - 1 of `part` and `value`; no values at all mean ones.
    """
    number, seen, met, total = look.number[0], look.seen, look.met, look.sum
    is_unit = value.shape[0] == 0
    for e in range(np.uint64(at), np.uint64(at + size)):
        p = np.uint64(part[e])
        change = factor if is_unit else factor * value[e]
        if seen[p] == number:
            total[p] += change
        else:
            seen[p], total[p], met[n_met] = number, change, p
            n_met += 1
    return n_met
