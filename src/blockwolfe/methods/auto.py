"""The automatic choice of a method: what the papers recommend, and what was measured.

Gap sampling throughout, but every third visit takes the blocks in turn: where few blocks share
few weights, each step changes the gaps of all, and stale estimates would keep the visits to some.
Frank-Wolfe steps in the first few passes: they keep w smooth, and a coarse gap is reached at once
where the data are many. Pairwise steps from there on, over the corners kept so far, and with a
cache unless the task's oracle is as cheap as looking at stored corners. Where lambda is small
visits are accelerated (`methods.catalyst`); not with an oracle that is not exact. With the cache,
where visits are not accelerated, or no more, and once passes have become slow, come rounds of
conjugate gradients over all stored corners. Neither comes with an average, nor with a kernel. Where
the oracle is slow, and rounds are possible, all of this gives way to `bcfw.sparing`.

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
from blockwolfe.methods.bcfw.cost import Cost
from blockwolfe.methods.bcfw.engine import BlockEngine
from blockwolfe.methods.bcfw.settings import BCFW
from blockwolfe.methods.bcfw.sparing import SparingEngine
from blockwolfe.methods.catalyst import Catalyst
from blockwolfe.methods.whole_blocks.engine import WholeEngine, takes_whole_blocks
from blockwolfe.methods.whole_blocks.method import WholeBlocks
from blockwolfe.problem.blocks import Blocks
from blockwolfe.rules.registry import register
from blockwolfe.rules.sampling import GapSampling
from blockwolfe.rules.steps import FW, Pairwise
from blockwolfe.running.engine import Engine

__all__ = ["Auto"]

SAMPLING = GapSampling(visit_every=3)
CACHE = Cache()
FULL_PASS_EVERY = BCFW(sampling=SAMPLING).full_pass_every
ROUNDS = Conjugate(patience=2.0)
CATALYST, WHOLE = Catalyst(), WholeBlocks(catalyst=Catalyst(every=2), certify_every=5)
# Passes of Frank-Wolfe steps.
N_EARLY = 3
# Steps of an oracle call that make it expensive even where the scores are all there is to it.
EXPENSIVE_STEPS = 2e4
# Steps from which on every call counts, and times what a look at one stored sequence of labels
# takes: one sweep of a round looks at all that are stored.
LONG_STEPS, LONG_LOOKS = 2e6, 20.0


def _is_expensive(blocks: Blocks) -> bool:
    """Whether an oracle call takes longer than a look at stored corners."""
    return not blocks.is_cheap or blocks.n_steps >= EXPENSIVE_STEPS


def _is_long(blocks: Blocks) -> bool:
    """Whether it takes longer than all that may be done with its answer.

    (A long sequence of few labels is decoded as fast as it is scored.)
    """
    is_long = not blocks.is_compiled or blocks.n_steps >= LONG_STEPS
    if is_long and blocks.is_coded:
        is_long = blocks.n_steps >= LONG_LOOKS * Cost.of(blocks).of_visit(1.0)
    return is_long and _is_expensive(blocks)


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
        """Not where visits are accelerated, which is known only on the way."""
        return False

    @property
    def can_stall(self) -> bool:
        """For the last iterate."""
        return not self.averaging

    @property
    def full_pass_every(self) -> float:
        """As of the methods it chooses from."""
        return FULL_PASS_EVERY

    def start(self, setup: Setup) -> Engine:
        """Visits, by a method that is chosen on the way, or once for all."""
        if self.averaging or not takes_whole_blocks(setup.blocks):
            return self.start_on_corners(setup)
        engine = WholeEngine(WHOLE, setup)
        engine.note = f"{engine.method.words}; blocks are simplices of labels"
        return engine

    def start_on_corners(self, setup: Setup) -> BlockEngine:
        """For blocks of any kind; for one shard too, of which others join the corners."""
        blocks = setup.blocks
        if _is_long(blocks) and not self.averaging and blocks.kernel is None:
            return SparingEngine(setup)
        return AutoEngine(self, setup)


class AutoEngine(BlockEngine):
    """A `BlockEngine` that chooses after the first pass, and once more after a few."""

    def __init__(self, method: Auto, setup: Setup) -> None:
        first = BCFW(sampling=SAMPLING, step=FW(), averaging=method.averaging)
        super().__init__(first, setup, keeps_corners=True)
        blocks = setup.blocks
        self._is_expensive = _is_expensive(blocks)
        self._is_long = _is_long(blocks)
        self._has_rounds = not method.averaging and blocks.kernel is None
        self.is_accelerated = self._has_rounds and blocks.is_exact
        if self.is_accelerated:
            self._take_up(setup.state)
        self._n_passes = 0
        self._chosen: tuple[bool, bool] | None = None
        self._choose(is_late=False, has_cache=False)

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """A pass, and after it a choice."""
        super().advance(max_visits, may_go_on)
        if self._is_open:
            return
        self._n_passes += 1
        is_late = self._n_passes >= N_EARLY
        is_early = self._is_long and bool(np.isfinite(self.ledger.gap).all())
        has_cache = self._is_expensive and (is_late or is_early)
        self._choose(is_late, has_cache)

    def _choose(self, is_late: bool, has_cache: bool) -> None:
        if self._chosen == (is_late, has_cache):
            return
        self._chosen = (is_late, has_cache)
        step, batch_size = Pairwise() if is_late else FW(), self.method.batch_size
        self.method = replace(
            self.method,
            step=step,
            cache=CACHE if has_cache else None,
            batch_size=None if has_cache else batch_size,  # (no batches of calls that are few)
            conjugate=ROUNDS if self._has_rounds and has_cache and is_late else None,
            catalyst=CATALYST if self.is_accelerated and is_late else None,
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
