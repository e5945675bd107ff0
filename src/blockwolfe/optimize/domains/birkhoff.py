"""Doubly stochastic matrices; the oracle is an assignment."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from blockwolfe.base.checks import check_integer
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains.base import Domain

__all__ = ["Birkhoff"]


class Birkhoff(Domain):
    """The n x n matrices x >= 0 whose rows and columns sum to 1; atoms are permutations.

    Parameters
    ----------
    n : int
        Rows and columns. Points are these matrices row by row, as `X.ravel()` gives them.

    Examples
    --------
    >>> costs = np.array([[4.0, 1.0], [2.0, 3.0]])
    >>> Birkhoff(2).minimize(costs.ravel()).dense().reshape(2, 2)
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(self, n: int) -> None:
        check_integer("n", n, 1)
        self.n = int(n)
        super().__init__((self.n, self.n))

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The cheapest permutation, by scipy's shortest augmenting paths."""
        gradient = self._vector("gradient", gradient)
        # (at scale 1 at most: differences of costs beyond 1e308 would be infinite)
        largest = max(1.0, float(np.abs(gradient).max()))
        rows, columns = linear_sum_assignment((gradient / largest).reshape(self.shape))
        return Atom(rows * self.n + columns, np.ones(self.n), self.size)

    def distance(self, x: np.ndarray) -> float:
        """The largest violation: of a sum of a row or column, or of x >= 0."""
        matrix = self._vector("x", x).reshape(self.shape)
        sums = np.concatenate([matrix.sum(axis=0), matrix.sum(axis=1)])
        return float(max(np.abs(sums - 1.0).max(), -matrix.min(), 0.0))

    def __repr__(self) -> str:
        return f"Birkhoff({self.n})"
