"""Batch Frank-Wolfe: certifying finds the corners that the next step moves towards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_flag
from blockwolfe.base.compiled import call, jit, uninterrupted
from blockwolfe.base.inner import inner
from blockwolfe.base.schema import Reader
from blockwolfe.dual.directions import lay_mean, move_mean
from blockwolfe.dual.growth import Means
from blockwolfe.dual.line_search import bounded_step, free_step
from blockwolfe.dual.walking import state_of_corners
from blockwolfe.dual.work import Work
from blockwolfe.methods.base import Engine, Method, Setup
from blockwolfe.methods.dual_engine import DualEngine
from blockwolfe.methods.registry import register
from blockwolfe.problem.certificate import Certificate, Sweep
from blockwolfe.problem.state import State, Store

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
        return BatchEngine(self, setup)


@jit
def _blend(gamma: float, means: Means, ell: np.ndarray, to: Store, work: Work) -> None:
    """Move every block by gamma towards another point."""
    for i in range(ell.shape[0]):
        size = lay_mean(means, i, to.part, to.mean, to.start[i], to.length[i], work)
        move_mean(means.mean, means.start[i], work.direction, size, gamma)
        ell[i] += gamma * (to.ell[i] - ell[i])


class BatchEngine(DualEngine):
    """All oracles, then one joint step."""

    is_free_to_certify = True

    def __init__(self, method: Method, setup: Setup, keeps_corners: bool = False) -> None:
        super().__init__(setup, False, keeps_corners)
        self.method = method
        self.n_steps = 0
        self._found: tuple[Certificate, Sweep] | None = None
        self._has_stepped = False  # whether the step of the pass at work is made
        self._is_counted = False  # whether the next full pass was counted before a checkpoint

    def certify(self) -> Certificate:
        """All oracles at the current point; remembered for the step."""
        if self._found is None:
            found = self._full_pass(keep=True)
            with uninterrupted():
                self._found = found
                if not self._is_counted:
                    self.ledger.counts.oracle_calls += self.n_blocks
                    self.ledger.counts.visits += self.n_blocks
                self._is_counted = False
        return self._found[0]

    @property
    def has_visited_open(self) -> bool:
        """Every step moves all blocks."""
        return True

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """One joint step of all blocks."""
        if not self._has_stepped:
            may_go_on()  # (a moment to write a checkpoint)
            self._step()
        self._has_stepped = False  # (True where Ctrl-C came before: the step is not made twice)

    def _step(self) -> None:
        certificate = self.certify()
        assert self._found is not None
        found = self._found[1]
        # the slack of bounds is part of the certified gap, but no slope
        slope = certificate.gap - inner(self.blocks.weight, found.answers.slack)
        move = self._planned(slope, found)
        with uninterrupted():  # (all of the step or none)
            self._found = None
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
            arrays = (point.arrays.means, point.arrays.ell, corners.store(), point.work)
            call(_blend, "blend", gamma, *arrays)
            point.rebuild()
        return gamma > 0.0

    def _step_size(self, slope: float, corners: State) -> float:
        if not getattr(self.method, "line_search", True):
            return 2.0 / (self.n_steps + 2.0)
        point, lam = self.point, self.point.lam
        direction = corners.v - point.v
        if not self.blocks.is_bounded:
            return float(free_step(lam, slope, inner(direction, direction), 1.0))
        index, move = np.arange(len(direction)), direction / lam
        box = point.arrays.box
        return float(bounded_step(box, index, move, len(move), slope / lam, 1.0))

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """And forget the full pass kept for the next step: it was made before the move."""
        super().shrink(rho, gap)
        self._found = None

    def to_save(self) -> dict[str, Any]:
        """A full pass that no step has followed is made again, but not counted again."""
        is_counted = self._found is not None or self._is_counted
        own = {"n_steps": self.n_steps, "has_stepped": self._has_stepped, "is_counted": is_counted}
        return super().to_save() | own

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        self._found = None
        read = Reader(saved)
        self.n_steps, self._is_counted = read.integer("n_steps"), read.flag("is_counted")
        self._has_stepped = read.flag("has_stepped")
