"""The simplex and the l1 ball, their oracles by one look at the gradient, and their projections.

Projection on {x >= 0, sum x = r} (Held, Wolfe, Crowder 1974): x = max(y - theta, 0), where theta
makes the sum right. With y sorted from the largest, and k entries left positive,

    theta = (y_1 + ... + y_k - r) / k,        k the largest with y_k > theta.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains.scaled import ScaledDomain

__all__ = ["L1Ball", "Simplex", "project_on_l1_ball", "project_on_simplex"]

# Visits ask for the same few atoms again and again. These never change, so that equal ones may be
# one object: it knows its key, which takes longer to find than the atom.
_unit = lru_cache(maxsize=2**14)(Atom.unit)


def project_on_simplex(y: np.ndarray, radius: float) -> np.ndarray:
    """The nearest x with x >= 0 and sum x = radius.

    >>> project_on_simplex(np.array([2.0, 1.5, -1.0]), 1.0)
    array([0.75, 0.25, 0.  ])
    """
    shifted = y - y.max()  # (moves theta and nothing else; large y would cost digits)
    falling = np.sort(shifted)[::-1]
    theta = (np.cumsum(falling) - radius) / np.arange(1, len(y) + 1)
    k = int(np.flatnonzero(falling > theta)[-1])
    return np.asarray(np.maximum(shifted - theta[k], 0.0))


def project_on_l1_ball(y: np.ndarray, radius: float) -> np.ndarray:
    """The nearest x with sum |x| <= radius: signs stay, sizes are projected where they must.

    >>> project_on_l1_ball(np.array([2.0, -1.5, 0.5]), 1.0)
    array([ 0.75, -0.25,  0.  ])
    """
    size = np.abs(y)
    if size.sum() <= radius:
        return y.copy()
    return np.copysign(project_on_simplex(size, radius), y)


class Simplex(ScaledDomain):
    """Vectors x >= 0 whose entries sum to `radius`; atom j is radius * e_j.

    Parameters
    ----------
    n : int
        Number of entries.
    radius : float, default=1.0
        What they sum to.

    Examples
    --------
    >>> simplex = Simplex(3)
    >>> simplex.minimize(np.array([0.5, -2.0, 1.0]))
    Atom(size=3, {1: 1})
    >>> simplex.project(np.array([2.0, 1.5, -1.0]))
    array([0.75, 0.25, 0.  ])
    """

    has_projection = True

    def __init__(self, n: int, radius: float = 1.0) -> None:
        super().__init__(n, radius)
        self.n_atoms = self.n

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The coordinate with the lowest entry, the first of those that tie."""
        return self.atom(int(self._vector("gradient", gradient).argmin()))

    def minimize_among(self, gradient: np.ndarray, numbers: Any) -> Atom:
        """The lowest entry among some coordinates; the others are not looked at."""
        numbers = self._numbers(numbers)
        return self.atom(self._lowest(self._of_size("gradient", gradient)[numbers], numbers))

    def coordinates(self, numbers: np.ndarray) -> np.ndarray:
        """Those with these numbers."""
        return np.asarray(numbers)

    def atom(self, number: int) -> Atom:
        """The atom radius * e_j."""
        return _unit(self.size, number, self.radius)

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of the simplex, by sorting."""
        return project_on_simplex(self._vector("x", x), self.radius)


class L1Ball(ScaledDomain):
    """Vectors with sum |x_j| <= `radius`; atom j is radius * e_j, and atom n + j its negative.

    Parameters
    ----------
    n : int
        Number of entries.
    radius : float, default=1.0
        The largest l1 norm.

    Examples
    --------
    >>> ball = L1Ball(3, radius=2.0)
    >>> ball.minimize(np.array([0.5, -2.0, 1.0])), ball.minimize(np.array([0.5, -2.0, 3.0]))
    (Atom(size=3, {1: 2}), Atom(size=3, {2: -2}))
    """

    has_projection = True

    def __init__(self, n: int, radius: float = 1.0) -> None:
        super().__init__(n, radius)
        self.n_atoms = 2 * self.n

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The coordinate with the largest entry in size, the first of those that tie."""
        gradient = self._vector("gradient", gradient)
        low, high = int(gradient.argmin()), int(gradient.argmax())
        below, above = -gradient[low], gradient[high]
        if below > above or (below == above and low <= high):
            return self.atom(low)
        return self.atom(self.n + high)

    def minimize_among(self, gradient: np.ndarray, numbers: Any) -> Atom:
        """The best of some atoms; other coordinates are not looked at."""
        numbers = self._numbers(numbers)
        is_negative = numbers >= self.n
        entries = self._of_size("gradient", gradient)[self.coordinates(numbers)]
        return self.atom(self._lowest(np.where(is_negative, -entries, entries), numbers))

    def coordinates(self, numbers: np.ndarray) -> np.ndarray:
        """Each has two numbers."""
        return np.asarray(numbers) % self.n

    def atom(self, number: int) -> Atom:
        """The atom radius * e_j, or its negative for n + j."""
        is_negative = number >= self.n
        j = number - self.n if is_negative else number
        return _unit(self.size, j, -self.radius if is_negative else self.radius)

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of the ball, by sorting."""
        return project_on_l1_ball(self._vector("x", x), self.radius)
