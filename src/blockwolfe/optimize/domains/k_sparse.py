"""The k-sparse polytope: the l1 ball of radius k r within the box |x_j| <= r.

Its vertices have k entries of +r or -r and zeros elsewhere. With k = 1 it is the l1 ball, with
k = n the box.
"""

from __future__ import annotations

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.errors import OptionError
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains.scaled import ScaledDomain, and_radius

__all__ = ["KSparse"]


class KSparse(ScaledDomain):
    """The convex hull of vectors with k entries of +radius or -radius, and zeros elsewhere.

    Parameters
    ----------
    n : int
        Number of entries.
    k : int
        Number of entries that are not zero in an atom, 1..n.
    radius : float, default=1.0
        Size of these entries.

    Examples
    --------
    >>> KSparse(4, k=2).minimize(np.array([0.5, -2.0, 1.0, 3.0]))
    Atom(size=4, {1: 1, 3: -1})
    """

    has_projection = True

    def __init__(self, n: int, k: int, radius: float = 1.0) -> None:
        super().__init__(n, radius)
        check_integer("k", k, 1)
        if k > self.n:
            raise OptionError(f"k={k} must be at most n={self.n}: an atom has k entries of n.")
        self.k = int(k)

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The k largest entries in size, each met by the opposite sign; +radius where it is 0."""
        gradient = self._vector("gradient", gradient)
        index = _largest(np.abs(gradient), self.k)
        value = np.where(gradient[index] > 0.0, -self.radius, self.radius)
        return Atom(index, value, self.size)

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point: sizes lowered by one number, then cut at the radius."""
        x = self._vector("x", x)
        size = np.abs(x)
        # (with k = n the sum is never too large, but by rounding)
        total = self.k * self.radius if self.k < self.n else np.inf
        lowered = size - _threshold(size, self.radius, total)
        return np.copysign(np.clip(lowered, 0.0, self.radius), x)

    def __repr__(self) -> str:
        return f"KSparse({self.n}, k={self.k}{and_radius(self.radius)})"


def _largest(size: np.ndarray, k: int) -> np.ndarray:
    """The sorted coordinates of the k largest entries; of those that tie, the first."""
    at = len(size) - k
    least = np.partition(size, at)[at]
    is_taken = size > least
    missing = k - int(np.count_nonzero(is_taken))
    is_taken[np.flatnonzero(size == least)[:missing]] = True
    return np.flatnonzero(is_taken)


def _threshold(size: np.ndarray, radius: float, total: float) -> float:
    """The theta >= 0 with sum_j clip(size_j - theta, 0, radius) = total; 0 where the sum is less.

    The sum is piecewise linear in theta. As theta falls, an entry begins to add at its size and
    stops at its size - radius; between two such points the slope is the number of those that add.
    """
    if np.minimum(size, radius).sum() <= total:
        return 0.0
    ends = np.concatenate([size, size - radius])
    change = np.repeat([1.0, -1.0], len(size))
    order = np.argsort(-ends, kind="stable")
    ends, adding = ends[order], np.cumsum(change[order])
    reached = np.concatenate([[0.0], np.cumsum(adding[:-1] * -np.diff(ends))])
    at = int(np.searchsorted(reached, total))  # reached[at - 1] < total <= reached[at]
    theta = float(ends[at - 1] - (total - reached[at - 1]) / adding[at - 1])
    return max(0.0, theta)  # (by rounding it may be less, where the sum is nearly the total)
