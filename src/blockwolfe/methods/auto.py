"""The automatic choice of a method: what the papers recommend, decided by measurement.

Gap sampling and blended pairwise steps throughout: a blended step is a Frank-Wolfe step while
new corners promise more than the stored ones (early), and a pairwise step afterwards (late).
A cache where an oracle call costs enough beside the rest of a visit. The first pass tells what
a visit with an oracle call costs, and a few visits over stored corners what one without it does.
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
from blockwolfe.methods.steps import BlendedPairwise
from blockwolfe.problem.workers import Workers

__all__ = ["AutoEngine"]

# A cache pays when the oracle takes at least this share of a visit.
DEAR_SHARE = 0.15
# Visits over stored corners by which their cost is measured.
N_MEASURED = 200
CACHE = Cache(F=0.5)


class AutoEngine(BlockEngine):
    """A `BlockEngine` that settles on its method after the first pass."""

    def __init__(self, run: Run, method: Auto, rng: np.random.Generator, workers: Workers) -> None:
        first = BCFW(sampling=GapSampling(), step=BlendedPairwise(), averaging=method.averaging)
        super().__init__(run, first, rng, workers)
        self.note = "first pass: measuring"
        self._is_settled = False

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """After a whole first pass, choose."""
        began, visits = time.perf_counter(), int(self.run.tally[VISITS])
        super().advance(max_visits, may_go_on)
        made = int(self.run.tally[VISITS]) - visits
        if not self._is_settled and made >= len(self.run.blocks):
            self._settle((time.perf_counter() - began) / made)

    def _settle(self, seconds_per_visit: float) -> None:
        without = self._seconds_without_oracle()
        share = max(0.0, 1.0 - without / seconds_per_visit)
        if share >= DEAR_SHARE:
            self.method = replace(self.method, cache=CACHE)
        self._is_settled = True
        self.note = (
            f"gap sampling, blended pairwise steps, {'a' if self.method.cache else 'no'} cache: "
            f"the oracle takes {share:.0%} of a visit of {1e6 * seconds_per_visit:.3g} us"
        )

    def _seconds_without_oracle(self) -> float:
        """Seconds of a visit that moves to a stored corner; such visits are work like any other."""
        n_blocks = len(self.run.blocks)
        order = np.arange(min(n_blocks, N_MEASURED), dtype=np.int64)
        began, done = time.perf_counter(), 0
        while done < len(order):
            self._make_room()
            done = self._visit(Draws(order, np.zeros(len(order))), done, FROM_STORE, NO_BATCH)
        return (time.perf_counter() - began) / len(order)

    def to_save(self) -> dict[str, Any]:
        """And what was chosen."""
        chosen = {"is_settled": self._is_settled, "has_cache": self.method.cache is not None}
        return super().to_save() | chosen | {"note": self.note}

    def restore(self, saved: dict[str, Any]) -> None:
        """And go on with it."""
        super().restore(saved)
        self._is_settled, self.note = bool(saved["is_settled"]), str(saved["note"])
        if saved["has_cache"]:
            self.method = replace(self.method, cache=CACHE)
