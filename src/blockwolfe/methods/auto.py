"""The automatic choice of a method: what the papers recommend, decided by measurement.

Gap sampling throughout. Frank-Wolfe steps first: they keep w smooth, and the gap falls faster
than with active-set steps until it is about a tenth of what it was at the start. Blended pairwise
steps from there on, over the corners kept so far, and with a cache where an oracle call costs
enough beside the rest of a visit: the first pass tells what a visit with an oracle call costs,
and a few visits over stored corners what one without it does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.methods.block_engine import NO_BATCH, BlockEngine
from blockwolfe.methods.caches import Cache
from blockwolfe.methods.rules import FROM_STORE, VISITS, Draws
from blockwolfe.methods.run import Run
from blockwolfe.methods.samplers import GapSampling
from blockwolfe.methods.settings import BCFW, Auto
from blockwolfe.methods.steps import FW, BlendedPairwise
from blockwolfe.problem.workers import Workers

__all__ = ["AutoEngine"]

# A cache pays when the oracle takes at least this share of a visit ...
DEAR_SHARE = 0.15
# ... and from the start, even with Frank-Wolfe steps, when it takes nearly all of it.
VERY_DEAR_SHARE = 0.9
CACHE = Cache(F=0.5)
# Visits over stored corners by which their cost is measured.
N_MEASURED = 200
# Frank-Wolfe steps until the gap has fallen to this share of the first pass's gaps.
EARLY = 0.1


class AutoEngine(BlockEngine):
    """A `BlockEngine` that chooses after the first pass, and once more when the gap has fallen."""

    def __init__(self, run: Run, method: Auto, rng: np.random.Generator, workers: Workers) -> None:
        first = BCFW(sampling=GapSampling(), step=FW(), averaging=method.averaging)
        super().__init__(run, first, rng, workers)
        self.note = "first pass: measuring"
        self._oracle_share = np.nan  # of the time of a visit; not measured yet
        self._switch_at = np.nan  # gap at which active-set steps begin

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """A pass, and after it a choice."""
        began, visits = time.perf_counter(), int(self.run.tally[VISITS])
        super().advance(max_visits, may_go_on)
        made = int(self.run.tally[VISITS]) - visits
        if np.isnan(self._oracle_share) and made >= len(self.run.blocks):
            self._measure((time.perf_counter() - began) / made)
        elif isinstance(self.method.step, FW) and self.gap_estimate <= self._switch_at:
            self._go_late()

    def _measure(self, seconds_per_visit: float) -> None:
        without = self._seconds_without_oracle()
        self._oracle_share = max(0.0, 1.0 - without / seconds_per_visit)
        self._switch_at = EARLY * self.gap_estimate
        is_very_dear = self._oracle_share >= VERY_DEAR_SHARE
        self.method = replace(self.method, cache=CACHE if is_very_dear else None)
        self._say(f"Frank-Wolfe steps until the gap is near {self._switch_at:.2g}")

    def _go_late(self) -> None:
        cache = CACHE if self._oracle_share >= DEAR_SHARE else None
        self.method = replace(self.method, step=BlendedPairwise(), cache=cache)
        self._say("blended pairwise steps")

    def _say(self, steps: str) -> None:
        cache = "a cache" if self.method.cache is not None else "no cache"
        self.note = (
            f"gap sampling, {steps}, {cache}: the oracle takes {self._oracle_share:.0%} of a visit"
        )

    def _seconds_without_oracle(self) -> float:
        """Seconds of a visit that moves to a stored corner; such visits are work like any other."""
        order = np.arange(min(len(self.run.blocks), N_MEASURED), dtype=np.int64)
        began, done = time.perf_counter(), 0
        while done < len(order):
            self._make_room()
            done = self._visit(Draws(order, np.zeros(len(order))), done, FROM_STORE, NO_BATCH)
        return (time.perf_counter() - began) / len(order)

    def to_save(self) -> dict[str, Any]:
        """And what was measured and chosen."""
        return super().to_save() | {
            "oracle_share": self._oracle_share,
            "switch_at": self._switch_at,
            "is_late": not isinstance(self.method.step, FW),
            "has_cache": self.method.cache is not None,
            "note": self.note,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """And go on with it."""
        super().restore(saved)
        self._oracle_share, self._switch_at = saved["oracle_share"], saved["switch_at"]
        step = BlendedPairwise() if saved["is_late"] else FW()
        cache = CACHE if saved["has_cache"] else None
        self.method = replace(self.method, step=step, cache=cache)
        self.note = str(saved["note"])
