"""Visits, one block after another, with the sums that they add to."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.base.compiled import call, uninterrupted
from blockwolfe.base.packed import Packed, Packing
from blockwolfe.base.schema import Reader
from blockwolfe.errors import OptionError
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.primal import PrimalEngine
from blockwolfe.methods.subgradient.log import Log, Merging, add_up
from blockwolfe.methods.subgradient.visits import Counted, Pull, Room, Sums, add_visits
from blockwolfe.problem.sweep import broken_oracle
from blockwolfe.rules.passes import Passes
from blockwolfe.rules.sampling import Sampling

__all__ = ["VisitEngine"]


class VisitEngine(PrimalEngine):
    """One pass of visits after another; a subclass says how w follows from their sums."""

    kept = ("total", "late")
    _w: np.ndarray | None  # (None where it is not known yet)

    def __init__(self, method: Method, setup: Setup, sampling: Sampling, pull: Pull) -> None:
        super().__init__(method, setup)
        blocks = self.blocks
        if blocks.kernel is not None and not blocks.kernel.has_all_rows:
            raise OptionError(
                f"method={method.name!r} needs all rows of the kernel matrix at hand; raise "
                "kernel_cache_mb, take kernel_dtype='float32', or use method='auto'."
            )
        self.passes, self.pull = Passes(self.n_blocks, sampling, self.rng), pull
        self.total = self.w.copy()
        self.late = np.zeros(blocks.n_features if method.is_averaged else 0)
        self._room = Room.of(blocks)
        self._period = self.n_blocks * int(method.full_pass_every)
        self._log = Log.of(blocks, self._period if method.is_averaged else 0, self._most_moved)
        self._merging = Merging.of(blocks.n_parts if self._is_logged else 0)
        pulls = self.n_blocks * blocks.weight
        self._counted = Counted(blocks.true_codes, pulls, blocks.corner_size, blocks.ahead)
        self._made = np.zeros(1, dtype=np.int64)
        self._packing = Packing(blocks.kind and (blocks.kind, "subgradient"))

    def prepare(self) -> None:
        """Compile the visits as well."""
        super().prepare()
        self._visit(0)
        self._add_up(self.late)

    @property
    def fewest_visits(self) -> int:
        """A single one."""
        return 1

    # -- weights -------------------------------------------------------------------------------

    @property
    def w(self) -> np.ndarray:
        """The weights after the last visit, computed when they are asked for."""
        if self._w is None:
            self._w = self.last_w()
        return self._w

    @w.setter
    def w(self, w: np.ndarray) -> None:
        self._w = w

    @abstractmethod
    def last_w(self) -> np.ndarray:
        """The weights after the last visit."""

    @abstractmethod
    def average_w(self) -> np.ndarray:
        """The average of the weights after all visits; asked for after the first."""

    @property
    def sums(self) -> Sums:
        """What visits have added up, with the steps that are only written down so far."""
        if not self._log.n_steps:
            return Sums(self.total, self.late)
        late = self.late.copy()
        self._add_up(late)
        return Sums(self.total, late)

    @property
    def certified_w(self) -> np.ndarray:
        """With averaging, the average."""
        return self.average_w() if self.method.is_averaged and self.counts.visits else self.w

    # -- visits --------------------------------------------------------------------------------

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """Visit the blocks that the sampling rule asks for."""
        self.passes.run(max_visits, may_go_on, self._visit)

    def _visit(self, until: int) -> None:
        passes, made, begin = self.passes, self._made, self.passes.done
        end = min(until, begin + self._period - self._counts.visits % self._period)
        packed = self._packed()
        made[0] = 0
        try:
            span = (begin, end)
            call(add_visits, self.blocks.kind, passes.order, span, self._counts.visits, packed)
        finally:  # (also at Ctrl-C: what was visited is not visited again)
            with uninterrupted():
                n_made = int(made[0])
                self._w = None
                self.count(visits=n_made, oracle_calls=n_made, steps=n_made)
                passes.done = begin + n_made
        has_full_log = self._is_logged and self._log.is_full(self._most_moved)
        if passes.done < end and not has_full_log:
            i = int(passes.order[passes.done])
            raise broken_oracle(i, int(self.blocks.corner_size[i]))
        if has_full_log or self._counts.visits % self._period == 0:
            with uninterrupted():
                self._add_up(self.late)
                self._log.clear()

    @property
    def _most_moved(self) -> int:
        """Entries of a step, at most."""
        return len(self._room.part)

    @property
    def _is_logged(self) -> bool:
        return len(self._log.block) > 0

    def _add_up(self, late: np.ndarray) -> None:
        if self._is_logged:
            add_up(self._log, self.blocks, self._merging, late)

    def _packed(self) -> Packed:
        """What visits read and write, beside the order that they are in."""
        blocks = self.blocks
        seam, data, scratch = blocks.visited.seam, blocks.packed_data, self._own[1]
        of_blocks = (self._counted, seam, blocks.form, blocks.is_unit, data, scratch)
        return self._packing.of(
            self.pull, *of_blocks, self.total, self.late, self._log, self._room, self._made
        )

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """And the pass at work, and the steps that are only written down so far."""
        return super().to_save() | self.passes.to_save() | self._log.to_save()

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        read = Reader(saved)
        self.total = read.array("kept.total", np.float64, self.total.shape)
        self.late = read.array("kept.late", np.float64, self.late.shape)
        self.passes.restore(saved)
        self._log.restore(saved, self.blocks)
