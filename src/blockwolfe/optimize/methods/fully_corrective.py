"""Fully corrective Frank-Wolfe: after every oracle call, the best mean of all atoms so far.

For quadratic f that is a quadratic over a simplex, solved exactly (`base.simplex_qp`); of a squared
norm this is Wolfe's method for the point of least norm. For other f, pairwise steps between the
atoms bring their gap below a share of the oracle's.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_integer, check_share
from blockwolfe.base.simplex_qp import maximize_on_simplex
from blockwolfe.errors import OptionError
from blockwolfe.optimize.active_set import ActiveSet
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.engine import OptimizeEngine
from blockwolfe.optimize.gram import Gram
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

    Quadratics need none of the three, as their best mean is found exactly; there, others than the
    defaults are refused.

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

    def check(self, objective: Objective, space: Space) -> None:
        """Refuse options that would do nothing."""
        if not objective.is_quadratic:
            return
        for option in fields(self):
            value = getattr(self, option.name)
            if value != option.default:
                raise OptionError(
                    f"{option.name}={value!r} of method 'fcfw' is for objectives that are not "
                    f"quadratic; of {type(objective).__name__} the best mean of the atoms is found "
                    "exactly. Leave it out, or use 'corrective', whose steps it is for."
                )

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
class MinNormPoint(StepMethod):
    """Wolfe's method: the point of a polytope nearest to the centre of `SquaredNorm`.

    It is `FullyCorrective` for this objective, and has no options. It minimises submodular
    functions: the negative entries of the point of least norm in the base polytope are a minimiser
    (see `optimize.minimize_submodular`).

    >>> MinNormPoint()
    MinNormPoint()
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

    @property
    def step(self) -> Step:
        """That of `FullyCorrective`: it keeps atoms."""
        return Corrective()

    def start(self, setup: Setup) -> OptimizeEngine:
        """By quadratic programs."""
        return MixtureEngine(self, setup)


class MixtureEngine(VisitingEngine):
    """The best mixture of all atoms, as a quadratic over the simplex of their weights.

    With H the Hessian and a the weights, f at the mixture b is

        f(x) + <scores, b - a> + <b - a, Q (b - a)> / 2,        Q = (<s_k, H s_l>)
    """

    def __init__(self, method: Any, setup: Setup) -> None:
        super().__init__(method, setup)
        self._gram = Gram(self._factors)

    def _factors(self, atom: Atom) -> tuple[np.ndarray, np.ndarray]:
        return self.follower.factors(Direction(self.space.places[0].at, atom.dense()))

    def _visit(self, place: Place) -> None:
        gradient, atom, oracle_calls = self._answer(place)
        score = float(gradient @ self.follower.x[place.at])
        forward = score - atom.dot(gradient)
        active = self._active_of(place)
        scores = active.scores(gradient)
        known = active.atoms[int(scores.argmin())]
        place.check_least(gradient, atom, known, "one it returned before")
        better = self._mixture(active, atom, gradient) if forward > 0.0 else None
        with self._shield:
            if better is not None:
                self._put(place, better)
            self._note(place, forward)
            self._count_visit(oracle_calls, steps=int(better is not None))

    def _mixture(self, active: ActiveSet, atom: Atom, gradient: np.ndarray) -> ActiveSet | None:
        """The active set with the best weights; None where rounding leaves nothing to gain."""
        found = active.copy()
        found.add(atom)
        before, scores = found.weights, found.scores(gradient)
        Q = self._gram.of(found.atoms)
        weights = maximize_on_simplex(Q, Q @ before - scores, before)
        moved = weights - before
        gain = -float(scores @ moved) - 0.5 * float(moved @ Q @ moved)
        if not gain > 0.0:
            return None
        found.set_weights(weights)
        return found

    def _put(self, place: Place, better: ActiveSet) -> None:
        assert self._active is not None
        self._active[place.number] = better
        self.follower.x[place.at] = better.mean()
        self.follower.rebuild()
