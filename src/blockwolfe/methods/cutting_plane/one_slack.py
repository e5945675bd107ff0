"""Fully corrective batch Frank-Wolfe: every full pass is a plane, every step the best mixture.

It is the one-slack cutting-plane method, seen from the dual: the master problem over the planes
found so far is the restricted dual, and its solution the next w.

Between two full passes planes are made of stored corners, the best of every block at the present w,
as SVM-struct's cache does: as long as each is about as good as what the last full pass has found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.inner import inner
from blockwolfe.base.schema import Reader
from blockwolfe.dual.line_search import free_step
from blockwolfe.dual.planes import PlaneSet
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.frank_wolfe import BatchEngine
from blockwolfe.problem.sweep import Sweep

__all__ = ["OneSlackEngine"]

# The best mixture gains at least what a Frank-Wolfe step does; this share of it, if rounding is
# bearable.
LEAST_GAIN = 0.5
# Planes of stored corners are made while their slope is above this share of that of the full pass.
LEAST_SLOPE = 0.5


class OneSlackEngine(BatchEngine):
    """A full pass, a plane, and the best mixture of all planes."""

    def __init__(
        self,
        method: Method,
        setup: Setup,
        *,
        prune_after: int | None,
        cached_planes: int,
        can_pair: bool,
    ) -> None:
        # (a state is one plane, whatever corners it is a mixture of)
        setup = setup._replace(state=replace(setup.state, active=None))
        super().__init__(method, setup, keeps_corners=True)
        self._prune_after, self._can_pair = prune_after, can_pair
        self._most_cached = cached_planes
        self._n_left = 0  # planes of stored corners that may still be made before a full pass
        self._asked_slope = 0.0  # of the plane of the last full pass
        self.planes = PlaneSet(self.point)

    @property
    def can_pair(self) -> bool:
        """As the method has it: whether it stops by the best primal seen, or by the last."""
        return self._can_pair

    def _tidy(self) -> None:
        """Every mixture is made tidy; tidied twice, its last bits would be others."""

    # -- a step --------------------------------------------------------------------------------

    def _planned(self, slope: float, found: Sweep) -> Callable[[], bool]:
        row = self.planes.insert(self.point, found.answers)

        def move() -> bool:
            self._n_left, self._asked_slope = self._most_cached, slope
            return self._correct(slope, row)

        return move

    def _has_ended(self, may_go_on: Callable[[], bool]) -> bool:
        """After planes of stored corners, as long as they are worth it."""
        while self._n_left > 0 and may_go_on():
            self._add_stored()
        return self._n_left == 0

    def _add_stored(self) -> None:
        """One plane of stored corners more, or the end of them."""
        row, slope = self.planes.of_stored(self.point)
        with uninterrupted():  # (all of the step or none)
            is_moved = False
            if slope > LEAST_SLOPE * self._asked_slope:
                self._forget_pass()
                is_moved = self._correct(slope, row)
            self.ledger.counts.steps += is_moved
            self._n_left = self._n_left - 1 if is_moved else 0

    def _correct(self, slope: float, row: np.ndarray) -> bool:
        """The best mixture; where rounding spoils it, the Frank-Wolfe step; else none."""
        planes, point = self.planes, self.point
        t = planes.add(point, row)
        gamma, gain = self._plain_step(t, slope)
        has_moved = self._tried(planes.best_weights(point.lam), LEAST_GAIN * gain)
        has_moved = has_moved or self._tried(planes.towards(t, gamma))
        planes.prune(point, self._prune_after)
        return has_moved

    def _tried(self, alpha: np.ndarray, least: float = 0.0) -> bool:
        """Go there if the dual gains more than that."""
        planes, point = self.planes, self.point
        dual, before, weight = self.dual(), planes.alpha, point.arrays.stock.weight.copy()
        ell, w = point.arrays.ell.copy(), point.arrays.w
        planes.put(point, alpha)
        if self.dual() - dual > least:
            return True
        planes.alpha = before
        point.arrays.stock.weight[:], point.arrays.ell[:] = weight, ell
        point.arrays = point.arrays._replace(w=w)
        return False

    def _plain_step(self, t: int, slope: float) -> tuple[float, float]:
        """The Frank-Wolfe step towards plane t: its size and its gain, (4)."""
        planes, point = self.planes, self.point
        pull = inner(planes.gram[t], planes.alpha)
        sqnorm = planes.gram[t, t] - 2.0 * pull + point.blocks.inner(point.v, point.v)
        gamma = float(free_step(point.lam, slope, sqnorm, 1.0))
        return gamma, max(gamma * (slope - 0.5 * gamma * sqnorm / point.lam), 0.0)

    # -- walking -------------------------------------------------------------------------------

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """And the weights of planes likewise."""
        super().shrink(rho, gap)
        self.planes.shrink(self.point, rho)
        self._n_left, self._has_stepped = 0, False  # (the next pass is a full one)

    def move_to_loss(self) -> None:
        """And begin with the plane of the outputs of largest loss."""
        super().move_to_loss()
        self.planes = PlaneSet(self.point)

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """And the planes."""
        planes = {f"planes.{name}": value for name, value in self.planes.to_save().items()}
        cached = {"n_left": self._n_left, "asked_slope": self._asked_slope}
        return super().to_save() | planes | cached

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        self.point.check_ell(is_tidy=True)
        names = ("rows", "alpha", "idle")
        read = Reader(saved)
        self.planes.restore({name: read.given(f"planes.{name}") for name in names}, self.point)
        self._n_left = read.integer("n_left", most=self._most_cached)
        self._asked_slope = read.number("asked_slope", or_nan=True)
