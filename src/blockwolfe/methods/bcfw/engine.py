"""Block-coordinate Frank-Wolfe and its variants at work: draws, room, batches, passes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blockwolfe.base.compiled import announced_compilation, call, uninterrupted
from blockwolfe.base.packed import Packed, Packing
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.base.seeds import plain_state, restore_state
from blockwolfe.dual.conjugate import prepare as prepare_rounds
from blockwolfe.dual.shrink import NO_CAP
from blockwolfe.methods.accelerated import AcceleratedEngine
from blockwolfe.methods.base import Setup
from blockwolfe.methods.bcfw.batches import batch_size
from blockwolfe.methods.bcfw.conjugate import Rounds
from blockwolfe.methods.bcfw.loop import visit_blocks
from blockwolfe.methods.bcfw.planes import Planes
from blockwolfe.methods.bcfw.rules import (
    FROM_BATCH,
    FROM_CACHE_OR_ORACLE,
    FROM_ORACLE,
    FROM_STOCK,
    Batch,
    Rule,
)
from blockwolfe.methods.bcfw.stepping import step_piece
from blockwolfe.methods.bcfw.targets import has_room
from blockwolfe.methods.bcfw.working_set import order_in_working_set
from blockwolfe.problem.sweep import Answers, broken_oracle, sweep
from blockwolfe.results.certificate import Certificate
from blockwolfe.rules.gap_tree import make_tree
from blockwolfe.rules.sampling import Draws, Permutation, checked_draws
from blockwolfe.running.engine import CapTooSmallError

if TYPE_CHECKING:
    from blockwolfe.methods.bcfw.settings import BCFW

__all__ = ["NO_BATCH", "BlockEngine"]

# Aim of one call into the loop: long enough to cost nothing, short enough to interrupt.
CHUNK_SECONDS = 0.2

_NOTHING = np.zeros(0, dtype=np.int64)
NO_BATCH = Batch(_NOTHING, _NOTHING, np.zeros(0, dtype=np.int32), np.zeros(0), np.zeros(0))
_NO_DRAWS = Draws(_NOTHING, np.zeros(0))


_steps: dict[Any, Any] = {}


def _step_of(kind: Any, *packed: Packed) -> Any:
    """The second half of a visit, for blocks of a kind."""
    found = _steps.get(kind)
    if found is None:
        _steps[kind] = found = step_piece(*packed)
    return found


class BlockEngine(AcceleratedEngine):
    """One pass after another, each in chunks of visits."""

    def __init__(self, method: BCFW, setup: Setup, keeps_corners: bool) -> None:
        super().__init__(setup, method.averaging, keeps_corners)
        self.method: BCFW = replace(method, batch_size=batch_size(method, setup))
        self.rng = setup.rng
        self._draws, self._done = _NO_DRAWS, 0  # the pass at work; a checkpoint may split it
        self._is_open = False  # whether it has begun, and was not said to have ended
        self._source = FROM_ORACLE
        self._hit_floor = 0.0  # of the cache, for the pass at work
        self._n_draws = 0
        self._chunk = 1  # visits of the next call into the loop, by the time of the last
        self.stride: int | None = None  # visits after which a pass is left open; None: at its end
        self._planes, self._rounds = Planes(self.blocks), Rounds(self.blocks)
        self._has_rounds_compiled = False
        self.is_accelerated = method.catalyst is not None
        if self.is_accelerated:
            self._take_up(setup.state)
        # (beside calls in Python a compiled sweep is next to nothing)
        if not self.blocks.is_compiled:
            self.sweep_share = 0.002
        self._of_blocks, self._of_run = (
            Packing(self.blocks.kind and (self.blocks.kind, name)) for name in ("blocks", "run")
        )

    def _prepare_visits(self) -> None:
        """The loop; rounds are compiled when the first is due (`advance`)."""
        self._visit(_NO_DRAWS, 0, FROM_ORACLE, NO_BATCH)

    def _rule(self, source: int) -> Rule:
        """The settings as the loop reads them: of the same types for all methods."""
        step, cache, blocks, point = self.method.step, self.method.cache, self.blocks, self.point
        n_corrections, correction_share = step.corrections
        return Rule(
            lam=float(point.lam),
            source=source,
            is_forward=not step.needs_corners,
            has_line_search=bool(step.line_search),
            needs_gains=bool(step.needs_gains),
            keeps_corners=point.keeps_corners,
            keeps_idle=cache is not None,
            has_average=point.has_average,
            max_corners=int(cache.max_corners) if cache and cache.max_corners else NO_CAP,
            hit_share=float(cache.F) if cache else 0.0,
            hit_floor=self._hit_floor,
            n_corrections=int(n_corrections),
            correction_share=float(correction_share),
            is_max_gap=bool(self.method.sampling.is_max),
            is_bounded=blocks.is_bounded,
            is_exact_search=self.method.line_search == "exact" and blocks.has_exact_search,
            is_identity=blocks.is_identity,
            is_unit=blocks.is_unit,
            form=blocks.form,
            keeps_labels=point.is_coded,
            n_coefficients=blocks.kernel.size if blocks.kernel is not None else 0,
        )

    # -- one pass -----------------------------------------------------------------------------

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """Visit the blocks that the sampling rule asks for; then a round, where one is due."""
        if not self._has_due_round:  # (one that was left, after a pass that has ended, comes first)
            self._make_pass(max_visits, may_go_on)
        if self._has_due_round and self.method.conjugate is not None:
            self._prepare_rounds()
            rules = (self.method.conjugate, self.method.cache)
            self._rounds.make(*rules, self.point, self.ledger, may_go_on)

    def _prepare_rounds(self) -> None:
        """Compile what they run, before the first: most short runs make none."""
        if not self._has_rounds_compiled:
            with announced_compilation("rounds of conjugate gradients"):  # (not on the run's clock)
                prepare_rounds(self.point)
            self._has_rounds_compiled = True

    @property
    def _has_due_round(self) -> bool:
        # (asked at ends of passes alone: where a run was cut changes nothing)
        if self._is_open or self._is_pulled:
            return False
        return self._rounds.is_due(self.method.conjugate, self.point, self.ledger)

    def _make_pass(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        if not self._is_open:
            with uninterrupted():
                self._begin_pass(max_visits)
        until = self._until
        while self._done < until and may_go_on():
            self._next_chunk(until)
        self._is_open = self._done < len(self._draws.block)
        if self._has_planes and not self._is_open:
            dual = self.point.dual()
            self._planes.end(self._source == FROM_STOCK, dual, self.counts, self.point)

    @property
    def _until(self) -> int:
        """The visit of the pass at work before which it is left, by `stride`, or its end."""
        end = len(self._draws.block)
        return end if self.stride is None else min(end, self._done + self.stride)

    def _begin_pass(self, max_visits: int) -> None:
        ledger, method = self.ledger, self.method
        self._move_centre(method.catalyst)
        if self._has_planes:
            self._planes.begin(self.point.dual(), self.counts)
        self._source = FROM_ORACLE
        if method.cache is not None:
            self._source = FROM_CACHE_OR_ORACLE
            if method.cache.multi_plane:
                self._source = FROM_STOCK if self._planes.prefers_stock() else FROM_ORACLE
            total = ledger.total_gap if not np.isnan(ledger.total_gap) else self.gap_estimate
            is_known = np.isfinite(total)
            floor = method.cache.nu * max(total, 0.0) / self.n_blocks  # (rounding: just below zero)
            self._hit_floor = float(floor) if is_known else 0.0
        # (a pass over stored corners renews no estimate, so there is none to go by)
        sampling = Permutation() if self._source == FROM_STOCK else method.sampling
        draws = self._draws_in_working_set() or sampling.draws(ledger.gap, self._n_draws, self.rng)
        self._plant_tree()
        draws = checked_draws(draws, self.n_blocks, sampling, has_tree=len(ledger.notes.tree) > 0)
        self._draws = Draws(draws.block[:max_visits], draws.uniform[:max_visits])
        self._n_draws += len(self._draws.block)
        self._done, self._is_open = 0, True

    def _draws_in_working_set(self) -> Draws | None:
        """Where not all rows of a kernel are held, visits that get by with those."""
        kernel, gap, w = self.blocks.kernel, self.ledger.gap, self.point.arrays.w
        if kernel is None or kernel.has_all_rows or not np.isfinite(gap).all():
            return None
        order = order_in_working_set(gap, kernel.n_nodes, kernel.n_rows, self.rng)
        kernel.fetch(np.unique(order), w)
        return Draws(order, np.zeros(len(order)))

    def _plant_tree(self) -> None:
        is_known = self.method.sampling.needs_gaps and np.isfinite(self.ledger.gap).all()
        tree, planted = self._tree() if is_known else np.zeros(0), self.ledger.notes.tree
        if len(planted) == len(tree):  # (as the loop knows it: other arrays would be packed anew)
            planted[:] = tree
        else:
            self.ledger.put(tree=tree)

    def _tree(self) -> np.ndarray:
        return make_tree(self.ledger.gap, self.method.sampling.is_max)

    def _next_chunk(self, end: int) -> None:
        if self._source == FROM_ORACLE and (self.method.batch_size or 1) > 1:
            self._next_batch(min(self.method.batch_size or 1, end - self._done))
            return
        began, begin = time.perf_counter(), self._done
        until = min(begin + self._chunk, end)
        while not self._visit_until(until):
            self._make_room()
        self._adapt_chunk(time.perf_counter() - began, until - begin)

    def _visit_until(self, until: int) -> bool:
        """Make the visits up to there; False where one of them lacks room."""
        begin, before = self._done, self.ledger.visits
        part = Draws(*(array[:until] for array in self._draws))
        try:
            return self._visit(part, begin, self._source, NO_BATCH) == until
        finally:  # (also at Ctrl-C: what was visited is not visited again)
            self._done = begin + self.ledger.visits - before

    def _visit(self, draws: Draws, begin: int, source: int, batch: Batch) -> int:
        point, kind = self.point, self.blocks.kind
        of_run = self._of_run.of(point.arrays, self.ledger.notes, point.work)
        of_pass = self.blocks.packed("pass", self._rule(source), batch)
        packed = (of_pass, self._packed_blocks(), of_run)
        args = (_step_of(kind, *packed), *packed)
        kernel = self.blocks.kernel
        if kernel is None or kernel.has_all_rows:
            return int(call(visit_blocks, kind, draws, begin, *args))
        is_halted = True
        while is_halted:
            # (what a loop has left to do belongs to it: no signal and no thread comes between)
            with kernel.alone, uninterrupted():
                begin = int(call(visit_blocks, kind, draws, begin, *args))
                is_halted = kernel.halt[0] > 0
                kernel.settle(point.arrays.w, point.arrays.box.raw)
        return begin

    def _packed_blocks(self) -> Packed:
        """What visits read of the blocks."""
        blocks = self.blocks
        most = (blocks.corner_size, blocks.part_size, self.point.code_size)
        if not blocks.is_compiled:  # (of a Python task another thread may raise them meanwhile)
            most = (most[0].copy(), most[1].copy(), most[2].copy())  # (room last: never the less)
        functions = (self.method.step.piece, blocks.step_features, blocks.visited.oracles)
        seam = (*functions, blocks.packed_data, self.own[1])
        return self._of_blocks.of(blocks.weight, *most, blocks.column_norm, *seam, blocks.halt)

    def _adapt_chunk(self, seconds: float, n_visits: int) -> None:
        wanted = CHUNK_SECONDS * n_visits / max(seconds, 1e-9)
        self._chunk = int(min(max(wanted, 1.0), 10.0 * self._chunk))

    # -- room ----------------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Where the loop has stopped for it, and nowhere else: what goes must not go by the clock.

        (Within a cap, making room costs idle corners.)
        """
        self._check_stop()
        cache = self.method.cache
        self.point.make_room(cache.max_bytes if cache is not None else None)

    def _check_stop(self) -> None:
        """Refuse what room does not help: a cap that is too small, an oracle that breaks rules."""
        counts, blocks, point = self.ledger.counts, self.blocks, self.point
        i = int(counts.stopped_at)
        if counts.is_full:
            counts.is_full = 0
            raise CapTooSmallError(
                f"max_corners={self.method.cache and self.method.cache.max_corners} is too small: "
                f"the active set of example {i} needs at least "
                f"{int(point.arrays.stock.n_rows[i]) + 1}"
            )
        if not blocks.is_compiled:
            return
        part_size, code_size = int(blocks.part_size[i]), int(point.code_size[i])
        if has_room.py_func(self._rule(FROM_ORACLE), point.arrays, i, part_size, code_size):
            raise broken_oracle(i, int(blocks.corner_size[i]))

    @property
    def n_sweeps(self) -> int:
        """Those of rounds."""
        return self._rounds.n_sweeps

    # -- batches of parallel oracle calls --------------------------------------------------------

    def _next_batch(self, size: int) -> None:
        """Oracle calls at one w, then a step each, exact at its own w: the dual never decreases.

        The steps are a sweep of exact coordinate ascent over the directions of the batch.
        """
        begin, counts, blocks = self._done, self.ledger.counts, self.blocks.visited
        draws = self._draws.block[begin : begin + size]
        uniform = self._draws.uniform[begin : begin + size]
        order = np.unique(self._drawn(draws, uniform))
        store, w = self.point.store(order=order, workers=self.workers), self.asked_w
        swept = sweep(
            *(blocks, store, w, *self.own),
            order=order,
            keep=True,
            workers=self.workers,
            is_forgiving=True,  # (what is wrong is counted)
        )
        found = swept.answers
        batch = Batch(found.start, found.size, found.code, found.value, found.loss)
        with uninterrupted():  # (all steps of the batch or none)
            counts.violations += blocks.is_exact and not swept.is_valid
            self._note_answers(order, found)
            counts.oracle_calls += len(order)
            self._step_through(order, batch)
            self._plant_tree()
            self._done = min(begin + size, len(self._draws.block))

    @property
    def asked_w(self) -> np.ndarray:
        """The weights at which the blocks of a batch are asked."""
        return self.w

    def _note_answers(self, order: np.ndarray, found: Answers) -> None:
        self.ledger.gap[order] = np.maximum(found.gap, 0.0)

    def _step_through(self, order: np.ndarray, batch: Batch) -> None:
        done, draws = 0, Draws(order, np.zeros(len(order)))
        while done < len(order):
            done = self._visit(draws, done, FROM_BATCH, batch)
            if done < len(order):
                self._make_room()

    @property
    def _sampled_gap(self) -> np.ndarray:
        """What blocks of a batch are drawn by."""
        return self.ledger.gap

    def _drawn(self, block: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """The blocks of a batch, drawn from the estimates as they were before it."""
        gap, chosen = self._sampled_gap, block.copy()
        by_gap = np.flatnonzero(block < 0)
        if len(by_gap) and self.method.sampling.is_max:
            chosen[by_gap] = np.argsort(-gap, kind="stable")[: len(by_gap)]
        elif len(by_gap):
            sums = np.cumsum(gap) if gap.any() else np.arange(1.0, len(gap) + 1.0)
            at = np.searchsorted(sums, uniform[by_gap] * sums[-1], side="right")
            chosen[by_gap] = np.minimum(at, len(gap) - 1)
        return chosen

    # -- certificates -----------------------------------------------------------------------------

    def certify(self) -> Certificate:
        """A full pass at the current (or averaged) point; renews the gap estimates."""
        certificate, _ = self._full_pass()
        self.certificate_calls += self.n_blocks
        return certificate

    @property
    def calls_to_refresh(self) -> int:
        """One per block where a certificate is of the average, and estimates are of the iterate."""
        is_needed = self.point.has_average and self.method.sampling.needs_gaps
        return self.n_blocks if is_needed else 0

    def refresh(self) -> None:
        """Renew the gap estimates of the iterate, where the certificate is of the average."""
        if self.calls_to_refresh:
            store = self.point.store(workers=self.workers)
            found = sweep(self.blocks, store, self.w, *self.own, workers=self.workers).answers
            self.ledger.renew_gaps(found.gap, float(found.gap.sum()))
            self.certificate_calls += self.calls_to_refresh

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """And begin a new pass, with draws and thresholds of the gaps as they are then."""
        super().shrink(rho, gap)
        self._draws, self._done, self._is_open = _NO_DRAWS, 0, False

    def call_lam(self, lam: float) -> None:
        """The same dual point, at another lambda: w is then another one."""
        self.point.lam = lam

    # -- multi-plane scheduling --------------------------------------------------------------------

    @property
    def _has_planes(self) -> bool:
        return self.method.cache is not None and self.method.cache.multi_plane

    # -- checkpoints -------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """And the pass at work, and the state of the random numbers."""
        return super().to_save() | {
            "draws_block": self._draws.block,
            "draws_uniform": self._draws.uniform,
            "done": self._done,
            "is_open": self._is_open,
            "has_tree": len(self.ledger.notes.tree) > 0,
            "source": self._source,
            "planes": self._planes.to_save(),
            "rounds": self._rounds.to_save(),
            "rng": plain_state(self.rng),
            "hit_floor": self._hit_floor,
            "n_draws": self._n_draws,
            "batch_size": self.method.batch_size,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        read = Reader(saved)
        has_tree = read.flag("has_tree")
        if has_tree:
            self.ledger.put(tree=self._tree())
        least, most = (-1 if has_tree else 0), self.n_blocks - 1
        block = read.array("draws_block", np.int64, (None,), least=least, most=most)
        uniform = read.array("draws_uniform", np.float64, (len(block),), least=0.0, most=1.0)
        self._draws, self._done = Draws(block, uniform), read.integer("done", most=len(block))
        self._is_open = read.flag("is_open")
        if self._done < len(block) and not self._is_open:
            raise Misfit("is_open is False, but there are draws left.")
        last = FROM_STOCK if self.point.keeps_corners else FROM_ORACLE
        self._source = read.integer("source", most=last)
        self._hit_floor, self._n_draws = read.number("hit_floor", 0.0), read.integer("n_draws")
        self._planes.restore(read.given("planes"))
        self._rounds.restore(read.given("rounds"))
        restore_state(self.rng, read.given("rng"))
        size = read.given("batch_size")
        size = None if size is None else read.integer("batch_size", least=1)
        self.method = replace(self.method, batch_size=size)
