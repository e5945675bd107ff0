"""Passes of visits in slices: between two a checkpoint can be written, or a pass be left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.pace import Pace
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.rules.gap_tree import draw_block, make_tree, renew_leaf
from blockwolfe.rules.sampling import Sampling, checked_draws

__all__ = ["GapPasses", "Passes"]


class Passes:
    """The order of the pass at work, and how much of it is done; for rules without gaps."""

    def __init__(self, n_blocks: int, sampling: Sampling, rng: np.random.Generator) -> None:
        self.n_blocks, self.sampling, self.rng = n_blocks, sampling, rng
        self.order = np.zeros(0, dtype=np.int64)
        self.done, self.is_open = 0, False
        self.n_drawn = 0  # visits of all passes so far
        self.least = 0  # block that a file may name (-1: drawn when its turn comes)
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
        self.order = read.array("passes.order", np.int64, (None,), least=self.least, most=most)
        self.done = read.integer("passes.done", most=len(self.order))
        self.is_open, self.n_drawn = read.flag("passes.is_open"), read.integer("passes.n_drawn")
        if self.done < len(self.order) and not self.is_open:
            raise Misfit("passes.is_open is False, but there are visits left.")


class GapPasses(Passes):
    """The same for any rule: one that goes by gaps draws each block when its turn comes.

    `gap` are the estimates, which visits renew with `note`.
    """

    def __init__(self, n_blocks: int, sampling: Sampling, rng: np.random.Generator) -> None:
        super().__init__(n_blocks, sampling, rng)
        self.gap = np.full(n_blocks, np.inf)
        self.uniform, self._tree = np.zeros(0), np.zeros(0)

    def _begin(self, max_visits: int) -> None:
        drawn = self.sampling.draws(self.gap, self.n_drawn, self.rng)
        self.plant()
        drawn = checked_draws(drawn, self.n_blocks, self.sampling, has_tree=len(self._tree) > 0)
        self.order, self.uniform = drawn.block[:max_visits], drawn.uniform[:max_visits]
        self.done, self.is_open = 0, True
        self.n_drawn += len(self.order)

    def plant(self) -> None:
        """The tree to draw from, once every block has an estimate."""
        is_known = self.sampling.needs_gaps and bool(np.isfinite(self.gap).all())
        self._tree = make_tree(self.gap, self.sampling.is_max) if is_known else np.zeros(0)

    def next_block(self) -> int:
        """The block of the visit that is next."""
        block = int(self.order[self.done])
        if block >= 0:
            return block
        uniform, is_max = float(self.uniform[self.done]), self.sampling.is_max
        return int(draw_block(self._tree, uniform, self.n_blocks, is_max))

    def note(self, i: int, gap: float) -> None:
        """The gap of block i as just seen."""
        self.gap[i] = gap
        if len(self._tree):
            renew_leaf(self._tree, i, gap, self.sampling.is_max)

    def to_save(self) -> dict[str, Any]:
        """And the estimates."""
        drawn = {"passes.uniform": self.uniform, "passes.has_tree": len(self._tree) > 0}
        return super().to_save() | drawn | {"passes.gap": self.gap}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        read = Reader(saved)
        shape, has_tree = (self.n_blocks,), read.flag("passes.has_tree")
        self.gap = read.array("passes.gap", np.float64, shape, least=0.0, is_finite=False)
        self.least = -1 if has_tree else 0
        super().restore(saved)
        n = len(self.order)
        self.uniform = read.array("passes.uniform", np.float64, (n,), least=0.0, most=1.0)
        if has_tree:
            self.plant()
        if has_tree and not len(self._tree):
            raise Misfit("passes.has_tree is True, but the gaps are not known.")
