"""What objectives of the products of rows with x have in common: least squares, logistic."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.checks import check_positive
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.objectives.reading import read_matrix, read_vector

__all__ = ["LinearModel"]


class LinearModel(Objective):
    """A function of A x, with one number of b for every row; values and gradients by a follower."""

    def __init__(self, A: Any, b: Any, scale: float = 1.0) -> None:
        self.scale = check_positive("scale", scale, hint=", as 1 or 1 / len(b)")
        self.A = read_matrix("A", A)
        n_rows, self.size = self.A.shape
        self.b = read_vector("b", b, n_rows, of="one entry per row of A").copy()

    def value(self, x: np.ndarray) -> float:
        """f(x)."""
        return self.follow(x).value()

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient at x."""
        return self.follow(x).gradient(slice(0, self.A.shape[1]))

    def block_gradient(self, x: np.ndarray, block: slice) -> np.ndarray:
        """The gradient at x in the coordinates of a block."""
        return self.follow(x).gradient(block)

    def __repr__(self) -> str:
        n_rows, n_columns = self.A.shape
        return f"{type(self).__name__}({n_rows} x {n_columns}, scale={self.scale:g})"
