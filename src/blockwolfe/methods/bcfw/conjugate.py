"""Rounds of conjugate gradients between passes: when they are made, and to what end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.dual.conjugate import ascend
from blockwolfe.dual.point import DualPoint
from blockwolfe.errors import OptionError
from blockwolfe.methods.bcfw.work import Work
from blockwolfe.methods.ledger import Ledger
from blockwolfe.problem.blocks import Blocks

__all__ = ["Conjugate", "Rounds", "check_conjugate"]

# Rounds that gain little wait for at most so many times the passes that were asked for.
MOST_WAIT = 16
# Stored corners are close enough to their optimum when they lack this share of the whole gap.
SHARE = 0.1


@dataclass(frozen=True)
class Conjugate:
    """Bring the weights of all stored corners towards their joint optimum between passes.

    A round is some iterations of conjugate gradients over the dual weights of all blocks, without
    an oracle call: each costs about half a pass over stored corners. It ends early where the
    stored corners have little left to gain. The dual never decreases.

    Parameters
    ----------
    every : passes from one round to the next.
    n_iterations : most iterations of a round.

    >>> Conjugate(every=1, n_iterations=200).every
    1
    """

    every: int = 10
    n_iterations: int = 40

    def __post_init__(self) -> None:
        check_integer("every", self.every, 1)
        check_integer("n_iterations", self.n_iterations, 1)


def check_conjugate(blocks: Blocks) -> None:
    """Refuse a kernel, whose w has no coordinates to take sums over."""
    if blocks.kernel is not None:
        raise OptionError(
            "conjugate=Conjugate() needs w itself, and with a kernel there is none; leave one of "
            "the two out."
        )


class Rounds:
    """The rounds of a run: how many sweeps over stored corners they took, and when the last was.

    Where a round gains less dual for its work than the passes before it, the next one waits for
    twice as many passes; where it gains more, for half as many. Work is counted, not timed, so
    that the same seed gives the same run. A round is made as a whole or not at all: nothing of one
    has to be saved.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.n_sweeps = 0
        self._wait = 1  # passes between rounds are this many times those asked for
        self._after = (float("nan"), 0, 0)  # dual, visits and oracle calls after the last one
        self._work = Work.of(blocks)

    def is_due(self, settings: Conjugate | None, visits: int, n_blocks: int) -> bool:
        """Whether enough visits were made since the last one."""
        if settings is None:
            return False
        return visits - self._after[1] >= settings.every * self._wait * n_blocks

    def make(
        self, settings: Conjugate, point: DualPoint, ledger: Ledger, may_go_on: Callable[[], bool]
    ) -> None:
        """One round; where it is left early it stays due."""
        total = ledger.total_gap if not np.isnan(ledger.total_gap) else float(ledger.gap.sum())
        tol, before = SHARE * max(total, 0.0) if np.isfinite(total) else 0.0, point.dual()
        n_done = ascend(point, ledger.notes.longest, settings.n_iterations, tol, may_go_on)
        if n_done is not None:
            with uninterrupted():
                visits, calls = ledger.visits, int(ledger.counts["oracle_calls"])
                made = (visits - self._after[1], calls - self._after[2])
                self._judge(before, point, made, n_done)
                self.n_sweeps += n_done
                self._after = (point.dual(), visits, calls)

    def _judge(self, dual: float, point: DualPoint, made: tuple[int, int], n_done: int) -> None:
        """Whether the round, begun at that dual, was better than the passes before it."""
        work, n_stored = self._work, point.n_stored()
        rate = (dual - self._after[0]) / work.of_passes(*made, n_stored)
        if n_done and np.isfinite(rate):
            is_better = (point.dual() - dual) / work.of_sweeps(n_done, n_stored) >= rate
            self._wait = max(self._wait // 2, 1) if is_better else min(2 * self._wait, MOST_WAIT)

    def to_save(self) -> list[float]:
        """Plain numbers for a checkpoint."""
        return [self.n_sweeps, self._wait, *self._after]

    def restore(self, saved: Any) -> None:
        """Go on as before `to_save`."""
        names = ("sweeps", "wait", "dual", "visits", "calls")
        if not isinstance(saved, list) or len(saved) != len(names):
            raise Misfit(f"rounds is no list of {len(names)} numbers.")
        read = Reader(dict(zip(names, saved, strict=True)), "rounds")
        self.n_sweeps = read.integer("sweeps")
        self._wait = read.integer("wait", least=1, most=MOST_WAIT)
        # (a dual that overflows is no number, and ends the run)
        dual = read.number("dual", or_nan=True)
        self._after = (dual, read.integer("visits"), read.integer("calls"))
