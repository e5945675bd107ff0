"""Fully corrective Frank-Wolfe: after every oracle call, the best mean of all atoms so far.

For quadratic f that is a quadratic over a simplex, solved exactly (`base.simplex_qp`); of a squared
norm this is Wolfe's method for the point of least norm. For other f, pairwise steps between the
atoms bring their gap below a share of the oracle's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_integer, check_share
from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.simplex_qp import maximize_on_simplex
from blockwolfe.errors import OptionError
from blockwolfe.optimize.active_set import ActiveSet
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.engine import OptimizeEngine
from blockwolfe.optimize.methods.base import STEP_SIZES, StepMethod
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.objectives.squared_norm import SquaredNorm
from blockwolfe.optimize.space import Place, Setup, Space
from blockwolfe.optimize.step_sizes import StepSize
from blockwolfe.optimize.visiting import VisitingEngine
from blockwolfe.rules.registry import register
from blockwolfe.rules.steps import Corrective, Step

__all__ = ["FullyCorrective", "MinNormPoint"]


@register
@dataclass(frozen=True)
class FullyCorrective(StepMethod):
    """Fully corrective Frank-Wolfe: few oracle calls, each followed by the best mean of all atoms.

    For oracles that are expensive. Memory and time of a correction grow with the number of atoms
    in use, which is at most the dimension plus one on quadratics.

    Parameters
    ----------
    share, max_steps : where f is not quadratic, at most so many pairwise steps after an oracle
        call, while their slope is above this share of its gap.
    step_size : of these steps.

    >>> FullyCorrective(share=0.5).share
    0.5
    """

    name: ClassVar[str] = "fcfw"
    words: ClassVar[str] = "fully corrective steps"
    switches: ClassVar[dict[str, dict[str, Any]]] = STEP_SIZES

    share: float = 0.1
    max_steps: int = 1000
    step_size: StepSize | None = None

    def __post_init__(self) -> None:
        check_share("share", self.share)
        check_integer("max_steps", self.max_steps, 1)
        self._check_step_size()

    @property
    def step(self) -> Step:
        """Of corrections where f is not quadratic."""
        return Corrective(max_steps=self.max_steps, share=self.share)

    def start(self, setup: Setup) -> OptimizeEngine:
        """By quadratic programs where f is quadratic, else by pairwise steps."""
        engine = MixtureEngine if setup.objective.is_quadratic else VisitingEngine
        return engine(self, setup)


@register
@dataclass(frozen=True)
class MinNormPoint(FullyCorrective):
    """Wolfe's method: the point of a polytope nearest to the centre of `SquaredNorm`.

    It minimises submodular functions: the negative entries of the point of least norm in the base
    polytope are a minimiser (see `optimize.minimize_submodular`).

    >>> MinNormPoint().name
    'min_norm_point'
    """

    name: ClassVar[str] = "min_norm_point"
    words: ClassVar[str] = "Wolfe's method"

    def check(self, objective: Objective, space: Space) -> None:
        """Refuse other objectives."""
        if not isinstance(objective, SquaredNorm):
            raise OptionError(
                f"method 'min_norm_point' is for SquaredNorm(); objective is "
                f"{type(objective).__name__}. Use 'fcfw', which is the same for any objective."
            )


class MixtureEngine(VisitingEngine):
    """The best mixture of all atoms, as a quadratic over the simplex of their weights.

    With H the Hessian and a the weights, f at the mixture b is

        f(x) + <scores, b - a> + <b - a, Q (b - a)> / 2,        Q = (<s_k, H s_l>)
    """

    def __init__(self, method: Any, setup: Setup) -> None:
        super().__init__(method, setup)
        self._factors: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def _visit(self, place: Place) -> None:
        gradient, atom = self._answer(place)
        score = float(gradient @ self.follower.x[place.at])
        forward = score - atom.dot(gradient)
        active = self._active_of(place)
        scores = active.scores(gradient)
        self._compare(place, gradient, active.atoms[int(scores.argmin())], atom)
        better = self._mixture(place, active, atom, gradient) if forward > 0.0 else None

        def change() -> None:
            if better is not None:
                self._put(place, better)
            self.passes.note(place.number, max(forward, 0.0))

        self._made(change, oracle_calls=1, steps=int(better is not None))

    def _mixture(
        self, place: Place, active: ActiveSet, atom: Atom, gradient: np.ndarray
    ) -> ActiveSet | None:
        """The active set with the best weights; None where rounding leaves nothing to gain."""
        row = active.find(atom)
        atoms = active.atoms if row >= 0 else [*active.atoms, atom]
        before = active.weights if row >= 0 else np.append(active.weights, 0.0)
        factors = [self._factors_of(each, place) for each in atoms]
        Q = np.array([left for left, _ in factors]) @ np.array([right for _, right in factors]).T
        Q = 0.5 * (Q + Q.T)
        scores = np.array([each.dot(gradient) for each in atoms])
        weights = maximize_on_simplex(Q, Q @ before - scores, before)
        moved = weights - before
        gain = -float(scores @ moved) - 0.5 * float(moved @ Q @ moved)
        if not gain > 0.0:
            return None
        found = ActiveSet(active.size, atoms, weights)
        found.drop_idle()
        return found

    def _factors_of(self, atom: Atom, place: Place) -> tuple[np.ndarray, np.ndarray]:
        """Two vectors: the first of one atom times the second of another is <s, H t>."""
        known = self._factors.get(atom.key)
        if known is None:
            known = self.follower.factors(Direction(place.at, atom.dense()))
            self._factors[atom.key] = known
        return known

    def _put(self, place: Place, better: ActiveSet) -> None:
        assert self._active is not None
        self._active[place.number] = better
        self.follower.x[place.at] = better.mean()
        self.follower.rebuild()
        kept = {atom.key for atom in better.atoms}
        self._factors = {key: known for key, known in self._factors.items() if key in kept}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        with uninterrupted():
            super().restore(saved)
            self._factors = {}
