"""A method of the general form at work: a point that moves, passes of visits, certificates.

    g_i(x) = max over s in M_i of <-grad_i f(x), s - x_i>,        sum_i g_i(x) >= f(x) - f*

A certificate asks all oracles at one x, after x and all that moves with it were computed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.interrupts import Shield
from blockwolfe.base.rounding import UNITS
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.base.seeds import plain_state, restore_state
from blockwolfe.errors import OracleError
from blockwolfe.optimize.active_set import ActiveSet
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.reading import are_finite
from blockwolfe.optimize.space import Place, Setup
from blockwolfe.results.certificate import Certificate, faced
from blockwolfe.results.counts import Counts
from blockwolfe.rules.passes import GapPasses
from blockwolfe.rules.sampling import Cyclic, Sampling
from blockwolfe.running.engine import Engine

__all__ = ["OptimizeEngine"]

COUNTED = ("visits", "steps", "drops", "oracle_calls", "certificate_calls")


class OptimizeEngine(Engine):
    """What all methods have in common: a follower, passes of visits, certificates."""

    lam = 0.0  # (there is none)

    def __init__(self, method: Any, setup: Setup, sampling: Sampling | None = None) -> None:
        self.method, self.space, self.rng = method, setup.space, setup.rng
        self.objective, self.n_blocks = setup.objective, len(setup.space)
        self.follower = setup.objective.follow(self._first_point(setup))
        self.passes = GapPasses(self.n_blocks, sampling or Cyclic(), setup.rng)
        self._counted = dict.fromkeys(COUNTED, 0)
        self._shield = Shield()
        # Whether a certificate has asked the oracle of the only block at this very x, and counted
        # that; and gradient and answer, unless a file was read since.
        self._is_asked = False
        self._known: tuple[np.ndarray, Atom] | None = None

    def _first_point(self, setup: Setup) -> np.ndarray:
        return setup.point()

    # -- the work ------------------------------------------------------------------------------

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """Visit the blocks that the sampling rule asks for."""
        with self._shield.ready():
            is_free = self._finish(may_go_on)
        if is_free:
            self.passes.run(max_visits, may_go_on, partial(self._visit_until, may_go_on))

    def _visit_until(self, may_go_on: Callable[[], bool], until: int) -> None:
        passes, places = self.passes, self.space.places
        with self._shield.ready():
            while passes.done < until:
                self._visit(places[passes.next_block()])
                if not self._finish(may_go_on):
                    return

    def _visit(self, place: Place) -> None:
        """One visit: all of it, or (at Ctrl-C) nothing.

        Whatever it changes, it changes inside one `with self._shield:`, which ends with
        `_count_visit`.
        """
        raise NotImplementedError

    def _finish(self, may_go_on: Callable[[], bool]) -> bool:
        """Do what a visit has left to do; False where there is no time for all of it."""
        return True

    def _count_visit(self, oracle_calls: int, steps: int) -> None:
        counted = self._counted
        counted["visits"] += 1
        counted["oracle_calls"] += oracle_calls
        counted["steps"] += steps
        self.passes.done += 1
        self._forget()

    def _forget(self) -> None:
        """X has moved: nobody was asked there."""
        self._is_asked, self._known = False, None

    # -- certificates --------------------------------------------------------------------------

    def certify(self) -> Certificate:
        """All oracles at the present x, which is computed anew from what it is a mean of."""
        with uninterrupted():
            self._rebuild()
        follower, gaps, terms, lacking = self.follower, np.zeros(self.n_blocks), 0.0, 0.0
        known: tuple[np.ndarray, Atom] | None = None
        for place in self.space.places:
            gradient, x = self._gradient(place), follower.x[place.at]
            atom = place.minimize(gradient)
            self._check_answer(place, gradient, atom)
            gaps[place.number] = float(gradient @ x) - atom.dot(gradient)
            terms += float(np.abs(x).sum() + np.abs(atom.value).sum())
            lacking += place.domain.inexactness * atom.size_of_dot(gradient)
            known = (gradient, atom)
        value, total = float(follower.value()), float(gaps.sum())
        noise = UNITS * (abs(value) + follower.size_of_terms() * terms) + lacking
        found = faced(
            Certificate(value, value - total, total, gaps, self.lam, True, noise, slack=0.0)
        )
        with uninterrupted():
            self._is_asked = self.n_blocks == 1
            self._known = known if self._is_asked else None
            self.passes.gap[:] = np.maximum(gaps, 0.0)
            self._counted["certificate_calls"] += self.n_blocks
        return found

    def _check_answer(self, place: Place, gradient: np.ndarray, atom: Atom) -> None:
        """Refuse an answer of the oracle that is worse than a point that is known."""
        return

    def _rebuild(self) -> None:
        """The point and what moves with it, against rounding errors that add up."""
        self.follower.rebuild()

    def _gradient(self, place: Place) -> np.ndarray:
        return self._checked(place, self.follower.gradient(place.at))

    def _checked(self, place: Place, gradient: np.ndarray) -> np.ndarray:
        if not are_finite(gradient):
            raise OracleError(
                f"the gradient of {type(self.objective).__name__} in block {place.number} is not "
                "finite: the numbers overflow, or the objective is not defined there. Scale the "
                "problem, or run check_objective."
            )
        return gradient

    # -- what it knows -------------------------------------------------------------------------

    @property
    def w(self) -> np.ndarray:
        """The point."""
        return self.follower.x

    @property
    def counts(self) -> Counts:
        """How much work was done."""
        return Counts(n_blocks=self.n_blocks, **self._counted)

    @property
    def gap_estimate(self) -> float:
        """Sum of the block gaps as last seen."""
        return float(self.passes.gap.sum())

    def state(self) -> list[ActiveSet] | None:
        """The atoms that the blocks are means of; None where the method keeps none."""
        return None

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """Everything that a checkpoint must hold."""
        return self.passes.to_save() | {
            "follower": self.follower.to_save(),
            "counted": dict(self._counted),
            "is_asked": self._is_asked,
            "rng": plain_state(self.rng),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        read = Reader(saved)
        self.follower.restore(read.inside("follower").values)
        distance = self.space.excess(self.follower.x)
        if distance > 0.0:
            raise Misfit(f"x is outside of the domain, by {distance:.3g}.")
        counted = read.inside("counted")
        self._counted = {name: counted.integer(name) for name in COUNTED}
        self.passes.restore(saved)
        restore_state(self.rng, read.given("rng"))
        self._is_asked, self._known = read.flag("is_asked"), None
