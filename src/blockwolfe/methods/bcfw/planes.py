"""Multi-plane scheduling: when passes over stored corners pay."""

from __future__ import annotations

from typing import Any

from blockwolfe.base.schema import MOST_INTEGER, Misfit, Reader
from blockwolfe.dual.point import DualPoint
from blockwolfe.methods.bcfw.cost import Cost
from blockwolfe.problem.blocks import Blocks
from blockwolfe.results.counts import Counts

__all__ = ["Planes"]


class Planes:
    """When passes over stored corners pay (Shah et al. 2015).

    While the last of them gained more dual for its work than all passes since the last one that
    called the oracle. Work is counted, not timed, so that the same seed gives the same run.
    """

    def __init__(self, blocks: Blocks) -> None:
        self._cost = Cost.of(blocks)
        self._gain = self._work = self._last_rate = 0.0
        self._was_stock = False
        self._before = (0.0, 0, 0)  # dual, visits and oracle calls at the beginning of the pass

    def begin(self, dual: float, counts: Counts) -> None:
        """A pass begins."""
        self._before = (dual, counts.visits, counts.oracle_calls)

    def end(self, is_stock: bool, dual: float, counts: Counts, point: DualPoint) -> None:
        """It has ended."""
        before, visits, calls = self._before
        n_visits, n_calls = counts.visits - visits, counts.oracle_calls - calls
        work = self._cost.of_passes(n_visits, n_calls, point.n_stored())
        self.note(is_stock, dual - before, work)

    def note(self, is_stock: bool, gain: float, work: float) -> None:
        """What a pass has gained, and for how many steps."""
        if not is_stock:
            self._gain = self._work = 0.0
        self._gain += gain
        self._work += work
        self._last_rate, self._was_stock = gain / work if work > 0.0 else 0.0, is_stock

    def prefers_stock(self) -> bool:
        """Whether the next pass should make do with stored corners."""
        if self._work == 0.0:
            return False
        return not self._was_stock or self._last_rate > self._gain / self._work

    def to_save(self) -> list[float]:
        """Plain numbers for a checkpoint."""
        rates = [self._gain, self._work, self._last_rate, float(self._was_stock)]
        return [*rates, *(float(value) for value in self._before)]

    def restore(self, saved: Any) -> None:
        """Go on as before `to_save`."""
        names = ("gain", "work", "last_rate", "was_stock", "dual", "visits", "calls")
        if not isinstance(saved, list) or len(saved) != len(names):
            raise Misfit(f"planes is no list of {len(names)} numbers.")
        read = Reader(dict(zip(names, saved, strict=True)), "planes")
        # (a dual that overflows is no number, and ends the run)
        self._gain = read.number("gain", or_nan=True)
        self._last_rate = read.number("last_rate", or_nan=True)
        self._work = read.number("work", least=0.0)
        self._was_stock = bool(read.number("was_stock"))
        visits, calls = (int(read.number(name, 0.0, MOST_INTEGER)) for name in names[-2:])
        self._before = (read.number("dual", or_nan=True), visits, calls)
