"""Batch Frank-Wolfe: certifying finds the corners that the next step moves towards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_flag
from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.inner import inner
from blockwolfe.base.schema import Reader
from blockwolfe.dual.line_search import bounded_step, free_step
from blockwolfe.dual.walking import state_of_corners
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.full_passes import FullPassEngine
from blockwolfe.problem.state import State
from blockwolfe.problem.sweep import Sweep
from blockwolfe.rules.registry import register
from blockwolfe.running.engine import Engine

__all__ = ["BatchEngine", "FrankWolfe"]


@register
@dataclass(frozen=True)
class FrankWolfe(Method):
    """Batch Frank-Wolfe: all oracles, then one joint step; every iteration is certified for free.

    ``line_search=False`` takes the predefined step 2/(k+2).

    >>> FrankWolfe(line_search=False)
    FrankWolfe(line_search=False)
    """

    name: ClassVar[str] = "fw"
    switches: ClassVar[dict[str, dict[str, Any]]] = {"predefined": {"line_search": False}}

    line_search: bool = True

    def __post_init__(self) -> None:
        check_flag("line_search", self.line_search)

    @property
    def words(self) -> str:
        """Whether its steps are predefined."""
        return "batch Frank-Wolfe" + ("" if self.line_search else ", predefined steps")

    @property
    def is_monotone(self) -> bool:
        """With the exact line search."""
        return self.line_search

    @property
    def full_pass_every(self) -> float:
        """Every pass is one."""
        return 1.0

    def start(self, setup: Setup) -> Engine:
        """Joint steps, one after another."""
        return BatchEngine(self, setup, has_line_search=self.line_search)


class BatchEngine(FullPassEngine):
    """All oracles, then one joint step."""

    def __init__(
        self,
        method: Method,
        setup: Setup,
        *,
        keeps_corners: bool = False,
        has_line_search: bool = True,
    ) -> None:
        super().__init__(setup, False, keeps_corners)
        self.method, self._has_line_search = method, has_line_search
        self.n_steps = 0
        self._has_stepped = False  # whether the step of the pass at work is made

    def _count_pass(self) -> None:
        super()._count_pass()
        self.ledger.counts.visits += self.n_blocks

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """One joint step of all blocks."""
        if not self._has_stepped:
            may_go_on()  # (a moment to write a checkpoint)
            self._step()
        # (True where Ctrl-C came before, or the pass is left: the step is not made twice)
        self._has_stepped = not self._has_ended(may_go_on)

    def _has_ended(self, may_go_on: Callable[[], bool]) -> bool:
        """Whether the pass has ended: what may follow its step is done."""
        return True

    def _step(self) -> None:
        certificate, found = self._full_answers()
        # the slack of bounds is part of the certified gap, but no slope
        slope = certificate.gap - inner(self.blocks.weight, found.answers.slack)
        move = self._planned(slope, found)
        with uninterrupted():  # (all of the step or none)
            self._forget_pass()
            self.n_steps += 1
            self.ledger.counts.steps += move()
            self._has_stepped = True

    def _planned(self, slope: float, found: Sweep) -> Callable[[], bool]:
        """The step, all but made; made, it says whether the point has moved."""
        corners = state_of_corners(self.blocks, found.answers)
        gamma = self._step_size(slope, corners)
        return lambda: self._blend(gamma, corners)

    def _blend(self, gamma: float, corners: State) -> bool:
        point = self.point
        if gamma > 0.0:
            point.make_room()
            point.blend(gamma, corners.store())
            point.rebuild()
        return gamma > 0.0

    def _step_size(self, slope: float, corners: State) -> float:
        if not self._has_line_search:
            return 2.0 / (self.n_steps + 2.0)
        point, lam = self.point, self.point.lam
        direction = corners.v - point.v
        if not self.blocks.has_exact_search:
            square = self.blocks.inner(direction, direction)
            return float(free_step(lam, slope, square, 1.0))
        index, move = np.arange(len(direction)), direction / lam
        box = point.arrays.box
        return float(bounded_step(box, index, move, len(move), slope / lam, 1.0))

    def to_save(self) -> dict[str, Any]:
        """And how many steps were made."""
        own = {"n_steps": self.n_steps, "has_stepped": self._has_stepped}
        return super().to_save() | own

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        read = Reader(saved)
        self.n_steps, self._has_stepped = read.integer("n_steps"), read.flag("has_stepped")
