"""Away steps with a subsampled oracle: atoms in use, and a random share of all others.

Kerdreux, Pedregosa and d'Aspremont (2018): linear convergence on polytopes of numbered atoms, in
expectation, at a rate that has the square of the share in it; each call looks at few atoms.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_integer, check_share
from blockwolfe.base.schema import Reader
from blockwolfe.errors import OptionError
from blockwolfe.optimize.engine import OptimizeEngine
from blockwolfe.optimize.methods.base import STEP_SIZES, StepMethod
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.space import Place, Setup, Space
from blockwolfe.optimize.step_sizes import StepSize
from blockwolfe.optimize.visiting import Answer, VisitingEngine
from blockwolfe.rules.registry import register
from blockwolfe.rules.steps import Away, Step

__all__ = ["RandomizedAway"]


@register
@dataclass(frozen=True)
class RandomizedAway(StepMethod):
    """Away steps whose oracle looks at the atoms in use and at a random share of all others.

    For domains with very many numbered atoms: `Simplex`, `L1Ball`, `Vertices`. Certificates are by
    the full oracle.

    Parameters
    ----------
    share : of the atoms, in each call.
    step_size : as of `FrankWolfe`.
    certify_every : visits between certificates.

    >>> RandomizedAway(share=0.2).words
    'away steps, 20 % of the atoms'
    """

    name: ClassVar[str] = "raway"
    sees_gaps: ClassVar[bool] = False
    switches: ClassVar[dict[str, dict[str, Any]]] = STEP_SIZES

    share: float = 0.1
    step_size: StepSize | None = None
    certify_every: int = 20

    def __post_init__(self) -> None:
        check_share("share", self.share)
        if self.share <= 0.0:
            raise OptionError(f"share={self.share!r} must be above 0: a share of the atoms.")
        check_integer("certify_every", self.certify_every, 1)
        self._check_step_size()

    @property
    def words(self) -> str:
        """With its share."""
        return f"away steps, {100 * self.share:g} % of the atoms{self._search_words}"

    @property
    def step(self) -> Step:
        """Away steps."""
        return Away()

    @property
    def full_pass_every(self) -> float:
        """As asked for."""
        return float(self.certify_every)

    def check(self, objective: Objective, space: Space) -> None:
        """Refuse domains whose atoms have no numbers."""
        if space.domain.n_atoms is None:
            raise OptionError(
                f"method 'raway' draws from numbered atoms, and {space.domain!r} has none "
                "(n_atoms is None); use it on Simplex, L1Ball or Vertices, or use 'away'."
            )

    def start(self, setup: Setup) -> OptimizeEngine:
        """One visit after another."""
        return SubsampledEngine(self, setup)


class SubsampledEngine(VisitingEngine):
    """The oracle over a few atoms; what it finds tells nothing of the gap."""

    def __init__(self, method: RandomizedAway, setup: Setup) -> None:
        super().__init__(method, setup)
        self._share, self._drawn = method.share, np.zeros(0, dtype=np.int64)

    def _answer(self, place: Place) -> Answer:
        domain, active = place.domain, self._active_of(place)
        drawn = self._draw(int(domain.n_atoms or 1))
        gradient = self._gradient_for(place, drawn)
        found = place.minimize_among(gradient, drawn)
        scores = active.scores(gradient)
        best = int(np.argmin(scores))
        if scores[best] < found.dot(gradient):
            found = active.atoms[best]
        return Answer(gradient, found, 1)

    def _draw(self, n_atoms: int) -> np.ndarray:
        """Numbers of atoms; those of a visit that Ctrl-C ended are drawn once."""
        if not len(self._drawn):
            n_drawn = min(n_atoms, max(1, ceil(self._share * n_atoms)))
            drawn = self.rng.choice(n_atoms, n_drawn, replace=False, shuffle=False)
            self._drawn = np.sort(drawn)
        return self._drawn

    def _gradient_for(self, place: Place, drawn: np.ndarray) -> np.ndarray:
        """The gradient where these atoms and those in use are not zero; zeros elsewhere."""
        listed = [atom.index for atom in self._active_of(place).atoms]
        coordinates = place.domain.coordinates(drawn)
        known = [index for index in listed if index is not None]
        if coordinates is None or len(known) < len(listed):
            return self._gradient(place)
        index = np.unique(np.concatenate([coordinates, *known]))
        gradient = np.zeros(place.domain.size)
        gradient[index] = self._checked(place, self.follower.entries(index + place.at.start))
        return gradient

    def _note(self, place: Place, forward: float) -> None:
        self._drawn = self._drawn[:0]

    @property
    def gap_estimate(self) -> float:
        """Not known between certificates."""
        return float("inf")

    def to_save(self) -> dict[str, Any]:
        """And what was drawn for a visit that is not made."""
        return super().to_save() | {"drawn": self._drawn}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        most = int(self.space.domain.n_atoms or 1) - 1
        self._drawn = Reader(saved).array("drawn", np.int64, (None,), least=0, most=most)
