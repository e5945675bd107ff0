"""What all dual points have in common: w = clip(v / lam + rest, l, u), and what visits climb.

The rest is what others add to v / lam: other blocks, where those here are a part of them all, or
the centre of an acceleration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import dual_at, within_bounds

__all__ = ["PulledPoint"]


class PulledPoint(ABC):
    """A dual point at some lambda, wherever its blocks are."""

    blocks: Blocks
    lam: float
    rest: np.ndarray | None  # None: zero

    @property
    @abstractmethod
    def raw(self) -> np.ndarray:
        """The weights before bounds, as the steps have left them."""

    @property
    @abstractmethod
    def w(self) -> np.ndarray:
        """Those within bounds."""

    @property
    @abstractmethod
    def total_ell(self) -> float:
        """Of all blocks."""

    @abstractmethod
    def put(self, v: np.ndarray) -> None:
        """Go on from v, free of the rounding of many steps."""

    @abstractmethod
    def place(self, raw: np.ndarray) -> None:
        """Be at these weights (before bounds)."""

    def raw_of(self, v: np.ndarray) -> np.ndarray:
        """The weights before bounds that the point would have with this v."""
        return np.asarray(v / self.lam if self.rest is None else v / self.lam + self.rest)

    def weights(self, v: np.ndarray) -> np.ndarray:
        """Those within bounds, likewise."""
        return within_bounds(self.blocks, self.raw_of(v))

    @property
    def v(self) -> np.ndarray:
        """The vector v as the steps have left it, not rebuilt."""
        return self.lam * (self.raw if self.rest is None else self.raw - self.rest)

    def dual(self) -> float:
        """(2); where there is a rest, what visits climb, up to a constant."""
        return dual_at(self.blocks, self.raw, self.total_ell, self.lam)

    def climbed(self) -> float:
        """What visits have gained by (4), each as it was made, up to a constant."""
        return self.dual()
