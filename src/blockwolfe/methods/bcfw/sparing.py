"""Visits where every oracle call counts: few calls, and all that is known brought to its optimum.

After every few calls the weights of all stored corners are brought close to their joint optimum
(`dual.conjugate`), which needs no oracle. So each call is made at a w that knows all corners so
far, and at the block of the largest gap estimate. A full pass for a certificate asks all blocks at
one w: the corners that it finds are stored too, and are worth as much as those of visits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.schema import Reader
from blockwolfe.dual.conjugate import climb, put
from blockwolfe.dual.planes import insert_found
from blockwolfe.methods.base import Setup
from blockwolfe.methods.bcfw.cache import Cache
from blockwolfe.methods.bcfw.conjugate import SHARE, Conjugate
from blockwolfe.methods.bcfw.engine import BlockEngine
from blockwolfe.methods.bcfw.rules import FROM_ORACLE
from blockwolfe.methods.bcfw.settings import BCFW
from blockwolfe.results.certificate import Certificate
from blockwolfe.rules.sampling import MaxGap
from blockwolfe.rules.steps import Pairwise

__all__ = ["SparingEngine"]

# Rounds in a pass of calls, at most: one after each call where blocks are few.
ROUNDS_PER_PASS = 20
RULES = BCFW(
    sampling=MaxGap(), step=Pairwise(), cache=Cache(), conjugate=Conjugate(1, n_iterations=100)
)


class SparingEngine(BlockEngine):
    """A few calls, a round, and so on; certificates that are steps as well."""

    certifies_early = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(RULES, setup, keeps_corners=True)
        n_jobs = self.workers.n_jobs
        self._every = max(1, self.n_blocks // ROUNDS_PER_PASS, n_jobs if n_jobs > 1 else 1)
        self._n_known = 0  # oracle calls of visits before the last round
        self._has_stored = False  # whether a certificate has stored corners since then
        self.sweep_share = 0.0  # (beside calls that take long)
        self.note = f"{self.method.words}; the oracle is slow"

    # -- one pass -----------------------------------------------------------------------------

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """Calls and rounds in turn; ends with a round, unless it is left."""
        if not self._is_open:
            with uninterrupted():
                self._begin_pass(max_visits)
        until = self._until
        while (self._done < until or self._is_due) and may_go_on():
            if self._is_due:
                self._round(may_go_on)
            else:
                self._ask(until)
        self._is_open = self._done < len(self._draws.block) or self._is_due

    def _begin_pass(self, max_visits: int) -> None:
        """No stored corner stands in for a call: after a round none has much left to gain."""
        super()._begin_pass(max_visits)
        self._source = FROM_ORACLE

    @property
    def _n_new(self) -> int:
        """Oracle calls since the last round."""
        return int(self.ledger.counts["oracle_calls"]) - self._n_known

    @property
    def _is_due(self) -> bool:
        is_last = self._n_new > 0 and self._done == len(self._draws.block)
        return self._has_stored or is_last or self._n_new >= self._every

    def _ask(self, until: int) -> None:
        """One call, since it may take long; with workers, all up to the next round together."""
        if self.workers.n_jobs > 1:
            self._next_batch(min(self._every - self._n_new, until - self._done))
            return
        while not self._visit_until(self._done + 1):
            self._make_room()

    def _round(self, may_go_on: Callable[[], bool]) -> None:
        gap, most = self.ledger.gap, RULES.conjugate.n_iterations if RULES.conjugate else 0
        tol = SHARE * float(gap[np.isfinite(gap)].sum())
        found = climb(self.point, self.ledger.notes.longest, most, tol, may_go_on)
        if found is not None:
            with uninterrupted():  # (the point moves, and the round is made: both or neither)
                put(self.point, found)
                self._rounds.n_sweeps += found.n_done
                self._n_known, self._has_stored = self._n_known + self._n_new, False

    # -- certificates ---------------------------------------------------------------------------

    def certify(self) -> Certificate:
        """A full pass, whose corners are stored: the point stays, the next round goes by them."""
        certificate, found = self._full_pass(keep=True)
        with uninterrupted():
            self.certificate_calls += self.n_blocks
            insert_found(self.point, found.answers, self.ledger.visits)
            self._has_stored = True
            self._plant_tree()
        return certificate

    @property
    def gap_estimate(self) -> float:
        """Not known between calls and the round that follows them."""
        return super().gap_estimate if self._n_new == 0 else float("inf")

    @property
    def can_pair(self) -> bool:
        """A look at an average would cost a full pass."""
        return False

    @property
    def has_visited_open(self) -> bool:
        """A certificate stores a corner of every block."""
        return True

    def begin_at_loss(self, tol: float) -> tuple[float, np.ndarray]:
        """All weight is on what those calls have found: no round has more to gain."""
        found = super().begin_at_loss(tol)
        self._n_known += self._n_new
        return found

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """And a round at the new lambda."""
        super().shrink(rho, gap)
        self._has_stored = True

    # -- checkpoints ------------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """And what the last round knew."""
        return super().to_save() | {"n_known": self._n_known, "has_stored": self._has_stored}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        read = Reader(saved)
        self._n_known = read.integer("n_known", most=int(self.ledger.counts.oracle_calls))
        self._has_stored = read.flag("has_stored")
