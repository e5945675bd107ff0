"""Projected gradient steps, one block at a time: what to compare Frank-Wolfe with.

Nesterov's randomised block method: x_i becomes the projection of x_i - g_i / L_i, where L_i is an
estimate of the Lipschitz constant of the block's gradient, found by backtracking.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.base.schema import Reader
from blockwolfe.errors import OptionError
from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.engine import OptimizeEngine
from blockwolfe.optimize.methods.base import Optimizer, check_choice
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.objectives.lines import Line
from blockwolfe.optimize.space import Place, Setup, Space
from blockwolfe.optimize.step_sizes import allows
from blockwolfe.rules.registry import register
from blockwolfe.rules.sampling import Sampling, Uniform

__all__ = ["BlockProjectedGradient"]

# L is divided by this at the beginning of a search, and multiplied by it until the step is allowed.
FALLS, GROWS = 1.1, 2.0
MAX_TRIALS = 200


@register
@dataclass(frozen=True)
class BlockProjectedGradient(Optimizer):
    """Randomised block projected gradient: needs projections, and no atoms.

    Parameters
    ----------
    sampling : `Uniform()`, `Permutation()` or `Cyclic()`.
    certify_every : passes between certificates, by the linear oracles.

    >>> BlockProjectedGradient().words
    'projected gradient steps, uniform sampling'
    """

    name: ClassVar[str] = "projected"
    is_split: ClassVar[bool] = True
    sees_gaps: ClassVar[bool] = False

    sampling: Sampling = field(default_factory=Uniform)
    certify_every: int = 10

    def __post_init__(self) -> None:
        check_choice("sampling", self.sampling, Sampling)
        check_integer("certify_every", self.certify_every, 1)
        if self.sampling.needs_gaps:
            raise OptionError(
                f"sampling={self.sampling!r} goes by gaps of blocks, which projected gradient "
                "steps do not tell; use Uniform(), Permutation() or Cyclic()."
            )

    @property
    def words(self) -> str:
        """With the order of its visits."""
        return f"projected gradient steps, {self.sampling.words}"

    @property
    def is_monotone(self) -> bool:
        """Steps are as long as f allows."""
        return True

    @property
    def full_pass_every(self) -> float:
        """As asked for."""
        return float(self.certify_every)

    def check(self, objective: Objective, space: Space) -> None:
        """Refuse domains without projections."""
        lacking = [repr(place.domain) for place in space.places if not place.domain.has_projection]
        if lacking:
            raise OptionError(
                f"method 'projected' needs projections, which {lacking[0]} does not have; use a "
                "method with linear oracles, such as 'bcfw'."
            )

    def start(self, setup: Setup) -> OptimizeEngine:
        """Blocks in the order of the sampling rule."""
        return ProjectingEngine(self, setup, self.sampling)


class ProjectingEngine(OptimizeEngine):
    """Gradient, projection, and a search for L."""

    def __init__(self, method: Any, setup: Setup, sampling: Sampling) -> None:
        super().__init__(method, setup, sampling)
        self.bend = np.zeros(self.n_blocks)  # L of every block; 0 before its first visit

    def _visit(self, place: Place) -> None:
        line, L = self._searched(place)
        with self._shield:
            if line is not None:
                self.follower.move(line, 1.0)
            self.bend[place.number] = L
            self._count_visit(oracle_calls=0, steps=int(line is not None))

    def _searched(self, place: Place) -> tuple[Line | None, float]:
        """The line to the next point, and the L that allows it; None where nothing moves."""
        x, gradient = self.follower.x[place.at], self._gradient(place)
        L = float(self.bend[place.number]) / FALLS or self._first(x, gradient)
        for _ in range(MAX_TRIALS):
            moved = place.domain.project(x - gradient / L) - x
            line = self.follower.along(Direction(place.at, moved))
            if line.sqnorm == 0.0 or line.slope >= 0.0:  # (tells nothing of L)
                return None, float(self.bend[place.number]) or L
            if allows(line, 1.0, L * line.sqnorm)[0]:
                return line, L
            L *= GROWS
        return None, L

    def _first(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """A step about as long as x; longer ones follow where f allows."""
        size = float(np.linalg.norm(gradient))
        return size / max(float(np.linalg.norm(x)), 1.0) or 1.0

    @property
    def gap_estimate(self) -> float:
        """Not known between certificates."""
        return float("inf")

    def to_save(self) -> dict[str, Any]:
        """And L of every block."""
        return super().to_save() | {"bend": self.bend}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        self.bend = Reader(saved).array("bend", np.float64, (self.n_blocks,), least=0.0)
