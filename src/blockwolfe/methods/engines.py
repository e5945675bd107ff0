"""What a method does between two rows of the trace: advance by a pass, and certify."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.compiled import call, jit
from blockwolfe.methods.loop import (
    ORACLE_CALLS,
    STEPS,
    VISITS,
    Rule,
    merge_corner,
    move_block,
    visit_blocks,
)
from blockwolfe.methods.run import Run
from blockwolfe.methods.settings import BCFW, FrankWolfe, Method
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.certificate import Certificate, Sweep, broken_oracle, prepare
from blockwolfe.problem.state import State, Store, rebuild_v

__all__ = ["BatchEngine", "BlockEngine", "Engine", "make_engine"]

# Aim of one call into the loop: long enough to cost nothing, short enough to interrupt.
CHUNK_SECONDS = 0.2


class Engine(ABC):
    """A method at work on one run."""

    run: Run
    certificate_calls: int = 0
    is_free_to_certify: bool = False

    def prepare(self) -> None:
        """Compile whatever will run, so that no measured second goes into compiling."""
        prepare(self.run.blocks, self.run.store(), self.run.work)

    @abstractmethod
    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """One pass of at most `max_visits` visits, left early when `may_go_on()` turns false."""

    @abstractmethod
    def certify(self) -> Certificate:
        """The certificate of the point that would be returned now."""

    @property
    def gap_estimate(self) -> float:
        """Sum of the block gaps as last seen; infinite until all were seen."""
        return float(self.run.gap.sum())


class BlockEngine(Engine):
    """Block-coordinate Frank-Wolfe."""

    def __init__(self, run: Run, method: BCFW, rng: np.random.Generator) -> None:
        self.run, self.method, self.rng = run, method, rng
        self.rule = Rule(run.lam, method.step.line_search)
        self._chunk = 2000 if run.blocks.is_compiled else 1

    def prepare(self) -> None:
        """Compile the loop as well."""
        super().prepare()
        self._visit(np.zeros(0, dtype=np.int64), 0)

    def _visit(self, order: np.ndarray, begin: int) -> int:
        run, blocks = self.run, self.run.blocks
        args = (order, begin, self.rule, blocks.functions, blocks.data, run.view(), run.work)
        return int(call(visit_blocks, blocks.kind, *args))

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """Visit the blocks that the sampling rule asks for."""
        run, blocks = self.run, self.run.blocks
        order = self.method.sampling.order(len(blocks), self.rng).astype(np.int64)[:max_visits]
        done = 0
        while done < len(order) and may_go_on():
            run.make_room()
            began, from_here = time.perf_counter(), done
            done = self._visit(order[: done + self._chunk], done)
            if done == from_here and blocks.is_compiled and run.has_room(int(order[done])):
                raise broken_oracle(int(order[done]), int(blocks.bound[order[done]]))
            self._adapt_chunk(time.perf_counter() - began, done - from_here)

    def _adapt_chunk(self, seconds: float, n_visits: int) -> None:
        if n_visits:
            wanted = CHUNK_SECONDS * n_visits / max(seconds, 1e-9)
            self._chunk = int(np.clip(wanted, 1, 10 * self._chunk))

    def certify(self) -> Certificate:
        """A full pass at the current (or averaged) point."""
        certificate, _ = self.run.examine()
        self.certificate_calls += len(self.run.blocks)
        return certificate


@jit
def _blend(gamma: float, weight: Any, run: Any, corners: Any, losses: Any, scratch: Any) -> None:
    """Move every block by gamma towards its corner."""
    slot_of, delta = scratch
    pool = run.pool
    for i in range(weight.shape[0]):
        start, end = pool.start[i], pool.start[i] + pool.capacity[i]
        a, b = corners.start[i], corners.start[i + 1]
        corner = (corners.part[a:b], corners.value[a:b], b - a)
        room, mean = pool.part[start:end], pool.mean[start:end]
        length = merge_corner(room, mean, corner, pool.length[i], slot_of, delta)
        pool.length[i] = length
        point, lag = (mean[:length], run.ell), (pool.lag_mean[:0], run.lag_ell)
        move_block(point, lag, i, delta, (gamma, 0.0, weight[i] * losses[i] - run.ell[i]))


class BatchEngine(Engine):
    """Batch Frank-Wolfe: certifying finds the corners that the next step moves towards."""

    is_free_to_certify = True

    def __init__(self, run: Run, method: FrankWolfe) -> None:
        self.run, self.method = run, method
        self.n_steps = 0
        self._found: tuple[Certificate, Sweep] | None = None

    def certify(self) -> Certificate:
        """All oracles at the current point; remembered for the step."""
        if self._found is None:
            self._found = self.run.examine(keep=True)
            self.run.tally[ORACLE_CALLS] += len(self.run.blocks)
            self.run.tally[VISITS] += len(self.run.blocks)
        return self._found[0]

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """One joint step of all blocks."""
        certificate = self.certify()
        assert self._found is not None
        found, run, blocks = self._found[1], self.run, self.run.blocks
        gamma = self._step_size(certificate, found)
        self._found = None
        self.n_steps += 1
        if gamma > 0.0:
            run.make_room()
            scratch = (run.work.slot_of, run.work.delta)
            args = (blocks.weight, run.view(), found.corners, found.loss, scratch)
            call(_blend, blocks.kind, gamma, *args)
            run.w = rebuild_v(blocks, run.store()) / run.lam
            run.tally[STEPS] += 1

    def _step_size(self, certificate: Certificate, found: Sweep) -> float:
        if not self.method.line_search:
            return 2.0 / (self.n_steps + 2.0)
        blocks, corners, lam = self.run.blocks, found.corners, self.run.lam
        ell = blocks.weight * found.loss
        target = Store(corners.start[:-1], np.diff(corners.start), corners.part, corners.value, ell)
        direction = rebuild_v(blocks, target) - lam * self.run.w
        sqnorm = float(np.dot(direction, direction))
        slope = certificate.gap
        return 1.0 if sqnorm <= lam * slope else max(0.0, lam * slope / sqnorm)


def make_engine(
    method: Method, blocks: Blocks, state: State, lam: float, rng: np.random.Generator
) -> Engine:
    """The engine of a method."""
    if isinstance(method, BCFW):
        return BlockEngine(Run(blocks, state, lam, method.averaging), method, rng)
    assert isinstance(method, FrankWolfe)
    return BatchEngine(Run(blocks, state, lam, has_average=False), method)
