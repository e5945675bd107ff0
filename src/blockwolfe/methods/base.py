"""What a method of the SVM is: settings with a name, and an engine that puts them to work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import State
from blockwolfe.problem.workers import Workers
from blockwolfe.running.engine import BaseMethod, Engine

__all__ = ["Method", "Setup", "WalkingEngine"]


class Setup(NamedTuple):
    """What an engine is made from."""

    blocks: Blocks
    state: State  # where to begin
    lam: float
    rng: np.random.Generator
    workers: Workers
    seconds_per_call: float = float("nan")  # of a user's oracle, from the first few calls
    problem: Any = None  # whose blocks they are, where that is known: a `Problem`, or its like
    checkpoint: Any = None  # the path of the file to which the run is saved, if it is


class Method(BaseMethod, ABC):
    """Base of the methods: options, and how to put them to work.

    >>> import blockwolfe as bw
    >>> isinstance(bw.BCFW(), Method), bw.BCFW().name
    (True, 'bcfw')
    """

    family: ClassVar[str] = "method"
    # What follows may also be properties, where it depends on options: ask a method, not its class.
    needs: ClassVar[Any] = ("maximize",)  # oracles that a task must offer: a tuple of names
    has_dual: ClassVar[Any] = True  # whether it has a dual point, and so a gap
    takes_start: ClassVar[bool] = True  # whether it can begin at any dual point
    can_walk: Any = True  # whether it can go from one lambda of a path to the next

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse, before any work, options that cannot work on this problem."""
        return

    @abstractmethod
    def start(self, setup: Setup) -> Engine:
        """The method at work."""


class WalkingEngine(Engine):
    """An engine with a dual point, which can be taken to a smaller lambda at the same w."""

    has_largest_losses: bool = True  # whether `begin_at_loss` has surely found them

    @property
    @abstractmethod
    def hinge(self) -> np.ndarray:
        """Upper bounds on H_i(w), from the last full pass."""

    @property
    @abstractmethod
    def gaps(self) -> np.ndarray:
        """The gap of every block as last seen."""

    @abstractmethod
    def dual(self) -> float:
        """D of the present iterate."""

    @abstractmethod
    def slopes(self) -> np.ndarray:
        """ell_i - <w, V_i> of every block, without an oracle call."""

    @abstractmethod
    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """Go to rho times lambda at the same w; `gap` are the block gaps (or estimates) there."""

    def begin_walk(self) -> None:
        """Before the first lambda of a path: do without what serves one lambda alone."""

    @abstractmethod
    def begin_at_loss(self, tol: float) -> tuple[float, np.ndarray]:
        """Begin where all weight is on the outputs of largest loss.

        Returns the lambda from which on that point has a gap of at most `tol` (0 where w = 0
        serves every lambda), where the engine then is, and lam w.
        """
