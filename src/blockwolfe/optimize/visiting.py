"""Frank-Wolfe at work: one block at a time, by the gradient of that block alone.

A visit asks the oracle of a block, which tells its gap, chooses a direction by the step rule, and
moves along it. One block that is the whole domain is the plain method.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.rounding import ROUNDING, UNITS
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.errors import OracleError
from blockwolfe.optimize.active_set import ActiveSet
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.engine import OptimizeEngine
from blockwolfe.optimize.moves import Move, difference
from blockwolfe.optimize.space import Place, Setup
from blockwolfe.rules.sampling import Sampling
from blockwolfe.rules.steps import LOCAL, Choices
from blockwolfe.rules.weights import AWAY, FORWARD, HEAVIEST, PAIRWISE, longest_step

__all__ = ["VisitingEngine"]


class VisitingEngine(OptimizeEngine):
    """Steps towards atoms of the oracle, and between those of active sets."""

    def __init__(self, method: Any, setup: Setup, sampling: Sampling | None = None) -> None:
        self._active = setup.active_sets() if method.step.needs_corners else None
        super().__init__(method, setup, sampling)
        self.step, self.step_size = method.step, method.rule_for(setup.objective)
        # (compiled for the loop of an SVM, where a rule is the library's own)
        self._rule = getattr(self.step.choose, "py_func", self.step.choose)
        self.memory = np.zeros((self.n_blocks, self.step_size.n_memory))

    def _first_point(self, setup: Setup) -> np.ndarray:
        if self._active is None:
            return setup.point()
        return np.concatenate([active.mean() for active in self._active])

    def state(self) -> list[ActiveSet] | None:
        """With steps that need them: copies, which no later step changes."""
        return None if self._active is None else [active.copy() for active in self._active]

    # -- a visit -------------------------------------------------------------------------------

    def _answer(self, place: Place) -> tuple[np.ndarray, Atom]:
        """Gradient and the oracle's atom there."""
        if self._known is not None:
            return self._known
        gradient = self._gradient(place)
        return gradient, place.minimize(gradient)

    def _visit(self, place: Place) -> None:
        i = place.number
        gradient, atom = self._answer(place)
        score, lowest = float(gradient @ self.follower.x[place.at]), atom.dot(gradient)
        forward = score - lowest
        move = self._choose(place, gradient, atom, score, forward)
        gamma = self._length(move, i)

        def change() -> None:
            if gamma > 0.0:
                self._take(place, move, gamma)
            self._note(place, forward)

        self._made(change, oracle_calls=1, steps=int(gamma > 0.0))
        most, share = self.step.corrections
        for _ in range(most):
            if not self._correct(place, share * forward):
                return

    def _note(self, place: Place, forward: float) -> None:
        """What the visit has told of the gap."""
        self.passes.note(place.number, max(forward, 0.0))

    def _length(self, move: Move | None, i: int) -> float:
        if move is None or not move.slope > 0.0:
            return 0.0
        n_visits = self._counted["visits"]
        chosen = self.step_size.choose(
            move.line, move.longest, n_visits, self.n_blocks, self.memory[i]
        )
        return float(min(max(chosen, 0.0), move.longest))

    def _choose(
        self, place: Place, gradient: np.ndarray, atom: Atom, score: float, forward: float
    ) -> Move | None:
        """The move that the step rule asks for; None where there is none."""
        if self._active is None:
            return self._forward(place, atom, forward, -1)
        active = self._active[place.number]
        scores = active.scores(gradient)
        away, best = int(scores.argmax()), int(scores.argmin())
        highest, known, lowest = float(scores[away]), float(scores[best]), score - forward
        if known < lowest:
            self._compare(place, gradient, active.atoms[best], atom)
        alpha = float(active.weights[away])
        slopes = (forward, highest - lowest, highest - score, highest - known)

        def move(kind: int) -> Move:
            if kind == FORWARD:
                return self._forward(place, atom, forward, away)
            if kind == AWAY:
                return self._away(place, away, slopes[AWAY])
            to = atom if kind == PAIRWISE else active.atoms[best]
            return self._pairwise(place, to, away, slopes[kind])

        gains = (0.0, 0.0, 0.0)
        if self.step.needs_gains:
            gain = [self._gain(move(kind), place.number) for kind in (FORWARD, PAIRWISE, AWAY)]
            gains = (gain[FORWARD], gain[PAIRWISE], gain[AWAY])
        kind = int(self._rule(Choices(*slopes, alpha, *gains)))
        if not FORWARD <= kind <= LOCAL or (kind == AWAY and alpha >= HEAVIEST):
            kind = FORWARD  # (all the weight on one atom leaves nothing to move to)
        if kind == PAIRWISE and active.find(atom) == away:
            return None  # (one atom, whose two scores rounding tells apart)
        return move(kind) if slopes[kind] > 0.0 else None

    def _gain(self, move: Move, i: int) -> float:
        """What the step along a move would lower f by."""
        memory = self.memory[i].copy()
        gamma = self._length(move, i)
        self.memory[i] = memory
        return -move.line.change(gamma)[0] if gamma > 0.0 else 0.0

    def _check_answer(self, place: Place, gradient: np.ndarray, atom: Atom) -> None:
        if self._active is not None:
            active = self._active[place.number]
            best = int(active.scores(gradient).argmin())
            self._compare(place, gradient, active.atoms[best], atom)

    def _compare(self, place: Place, gradient: np.ndarray, known: Atom, found: Atom) -> None:
        """An atom that the oracle once gave must not be better than the one it gives now."""
        lacking = found.dot(gradient) - known.dot(gradient)
        if not lacking > 0.0:
            return
        size = max(known.size_of_dot(gradient), found.size_of_dot(gradient))
        if lacking > (10.0 * ROUNDING + place.domain.inexactness) * size:
            raise OracleError(
                f"the oracle of block {place.number} ({place.domain!r}) returned a point that is "
                f"worse, by {lacking:.3g}, than one it returned before: it does not minimise "
                "<gradient, s>. Run check_domain on it."
            )

    # -- moves ---------------------------------------------------------------------------------

    def _forward(self, place: Place, atom: Atom, slope: float, away: int) -> Move:
        direction = difference(atom, self.follower.x[place.at], place.at)
        return Move(FORWARD, atom, away, slope, 1.0, self.follower.along(direction))

    def _pairwise(self, place: Place, atom: Atom, away: int, slope: float) -> Move:
        active = self._active_of(place)
        direction = difference(atom, active.atoms[away], place.at)
        longest = float(longest_step.py_func(PAIRWISE, float(active.weights[away])))
        return Move(PAIRWISE, atom, away, slope, longest, self.follower.along(direction))

    def _away(self, place: Place, away: int, slope: float) -> Move:
        active = self._active_of(place)
        direction = difference(self.follower.x[place.at], active.atoms[away], place.at)
        longest = float(longest_step.py_func(AWAY, float(active.weights[away])))
        return Move(AWAY, None, away, slope, longest, self.follower.along(direction))

    def _active_of(self, place: Place) -> ActiveSet:
        assert self._active is not None
        return self._active[place.number]

    def _take(self, place: Place, move: Move | None, gamma: float) -> None:
        """Move x, and the weights of the active set with it."""
        assert move is not None
        self.follower.move(move.line, gamma)
        if self._active is None:
            return
        active, is_drop = self._active[place.number], gamma >= move.longest
        to = active.add(move.atom) if move.atom is not None else -1
        active.move(move.kind, to, move.away, gamma, is_drop)
        self.count(drops=int(is_drop and move.kind != FORWARD))

    def _correct(self, place: Place, least: float) -> bool:
        """A pairwise step within the active set; False where its slope is below `least`."""
        active = self._active_of(place)
        scores = active.scores(self._gradient(place))
        away, best = int(scores.argmax()), int(scores.argmin())
        slope, size = float(scores[away] - scores[best]), float(np.abs(scores).max())
        if not slope > max(least, UNITS * size):  # (below, there is only rounding)
            return False
        move = self._pairwise(place, active.atoms[best], away, slope)
        gamma = self._length(move, place.number)
        if not gamma > 0.0:
            return False
        with self._shield:
            self._take(place, move, gamma)
            self.count(steps=1)
        return True

    # -- the rest ------------------------------------------------------------------------------

    def _rebuild(self) -> None:
        if self._active is not None:
            means = [active.mean() for active in self._active]
            self.follower.x[:] = np.concatenate(means)
        super()._rebuild()

    def row_numbers(self, is_certified: bool) -> dict[str, float]:
        """How large the active sets are."""
        if self._active is None:
            return {}
        return {"n_active": float(np.mean([len(active) for active in self._active]))}

    def to_save(self) -> dict[str, Any]:
        """And the active sets."""
        active = self._active or []
        return super().to_save() | {
            "memory": self.memory,
            "active_sets": {str(i): each.to_save() for i, each in enumerate(active)},
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`; x is the mean of its atoms."""
        super().restore(saved)
        read = Reader(saved)
        self.memory = read.array("memory", np.float64, self.memory.shape, is_finite=False)
        if self._active is None:
            return
        sets = read.inside("active_sets")
        self._active = [
            ActiveSet.restored(place.domain.size, sets.inside(str(place.number)).values)
            for place in self.space.places
        ]
        self.space.check_atoms(self._active)
        mean = np.concatenate([each.copy().mean() for each in self._active])
        off = float(np.abs(mean - self.follower.x).max(initial=0.0))
        if off > 1e-6 * (1.0 + float(np.abs(mean).max(initial=0.0))):
            raise Misfit("x is not the mean of its atoms.")
