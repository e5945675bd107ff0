"""The convex hull of a list of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls

from blockwolfe.errors import InputError
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains.base import Domain
from blockwolfe.optimize.domains.reading import matrix

__all__ = ["Vertices"]

_MOST_ENTRIES = 10**6  # of a list of points for which a distance is computed


class Vertices(Domain):
    """The convex hull of the rows of a matrix; atom k is row k.

    Parameters
    ----------
    V : array or sparse matrix of shape (number of points, number of entries)
        The points, one in each row.

    Examples
    --------
    >>> triangle = Vertices([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> triangle.minimize(np.array([-3.0, -1.0]))
    Atom([1. 0.])
    >>> triangle.distance(np.array([0.25, 1.0])) < 1e-12
    True
    """

    def __init__(self, V: Any) -> None:
        self.V = matrix("V", V)
        array = self.V.data if sp.issparse(self.V) else self.V
        array.setflags(write=False)  # (atoms are views of rows)
        self.n_atoms = int(self.V.shape[0])
        super().__init__((int(self.V.shape[1]),))

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The row of the lowest product, the first of those that tie."""
        return self.atom(int(_products(self.V, self._vector("gradient", gradient)).argmin()))

    def minimize_among(self, gradient: np.ndarray, numbers: Any) -> Atom:
        """The best of some rows; the others are not looked at."""
        numbers = self._numbers(numbers)
        products = _products(self.V[numbers], self._vector("gradient", gradient))
        return self.atom(self._lowest(products, numbers))

    def atom(self, number: int) -> Atom:
        """Row `number`."""
        if not 0 <= number < self.V.shape[0]:
            raise InputError(f"number={number} is no row; rows are 0..{self.V.shape[0] - 1}.")
        if not sp.issparse(self.V):
            return Atom(None, self.V[number], self.size)
        begin, end = self.V.indptr[number], self.V.indptr[number + 1]
        index = self.V.indices[begin:end].astype(np.int64)
        return Atom(index, self.V.data[begin:end], self.size)

    def distance(self, x: np.ndarray) -> float:
        """The Euclidean distance; NaN for lists of more than a million entries.

        With rows v_k around x, the weights a >= 0 that minimise |sum a_k (v_k - x)|^2 / scale^2 +
        (sum a - 1)^2 are, made to sum to 1, those of the nearest point: for any given sum of
        weights the first term is least there.
        """
        x = self._vector("x", x)
        if self.V.shape[0] * self.V.shape[1] > _MOST_ENTRIES:
            return float("nan")
        rows = self.V.toarray() if sp.issparse(self.V) else self.V
        around = rows - x
        scale = float(np.abs(around).max()) or 1.0
        system = np.vstack([around.T / scale, np.ones(len(rows))])
        try:
            weight, _ = nnls(system, np.append(np.zeros(self.size), 1.0))
        except RuntimeError:  # (it gave up)
            return float("nan")
        return float(np.linalg.norm(weight @ around) / weight.sum())

    def __repr__(self) -> str:
        return f"Vertices({self.V.shape[0]} points of {self.size} entries)"


def _products(rows: Any, gradient: np.ndarray) -> np.ndarray:
    """<row, gradient> for every row, up to a factor where they would overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        products = rows @ gradient
    if not np.isfinite(products).all():
        products = rows @ (gradient / (np.abs(gradient).max() * len(gradient)))
    return np.asarray(products)
