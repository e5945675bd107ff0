"""Directions: changes of a vector, at listed coordinates or in a slice of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit

__all__ = ["Direction"]

# A slice with fewer non-zero entries than this share of it is cheaper as a list of coordinates.
_FEW = 0.25


@dataclass(eq=False, slots=True)  # (a frozen one takes three times as long to make)
class Direction:
    """A change d of a vector, zero but at `index`.

    Parameters
    ----------
    index : int64 array or slice
        Distinct coordinates of the whole vector, in any order, or a slice of it with both ends.
    value : float64 array
        The change at these coordinates.

    Examples
    --------
    >>> x = np.zeros(4)
    >>> Direction(np.array([3, 1]), np.array([1.0, -1.0])).add_to(x, 0.5)
    >>> Direction(slice(0, 2), np.array([2.0, 2.0])).add_to(x, 1.0)
    >>> x
    array([2. , 1.5, 0. , 0.5])
    """

    index: np.ndarray | slice
    value: np.ndarray

    def dot(self, gradient: np.ndarray, begin: int = 0) -> float:
        """<gradient, d>, where `gradient` is that of a block which begins at `begin`.

        >>> Direction(np.array([5, 4]), np.array([1.0, 2.0])).dot(np.array([10.0, 1.0]), begin=4)
        21.0
        """
        if isinstance(self.index, slice):
            return float(np.dot(gradient[self.shifted(begin)], self.value))
        return float(_dot_at(gradient, self.index, begin, self.value))

    def shifted(self, begin: int) -> np.ndarray | slice:
        """Where the coordinates are in a block that begins at `begin`."""
        if begin == 0:
            return self.index
        if isinstance(self.index, slice):
            return slice(self.index.start - begin, self.index.stop - begin)
        return self.index - begin

    def add_to(self, x: np.ndarray, gamma: float = 1.0) -> None:
        """Move x by gamma d."""
        if isinstance(self.index, slice):
            x[self.index] += gamma * self.value
        else:
            _add_at(x, self.index, gamma, self.value)

    def sqnorm(self) -> float:
        """|d|^2.

        >>> Direction(slice(0, 2), np.array([3.0, 4.0])).sqnorm()
        25.0
        """
        return float(np.dot(self.value, self.value))

    def span(self) -> slice:
        """The smallest slice that holds all its coordinates.

        >>> Direction(np.array([5, 2]), np.ones(2)).span()
        slice(2, 6, None)
        """
        if isinstance(self.index, slice):
            return self.index
        if not len(self.index):
            return slice(0, 0)
        return slice(int(self.index.min()), int(self.index.max()) + 1)

    def thinned(self) -> Direction:
        """The same change by its non-zero entries, where it is a slice that has few of them.

        >>> Direction(slice(2, 8), np.array([0.0, 0.0, 0.0, 5.0, 0.0, 0.0])).thinned()
        Direction(index=array([5]), value=array([5.]))
        """
        if not isinstance(self.index, slice):
            return self
        if np.count_nonzero(self.value) > _FEW * len(self.value):
            return self
        at = np.flatnonzero(self.value)
        return Direction(at + self.index.start, self.value[at])


@jit
def _dot_at(vector: Any, index: Any, begin: int, value: Any) -> float:
    """The sum of vector[index - begin] value."""
    total = 0.0
    for k in range(index.shape[0]):
        total += vector[index[k] - begin] * value[k]
    return total


@jit
def _add_at(x: Any, index: Any, gamma: float, value: Any) -> None:
    """x[index] += gamma value."""
    for k in range(index.shape[0]):
        x[index[k]] += gamma * value[k]
