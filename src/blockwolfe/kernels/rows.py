"""Rows of the kernel matrix of a dense table, from a matrix product and a formula of it.

The same values as scikit-learn's functions, which `values` asks. These prepare all inputs anew at
every call (norms, checks), and a run that cannot hold all rows asks for a few at a time: the
product alone takes a tenth of that time (docs/decisions.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from blockwolfe.kernels.values import centred

__all__ = ["TableRows"]

_PREPARED: dict[str, Any] = {"cosine": normalize, "rbf": centred}


class TableRows:
    """A kernel that is a function of inner products, among the rows of a table.

    >>> table = np.array([[0.0], [1.0], [3.0]])
    >>> TableRows("rbf", table, gamma=1.0, degree=3, coef0=1.0)([1]).round(3)
    array([[0.368, 1.   , 0.018]])
    """

    names = ("linear", "poly", "rbf", "sigmoid", "cosine")

    def __init__(
        self, name: str, table: np.ndarray, *, gamma: Any, degree: float, coef0: float
    ) -> None:
        self._table = _PREPARED[name](table) if name in _PREPARED else table
        self._square = np.einsum("ij,ij->i", self._table, self._table)
        self._name, self._options = name, (gamma, degree, coef0)

    def __call__(self, index: Any) -> np.ndarray:
        """Rows with these numbers."""
        product = self._table[index] @ self._table.T
        gamma, degree, coef0 = self._options
        with np.errstate(all="ignore"):  # (who asks looks at the values)
            if self._name == "rbf":
                return self._gaussian(product, index)
            if self._name in ("poly", "sigmoid"):
                product *= gamma
                product += coef0
            if self._name == "sigmoid":
                np.tanh(product, out=product)
            elif self._name == "poly":
                _raise_to(product, degree)
        return product

    def _gaussian(self, product: np.ndarray, index: Any) -> np.ndarray:
        """exp(-gamma |x - y|^2), with |x - y|^2 = |x|^2 - 2 <x, y> + |y|^2."""
        product *= -2.0
        product += self._square[index][:, None]
        product += self._square
        np.maximum(product, 0.0, out=product)
        product[np.arange(len(product)), index] = 0.0
        product *= -self._options[0]
        return np.exp(product, out=product)


def _raise_to(values: np.ndarray, degree: float) -> None:
    """In place; products of a small whole number of factors, which is much faster than `power`."""
    if degree not in (1, 2, 3, 4):
        np.power(values, degree, out=values)
        return
    factor = values.copy() if degree > 1 else values
    for _ in range(int(degree) - 1):
        values *= factor
