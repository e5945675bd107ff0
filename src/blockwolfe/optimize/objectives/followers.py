"""An objective at a point that moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.objectives.lines import Line

__all__ = ["Follower"]

_DRIFT = 1e-6  # of what is maintained, between two certificates, is far less than this


class Follower(ABC):
    """An objective at a point x that moves, with what it maintains of it.

    `x` is the follower's own array. Who writes to it (to put it back into its set, say) calls
    `rebuild` afterwards. `maintained` names the arrays that move with it.
    """

    maintained: ClassVar[tuple[str, ...]] = ()
    x: np.ndarray

    @abstractmethod
    def value(self) -> float:
        """f(x)."""

    @abstractmethod
    def gradient(self, block: slice) -> np.ndarray:
        """The gradient at x in the coordinates of a block; a slice with both ends.

        It may be a view of what is maintained: good until the next move, and not to be written to.
        """

    def entries(self, index: np.ndarray) -> np.ndarray:
        """The gradient at x in some coordinates; less work where they are few, if it can be."""
        return self.gradient(slice(0, len(self.x)))[index]

    @abstractmethod
    def along(self, direction: Direction) -> Line:
        """The objective on the line through x along d; good until the next move."""

    @abstractmethod
    def move(self, line: Any, gamma: float) -> None:
        """Move x by gamma d, for a line of this follower at this x."""

    def factors(self, direction: Direction) -> tuple[np.ndarray, np.ndarray]:
        """Of quadratics: the first vector of d times the second of e is <d, H e>."""
        raise NotImplementedError

    def size_of_terms(self) -> float:
        """The size of the terms that entries of the gradient are sums of, before they cancel."""
        whole = self.gradient(slice(0, len(self.x)))
        return float(np.abs(whole).max(initial=0.0))

    @abstractmethod
    def rebuild(self) -> None:
        """What is maintained, anew from x: rounding errors of many moves add up."""

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, np.ndarray]:
        """X and what is maintained: with its rounding errors, so that a run goes on to the bit."""
        return {name: getattr(self, name) for name in ("x", *self.maintained)}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`; what is not that of x, but for rounding, is refused."""
        read = Reader(saved, "follower")
        self.x[:] = read.array("x", np.float64, self.x.shape)
        self.rebuild()
        for name in self.maintained:
            anew = getattr(self, name)
            kept = read.array(name, np.float64, anew.shape)
            if np.abs(kept - anew).max(initial=0.0) > _DRIFT * (
                1.0 + np.abs(anew).max(initial=0.0)
            ):
                raise Misfit(f"{name} is not that of x.")
            anew[:] = kept
