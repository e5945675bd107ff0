"""Batch Frank-Wolfe: certifying finds the corners that the next step moves towards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.inner import inner
from blockwolfe.dual.directions import FORWARD, lay_direction, move_block, place_corner
from blockwolfe.dual.line_search import bounded_step, free_step
from blockwolfe.dual.run import Run
from blockwolfe.methods.bcfw.rules import ORACLE_CALLS, STEPS, VISITS
from blockwolfe.methods.engine import DualEngine
from blockwolfe.methods.settings import FrankWolfe
from blockwolfe.problem.certificate import Answers, Certificate, Sweep, copy_corner
from blockwolfe.problem.state import Store, rebuild_v
from blockwolfe.problem.workers import Workers

__all__ = ["BatchEngine"]


@jit
def _blend(gamma: float, weight: Any, run: Any, found: Any, work: Any) -> None:
    """Move every block by gamma towards its corner."""
    pool, ells = run.pool, (run.ell, run.lag_ell)
    for i in range(weight.shape[0]):
        start, end = pool.start[i], pool.start[i] + pool.capacity[i]
        begin, size = found.start[i], found.size[i]
        corner = (found.part[begin : begin + size], found.value[begin : begin + size])
        copy_corner(corner[0], corner[1], size, work.part, work.value, 0)
        part, mean = pool.part[start:end], pool.mean[start:end]
        length = place_corner(part, mean, pool.length[i], work, size)
        pool.length[i] = length
        to = (work.slot, work.value, 0, size)
        n_moved = lay_direction(FORWARD, to, to, part[:length], mean, work)
        change = weight[i] * found.loss[i] - run.ell[i]
        move_block(pool, ells, i, work, n_moved, (gamma, 0.0, change))


class BatchEngine(DualEngine):
    """All oracles, then one joint step."""

    is_free_to_certify = True

    def __init__(self, run: Run, method: FrankWolfe, workers: Workers) -> None:
        super().__init__(run, workers)
        self.method: FrankWolfe = method
        self.n_steps = 0
        self._found: tuple[Certificate, Sweep] | None = None
        self._is_counted = False  # whether the next full pass was counted before a checkpoint

    def certify(self) -> Certificate:
        """All oracles at the current point; remembered for the step."""
        if self._found is None:
            certificate, found = self.run.examine(keep=True, workers=self.workers)
            self._found = certificate, found
            if not self._is_counted:
                self.run.tally[ORACLE_CALLS] += len(self.run.blocks)
                self.run.tally[VISITS] += len(self.run.blocks)
            self._is_counted = False
        return self._noted(self._found[0])

    @property
    def has_visited_open(self) -> bool:
        """Every step is one of all blocks."""
        return True

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """One joint step of all blocks."""
        may_go_on()  # (a moment to write a checkpoint)
        certificate = self.certify()
        assert self._found is not None
        found, run, blocks = self._found[1], self.run, self.run.blocks
        # the slack of bounds is part of the certified gap, but no slope
        slope = certificate.gap - inner(blocks.weight, found.slack)
        gamma = self._step_size(slope, found.answers)
        self._found = None
        self.n_steps += 1
        if gamma > 0.0:
            run.make_room()
            call(_blend, blocks.kind, gamma, blocks.weight, run.view(), found.answers, run.work)
            run.put(rebuild_v(blocks, run.store()))
            run.tally[STEPS] += 1

    def _step_size(self, slope: float, found: Answers) -> float:
        if not self.method.line_search:
            return 2.0 / (self.n_steps + 2.0)
        run, blocks, lam = self.run, self.run.blocks, self.run.lam
        ell = blocks.weight * found.loss
        target = Store(found.start, found.size, found.part, found.value, ell)
        direction = rebuild_v(blocks, target) - run.v
        if not blocks.is_bounded:
            return float(free_step(lam, slope, inner(direction, direction), 1.0))
        index, move = np.arange(len(direction)), direction / lam
        return float(bounded_step(run.box, index, move, len(move), slope / lam, 1.0))

    def forget(self) -> None:
        """The full pass kept for the next step was made before the move."""
        self._found = None

    def to_save(self) -> dict[str, Any]:
        """A full pass that no step has followed is made again, but not counted again."""
        is_counted = self._found is not None or self._is_counted
        return super().to_save() | {"n_steps": self.n_steps, "is_counted": is_counted}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        self.n_steps, self._is_counted = int(saved["n_steps"]), bool(saved["is_counted"])
