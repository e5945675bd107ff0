"""Cutting planes with a slack for every example: corners kept per block, optimised together.

An iteration is a full pass of oracles, all at one w. Every corner that it finds is stored, and gets
a step; then passes over stored corners alone, without an oracle call, take the dual up to about
the maximum over all of them. They end when one gains little beside the whole iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.schema import MOST_INTEGER, Reader
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.bcfw.cache import Cache
from blockwolfe.methods.bcfw.engine import BlockEngine
from blockwolfe.methods.bcfw.rules import FROM_STOCK, Batch
from blockwolfe.methods.bcfw.settings import BCFW
from blockwolfe.methods.full_passes import FullPassEngine
from blockwolfe.results.counts import Counts
from blockwolfe.rules.sampling import Permutation
from blockwolfe.rules.steps import Pairwise

__all__ = ["NSlackEngine"]

# Pairwise steps over stored corners; idle ones stay (until they are pruned).
RULES = BCFW(sampling=Permutation(), step=Pairwise(), cache=Cache(multi_plane=True))
# A pass over stored corners that gains less than this share of what its iteration has gained is the
# last of it, ...
SHARE = 0.05
# ... and so is this one.
MOST_PASSES = 200

# An iteration has not begun, is among its passes over stored corners, has ended.
READY, INSIDE, ENDED = range(3)


class NSlackEngine(FullPassEngine, BlockEngine):
    """A full pass, then passes over stored corners."""

    def __init__(self, method: Method, setup: Setup, prune_after: int | None) -> None:
        BlockEngine.__init__(self, RULES, setup, keeps_corners=True)
        self._chosen, self._prune_after = method, prune_after
        self._phase = READY
        self._n_passes = 0  # over stored corners, in this iteration
        self._dual_begun = self._dual_before = 0.0  # when the iteration began, and the pass
        self._begun: list[int] = []  # visits made when each of the last iterations began

    # -- an iteration --------------------------------------------------------------------------

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """One iteration; one that was left early is gone on with."""
        if self._phase == READY:
            may_go_on()  # (a moment to write a checkpoint)
            self._take_corners()
        while self._phase == INSIDE and may_go_on():
            self._go_on()
        if self._phase == ENDED:  # (also where Ctrl-C came before: it is not made twice)
            self._phase = READY

    def _take_corners(self) -> None:
        """The corners of a full pass: each is stored, and gets a step."""
        found, order = self._full_answers()[1].answers, np.arange(self.n_blocks)
        batch = Batch(found.start, found.size, found.code, found.value, found.loss)
        with uninterrupted():  # (all of it or none)
            self._forget_pass()
            self._begun = [*self._begun, int(self.ledger.counts.visits)][-self._n_begun :]
            self._dual_begun = self.dual()
            self._step_through(order, batch)
            self._phase, self._n_passes = INSIDE, 0
            self._begin_stored()

    def _begin_stored(self) -> None:
        self._source, self._dual_before = FROM_STOCK, self.dual()
        self._draws = self.method.sampling.draws(self.ledger.gap, self._n_draws, self.rng)
        self._n_draws += len(self._draws.block)
        self._done, self._is_open = 0, True

    def _go_on(self) -> None:
        """A chunk of visits to stored corners, and what follows where it ends a pass."""
        self._forget_pass()
        if self._done < len(self._draws.block):
            self._next_chunk(len(self._draws.block))
        if self._done == len(self._draws.block):
            with uninterrupted():
                self._end_stored()

    def _end_stored(self) -> None:
        self._n_passes += 1
        dual = self.dual()
        is_worth = dual - self._dual_before > SHARE * (dual - self._dual_begun)
        if is_worth and self._n_passes < MOST_PASSES:
            self._begin_stored()
        else:
            self._phase, self._is_open = ENDED, False

    # -- certificates --------------------------------------------------------------------------

    @property
    def can_pair(self) -> bool:
        """It stops by the gap of its present w."""
        return False

    @property
    def _n_begun(self) -> int:
        return self._prune_after or 1

    def _tidy_point(self) -> None:
        """Corners without weight that no visit of so many iterations has moved to are gone."""
        is_long = self._prune_after is not None and len(self._begun) == self._prune_after
        oldest = self._begun[0] if is_long else 0
        self.point.drop_older(np.full(self.n_blocks, oldest, dtype=np.int64))

    # -- what it knows -------------------------------------------------------------------------

    @property
    def chosen(self) -> Method:
        """Cutting planes, not the rules of their steps."""
        return self._chosen

    @property
    def counts(self) -> Counts:
        """Visits are those of full passes; what lies between them calls no oracle."""
        counts = super().counts
        return replace(counts, visits=counts.oracle_calls, cache_hits=0)

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """And begin a new iteration, with a full pass of its own."""
        super().shrink(rho, gap)
        self._phase = READY

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """And where in an iteration it is."""
        return super().to_save() | {
            "phase": self._phase,
            "n_passes": self._n_passes,
            "dual_begun": self._dual_begun,
            "dual_before": self._dual_before,
            "begun": np.array(self._begun, dtype=np.int64),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        read = Reader(saved)
        self._phase = read.integer("phase", most=ENDED)
        self._n_passes = read.integer("n_passes")
        self._dual_begun = read.number("dual_begun", or_nan=True)
        self._dual_before = read.number("dual_before", or_nan=True)
        begun = read.array("begun", np.int64, (None,), least=0, most=MOST_INTEGER)
        self._begun = begun.tolist()[-self._n_begun :]
