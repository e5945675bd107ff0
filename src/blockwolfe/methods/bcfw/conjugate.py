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
from blockwolfe.methods.ledger import Ledger
from blockwolfe.problem.blocks import Blocks

__all__ = ["Conjugate", "Rounds", "check_conjugate"]

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

    A round is made as a whole or not at all: nothing of one has to be saved.
    """

    def __init__(self) -> None:
        self.n_sweeps = 0
        self._visits = 0  # when the last one was made

    def is_due(self, settings: Conjugate | None, visits: int, n_blocks: int) -> bool:
        """Whether enough visits were made since the last one."""
        return settings is not None and visits - self._visits >= settings.every * n_blocks

    def make(
        self, settings: Conjugate, point: DualPoint, ledger: Ledger, may_go_on: Callable[[], bool]
    ) -> None:
        """One round; where it is left early it stays due."""
        total = ledger.total_gap if not np.isnan(ledger.total_gap) else float(ledger.gap.sum())
        tol = SHARE * max(total, 0.0) if np.isfinite(total) else 0.0
        n_done = ascend(point, ledger.notes.longest, settings.n_iterations, tol, may_go_on)
        if n_done is not None:
            with uninterrupted():
                self.n_sweeps += n_done
                self._visits = int(ledger.counts.visits)

    def to_save(self) -> list[int]:
        """Plain numbers for a checkpoint."""
        return [self.n_sweeps, self._visits]

    def restore(self, saved: Any) -> None:
        """Go on as before `to_save`."""
        if not isinstance(saved, list) or len(saved) != 2:
            raise Misfit("rounds is no list of 2 integers.")
        read = Reader(dict(zip(("sweeps", "visits"), saved, strict=True)), "rounds")
        self.n_sweeps, self._visits = read.integer("sweeps"), read.integer("visits")
