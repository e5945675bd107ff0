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
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_flag
from blockwolfe.base.schema import Reader
from blockwolfe.methods.base import Engine, Method, Setup
from blockwolfe.methods.bcfw.cache import Cache
from blockwolfe.methods.bcfw.engine import NO_BATCH, BlockEngine
from blockwolfe.methods.bcfw.rules import FROM_STOCK, Draws
from blockwolfe.methods.bcfw.sampling import GapSampling
from blockwolfe.methods.bcfw.settings import BCFW
from blockwolfe.methods.bcfw.steps import FW, Pairwise
from blockwolfe.methods.registry import register

__all__ = ["Auto"]

SAMPLING = GapSampling(visit_every=3)
CACHE = Cache(F=0.5)
# Passes of Frank-Wolfe steps.
N_EARLY = 3
# Visits over stored corners by which their cost is measured, and seconds they must take to tell.
N_MEASURED = 2000
CLEAR_SECONDS = 5e-3
# The oracle's share of a visit that makes it expensive, or cheap, whatever the task says.
CLEARLY_EXPENSIVE, CLEARLY_CHEAP = 0.6, 0.05
# Seconds of a visit from which on every call counts, and the cache is used from the start.
LONG_VISIT = 1e-3


@register
@dataclass(frozen=True)
class Auto(Method):
    """Gap sampling and active-set steps; a cache where it pays, which the first passes measure.

    What it chose, and why, is in `result.note` and in the trace.

    >>> Auto().averaging
    False
    """

    name: ClassVar[str] = "auto"
    switches: ClassVar[dict[str, dict[str, Any]]] = {"averaging": {"averaging": True}}

    averaging: bool = False

    def __post_init__(self) -> None:
        check_flag("averaging", self.averaging)

    @property
    def words(self) -> str:
        """What it chose is in the method of the result."""
        return "auto, averaging" if self.averaging else "auto"

    @property
    def is_monotone(self) -> bool:
        """For the last iterate."""
        return not self.averaging

    @property
    def full_pass_every(self) -> float:
        """As of the methods it chooses from."""
        return BCFW(sampling=SAMPLING).full_pass_every

    def start(self, setup: Setup) -> Engine:
        """Visits, by a method that is chosen on the way."""
        return AutoEngine(self, setup)


class AutoEngine(BlockEngine):
    """A `BlockEngine` that chooses after the first pass, and once more after a few."""

    def __init__(self, method: Auto, setup: Setup) -> None:
        first = BCFW(sampling=SAMPLING, step=FW(), averaging=method.averaging)
        super().__init__(first, setup, keeps_corners=True)
        self.note = "first pass: measuring"
        self._oracle_share = np.nan  # of the time of a visit; not measured yet
        self._is_expensive = True
        self._n_passes = 0
        # Compiled oracles only compute, and a busy machine must not change the choice.
        self._clock = time.thread_time if self.blocks.is_compiled else time.perf_counter

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """A pass, and after it a choice."""
        began, visits = self._clock(), int(self.ledger.counts.visits)
        super().advance(max_visits, may_go_on)
        made = int(self.ledger.counts.visits) - visits
        is_whole = made > 0 and np.isfinite(self.ledger.gap).all()
        is_early = self._n_passes < N_EARLY  # (later the choice has been made, whatever the clock)
        if np.isnan(self._oracle_share) and is_whole and is_early:
            self._measure((self._clock() - began) / made)
        self._n_passes += 1
        if self._n_passes == N_EARLY:
            self._go_late()

    def _measure(self, seconds_per_visit: float) -> None:
        self._is_expensive = not self.blocks.is_cheap
        if seconds_per_visit <= 0.0:
            return  # the clock is too coarse to tell (15.6 ms on Windows): the next pass may
        without, seconds = self._visit_stored()
        self._oracle_share = max(0.0, 1.0 - without / seconds_per_visit)
        if seconds >= CLEAR_SECONDS and self._oracle_share >= CLEARLY_EXPENSIVE:
            self._is_expensive = True
        elif seconds >= CLEAR_SECONDS and self._oracle_share <= CLEARLY_CHEAP:
            self._is_expensive = False
        is_long = self._is_expensive and (
            not self.blocks.is_compiled or seconds_per_visit >= LONG_VISIT
        )
        self.method = replace(self.method, cache=CACHE if is_long else None)
        self._explain()

    def _go_late(self) -> None:
        cache = CACHE if self._is_expensive else None
        self.method = replace(self.method, step=Pairwise(), cache=cache)
        self._explain()

    def _explain(self) -> None:
        share = f"{self._oracle_share:.0%}" if self._oracle_share >= 0.0 else "an unknown share"
        self.note = f"{self.method.words}; the oracle takes {share} of a visit"

    def _visit_stored(self) -> tuple[float, float]:
        """Move blocks to stored corners, work like any other; seconds of a visit, and of all."""
        order = np.arange(min(len(self.blocks), N_MEASURED), dtype=np.int64)
        began, done = self._clock(), 0
        while done < len(order):
            self._make_room()
            done = self._visit(Draws(order, np.zeros(len(order))), done, FROM_STOCK, NO_BATCH)
        seconds = self._clock() - began
        return seconds / len(order), seconds

    def to_save(self) -> dict[str, Any]:
        """And what was measured and chosen."""
        return super().to_save() | {
            "oracle_share": self._oracle_share,
            "is_expensive": self._is_expensive,
            "n_passes": self._n_passes,
            "is_late": not isinstance(self.method.step, FW),
            "has_cache": self.method.cache is not None,
            "note": self.note,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """And go on with it."""
        super().restore(saved)
        read = Reader(saved)
        self._oracle_share = read.number("oracle_share", or_nan=True)
        self._n_passes, self._is_expensive = read.integer("n_passes"), read.flag("is_expensive")
        step = Pairwise() if read.flag("is_late") else FW()
        cache = CACHE if read.flag("has_cache") else None
        self.method = replace(self.method, step=step, cache=cache)
        self.note = read.text("note")
