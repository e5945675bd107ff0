"""Passes of visits in slices: between two a checkpoint can be written, or a pass be left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.methods.bcfw.sampling import Sampling, checked_draws
from blockwolfe.problem.pace import Pace

__all__ = ["Passes"]


class Passes:
    """The order of the pass at work, and how much of it is done; for rules without gaps."""

    def __init__(self, n_blocks: int, sampling: Sampling, rng: np.random.Generator) -> None:
        self.n_blocks, self.sampling, self.rng = n_blocks, sampling, rng
        self.order = np.zeros(0, dtype=np.int64)
        self.done, self.is_open = 0, False
        self.n_drawn = 0  # visits of all passes so far
        self._pace = Pace()

    def run(
        self, max_visits: int, may_go_on: Callable[[], bool], visit: Callable[[int], None]
    ) -> None:
        """A pass of at most so many visits; one that was left is gone on with.

        `visit(until)` makes the visits from `done` on, and says in `done` how far it came.
        """
        if not self.is_open:
            with uninterrupted():
                self._begin(max_visits)
        while self.done < len(self.order) and may_go_on():
            visit(self._pace.until(self.done, len(self.order)))
            self._pace.note(self.done)
        self.is_open = self.done < len(self.order)

    def _begin(self, max_visits: int) -> None:
        drawn = self.sampling.draws(np.full(self.n_blocks, np.inf), self.n_drawn, self.rng)
        drawn = checked_draws(drawn, self.n_blocks, self.sampling, has_tree=False)
        self.order, self.done, self.is_open = drawn.block[:max_visits], 0, True
        self.n_drawn += len(self.order)

    def leave(self) -> None:
        """Begin a new pass next time."""
        self.order, self.done, self.is_open = self.order[:0], 0, False

    def to_save(self) -> dict[str, Any]:
        """For a checkpoint, with names that no engine has."""
        return {
            "passes.order": self.order,
            "passes.done": self.done,
            "passes.is_open": self.is_open,
            "passes.n_drawn": self.n_drawn,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        read, most = Reader(saved), self.n_blocks - 1
        self.order = read.array("passes.order", np.int64, (None,), least=0, most=most)
        self.done = read.integer("passes.done", most=len(self.order))
        self.is_open, self.n_drawn = read.flag("passes.is_open"), read.integer("passes.n_drawn")
        if self.done < len(self.order) and not self.is_open:
            raise Misfit("passes.is_open is False, but there are visits left.")
