"""What methods have in common whose visits can be accelerated: a centre around the dual point."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from blockwolfe.dual.point import DualPoint
from blockwolfe.dual.pulled import PulledPoint
from blockwolfe.methods.base import Setup, WalkingEngine
from blockwolfe.methods.catalyst import Catalyst, Centre, curvature_of
from blockwolfe.methods.dual_engine import DualEngine, inside
from blockwolfe.problem.state import State
from blockwolfe.problem.sweep import Sweep
from blockwolfe.problem.unit import objective_at_start

__all__ = ["AcceleratedEngine", "AroundCentre"]


class AroundCentre(WalkingEngine):
    """A dual point at the lambda of the problem or, for a while, at a larger one."""

    point: PulledPoint
    _centre: Centre

    def _take_up(self, state: State) -> None:
        """Go on around the centre of the run that left this state, at the same lambda."""
        pull = state.pull
        if pull is not None and pull.lam == self.point.lam and pull.strength > 1.0:
            self._centre.take_up(self.point, pull, state.v)

    @property
    def lam(self) -> float:  # type: ignore[override]
        """Lambda of the problem: visits may be at a larger one."""
        return self._centre.lam if self._centre.is_at_work else self.point.lam

    def dual(self) -> float:
        """D at that lambda."""
        return self._centre.dual(self.point) if self._centre.is_at_work else self.point.dual()

    @property
    def is_settled(self) -> bool:
        """When acceleration is over, which it is at last where a run gets no further."""
        return not self._centre.is_at_work

    def begin_walk(self) -> None:
        """Without a centre: from one lambda to the next there is little to do."""
        self._centre.leave(self.point)


class AcceleratedEngine(AroundCentre, DualEngine):
    """A method at work on the blocks of a dual point.

    Who derives from it calls `_move_centre` as each pass begins, and `_take_up` at the start.
    """

    point: DualPoint

    # Whether it ever takes up a centre, or moves one.
    is_accelerated: bool = False
    # Of a shard: the strength of the centre of all shards, 1 where that is not at work. It then has
    # none of its own.
    led_at: float | None = None

    def __init__(self, setup: Setup, has_average: bool, keeps_corners: bool) -> None:
        super().__init__(setup, has_average, keeps_corners)
        self._centre, self._problem = Centre(setup.lam), setup.problem

    def _move_centre(self, catalyst: Catalyst | None) -> None:
        if catalyst is None or self.led_at is not None:
            return
        left, visits = float(self.ledger.gap.sum()), self.ledger.visits
        self._centre.before_pass(catalyst, self.point, left, visits, self._curvature)

    def _curvature(self) -> float:
        return self.curvature(self._unit) / np.count_nonzero(self.blocks.weight > 0.0)

    def curvature(self, unit: float = 1.0) -> float:
        """The sum of |d_i|^2 / weight_i of a long step in each block, over the unit of losses."""
        return curvature_of(self._sqnorms() / unit, self.blocks.weight)

    @cached_property
    def _unit(self) -> float:
        """What losses count in: with k times the losses, lambda / k has the same run."""
        if self._problem is not None:
            return float(self._problem.unit)
        return objective_at_start(self.blocks)

    def _sqnorms(self) -> np.ndarray:
        """|d_i|^2 of a long step in each block."""
        return self.ledger.notes.longest

    # -- what it knows -------------------------------------------------------------------------

    @property
    def _is_pulled(self) -> bool:
        """Whether visits are at another lambda than the problem, by whose centre ever."""
        return self._centre.is_at_work or (self.led_at or 1.0) > 1.0

    @property
    def gap_estimate(self) -> float:
        """And what w is away from the dual point."""
        self._centre.measure(self.point, self.ledger.visits)
        return super().gap_estimate + self._centre.distance

    def take(self, found: Sweep, gap: float) -> None:
        """And measure the distance, which is no gap of any block (w is that of the pass by now)."""
        self._centre.measure(self.point, self.ledger.visits)
        super().take(found, gap - self._centre.distance)

    # -- at rest -------------------------------------------------------------------------------

    def state(self, fingerprint: str | None = None) -> State:
        """The point of the certificate, with what pulls its w."""
        return replace(super().state(fingerprint), pull=self._centre.pull(self.point))

    def last_state(self, fingerprint: str | None = None) -> State:
        """The same of the last iterate."""
        return replace(super().last_state(fingerprint), pull=self._centre.pull(self.point))

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """And the centre."""
        centre = self._centre.to_save(self.point)
        return super().to_save() | {f"centre.{name}": value for name, value in centre.items()}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        self._centre.restore(inside(saved, "centre."), self.point)
