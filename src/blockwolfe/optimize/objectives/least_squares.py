"""f(x) = scale/2 |A x - b|^2, by its residual r = A x - b.

gradient        scale A^T r
along d         slope scale <r, A d>, curvature scale |A d|^2
a move          r += gamma A d
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.objectives.followers import Follower
from blockwolfe.optimize.objectives.linear_model import LinearModel
from blockwolfe.optimize.objectives.lines import QuadraticLine
from blockwolfe.optimize.objectives.matrices import columns_of
from blockwolfe.optimize.objectives.reading import read_point

__all__ = ["LeastSquares"]


class LeastSquares(LinearModel):
    """scale/2 |A x - b|^2.

    Parameters
    ----------
    A : dense or scipy.sparse matrix, one column per coordinate of x
        Not copied where it is Fortran-ordered float64, or CSC: do not write to it afterwards.
    b : one entry per row of A
    scale : a factor > 0; ``1 / len(b)`` makes this the data term of scikit-learn's `Lasso`

    Examples
    --------
    >>> f = LeastSquares([[1.0, 0.0], [0.0, 2.0]], [1.0, 2.0])
    >>> f.value([0.0, 0.0]), f.gradient([0.0, 0.0])
    (2.5, array([-1., -4.]))
    """

    is_quadratic: ClassVar[bool] = True

    def follow(self, x: np.ndarray) -> LeastSquaresFollower:
        """The objective at a point that begins at x."""
        return LeastSquaresFollower(self, read_point(x, self.size).copy())


class LeastSquaresFollower(Follower):
    """It maintains the residual."""

    maintained: ClassVar[tuple[str, ...]] = ("residual",)

    def __init__(self, objective: LeastSquares, x: np.ndarray) -> None:
        self.x, self._b, self._scale = x, objective.b, objective.scale
        self._matrix = columns_of(objective.A)
        self.rebuild()

    def value(self) -> float:
        """f(x)."""
        return 0.5 * self._scale * float(np.dot(self.residual, self.residual))

    def gradient(self, block: slice) -> np.ndarray:
        """The gradient at x in the coordinates of a block."""
        found = self._matrix.adjoint(self.residual, block)
        found *= self._scale
        return found

    def entries(self, index: np.ndarray) -> np.ndarray:
        """The gradient at x in some coordinates."""
        return self._scale * self._matrix.adjoint_at(self.residual, index)

    def along(self, direction: Direction) -> QuadraticLine:
        """The objective on the line through x along d."""
        image = self._matrix.image(direction)
        slope = self._scale * image.dot(self.residual)
        return QuadraticLine(direction, slope, self._scale * image.sqnorm(), self.value, image)

    def move(self, line: QuadraticLine, gamma: float) -> None:
        """Move x by gamma d."""
        line.direction.add_to(self.x, gamma)
        line.image.add_to(self.residual, gamma)

    def factors(self, direction: Direction) -> tuple[np.ndarray, np.ndarray]:
        """A d twice, once with the scale."""
        image = np.zeros(len(self._b))
        self._matrix.image(direction).add_to(image)
        return self._scale * image, image

    def size_of_terms(self) -> float:
        """Columns times what the residual is the difference of (Cauchy and Schwarz)."""
        longest = self._matrix.longest_column
        sizes = longest * float(np.abs(self.x).sum()) + float(np.linalg.norm(self._b))
        return self._scale * longest * sizes

    def rebuild(self) -> None:
        """The residual, anew from x."""
        self.residual = self._matrix.times(self.x) - self._b
