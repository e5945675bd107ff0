"""Frank-Wolfe on a whole domain, and one block after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from blockwolfe.base.checks import check_integer
from blockwolfe.optimize.engine import OptimizeEngine
from blockwolfe.optimize.methods.base import STEP_SIZES, StepMethod, check_choice
from blockwolfe.optimize.space import Setup
from blockwolfe.optimize.step_sizes import StepSize
from blockwolfe.optimize.visiting import VisitingEngine
from blockwolfe.rules.registry import register
from blockwolfe.rules.sampling import Permutation, Sampling
from blockwolfe.rules.steps import FW, Step

__all__ = ["BlockFrankWolfe", "FrankWolfe"]


@register
@dataclass(frozen=True)
class FrankWolfe(StepMethod):
    """Frank-Wolfe on the whole domain: one oracle call, one step.

    Parameters
    ----------
    step : `FW()`, `Pairwise()`, `Away()`, `BestOf()`, `BlendedPairwise()` or `Corrective()`. All
        but the first keep the atoms that x is a mean of, and converge linearly on polytopes.
    step_size : `ExactSearch()`, `Adaptive()`, `Predefined()`, `ShortStep(L)`; None is exact for
        quadratic objectives, and adaptive for others.

    >>> FrankWolfe().words
    'Frank-Wolfe steps'
    """

    name: ClassVar[str] = "fw"
    switches: ClassVar[dict[str, dict[str, Any]]] = STEP_SIZES

    step: Step = field(default_factory=FW)
    step_size: StepSize | None = None

    def __post_init__(self) -> None:
        check_choice("step", self.step, Step)
        self._check_step_size()

    @property
    def words(self) -> str:
        """Its steps."""
        return f"{self.step.words}{self._search_words}"

    def start(self, setup: Setup) -> OptimizeEngine:
        """One visit after another."""
        return VisitingEngine(self, setup)


@register
@dataclass(frozen=True)
class BlockFrankWolfe(StepMethod):
    """Frank-Wolfe on one block of a product at a time: its oracle, its gradient, its step.

    Parameters
    ----------
    sampling : `Permutation()`, `Uniform()`, `Cyclic()`, `GapSampling()` or `MaxGap()`.
    step, step_size : as of `FrankWolfe`.
    certify_every : passes between certificates, each of which asks all oracles once.

    >>> BlockFrankWolfe().words
    'blocks: Frank-Wolfe steps, random permutations'
    """

    name: ClassVar[str] = "bcfw"
    is_split: ClassVar[bool] = True
    switches: ClassVar[dict[str, dict[str, Any]]] = STEP_SIZES

    sampling: Sampling = field(default_factory=Permutation)
    step: Step = field(default_factory=FW)
    step_size: StepSize | None = None
    certify_every: int = 10

    def __post_init__(self) -> None:
        check_choice("sampling", self.sampling, Sampling)
        check_choice("step", self.step, Step)
        check_integer("certify_every", self.certify_every, 1)
        self._check_step_size()

    @property
    def words(self) -> str:
        """Its steps, and the order of its visits."""
        return f"blocks: {self.step.words}, {self.sampling.words}{self._search_words}"

    @property
    def full_pass_every(self) -> float:
        """As asked for, or as often as the estimates must be renewed."""
        return float(min(self.certify_every, self.sampling.refresh_every))

    def start(self, setup: Setup) -> OptimizeEngine:
        """Blocks in the order of the sampling rule."""
        return VisitingEngine(self, setup, self.sampling)
