"""f(x) = 1/2 |x - c|^2: the nearest point of a set to c, and its point of least norm."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.objectives.followers import Follower
from blockwolfe.optimize.objectives.lines import QuadraticLine
from blockwolfe.optimize.objectives.reading import read_point, read_vector

__all__ = ["SquaredNorm"]


class SquaredNorm(Objective):
    """1/2 |x - center|^2.

    Parameters
    ----------
    center : a flat vector; None is the origin, for x of any length

    Examples
    --------
    >>> SquaredNorm().value([3.0, 4.0]), SquaredNorm([1.0, 1.0]).gradient([1.0, 3.0])
    (12.5, array([0., 2.]))
    """

    is_quadratic: ClassVar[bool] = True

    def __init__(self, center: Any = None) -> None:
        self.center = None if center is None else read_vector("center", center).copy()
        self.size = None if self.center is None else len(self.center)

    def value(self, x: np.ndarray) -> float:
        """f(x)."""
        return self.follow(x).value()

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient at x."""
        follower = self.follow(x)
        return follower.gradient(slice(0, len(follower.x)))

    def block_gradient(self, x: np.ndarray, block: slice) -> np.ndarray:
        """The gradient at x in the coordinates of a block."""
        return self.follow(x).gradient(block)

    def follow(self, x: np.ndarray) -> SquaredNormFollower:
        """The objective at a point that begins at x."""
        return SquaredNormFollower(self, read_point(x, self.size).copy())

    def __repr__(self) -> str:
        return "SquaredNorm()" if self.center is None else f"SquaredNorm(center of {self.size})"


class SquaredNormFollower(Follower):
    """Nothing is to be maintained."""

    def __init__(self, objective: SquaredNorm, x: np.ndarray) -> None:
        self.x, self._center = x, objective.center

    def value(self) -> float:
        """f(x)."""
        away = self.gradient(slice(0, len(self.x)))
        return 0.5 * float(np.dot(away, away))

    def gradient(self, block: slice) -> np.ndarray:
        """The gradient at x in the coordinates of a block."""
        return self._gradient_at(block)

    def entries(self, index: np.ndarray) -> np.ndarray:
        """The gradient at x in some coordinates."""
        return self._gradient_at(index)

    def _gradient_at(self, index: np.ndarray | slice) -> np.ndarray:
        x = self.x[index]
        return x if self._center is None else x - self._center[index]

    def along(self, direction: Direction) -> QuadraticLine:
        """The objective on the line through x along d."""
        slope = float(np.dot(self._gradient_at(direction.index), direction.value))
        return QuadraticLine(direction, slope, direction.sqnorm(), self.value)

    def move(self, line: QuadraticLine, gamma: float) -> None:
        """Move x by gamma d."""
        line.direction.add_to(self.x, gamma)

    def factors(self, direction: Direction) -> tuple[np.ndarray, np.ndarray]:
        """d, twice."""
        own = np.zeros(len(self.x))
        direction.add_to(own)
        return own, own

    def size_of_terms(self) -> float:
        """Of x and the centre."""
        far = 0.0 if self._center is None else float(np.abs(self._center).max(initial=0.0))
        return float(np.abs(self.x).max(initial=0.0)) + far

    def rebuild(self) -> None:
        """Nothing is maintained."""
