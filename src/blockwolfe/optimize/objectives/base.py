"""Objectives, the same at a point that moves, and along a line.

    Objective    f: its value and gradient at any x
    Follower     f at an own x that moves; it maintains what moves with x (a residual, say), so
                 that a step along few coordinates costs little
    Line         f(x + gamma d) as a function of gamma, where the follower stands

A method asks `gradient(block)`, finds a direction, asks `along(direction)`, lets a step-size rule
choose gamma, and calls `move(line, gamma)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from blockwolfe.optimize.objectives.followers import Follower
from blockwolfe.optimize.objectives.plain import PlainFollower

__all__ = ["Objective"]


class Objective(ABC):
    """A smooth convex function f of a flat vector.

    The least that a subclass writes is `value` and `gradient`. One with `block_gradient` spares
    methods the full gradient at each visit of a block; one with `follow` maintains quantities.

    Examples
    --------
    >>> from blockwolfe.optimize.directions import Direction
    >>> class Cosh(Objective):
    ...     def value(self, x):
    ...         return np.cosh(x).sum()
    ...     def gradient(self, x):
    ...         return np.sinh(x)
    >>> follower = Cosh().follow(np.array([1.0, 0.0]))
    >>> line = follower.along(Direction(np.array([0]), np.array([-1.0])))
    >>> follower.move(line, 1.0)
    >>> follower.value(), follower.x
    (2.0, array([0., 0.]))
    """

    is_quadratic: ClassVar[bool] = False  # whether followers have `factors`, and lines a curvature
    size: int | None = None  # None: any

    @abstractmethod
    def value(self, x: np.ndarray) -> float:
        """f(x)."""

    @abstractmethod
    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient at x."""

    def block_gradient(self, x: np.ndarray, block: slice) -> np.ndarray:
        """The gradient at x in the coordinates of a block."""
        return self.gradient(x)[block]

    @property
    def has_block_gradient(self) -> bool:
        """Whether `block_gradient` is cheaper than the full gradient."""
        return type(self).block_gradient is not Objective.block_gradient

    def follow(self, x: np.ndarray) -> Follower:
        """The objective at a point that begins at x, which is copied."""
        return PlainFollower(self, x)
