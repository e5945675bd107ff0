"""The automatic choice of a method: what the papers recommend, and what was measured.

Gap sampling throughout, but every third visit takes the blocks in turn: where few blocks share
few weights, each step changes the gaps of all, and stale estimates would keep the visits to some.
Frank-Wolfe steps in the first few passes: they keep w smooth, and a coarse gap is reached at once
where the data are many. Pairwise steps from there on, over the corners kept so far, and with a
cache unless the task's oracle is as cheap as looking at stored corners. With the cache come rounds
of conjugate gradients over all stored corners, more of them where every call counts; none with an
average, nor with a kernel.

Blocks that are simplices of single labels (`Multiclass` without a kernel or bounds) are optimised
as a whole, by `WholeBlocks`; not with an average.

What an oracle call costs is known of the task (`TaskBlocks.n_steps`), and not measured: times are
noisy, and the same seed gives the same run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_flag
from blockwolfe.base.schema import Reader
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.bcfw.cache import Cache
from blockwolfe.methods.bcfw.conjugate import Conjugate
from blockwolfe.methods.bcfw.engine import BlockEngine
from blockwolfe.methods.bcfw.settings import BCFW
from blockwolfe.methods.whole_blocks.engine import WholeEngine, takes_whole_blocks
from blockwolfe.methods.whole_blocks.method import WholeBlocks
from blockwolfe.rules.registry import register
from blockwolfe.rules.sampling import GapSampling
from blockwolfe.rules.steps import FW, Pairwise
from blockwolfe.running.engine import Engine

__all__ = ["Auto"]

SAMPLING = GapSampling(visit_every=3)
CACHE = Cache(F=0.5)
# Rounds between passes, and those where every call counts.
ROUNDS, MORE_ROUNDS = Conjugate(), Conjugate(every=2, n_iterations=100)
# Passes of Frank-Wolfe steps.
N_EARLY = 3
# Steps of an oracle call that make it expensive even where the scores are all there is to it.
EXPENSIVE_STEPS = 2e4
# Steps from which on every call counts, and the cache is used from the second pass on.
LONG_STEPS = 2e6


@register
@dataclass(frozen=True)
class Auto(Method):
    """Gap sampling and active-set steps; a cache and rounds where the task's oracle is expensive.

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
        """Visits, by a method that is chosen on the way, or once for all for whole blocks."""
        if self.averaging or not takes_whole_blocks(setup.blocks):
            return AutoEngine(self, setup)
        engine = WholeEngine(WholeBlocks(), setup)
        engine.note = f"{engine.method.words}; blocks are simplices of labels"
        return engine


class AutoEngine(BlockEngine):
    """A `BlockEngine` that chooses after the first pass, and once more after a few."""

    def __init__(self, method: Auto, setup: Setup) -> None:
        first = BCFW(sampling=SAMPLING, step=FW(), averaging=method.averaging)
        super().__init__(first, setup, keeps_corners=True)
        blocks = setup.blocks
        self._is_expensive = not blocks.is_cheap or blocks.n_steps >= EXPENSIVE_STEPS
        self._is_long = not blocks.is_compiled or blocks.n_steps >= LONG_STEPS
        self._has_rounds = not method.averaging and blocks.kernel is None
        self._n_passes = 0
        self._chosen: tuple[bool, bool] | None = None
        self._choose(is_late=False, has_cache=False)

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """A pass, and after it a choice."""
        super().advance(max_visits, may_go_on)
        self._n_passes += 1
        is_late = self._n_passes >= N_EARLY
        is_known = bool(np.isfinite(self.ledger.gap).all())
        has_cache = self._is_expensive and (is_late or (self._is_long and is_known))
        self._choose(is_late, has_cache)

    def _choose(self, is_late: bool, has_cache: bool) -> None:
        if self._chosen == (is_late, has_cache):
            return
        self._chosen = (is_late, has_cache)
        step, batch_size = Pairwise() if is_late else FW(), self.method.batch_size
        rounds = MORE_ROUNDS if self._is_long else ROUNDS
        self.method = replace(
            self.method,
            step=step,
            cache=CACHE if has_cache else None,
            batch_size=None if has_cache else batch_size,  # (no batches of calls that are few)
            conjugate=rounds if self._has_rounds and has_cache and is_late else None,
        )
        kind = "expensive" if self._is_expensive else "as cheap as stored corners"
        self.note = f"{self.method.words}; the oracle is {kind}"

    def to_save(self) -> dict[str, Any]:
        """And what was chosen."""
        return super().to_save() | {
            "n_passes": self._n_passes,
            "is_late": not isinstance(self.method.step, FW),
            "has_cache": self.method.cache is not None,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """And go on with it."""
        super().restore(saved)
        read = Reader(saved)
        self._n_passes = read.integer("n_passes")
        self._choose(read.flag("is_late"), read.flag("has_cache"))
