"""Directions between atoms and points of one block, and moves along them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.objectives.lines import Line

__all__ = ["Corrections", "Move", "Stride", "difference"]


class Move(NamedTuple):
    """A way to go: towards `atom`, or away from row `away` of the active set, or both."""

    kind: int  # FORWARD, PAIRWISE or AWAY
    atom: Atom | None
    away: int
    slope: float  # how fast f falls at first
    longest: float
    line: Line


class Stride(NamedTuple):
    """A move and how far along it; what the step-size rule remembers of the block afterwards."""

    move: Move
    gamma: float
    memory: np.ndarray


class Corrections(NamedTuple):
    """Pairwise steps that a visit has left to make in its block, and the least slope of each."""

    block: int = 0
    n_left: int = 0
    least: float = 0.0


def difference(to: Atom | np.ndarray, origin: Atom | np.ndarray, at: slice) -> Direction:
    """To - origin, in the coordinates `at` of x; sparse where both ends are.

    >>> difference(Atom.unit(3, 2), Atom.unit(3, 0), slice(10, 13))
    Direction(index=array([10, 12]), value=array([-1.,  1.]))
    """
    if isinstance(origin, np.ndarray):
        value = -origin
        if isinstance(to, np.ndarray):
            value += to
        else:
            to.add_to(value)
        return Direction(at, value)
    if isinstance(to, np.ndarray) or to.index is None or origin.index is None:
        value = to.copy() if isinstance(to, np.ndarray) else to.dense()
        origin.add_to(value, -1.0)
        return Direction(at, value)
    if to.entry is not None and origin.entry is not None:
        return _between_units(to.entry, origin.entry, at.start)
    index = np.concatenate([to.index, origin.index])
    order = index.argsort(kind="stable")
    index, value = index[order], np.concatenate([to.value, -origin.value])[order]
    is_new = index[1:] != index[:-1]
    if not is_new.all():  # (a coordinate of both)
        first = np.flatnonzero(np.concatenate([[True], is_new]))
        index, value = index[first], np.add.reduceat(value, first)
    return Direction(index + at.start, value)


def _between_units(to: tuple[int, float], origin: tuple[int, float], begin: int) -> Direction:
    """The same of atoms with one entry each: the most frequent case, in a third of the time."""
    (j, at_j), (k, at_k) = to, origin
    if j == k:
        return Direction(np.array([begin + j]), np.array([at_j - at_k]))
    if j < k:
        return Direction(np.array([begin + j, begin + k]), np.array([at_j, -at_k]))
    return Direction(np.array([begin + k, begin + j]), np.array([-at_k, at_j]))
