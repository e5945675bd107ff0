"""Rounds of conjugate gradients between passes: when they are made, and to what end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer, check_share
from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.dual.conjugate import climb, put
from blockwolfe.dual.point import DualPoint
from blockwolfe.errors import OptionError
from blockwolfe.methods.bcfw.cache import Cache
from blockwolfe.methods.bcfw.cost import Cost
from blockwolfe.methods.ledger import Ledger
from blockwolfe.problem.blocks import Blocks

__all__ = ["Conjugate", "Rounds", "check_conjugate"]

# Passes between rounds take this many times the work of a round at least, and at most (of rounds
# that gained more, or less, than passes).
LEAST_WAIT, MOST_WAIT = 0.5, 2.0
# Stored corners are close enough to their optimum when they lack this share of the whole gap.
SHARE = 0.1


@dataclass(frozen=True)
class Conjugate:
    """Bring the weights of all stored corners towards their joint optimum between passes.

    A round is some iterations of conjugate gradients over the dual weights of all blocks, without
    an oracle call: each costs about half a pass over stored corners. It ends early where the
    stored corners have little left to gain. The dual never decreases.

    A round takes memory besides: up to 28 bytes for each part in which a stored corner differs
    from the heaviest of its example, 4 for each part of a sequence's corner, and 8 vectors as long
    as w. It is left out where that is not free, or more than `Cache(max_bytes)`. With a cap on the
    cache, by `max_bytes` or `max_corners`, rounds change the weights of active corners alone.

    Parameters
    ----------
    every : least passes from one round to the next; more where rounds cost much, or gain little.
    n_iterations : most iterations of a round.
    patience : the first round comes when passes, from one certificate to the next, have taken the
        work of this many rounds to halve the gap. While they are faster, as to loose gaps, rounds
        cost more than they save.

    >>> Conjugate(every=1, n_iterations=200).every
    1
    """

    every: int = 10
    n_iterations: int = 40
    patience: float = 0.0

    def __post_init__(self) -> None:
        check_share("patience", self.patience, highest=float("inf"))
        check_integer("every", self.every, 1)
        check_integer("n_iterations", self.n_iterations, 1)


def check_conjugate(blocks: Blocks) -> None:
    """Refuse a kernel, whose w has no coordinates to take sums over."""
    if blocks.kernel is not None:
        raise OptionError(
            "conjugate=Conjugate() needs w itself, and with a kernel there is none; leave one of "
            "the two out."
        )


def is_capped(cache: Cache | None) -> bool:
    """Whether corners are limited: a round then gives no idle one a weight.

    Corners with a weight are never evicted, and would soon be all that the cap allows.
    """
    return cache is not None and (cache.max_corners is not None or cache.max_bytes is not None)


class Rounds:
    """The rounds of a run: how many sweeps over stored corners they took, and when the last was.

    They begin when passes have become slow (`patience`). Before a round comes about as much work in
    passes as it may take. Where it gains less dual for its work than they did, the next one waits
    twice as long; where it gains more, half as long. Work is counted, not timed, so that the same
    seed gives the same run. A round is made as a whole or not at all: nothing of one has to be
    saved.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.n_sweeps = 0
        self._wait = 1.0  # how much work passes make before a round, relative to it
        self._after = (float("nan"), 0, 0)  # dual, visits and oracle calls after the last one
        self._has_begun = False
        self._certified = (float("nan"), 0, 0)  # total gap, visits and oracle calls, until then
        self._cost = Cost.of(blocks)

    def is_due(self, settings: Conjugate | None, point: DualPoint, ledger: Ledger) -> bool:
        """Whether passes gain little, and enough visits were made since the last one."""
        made = self._made_since(ledger)
        if settings is None or made[0] < settings.every * self._cost.n_blocks:
            return False
        n_stored = point.n_stored()
        a_round = self._cost.of_sweeps(settings.n_iterations, n_stored)
        if not self._has_begun:
            self._has_begun = bool(self._halving(ledger, n_stored) >= settings.patience * a_round)
        is_long = self._cost.of_passes(*made, n_stored) >= self._wait * a_round
        return self._has_begun and bool(is_long)

    def _halving(self, ledger: Ledger, n_stored: float) -> float:
        """Work in which passes halve the gap, by the last two certificates; 0 where not known."""
        gap, visits, calls = self._certified
        if ledger.total_gap == gap or np.isnan(ledger.total_gap):
            return 0.0
        self._certified = (ledger.total_gap, ledger.visits, ledger.oracle_calls)
        if not (np.isfinite(gap) and gap > 0.0 and ledger.total_gap > 0.0):
            return 0.0
        made = self._cost.of_passes(ledger.visits - visits, ledger.oracle_calls - calls, n_stored)
        n_halvings = float(np.log2(gap / ledger.total_gap))
        return made / n_halvings if n_halvings > 0.0 else float("inf")

    def _made_since(self, ledger: Ledger) -> tuple[int, int]:
        """Visits and oracle calls since the last round."""
        return ledger.visits - self._after[1], ledger.oracle_calls - self._after[2]

    def make(
        self,
        settings: Conjugate,
        cache: Cache | None,
        point: DualPoint,
        ledger: Ledger,
        may_go_on: Callable[[], bool],
    ) -> None:
        """One round; where it is left early it stays due, where there is no room it is left out."""
        total = ledger.total_gap if not np.isnan(ledger.total_gap) else float(ledger.gap.sum())
        tol, before = SHARE * max(total, 0.0) if np.isfinite(total) else 0.0, point.dual()
        found = climb(
            point,
            ledger.notes.longest,
            settings.n_iterations,
            tol,
            may_go_on,
            with_idle=not is_capped(cache),
            max_bytes=cache.max_bytes if cache is not None else None,
        )
        if found is not None:
            with uninterrupted():  # (the point moves, and the round is made: both or neither)
                put(point, found)
                made, (_, visits, calls) = self._made_since(ledger), self._after
                self._judge(before, point, made, found.n_done)
                self.n_sweeps += found.n_done
                self._after = (point.dual(), visits + made[0], calls + made[1])

    def _judge(self, dual: float, point: DualPoint, made: tuple[int, int], n_done: int) -> None:
        """Whether the round, begun at that dual, was better than the passes before it."""
        cost, n_stored = self._cost, point.n_stored()
        rate = (dual - self._after[0]) / cost.of_passes(*made, n_stored)
        if n_done and np.isfinite(rate):
            is_better = (point.dual() - dual) / cost.of_sweeps(n_done, n_stored) >= rate
            wait = 0.5 * self._wait if is_better else 2.0 * self._wait
            self._wait = min(max(wait, LEAST_WAIT), MOST_WAIT)

    def to_save(self) -> list[float]:
        """Plain numbers for a checkpoint."""
        return [self.n_sweeps, self._wait, *self._after, self._has_begun, *self._certified]

    def restore(self, saved: Any) -> None:
        """Go on as before `to_save`."""
        names = ("sweeps", "wait", "dual", "visits", "calls", "begun", "gap", "seen", "called")
        if not isinstance(saved, list) or len(saved) != len(names):
            raise Misfit(f"rounds is no list of {len(names)} numbers.")
        read = Reader(dict(zip(names, saved, strict=True)), "rounds")
        self.n_sweeps = read.integer("sweeps")
        self._wait = read.number("wait", LEAST_WAIT, MOST_WAIT)
        # (a dual that overflows is no number, and ends the run)
        dual = read.number("dual", or_nan=True)
        self._after = (dual, read.integer("visits"), read.integer("calls"))
        self._has_begun = read.flag("begun")
        gap = read.number("gap", or_nan=True)
        self._certified = (gap, read.integer("seen"), read.integer("called"))
