"""Whole blocks at work: passes, room for labels, rounds of conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blockwolfe.base.compiled import call, jit, uninterrupted
from blockwolfe.base.packed import Packing, unpack
from blockwolfe.base.ragged import offsets
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.base.seeds import plain_state, restore_state
from blockwolfe.methods.accelerated import AcceleratedEngine
from blockwolfe.methods.base import Setup
from blockwolfe.methods.bcfw.conjugate import Rounds
from blockwolfe.methods.whole_blocks.groups import Waiting
from blockwolfe.methods.whole_blocks.visits import make_whole_work, visit_whole_blocks
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import ActiveSet, State
from blockwolfe.problem.sweep import Asking, Sweep
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.counts import Counts
from blockwolfe.rules.passes import Passes
from blockwolfe.rules.sampling import Sampling

if TYPE_CHECKING:
    from blockwolfe.methods.whole_blocks.method import WholeBlocks

__all__ = ["WholeEngine", "takes_whole_blocks"]

# Turns of all blocks in one pass, at most, where most of them are waiting.
MOST_TURNS = 16
# Labels from which on the blocks of several visits are scored together. Of fewer labels w stays in
# fast memory, and scoring those anew that a visit has moved costs more than is saved.
MANY_LABELS = 256


def takes_whole_blocks(blocks: Blocks) -> bool:
    """Whether the maximum of the dual over any block is a projection on a simplex."""
    return blocks.is_compiled and blocks.uncompiled.simplex is not None and not blocks.is_bounded


@jit
def _fill_losses(
    augment: Any, data: Any, order: Any, begin: Any, label: Any, room: Any, loss: Any
) -> None:
    own, height = room[0], room[1]
    for i in order:
        augment(data, i, own, height)
        for s in range(begin[i], begin[i + 1]):
            loss[s] = own[label[s]]


def by_label(blocks: Blocks, state: State) -> State:
    """The same point with a corner for each label that has weight: outputs are their parts."""
    if state.active is not None and state.active.is_coded:
        return state
    is_there = state.mean > 0.0
    block = np.repeat(np.arange(len(blocks)), np.diff(state.start))[is_there]
    label, loss = state.part[is_there], np.zeros(int(is_there.sum()))
    begin = offsets(np.bincount(block, minlength=len(blocks)))
    # (no loss is negative: where their sum is zero, so are all)
    order = np.flatnonzero((state.ell != 0.0) | (blocks.weight == 0.0))
    if len(order):
        seam, room = (blocks.simplex.augment, blocks.packed_data), np.zeros((2, blocks.n_parts))
        call(_fill_losses, blocks.kind, *seam, order, begin, label, room, loss)
    active = ActiveSet(
        start=begin,
        weight=state.mean[is_there],
        loss=loss,
        begin=np.arange(len(label) + 1),
        code=label,
        value=np.zeros(0),
        is_coded=True,
    )
    return replace(state, active=active)


class Turns(Passes):
    """Passes that take the blocks in turn several times where most of them are waiting.

    A pass is then about as many visits as there are blocks, all the same: what is done once a pass
    would cost more than the visits.
    """

    last_visit = 0  # of all visits, that the pass at work may make

    def __init__(
        self,
        n_blocks: int,
        sampling: Sampling,
        rng: np.random.Generator,
        at_begin: Callable[[], tuple[int, int]],
    ) -> None:
        super().__init__(n_blocks, sampling, rng)
        self._at_begin = at_begin  # how many visits were made so far, and turns of the pass

    def _begin(self, max_visits: int) -> None:
        n_visits, n_turns = self._at_begin()
        super()._begin(self.n_blocks)
        self.order = np.tile(self.order, n_turns)
        self.last_visit = n_visits + max_visits

    def end(self) -> None:
        """No visit is left: the next pass begins behind what was made of this one."""
        self.order = self.order[: self.done]
        self.n_drawn -= max(self.n_blocks - self.done, 0)


class WholeEngine(AcceleratedEngine):
    """One visit after another, each to the maximum over its block."""

    def __init__(self, method: WholeBlocks, setup: Setup) -> None:
        setup = setup._replace(state=by_label(setup.blocks, setup.state))
        super().__init__(setup, has_average=False, keeps_corners=True)
        self.method: WholeBlocks = method
        self.rng, blocks = setup.rng, setup.blocks
        self.passes = Turns(self.n_blocks, method.sampling, setup.rng, self._begin_pass)
        self.waiting = Waiting(*np.zeros((2, self.n_blocks), dtype=np.int64))
        together = blocks.together if blocks.n_parts >= MANY_LABELS else 1
        self._rounds = Rounds(blocks)
        self._own_work = make_whole_work(blocks.n_parts, together, unpack(self.own[1]).rows)
        self.is_accelerated = method.catalyst is not None
        if self.is_accelerated:
            self._take_up(setup.state)
        self._of_blocks, self._of_run = (
            Packing((blocks.kind, name)) for name in ("whole blocks", "whole run")
        )

    def _prepare_visits(self) -> None:
        self._visit(0)

    # -- one pass ------------------------------------------------------------------------------

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """Visit the blocks that do not wait; then a round, where one is due."""
        if not self._has_due_round:  # (one that was left, after a pass that has ended, comes first)
            self.passes.run(max_visits, may_go_on, self._visit)
        if self._has_due_round and self.method.conjugate is not None:
            self._rounds.make(self.method.conjugate, None, self.point, self.ledger, may_go_on)

    @property
    def _has_due_round(self) -> bool:
        if self.passes.is_open or self._is_pulled:
            return False
        return self._rounds.is_due(self.method.conjugate, self.point, self.ledger)

    def _begin_pass(self) -> tuple[int, int]:
        self._move_centre(self.method.catalyst)
        n_ready = int(np.count_nonzero(self.waiting.period == 0))
        return self.ledger.visits, min(max(self.n_blocks // max(n_ready, 1), 1), MOST_TURNS)

    def _sqnorms(self) -> np.ndarray:
        """From one label to another; exact steps are much shorter."""
        length = self.blocks.weight * self.blocks.column_norm
        return np.asarray(2.0 * length * length)

    def _visit(self, until: int) -> None:
        blocks, passes, method = self.blocks, self.passes, self.method
        seam = (blocks.features.score, blocks.simplex, blocks.packed_data)
        of_blocks = self._of_blocks.of(blocks.weight, blocks.column_norm, *seam)
        limits = (int(method.max_labels), int(method.longest_wait), int(passes.last_visit))
        settings = (float(self.point.lam), self.n_blocks, *limits)
        while True:
            with uninterrupted():
                run = (self.point.arrays, self.ledger.notes, self.point.work)
                of_run = self._of_run.of(*run, self._own_work, self.waiting)
                which = (passes.order, (passes.done, until), settings)
                passes.done = int(call(visit_whole_blocks, blocks.kind, *which, of_blocks, of_run))
            if passes.done == until:
                return
            if self.ledger.visits >= passes.last_visit:
                passes.end()
                return
            self.point.make_room(n_rows=int(self._own_work.lacking[0]))

    # -- what it knows -------------------------------------------------------------------------

    @property
    def counts(self) -> Counts:
        """And sweeps over labels with weight."""
        return replace(super().counts, sweeps=self._rounds.n_sweeps)

    def _full_pass(
        self, keep: bool = False, asking: Asking | None = None
    ) -> tuple[Certificate, Sweep]:
        """And let no block wait that has a gap."""
        found = super()._full_pass(keep, asking)
        has_gap = self.ledger.gap > 0.0
        self.waiting.period[has_gap], self.waiting.left[has_gap] = 0, 0
        return found

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """And begin anew: all blocks have moved."""
        super().shrink(rho, gap)
        self.waiting.period[:], self.waiting.left[:] = 0, 0
        self.passes.leave()

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """And who waits, the pass at work, and the state of the random numbers."""
        own = {
            "waiting.period": self.waiting.period,
            "waiting.left": self.waiting.left,
            "last_visit": self.passes.last_visit,
            "rounds": self._rounds.to_save(),
            "rng": plain_state(self.rng),
        }
        return super().to_save() | self.passes.to_save() | own

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        read, shape, longest = Reader(saved), (self.n_blocks,), self.method.longest_wait
        self.waiting = Waiting(
            read.array("waiting.period", np.int64, shape, least=0, most=longest),
            read.array("waiting.left", np.int64, shape, least=0, most=longest),
        )
        if not self.point.is_coded:
            raise Misfit("point.is_coded is False, but every corner of this run is a label.")
        self.passes.restore(saved)
        self.passes.last_visit = read.integer("last_visit")
        self._rounds.restore(read.given("rounds"))
        restore_state(self.rng, read.given("rng"))
