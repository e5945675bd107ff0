"""The automatic choice of a method: what the papers recommend, and what was measured.

Gap sampling throughout, but every third visit takes the blocks in turn: where few blocks share
few weights, each step changes the gaps of all, and stale estimates would keep the visits to some.
Frank-Wolfe steps in the first few passes: they keep w smooth, and a coarse gap is reached at once
where the data are many. Pairwise steps from there on, over the corners kept so far, and with a
cache unless the task's oracle is as cheap as looking at stored corners.

The first pass measures what an oracle call costs beside the rest of a visit. The measurement
overrules what is known of the task only where it is clear: times are noisy, and the same seed
should give the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.dual.run import Run
from blockwolfe.methods.bcfw.cache import Cache
from blockwolfe.methods.bcfw.passes import BlockEngine, no_batch
from blockwolfe.methods.bcfw.rules import FROM_STORE, VISITS, Draws
from blockwolfe.methods.bcfw.sampling import GapSampling
from blockwolfe.methods.bcfw.steps import FW, Pairwise
from blockwolfe.methods.settings import BCFW, Auto
from blockwolfe.problem.workers import Workers

__all__ = ["AutoEngine"]

SAMPLING = GapSampling(visit_every=3)
CACHE = Cache(F=0.5)
# Passes of Frank-Wolfe steps.
N_EARLY = 3
# Visits over stored corners by which their cost is measured, and seconds they must take to tell.
N_MEASURED = 2000
CLEAR_SECONDS = 5e-3
# The oracle's share of a visit that makes it dear, or cheap, whatever the task says.
CLEARLY_DEAR, CLEARLY_CHEAP = 0.6, 0.05
# Seconds of a visit from which on every call counts, and the cache is used from the start.
LONG_VISIT = 1e-3


class AutoEngine(BlockEngine):
    """A `BlockEngine` that chooses after the first pass, and once more after a few."""

    def __init__(self, run: Run, method: Auto, rng: np.random.Generator, workers: Workers) -> None:
        first = BCFW(sampling=SAMPLING, step=FW(), averaging=method.averaging)
        super().__init__(run, first, rng, workers)
        self.note = "first pass: measuring"
        self._oracle_share = np.nan  # of the time of a visit; not measured yet
        self._is_dear = True
        self._n_passes = 0
        # Compiled oracles only compute, and a busy machine must not change the choice.
        self._clock = time.thread_time if run.blocks.is_compiled else time.perf_counter

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """A pass, and after it a choice."""
        began, visits = self._clock(), int(self.run.tally[VISITS])
        super().advance(max_visits, may_go_on)
        made = int(self.run.tally[VISITS]) - visits
        is_whole = made > 0 and np.isfinite(self.run.gap).all()
        is_early = self._n_passes < N_EARLY  # (later the choice has been made, whatever the clock)
        if np.isnan(self._oracle_share) and is_whole and is_early:
            self._measure((self._clock() - began) / made)
        self._n_passes += 1
        if self._n_passes == N_EARLY:
            self._go_late()

    def _measure(self, seconds_per_visit: float) -> None:
        self._is_dear = not self.run.blocks.is_cheap
        if seconds_per_visit <= 0.0:
            return  # the clock is too coarse to tell (15.6 ms on Windows): the next pass may
        without, seconds = self._visit_stored()
        self._oracle_share = max(0.0, 1.0 - without / seconds_per_visit)
        if seconds >= CLEAR_SECONDS and self._oracle_share >= CLEARLY_DEAR:
            self._is_dear = True
        elif seconds >= CLEAR_SECONDS and self._oracle_share <= CLEARLY_CHEAP:
            self._is_dear = False
        is_long = self._is_dear and (
            not self.run.blocks.is_compiled or seconds_per_visit >= LONG_VISIT
        )
        self.method = replace(self.method, cache=CACHE if is_long else None)
        self._explain()

    def _go_late(self) -> None:
        cache = CACHE if self._is_dear else None
        self.method = replace(self.method, step=Pairwise(), cache=cache)
        self._explain()

    def _explain(self) -> None:
        share = f"{self._oracle_share:.0%}" if self._oracle_share >= 0.0 else "an unknown share"
        self.note = f"{self.method.words}; the oracle takes {share} of a visit"

    def _visit_stored(self) -> tuple[float, float]:
        """Move blocks to stored corners, work like any other; seconds of a visit, and of all."""
        order = np.arange(min(len(self.run.blocks), N_MEASURED), dtype=np.int64)
        began, done = self._clock(), 0
        while done < len(order):
            self._make_room()
            done = self._visit(
                Draws(order, np.zeros(len(order))), done, FROM_STORE, no_batch(self.run.blocks)
            )
        seconds = self._clock() - began
        return seconds / len(order), seconds

    def to_save(self) -> dict[str, Any]:
        """And what was measured and chosen."""
        return super().to_save() | {
            "oracle_share": self._oracle_share,
            "is_dear": self._is_dear,
            "n_passes": self._n_passes,
            "is_late": not isinstance(self.method.step, FW),
            "has_cache": self.method.cache is not None,
            "note": self.note,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """And go on with it."""
        super().restore(saved)
        self._oracle_share, self._n_passes = saved["oracle_share"], saved["n_passes"]
        self._is_dear = bool(saved["is_dear"])
        step = Pairwise() if saved["is_late"] else FW()
        cache = CACHE if saved["has_cache"] else None
        self.method = replace(self.method, step=step, cache=cache)
        self.note = str(saved["note"])
