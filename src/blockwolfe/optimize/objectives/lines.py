"""f(x + gamma d) as a function of gamma."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np

from blockwolfe.optimize.directions import Direction

__all__ = ["VALUE_ERROR", "Line", "QuadraticLine"]

_EPS = float(np.finfo(float).eps)
# How far a value may be from the truth, as a multiple of it: sums of many terms are not as good
# as one operation, and a step-size rule must not learn from what rounding made.
VALUE_ERROR = 500.0 * _EPS


class Line(ABC):
    """f(x + gamma d) as a function of gamma, where a follower stands.

    `slope` is <gradient, d>, the derivative at 0. `curvature` is the second derivative where it is
    the same everywhere, as that of a quadratic; else None.
    """

    direction: Direction
    slope: float
    curvature: float | None = None

    @abstractmethod
    def value(self, gamma: float) -> float:
        """f(x + gamma d)."""

    @abstractmethod
    def slope_at(self, gamma: float) -> float:
        """The derivative at gamma."""

    def change(self, gamma: float) -> tuple[float, float]:
        """f(x + gamma d) - f(x), and how far it may be from the truth by rounding."""
        before, after = self.value(0.0), self.value(gamma)
        return after - before, VALUE_ERROR * max(abs(before), abs(after))

    @cached_property
    def sqnorm(self) -> float:
        """|d|^2."""
        return self.direction.sqnorm()


class QuadraticLine(Line):
    """f(x) + gamma slope + gamma^2 curvature / 2.

    `at_zero` tells f(x), and is asked only where a value is wanted; `image` is what the follower
    adds to what it maintains.

    >>> line = QuadraticLine(Direction(slice(0, 1), np.ones(1)), -1.0, 2.0, lambda: 10.0)
    >>> line.value(0.5), line.slope_at(0.5)
    (9.75, 0.0)
    """

    def __init__(
        self,
        direction: Direction,
        slope: float,
        curvature: float,
        at_zero: Callable[[], float],
        image: Direction | None = None,
    ) -> None:
        self.direction, self.slope, self.curvature = direction, slope, curvature
        self.image = direction if image is None else image
        self._at_zero, self._bend = at_zero, curvature

    def value(self, gamma: float) -> float:
        """f(x + gamma d)."""
        return self._at_zero() + self.change(gamma)[0]

    def slope_at(self, gamma: float) -> float:
        """The derivative at gamma."""
        return self.slope + gamma * self._bend

    def change(self, gamma: float) -> tuple[float, float]:
        """f(x + gamma d) - f(x), which is not a difference of values here."""
        first, second = gamma * self.slope, 0.5 * gamma * gamma * self._bend
        return first + second, 4.0 * _EPS * max(abs(first), abs(second))
