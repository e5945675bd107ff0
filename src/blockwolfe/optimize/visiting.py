"""Frank-Wolfe at work: one block at a time, by the gradient of that block alone.

A visit asks the oracle of a block, which tells its gap, chooses a direction by the step rule, and
moves along it. One block that is the whole domain is the plain method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.rounding import UNITS
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.optimize.active_set import ActiveSet
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.engine import OptimizeEngine
from blockwolfe.optimize.moves import Corrections, Move, Stride, difference
from blockwolfe.optimize.space import Place, Setup
from blockwolfe.rules.sampling import Sampling
from blockwolfe.rules.steps import LOCAL, Choices
from blockwolfe.rules.weights import AWAY, FORWARD, HEAVIEST, PAIRWISE, longest_step

__all__ = ["Answer", "VisitingEngine"]


class Answer(NamedTuple):
    """A gradient, the oracle's atom there, and how many calls that took."""

    gradient: np.ndarray
    atom: Atom
    oracle_calls: int


class VisitingEngine(OptimizeEngine):
    """Steps towards atoms of the oracle, and between those of active sets."""

    def __init__(self, method: Any, setup: Setup, sampling: Sampling | None = None) -> None:
        self._active = setup.active_sets() if method.step.needs_corners else None
        super().__init__(method, setup, sampling)
        self.step, self.step_size = method.step, method.rule_for(setup.objective)
        # (compiled for the loop of an SVM, where a rule is the library's own)
        self._rule = getattr(self.step.choose, "py_func", self.step.choose)
        self._most, self._share = self.step.corrections
        self.memory = np.zeros((self.n_blocks, self.step_size.n_memory))
        self._visits_before = setup.visits_before
        self._left = Corrections()

    def _first_point(self, setup: Setup) -> np.ndarray:
        if self._active is None:
            return setup.point()
        return np.concatenate([active.mean() for active in self._active])

    def state(self) -> list[ActiveSet] | None:
        """With steps that need them: copies, which no later step changes."""
        return None if self._active is None else [active.copy() for active in self._active]

    # -- a visit -------------------------------------------------------------------------------

    def _answer(self, place: Place) -> Answer:
        """The oracle's; after a certificate at this very x, what it found and counted."""
        if self._known is not None:
            return Answer(*self._known, 0)
        gradient = self._gradient(place)
        return Answer(gradient, place.minimize(gradient), 0 if self._is_asked else 1)

    def _visit(self, place: Place) -> None:
        gradient, atom, oracle_calls = self._answer(place)
        score, lowest = float(gradient.dot(self.follower.x[place.at])), atom.dot(gradient)
        forward = score - lowest
        stride = self._choose(place, gradient, atom, score, forward)
        with self._shield:
            if stride is not None:
                self._take(place, stride)
            self._note(place, forward)
            if self._most:
                least = self._share * max(forward, 0.0)
                self._left = Corrections(place.number, self._most, least)
            self._count_visit(oracle_calls, steps=int(stride is not None))

    def _note(self, place: Place, forward: float) -> None:
        """What the visit has told of the gap."""
        self.passes.note(place.number, max(forward, 0.0))

    def _searched(self, move: Move, i: int) -> Stride | None:
        """How far to go along a move; None where that is nowhere. Nothing is changed yet."""
        if not move.slope > 0.0:
            return None
        rule, memory = self.step_size, self.memory[i]
        if rule.n_memory:
            memory = memory.copy()
        k = self._visits_before + self._counted["visits"]
        chosen = rule.choose(move.line, move.longest, k, self.n_blocks, memory)
        gamma = min(float(chosen), move.longest)
        return Stride(move, gamma, memory) if gamma > 0.0 else None

    def _choose(
        self, place: Place, gradient: np.ndarray, atom: Atom, score: float, forward: float
    ) -> Stride | None:
        """The step that the rule asks for; None where there is none."""
        i = place.number
        if self._active is None:
            return self._searched(self._forward(place, atom, forward, -1), i)
        active = self._active[i]
        scores = active.scores(gradient)
        away, best = int(scores.argmax()), int(scores.argmin())
        highest, known, lowest = float(scores[away]), float(scores[best]), score - forward
        if known < lowest:
            place.check_least(gradient, atom, active.atoms[best], "one it returned before")
        alpha = float(active.weights[away])
        slopes = (forward, highest - lowest, highest - score, highest - known)

        def searched(kind: int) -> Stride | None:
            if not slopes[kind] > 0.0:
                return None
            if kind == FORWARD:
                return self._searched(self._forward(place, atom, forward, away), i)
            if kind == AWAY:
                return self._searched(self._away(place, away, slopes[AWAY]), i)
            to = atom if kind == PAIRWISE else active.atoms[best]
            return self._searched(self._pairwise(place, to, away, slopes[kind]), i)

        tried: dict[int, Stride | None] = {}
        if self.step.needs_gains:
            tried = {kind: searched(kind) for kind in (FORWARD, PAIRWISE, AWAY)}
        gains = (_gain(stride) for stride in tried.values())
        kind = int(self._rule(Choices(*slopes, alpha, *gains)))
        if not FORWARD <= kind <= LOCAL or (kind == AWAY and alpha >= HEAVIEST):
            kind = FORWARD  # (all the weight on one atom leaves nothing to move to)
        if kind == PAIRWISE and active.find(atom) == away:
            return None  # (one atom, whose two scores rounding tells apart)
        return tried[kind] if kind in tried else searched(kind)

    def _check_answer(self, place: Place, gradient: np.ndarray, atom: Atom) -> None:
        if self._active is not None:
            active = self._active[place.number]
            best = int(active.scores(gradient).argmin())
            place.check_least(gradient, atom, active.atoms[best], "one it returned before")

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

    def _take(self, place: Place, stride: Stride) -> None:
        """Move x, and the weights of the active set with it."""
        move, gamma, self.memory[place.number] = stride
        self.follower.move(move.line, gamma)
        if self._active is None:
            return
        active, is_drop = self._active[place.number], gamma >= move.longest
        to = active.add(move.atom) if move.atom is not None else -1
        active.move(move.kind, to, move.away, gamma, is_drop)
        self._counted["drops"] += int(is_drop and move.kind != FORWARD)

    # -- corrections ---------------------------------------------------------------------------

    def _finish(self, may_go_on: Callable[[], bool]) -> bool:
        """Make the corrections that are left, and look at the time before each."""
        while self._left.n_left:
            if not may_go_on():
                return False
            self._correct(*self._left)
        return True

    def _correct(self, block: int, n_left: int, least: float) -> None:
        """A pairwise step within the active set; where its slope is too small, none is left."""
        place = self.space.places[block]
        active, stride = self._active_of(place), None
        scores = active.scores(self._gradient(place))
        away, best = int(scores.argmax()), int(scores.argmin())
        slope, size = float(scores[away] - scores[best]), float(np.abs(scores).max())
        if slope > max(least, UNITS * size):  # (below, there is only rounding)
            stride = self._searched(self._pairwise(place, active.atoms[best], away, slope), block)
        with self._shield:
            if stride is None:
                self._left = Corrections()
                return
            self._take(place, stride)
            self._counted["steps"] += 1
            self._left = Corrections(block, n_left - 1, least)
            self._forget()

    # -- the rest ------------------------------------------------------------------------------

    def _rebuild(self) -> None:
        if self._active is not None:
            for active in self._active:
                active.rescale()
            self.follower.x[:] = np.concatenate([active.mean() for active in self._active])
        super()._rebuild()

    def row_numbers(self, is_certified: bool) -> dict[str, float]:
        """How large the active sets are."""
        if self._active is None:
            return {}
        return {"n_active": float(np.mean([len(active) for active in self._active]))}

    def to_save(self) -> dict[str, Any]:
        """And the active sets, and what a visit has left to do."""
        active = self._active or []
        return super().to_save() | {
            "memory": self.memory,
            "corrections": self._left._asdict(),
            "active_sets": {str(i): each.to_save() for i, each in enumerate(active)},
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`; x is the mean of its atoms."""
        super().restore(saved)
        read = Reader(saved)
        self.memory = read.array("memory", np.float64, self.memory.shape, is_finite=False)
        left = read.inside("corrections")
        self._left = Corrections(
            left.integer("block", most=self.n_blocks - 1),
            left.integer("n_left", most=self._most),
            left.number("least", least=0.0),
        )
        if self._active is None:
            return
        sets = read.inside("active_sets")
        self._active = [
            ActiveSet.restored(place.domain.size, sets.inside(str(place.number)).values)
            for place in self.space.places
        ]
        self.space.check_atoms(self._active)
        mean = np.concatenate([each.mean() for each in self._active])
        off = float(np.abs(mean - self.follower.x).max(initial=0.0))
        if off > 1e-6 * (1.0 + float(np.abs(mean).max(initial=0.0))):
            raise Misfit("x is not the mean of its atoms.")


def _gain(stride: Stride | None) -> float:
    """What a step would lower f by."""
    return 0.0 if stride is None else -stride.move.line.change(stride.gamma)[0]
