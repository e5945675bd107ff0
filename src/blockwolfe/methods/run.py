"""A state at work: room for blocks to grow, the current w, gap estimates, and the averaging lag."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockwolfe.methods.loop import N_TALLIES, VISITS
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.certificate import Certificate, Sweep, examine
from blockwolfe.problem.state import State, Store, rebuild_v

__all__ = ["Run"]


class Pool(NamedTuple):
    """Block i has `length[i]` parts in a room of `capacity[i]` that begins at `start[i]`."""

    start: np.ndarray
    length: np.ndarray
    capacity: np.ndarray
    part: np.ndarray
    mean: np.ndarray
    lag_mean: np.ndarray


class _View(NamedTuple):
    """The arrays of a `Run` as compiled code reads and writes them."""

    pool: Pool
    weight: np.ndarray
    bound: np.ndarray
    ell: np.ndarray
    lag_ell: np.ndarray
    gap: np.ndarray
    last_visit: np.ndarray
    w: np.ndarray
    tally: np.ndarray


def _entries(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Positions start[i], ..., start[i] + length[i] - 1 of all blocks, end to end."""
    shift = start - (np.cumsum(length) - length)
    return np.repeat(shift, length) + np.arange(int(length.sum()))


class Run:
    """Working copy of a `State`; the pool is replaced as a whole, which Ctrl-C cannot split."""

    def __init__(self, blocks: Blocks, state: State, lam: float, has_average: bool) -> None:
        self.blocks, self.lam, self.has_average = blocks, lam, has_average
        self.weight, self.bound = blocks.weight, blocks.bound
        length = np.diff(state.start)
        self.pool = Pool(
            start=state.start[:-1].copy(),
            length=length,
            capacity=length.copy(),
            part=state.part.copy(),
            mean=state.mean.copy(),
            lag_mean=np.zeros(len(state.mean) if has_average else 0),
        )
        self.ell, self.lag_ell = state.ell.copy(), np.zeros(len(blocks))
        self.w = state.v / lam
        self.gap = np.full(len(blocks), np.inf)  # not seen yet
        self.last_visit = np.full(len(blocks), -1, dtype=np.int64)
        self.tally = np.zeros(N_TALLIES, dtype=np.int64)
        self.work = blocks.work()

    def view(self) -> _View | Run:
        """What the loop takes: plain arrays when compiled, this object when interpreted."""
        if not self.blocks.is_compiled:
            return self
        return _View(*(getattr(self, name) for name in _View._fields))

    def make_room(self) -> None:
        """Let every block take one more corner; blocks that are full double."""
        pool = self.pool
        is_full = pool.capacity - pool.length < self.bound
        if not is_full.any():
            return
        capacity = np.where(is_full, 2 * pool.length + self.bound, pool.capacity)
        start = np.cumsum(capacity) - capacity
        source, target = _entries(pool.start, pool.length), _entries(start, pool.length)

        def moved(values: np.ndarray) -> np.ndarray:
            larger = np.zeros(int(capacity.sum()), dtype=values.dtype)
            larger[target] = values[source]
            return larger

        lag_mean = moved(pool.lag_mean) if self.has_average else pool.lag_mean
        self.pool = Pool(start, pool.length, capacity, moved(pool.part), moved(pool.mean), lag_mean)

    def has_room(self, i: int) -> bool:
        """Whether block i can take one more corner."""
        return bool(self.pool.capacity[i] - self.pool.length[i] >= self.bound[i])

    def store(self, averaged: bool = False) -> Store:
        """The block means as they are, or their weighted average over all visits."""
        pool, visits = self.pool, float(self.tally[VISITS])
        if not averaged or visits == 0:
            return Store(pool.start, pool.length, pool.part, pool.mean, self.ell)
        total = 0.5 * visits * (visits + 1.0)
        mean, ell = pool.mean - pool.lag_mean / total, self.ell - self.lag_ell / total
        return Store(pool.start, pool.length, pool.part, mean, ell)

    def examine(self, keep: bool = False) -> tuple[Certificate, Sweep]:
        """Certify; w is rebuilt (or, with averaging, left to the last iterate)."""
        certificate, v, found = examine(
            self.blocks, self.store(self.has_average), self.lam, self.work, keep
        )
        if self.has_average:
            self.average_w = v / self.lam
        else:
            self.w = v / self.lam
            self.gap = np.maximum(found.gap, 0.0)
        return certificate, found

    def state(self, averaged: bool = False) -> State:
        """A compact copy at rest."""
        store = self.store(averaged)
        start = np.concatenate([[0], np.cumsum(store.length)]).astype(np.int64)
        entries = _entries(store.start, store.length)
        v = rebuild_v(self.blocks, store)
        part, mean = store.part[entries], store.mean[entries]
        return State(start, part, mean, store.ell.copy(), v, self.blocks.fingerprint)
