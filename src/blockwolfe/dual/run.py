"""A state at work: room for blocks to grow, the current w, gap estimates, and the averaging lag."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.inner import inner
from blockwolfe.dual.corners import Stock
from blockwolfe.dual.growth import (
    Pool,
    active_set,
    entries,
    live_rows,
    make_pool,
    make_stock,
    no_stock,
    roomier_pool,
    roomier_stock,
)
from blockwolfe.dual.line_search import Box
from blockwolfe.dual.pruning import prune
from blockwolfe.methods.bcfw.rules import N_TALLIES, VISITS
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.certificate import Certificate, Sweep, examine, sweep
from blockwolfe.problem.state import State, Store, rebuild_v, weights_of
from blockwolfe.problem.workers import Workers

__all__ = ["Run"]


class _View(NamedTuple):
    """The arrays of a `Run` as compiled code reads and writes them."""

    pool: Pool
    stock: Stock
    box: Box
    weight: np.ndarray
    bound: np.ndarray
    ell: np.ndarray
    lag_ell: np.ndarray
    gap: np.ndarray
    tree: np.ndarray
    longest: np.ndarray
    last_visit: np.ndarray
    w: np.ndarray
    tally: np.ndarray
    stopped_at: np.ndarray


@jit
def _rebuild_means(stock: Any, pool: Any, weight: Any, ell: Any) -> None:
    """Means and ell from the active set, its weights brought back to sum one."""
    for i in range(weight.shape[0]):
        begin, rows = pool.start[i], range(stock.start[i], stock.start[i] + stock.n_rows[i])
        total = 0.0
        for row in rows:
            total += stock.weight[row]
        for s in range(begin, begin + pool.length[i]):
            pool.mean[s] = 0.0
        ell[i] = 0.0
        for row in rows:
            stock.weight[row] /= total
            alpha = stock.weight[row]
            ell[i] += weight[i] * alpha * stock.loss[row]
            for e in range(stock.begin[row], stock.begin[row] + stock.size[row]):
                value = stock.value[e] if stock.value.shape[0] else 1.0
                pool.mean[begin + stock.slot[e]] += alpha * value


class Run:
    """Working copy of a `State`; pool and stock are replaced as a whole when they grow."""

    def __init__(
        self, blocks: Blocks, state: State, lam: float, has_average: bool, keeps_corners: bool
    ) -> None:
        self.blocks, self.lam, self.has_average = blocks, lam, has_average
        self.keeps_corners = keeps_corners
        self.weight, self.bound = blocks.weight, blocks.part_size.copy()
        self.pool = make_pool(state, has_average)
        self.stock = make_stock(blocks, state) if keeps_corners else no_stock(len(blocks))
        self.ell, self.lag_ell = state.ell.copy(), np.zeros(len(blocks))
        self.put(state.v)
        self.average_w = self.w
        self.gap = np.full(len(blocks), np.inf)  # not seen yet
        self.total_gap = np.nan  # not certified yet
        self.hinge = np.full(len(blocks), np.nan)  # H_i(w) of the last full pass
        self.staleness = np.nan  # estimated over true total gap, at the last full pass
        self.tree = np.zeros(0)
        self.longest = np.zeros(len(blocks))  # largest |d|^2 seen
        self.last_visit = np.full(len(blocks), -1, dtype=np.int64)
        self.tally = np.zeros(N_TALLIES, dtype=np.int64)
        self.stopped_at = np.zeros(1, dtype=np.int64)
        self.work, self.scratch = blocks.work(), blocks.scratch()

    def put(self, v: np.ndarray) -> None:
        """Go on from v, free of the rounding of many steps."""
        blocks = self.blocks
        self.w = weights_of(blocks, v, self.lam)
        self.box = Box(blocks.lower, blocks.upper, v / self.lam if blocks.is_bounded else v[:0])

    @property
    def v(self) -> np.ndarray:
        """V as the steps have left it, not rebuilt."""
        return self.lam * (self.box.raw if self.blocks.is_bounded else self.w)

    def view(self) -> _View | Run:
        """What the loop takes: plain arrays when compiled, this object when interpreted."""
        if not self.blocks.is_compiled:
            return self
        return _View(*(getattr(self, name) for name in _View._fields))

    def make_room(self, max_bytes: int | None = None, n_entries: int = 0) -> None:
        """Let any block take one more corner; with so many entries, every block."""
        self.bound = self.blocks.part_size.copy()  # (oracles in Python raise it, in any thread)
        self.pool = roomier_pool(self.pool, self.bound, self.has_average)
        if self.keeps_corners:
            self.stock = roomier_stock(self.stock, self.bound, max_bytes, n_entries)

    def store(self, averaged: bool = False) -> Store:
        """The block means as they are, or their weighted average over all visits."""
        pool, visits = self.pool, float(self.tally[VISITS])
        if not averaged or visits == 0:
            return Store(pool.start, pool.length, pool.part, pool.mean, self.ell)
        total = 0.5 * visits * (visits + 1.0)
        mean, ell = pool.mean - pool.lag_mean / total, self.ell - self.lag_ell / total
        return Store(pool.start, pool.length, pool.part, mean, ell)

    def examine(
        self, keep: bool = False, workers: Workers | None = None
    ) -> tuple[Certificate, Sweep]:
        """Certify the point (with averaging: the average); renews w and, if it can, the gaps."""
        if self.keeps_corners:
            self.tidy()
        store = self.store(self.has_average)
        certificate, v, found = examine(
            self.blocks, store, self.lam, self.work, self.scratch, keep, workers
        )
        self.hinge = found.hinge
        if self.has_average:
            self.average_w = weights_of(self.blocks, v, self.lam)
            self.put(rebuild_v(self.blocks, self.store()))
        else:
            self.put(v)
            # (of the corners that were found: slack of bounds is no progress to be made)
            own = certificate.gap - inner(self.weight, found.slack)
            self.renew_gaps(found.answers.gap, own)
        return certificate, found

    def tidy(self) -> None:
        """Means and ell without the rounding of many steps; corners out of use are dropped."""
        call(_rebuild_means, "means", self.stock, self.pool, self.weight, self.ell)
        prune(self.pool, self.stock, self.blocks.truth.start, self.last_visit)

    def refresh(self, workers: Workers | None = None) -> None:
        """Renew the gap estimates of the iterate, where the certificate is of the average."""
        found = sweep(self.blocks, self.store(), self.w, self.work, self.scratch, workers=workers)
        self.renew_gaps(found.answers.gap, float(found.answers.gap.sum()))

    def renew_gaps(self, gap: np.ndarray, total: float) -> None:
        """Take the block gaps of a full pass for estimates; how stale the old ones were."""
        old = float(self.gap.sum())
        self.staleness = old / total if total > 0.0 and np.isfinite(old) else np.nan
        self.gap = np.maximum(gap, 0.0)
        self.total_gap = total

    def n_active(self) -> float:
        """Mean size of the active sets."""
        if not self.keeps_corners:
            return float("nan")
        return float((self.stock.weight[live_rows(self.stock)] > 0.0).sum() / len(self.blocks))

    def state(self, averaged: bool = False) -> State:
        """A compact copy at rest."""
        store = self.store(averaged)
        start = np.concatenate([[0], np.cumsum(store.length)]).astype(np.int64)
        taken = entries(store.start, store.length)
        v = rebuild_v(self.blocks, store)
        part, mean = store.part[taken], store.mean[taken]
        active = active_set(self.stock) if self.keeps_corners and not averaged else None
        return State(start, part, mean, store.ell.copy(), v, self.blocks.fingerprint, active)

    def to_save(self) -> dict[str, Any]:
        """Everything that a checkpoint must hold, as arrays and numbers."""
        saved: dict[str, Any] = {name: getattr(self, name) for name in _SAVED}
        for name in ("pool", "stock"):
            saved |= {f"{name}.{f}": array for f, array in getattr(self, name)._asdict().items()}
        return saved | {"raw": self.box.raw}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        for name in _SAVED:
            setattr(self, name, saved[name])
        self.pool = Pool(*(saved[f"pool.{field}"] for field in Pool._fields))
        self.stock = Stock(*(saved[f"stock.{field}"] for field in Stock._fields))
        self.box = self.box._replace(raw=saved["raw"])


_SAVED = (
    "ell",
    "lag_ell",
    "w",
    "average_w",
    "gap",
    "total_gap",
    "staleness",
    "hinge",
    "longest",
    "last_visit",
    "tally",
)
