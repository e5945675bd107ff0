"""What all methods with a dual point have in common: a run, its counts, and how it is saved."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from blockwolfe.dual.run import Run
from blockwolfe.dual.shrink import shrink, true_slots
from blockwolfe.methods.base import WalkingEngine
from blockwolfe.methods.bcfw.diagnostics import gap_numbers
from blockwolfe.methods.bcfw.rules import (
    CACHE_HITS,
    DROPS,
    ORACLE_CALLS,
    STEPS,
    VIOLATIONS,
    VISITS,
)
from blockwolfe.methods.walking import begin_at_loss, block_slopes, first_lam
from blockwolfe.problem.certificate import Certificate, prepare
from blockwolfe.problem.state import State, dual_value
from blockwolfe.problem.workers import Workers
from blockwolfe.results.result import Counts
from blockwolfe.tasks.base import Corners

__all__ = ["DualEngine"]

NO_CAP = 2**62


class DualEngine(WalkingEngine):
    """A method at work on one run."""

    def __init__(self, run: Run, workers: Workers) -> None:
        self.run, self.workers = run, workers
        self.lam, self.n_blocks = run.lam, len(run.blocks)
        self.certificate_calls = 0
        self._open = np.zeros(self.n_blocks, dtype=np.bool_)  # with a gap at the last certificate
        self._visits_certified = 0

    def prepare(self) -> None:
        """Compile whatever will run, so that no measured second goes into compiling."""
        if self.run.keeps_corners:
            self.run.tidy()
        prepare(self.run.blocks, self.run.store(), self.run.work)

    def _noted(self, certificate: Certificate) -> Certificate:
        """A certificate that was just made, as what it is worth."""
        run = self.run
        self._open, self._visits_certified = run.gap > 0.0, int(run.tally[VISITS])
        is_caught = run.tally[VIOLATIONS] and not run.blocks.has_bounds
        return certificate.as_estimate() if is_caught else certificate

    def forget(self) -> None:
        """Leave the pass at work: the point was moved from outside."""
        return

    # -- what it knows -------------------------------------------------------------------------

    @property
    def w(self) -> np.ndarray:
        """The weights of the present iterate."""
        return self.run.w

    @property
    def certified_w(self) -> np.ndarray:
        """With averaging, those of the average."""
        return self.run.average_w if self.run.has_average else self.run.w

    @property
    def counts(self) -> Counts:
        """How much work was done."""
        tally = self.run.tally
        return Counts(
            n_blocks=self.n_blocks,
            visits=int(tally[VISITS]),
            steps=int(tally[STEPS]),
            drops=int(tally[DROPS]),
            cache_hits=int(tally[CACHE_HITS]),
            oracle_calls=int(tally[ORACLE_CALLS]),
            certificate_calls=self.certificate_calls,
        )

    @property
    def gap_estimate(self) -> float:
        """Sum of the block gaps as last seen; infinite until all were seen."""
        return float(self.run.gap.sum())

    @property
    def has_visited_open(self) -> bool:
        """Whether every block that had a gap at the last certificate was visited since."""
        return not (self.run.last_visit[self._open] < self._visits_certified).any()

    def row_numbers(self, is_certified: bool) -> dict[str, float]:
        """Active sets; the state of the estimates, or the dual where no certificate tells it."""
        numbers = {"n_active": self.run.n_active()}
        if is_certified:
            return numbers | gap_numbers(self.run)
        return numbers if self.run.has_average else numbers | {"dual": self.dual()}

    def state(self) -> State:
        """The point of the certificate: with averaging, the average."""
        return self.run.state(averaged=self.run.has_average)

    def last_state(self) -> State:
        """The last iterate."""
        return self.run.state()

    # -- walking -------------------------------------------------------------------------------

    @property
    def hinge(self) -> np.ndarray:
        """Upper bounds on H_i(w), from the last full pass."""
        return self.run.hinge

    @property
    def gaps(self) -> np.ndarray:
        """The gap of every block as last seen."""
        return self.run.gap

    def dual(self) -> float:
        """D of the present iterate."""
        run = self.run
        return dual_value(run.blocks, run.v, float(run.ell.sum()), run.lam)

    def slopes(self) -> np.ndarray:
        """ell_i - <w, V_i> of every block, without an oracle call."""
        return block_slopes(self.run)

    @cached_property
    def _truth(self) -> Corners:
        return true_slots(self.run.blocks)

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """Go to rho times lambda at the same w; `gap` are the block gaps (or estimates) there."""
        cache = getattr(self.method, "cache", None)
        max_corners = cache.max_corners if cache and cache.max_corners else NO_CAP
        shrink(self.run, rho, self._truth, max_corners, cache.max_bytes if cache else None)
        self.run.renew_gaps(gap, float(gap.sum()))
        self.lam = self.run.lam
        self.forget()

    def begin_at_loss(self, tol: float) -> tuple[float, np.ndarray]:
        """Begin where all weight is on the outputs of largest loss."""
        begin_at_loss(self.run, self.workers)
        found = first_lam(self.run, self.workers, tol)
        self.certificate_calls += self.n_blocks  # (of the maximum over scores)
        self.lam = self.run.lam
        return found

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """The run, and what was counted beside it."""
        return {
            "run": self.run.to_save(),
            "lam": self.run.lam,
            "certificate_calls": self.certificate_calls,
            "open": self._open,
            "visits_certified": self._visits_certified,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        self.lam = self.run.lam = float(saved["lam"])
        self.run.restore(saved["run"])
        self.certificate_calls = int(saved["certificate_calls"])
        self._open, self._visits_certified = saved["open"], int(saved["visits_certified"])
