"""Block-coordinate Frank-Wolfe and its variants at work: draws, room, batches, passes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.base.compiled import call
from blockwolfe.dual.growth import CapTooSmallError
from blockwolfe.dual.run import Run
from blockwolfe.methods.bcfw.gap_tree import make_tree
from blockwolfe.methods.bcfw.loop import visit_blocks
from blockwolfe.methods.bcfw.rules import (
    FROM_BATCH,
    FROM_CACHE_OR_ORACLE,
    FROM_ORACLE,
    FROM_STORE,
    FULL_BLOCK,
    ORACLE_CALLS,
    VIOLATIONS,
    Batch,
    Draws,
    Rule,
)
from blockwolfe.methods.bcfw.sampling import Permutation
from blockwolfe.methods.bcfw.targets import has_room
from blockwolfe.methods.engine import Engine
from blockwolfe.methods.settings import BCFW
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.certificate import Certificate, broken_oracle, sweep
from blockwolfe.problem.state import dual_value
from blockwolfe.problem.workers import Workers

__all__ = ["BlockEngine", "no_batch"]

# Aim of one call into the loop: long enough to cost nothing, short enough to interrupt.
CHUNK_SECONDS = 0.2
# Oracle time of one batch of parallel calls: long enough to pay for handing it out.
BATCH_SECONDS = 0.01
# Compiled oracles cheaper than this are called one by one in their visits: a batch scores its
# blocks twice, which costs more than a second core gains.
DEAR_SECONDS = 1e-4

_NOTHING = np.zeros(0, dtype=np.int64)
_NO_DRAWS = Draws(_NOTHING, np.zeros(0))
NO_CAP = 2**62


def no_batch(blocks: Blocks) -> Batch:
    """Where visits call their own oracles."""
    code = np.zeros(0, dtype=blocks.code_type)
    return Batch(_NOTHING, _NOTHING, code, np.zeros(0), np.zeros(0))


def make_rule(run: Run, method: BCFW, source: int, hit_floor: float) -> Rule:
    """The settings as the loop reads them."""
    step, cache = method.step, method.cache
    return Rule(
        lam=run.lam,
        step=step.code,
        has_line_search=step.line_search,
        source=source,
        keeps_corners=run.keeps_corners,
        keeps_idle=cache is not None,
        max_corners=cache.max_corners if cache and cache.max_corners else NO_CAP,
        hit_share=float(cache.F) if cache else 0.0,
        hit_floor=hit_floor,
        n_corrections=int(getattr(step, "max_steps", 0)),
        correction_share=float(getattr(step, "share", 0.0)),
        is_max_gap=method.sampling.is_max,
        is_bounded=run.blocks.is_bounded,
        is_exact_search=method.line_search == "exact",
    )


class BlockEngine(Engine):
    """One pass after another, each in chunks of visits."""

    def __init__(self, run: Run, method: BCFW, rng: np.random.Generator, workers: Workers) -> None:
        super().__init__(run, workers)
        self.method: BCFW = method
        self.rng = rng
        self._draws, self._done = _NO_DRAWS, 0  # the pass at work; a checkpoint may split it
        self._source = FROM_ORACLE
        self._hit_floor = 0.0  # of the cache, for the pass at work
        self._n_draws = 0
        self._chunk = 2000 if run.blocks.is_compiled else 1
        self._planes = _Planes()
        self.seconds_per_call = np.nan  # of the oracle, from full passes

    def prepare(self) -> None:
        """Compile the loop as well."""
        super().prepare()
        self._visit(_NO_DRAWS, 0, FROM_ORACLE, no_batch(self.run.blocks))

    # -- one pass -----------------------------------------------------------------------------

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """Visit the blocks that the sampling rule asks for."""
        if self._done >= len(self._draws.block):
            self._begin_pass(max_visits)
        began, dual = time.perf_counter(), self._dual() if self._has_planes else 0.0
        while self._done < len(self._draws.block) and may_go_on():
            self._make_room()
            self._next_chunk()
        if self._has_planes:
            seconds = time.perf_counter() - began
            self._planes.note(self._source == FROM_STORE, self._dual() - dual, seconds)

    def _begin_pass(self, max_visits: int) -> None:
        run, method = self.run, self.method
        self._source = FROM_ORACLE
        if method.cache is not None:
            self._source = FROM_CACHE_OR_ORACLE
            if method.cache.multi_plane:
                self._source = FROM_STORE if self._planes.prefers_store() else FROM_ORACLE
            total = run.total_gap if run.total_gap == run.total_gap else float(run.gap.sum())
            is_known = np.isfinite(total)
            self._hit_floor = method.cache.nu * total / len(run.blocks) if is_known else 0.0
        # (a pass over stored corners renews no estimate, so there is none to go by)
        sampling = Permutation() if self._source == FROM_STORE else method.sampling
        draws = sampling.draws(run.gap, self._n_draws, self.rng)
        self._draws = Draws(draws.block[:max_visits], draws.uniform[:max_visits])
        self._n_draws += len(self._draws.block)
        self._done = 0
        self._plant_tree()

    def _plant_tree(self) -> None:
        run, sampling = self.run, self.method.sampling
        is_known = sampling.needs_gaps and np.isfinite(run.gap).all()
        run.tree = make_tree(run.gap, sampling.is_max) if is_known else np.zeros(0)

    def _next_chunk(self) -> None:
        if self._batch_size() > 1 and self._source == FROM_ORACLE:
            self._next_batch(self._batch_size())
            return
        began, begin = time.perf_counter(), self._done
        until = begin + self._chunk
        part = Draws(self._draws.block[:until], self._draws.uniform[:until])
        self._done = self._visit(part, begin, self._source, no_batch(self.run.blocks))
        self._check_progress(self._done == begin)
        self._adapt_chunk(time.perf_counter() - began, self._done - begin)

    def _visit(self, draws: Draws, begin: int, source: int, batch: Batch) -> int:
        run, blocks = self.run, self.run.blocks
        rule = make_rule(run, self.method, source, self._hit_floor)
        args = (rule, blocks.seam, blocks.data, run.scratch, run.view(), run.work, batch)
        return int(call(visit_blocks, blocks.kind, draws, begin, *args))

    def _adapt_chunk(self, seconds: float, n_visits: int) -> None:
        if n_visits:
            wanted = CHUNK_SECONDS * n_visits / max(seconds, 1e-9)
            self._chunk = int(np.clip(wanted, 1, 10 * self._chunk))

    # -- room ----------------------------------------------------------------------------------

    def _make_room(self) -> None:
        cache = self.method.cache
        self.run.make_room(cache.max_bytes if cache is not None else None)

    def _check_progress(self, is_stuck: bool) -> None:
        """Why no visit was made: a cap that is too small, or an oracle that breaks its contract."""
        run, blocks = self.run, self.run.blocks
        i = int(run.stopped_at[0])
        if run.tally[FULL_BLOCK]:
            run.tally[FULL_BLOCK] = 0
            raise CapTooSmallError(
                f"max_corners={self.method.cache and self.method.cache.max_corners} is too small: "
                f"the active set of example {i} needs at least {int(run.stock.n_rows[i]) + 1}"
            )
        is_roomy = has_room(run.pool, run.stock, i, int(run.bound[i]), run.keeps_corners)
        if is_stuck and blocks.is_compiled and is_roomy:
            raise broken_oracle(i, int(blocks.corner_size[i]))

    # -- batches of parallel oracle calls --------------------------------------------------------

    def _batch_size(self) -> int:
        """Blocks whose oracles are called together; one means that visits call their own."""
        if self.method.batch_size is not None:
            return self.method.batch_size
        is_unknown = bool(np.isnan(self.seconds_per_call))
        is_cheap = is_unknown or self.seconds_per_call < DEAR_SECONDS
        if self.workers.n_jobs == 1 or (self.run.blocks.is_compiled and is_cheap):
            return 1
        calls = BATCH_SECONDS / self.seconds_per_call if not is_unknown else 1.0
        return int(np.clip(calls, 2 * self.workers.n_jobs, len(self.run.blocks)))

    def _next_batch(self, size: int) -> None:
        """Oracle calls at one w, then a step each, exact at its own w: the dual never decreases.

        The steps are a sweep of exact coordinate ascent over the directions of the batch.
        """
        run, begin = self.run, self._done
        draws = self._draws.block[begin : begin + size]
        uniform = self._draws.uniform[begin : begin + size]
        order = np.unique(self._drawn(draws, uniform))
        own, workers = (run.work, run.scratch), self.workers
        swept = sweep(run.blocks, run.store(), run.w, *own, order=order, keep=True, workers=workers)
        found = swept.answers
        run.tally[VIOLATIONS] += run.blocks.is_exact and not swept.is_valid
        run.gap[order] = np.maximum(found.gap, 0.0)
        run.tally[ORACLE_CALLS] += len(order)
        batch = Batch(found.start, found.size, found.code, found.value, found.loss)
        done = 0
        while done < len(order):
            self._make_room()
            from_here = done
            done = self._visit(Draws(order, np.zeros(len(order))), done, FROM_BATCH, batch)
            self._check_progress(done == from_here)
        self._plant_tree()
        self._done = min(begin + size, len(self._draws.block))

    def _drawn(self, block: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """The blocks of a batch, drawn from the estimates as they were before it."""
        gap, chosen = self.run.gap, block.copy()
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
        n_blocks, began = len(self.run.blocks), time.perf_counter()
        certificate, _ = self.run.examine(workers=self.workers)
        self.seconds_per_call = (time.perf_counter() - began) / n_blocks
        self.certificate_calls += n_blocks
        return certificate

    @property
    def calls_to_refresh(self) -> int:
        """One per block where a certificate is of the average, and estimates are of the iterate."""
        is_needed = self.run.has_average and self.method.sampling.needs_gaps
        return len(self.run.blocks) if is_needed else 0

    def refresh(self) -> None:
        """Renew the gap estimates of the iterate."""
        if self.calls_to_refresh:
            self.run.refresh(self.workers)
            self.certificate_calls += self.calls_to_refresh

    def forget(self) -> None:
        """Begin a new pass, with draws and thresholds of the gaps as they are now."""
        self._draws, self._done = _NO_DRAWS, 0

    # -- multi-plane scheduling --------------------------------------------------------------------

    @property
    def _has_planes(self) -> bool:
        return self.method.cache is not None and self.method.cache.multi_plane

    def _dual(self) -> float:
        run = self.run
        return dual_value(run.blocks, run.v, float(run.ell.sum()), run.lam)

    # -- checkpoints -------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """The pass at work and the state of the random numbers."""
        return {
            "draws_block": self._draws.block,
            "draws_uniform": self._draws.uniform,
            "done": self._done,
            "source": self._source,
            "tree": self.run.tree,
            "planes": self._planes.to_save(),
            "rng": _plain(self.rng.bit_generator.state),
            "hit_floor": self._hit_floor,
            "n_draws": self._n_draws,
            "seconds_per_call": self.seconds_per_call,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        self._draws = Draws(saved["draws_block"], saved["draws_uniform"])
        self._done, self._source = int(saved["done"]), int(saved["source"])
        self._hit_floor, self._n_draws = float(saved["hit_floor"]), int(saved["n_draws"])
        self.run.tree = saved["tree"]
        self._planes.restore(saved["planes"])
        self.rng.bit_generator.state = saved["rng"]
        self.seconds_per_call = float(saved["seconds_per_call"])


def _plain(state: Any) -> Any:
    """The state of a bit generator without arrays, which some of them have."""
    if isinstance(state, dict):
        return {name: _plain(value) for name, value in state.items()}
    return state.tolist() if isinstance(state, (np.ndarray, np.generic)) else state


class _Planes:
    """When passes over stored corners pay (Shah et al. 2015).

    While the last of them gained more dual per second than all passes since the last one that
    called the oracle.
    """

    def __init__(self) -> None:
        self._gain = self._seconds = self._last_rate = 0.0
        self._was_store = False

    def note(self, is_store: bool, gain: float, seconds: float) -> None:
        """A pass has ended."""
        if not is_store:
            self._gain = self._seconds = 0.0
        self._gain += gain
        self._seconds += seconds
        self._last_rate, self._was_store = gain / max(seconds, 1e-12), is_store

    def prefers_store(self) -> bool:
        """Whether the next pass should make do with stored corners."""
        if self._seconds == 0.0:
            return False
        return not self._was_store or self._last_rate > self._gain / self._seconds

    def to_save(self) -> list[float]:
        """Plain numbers for a checkpoint."""
        return [self._gain, self._seconds, self._last_rate, float(self._was_store)]

    def restore(self, saved: list[float]) -> None:
        """Go on as before `to_save`."""
        self._gain, self._seconds, self._last_rate = saved[:3]
        self._was_store = bool(saved[3])
