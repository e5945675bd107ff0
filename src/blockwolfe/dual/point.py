"""The dual point at work: the present w, the blocks, and room for them to grow.

Blocks are kept in one of two forms. Methods with active sets store corners and their weights, and
no mean: <w, V_i> follows from the heights of the corners. Others keep the mean over parts alone.
Where the means of stored corners are needed, for certificates and states, `store` adds them up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.ragged import entries, offsets, starts
from blockwolfe.base.records import flattened
from blockwolfe.base.schema import Misfit, Reader, check_rows
from blockwolfe.dual.blending import blend
from blockwolfe.dual.growth import (
    Means,
    active_set,
    is_coded,
    make_means,
    make_stock,
    no_means,
    no_stock,
    roomier_means,
    roomier_stock,
)
from blockwolfe.dual.line_search import Box
from blockwolfe.dual.pulled import PulledPoint
from blockwolfe.dual.restoring import LEAST_LAM, check_ell, means_of, stock_of
from blockwolfe.dual.stock import Stock, drop_idle
from blockwolfe.dual.summing import Adder, StoredCorners, sum_means
from blockwolfe.dual.work import make_work
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import (
    State,
    Store,
    are_within_bounds,
    rebuild_v,
    weights_of,
    within_bounds,
)
from blockwolfe.problem.workers import Workers

__all__ = ["DualPoint", "Point"]

# Passes that a corner of weight zero may wait to be chosen while its block is visited.
PATIENCE = 10


class Point(NamedTuple):
    """The arrays of a dual point, as compiled code reads and writes them and as files keep them."""

    w: np.ndarray
    box: Box
    ell: np.ndarray  # by block: weight_i sum_y alpha_i(y) L_i(y)
    lag_ell: np.ndarray  # what ell lags behind its average, times a weight (see `loop`)
    means: Means
    stock: Stock


@jit
def _tidy(stock: Stock, weight: np.ndarray, ell: np.ndarray, oldest: np.ndarray) -> None:
    """Dual weights brought back to sum one, ell from them; idle corners older than that go."""
    for i in range(weight.shape[0]):
        drop_idle(stock, i, oldest[i])
        rows = range(stock.start[i], stock.start[i] + stock.n_rows[i])
        total = 0.0
        for row in rows:
            total += stock.weight[row]
        ell[i] = 0.0
        for row in rows:
            stock.weight[row] /= total
            ell[i] += weight[i] * stock.weight[row] * stock.loss[row]


@jit
def _unpack_rows(
    unpack: Any, data: Any, order: np.ndarray, stock: Stock, with_idle: bool, lists: np.ndarray,
    at: np.ndarray, size: np.ndarray,
) -> None:  # fmt: skip
    """The parts of stored corners: those of a row begin at `at`, and are `size`."""
    for i in order:
        for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
            if stock.weight[row] == 0.0 and not with_idle:
                continue
            begin, n = stock.begin[row], stock.size[row]
            size[row] = unpack(data, i, stock.code[begin : begin + n], n, lists[at[row] :])


@jit
def _count_active(start: np.ndarray, n_rows: np.ndarray, weight: np.ndarray) -> int:
    """Stored corners of all blocks that have a weight."""
    found = 0
    for i in range(start.shape[0]):
        for row in range(start[i], start[i] + n_rows[i]):
            found += weight[row] > 0.0
    return found


class DualPoint(PulledPoint):
    """A dual point of some blocks; its arrays are replaced as a whole when they grow."""

    def __init__(
        self, blocks: Blocks, state: State, lam: float, has_average: bool, keeps_corners: bool
    ) -> None:
        self.blocks, self.lam, self.has_average = blocks, lam, has_average
        self.keeps_corners = keeps_corners
        self.rest = None
        self.is_coded = keeps_corners and is_coded(blocks, state)
        self.work = make_work(blocks)
        self._adders = [Adder(self.work.look, self.work.part)]  # of each thread
        n_blocks, has_means = len(blocks), has_average or not keeps_corners
        self.arrays = Point(
            w=weights_of(blocks, state.v, lam),
            box=_box(blocks, state.v / lam),
            ell=state.ell.copy(),
            lag_ell=np.zeros(n_blocks),
            means=make_means(state, not keeps_corners, has_average)
            if has_means
            else no_means(n_blocks),
            stock=make_stock(blocks, state) if keeps_corners else no_stock(n_blocks),
        )

    # -- w ---------------------------------------------------------------------------------------

    def put(self, v: np.ndarray) -> None:
        """Go on from v, free of the rounding of many steps."""
        raw = self.raw_of(v)
        box = _box(self.blocks, raw)
        self.arrays = self.arrays._replace(w=within_bounds(self.blocks, raw), box=box)

    def place(self, raw: np.ndarray) -> None:
        """Be at these weights (before bounds), of which the blocks here are only a part."""
        np.copyto(self.arrays.w, within_bounds(self.blocks, raw))
        if self.blocks.is_bounded:
            np.copyto(self.arrays.box.raw, raw)

    @property
    def raw(self) -> np.ndarray:
        """The weights before bounds, as the steps have left them."""
        return self.arrays.box.raw if self.blocks.is_bounded else self.arrays.w

    @property
    def w(self) -> np.ndarray:
        """Those within bounds."""
        return self.arrays.w

    @property
    def total_ell(self) -> float:
        """Of all blocks."""
        return float(self.arrays.ell.sum())

    # -- room -----------------------------------------------------------------------------------

    @property
    def code_size(self) -> np.ndarray:
        """Most entries that a corner of each block takes among the stored ones."""
        blocks = self.blocks
        return blocks.corner_size if self.is_coded else blocks.part_size

    def make_room(self, max_bytes: int | None = None, n_entries: int = 0, n_rows: int = 1) -> None:
        """Let any block take one more corner (or `n_rows`); with so many entries, every block."""
        means, stock = self.arrays.means, self.arrays.stock
        if self.has_average or not self.keeps_corners:
            keeps_mean, part_size = not self.keeps_corners, self.blocks.part_size
            means = roomier_means(means, part_size, keeps_mean, self.has_average)
        if self.keeps_corners:
            stock = roomier_stock(stock, self.code_size, max_bytes, n_entries, n_rows)
        self.arrays = self.arrays._replace(means=means, stock=stock)

    def make_room_for_means(self, size: np.ndarray) -> None:
        """Let every block take a mean of so many parts: of many outputs, it may have all parts."""
        means = self.arrays.means
        most = np.minimum(size, self.blocks.parts_of - means.length)
        means = roomier_means(means, most, keeps_mean=True, has_lag=False)
        self.arrays = self.arrays._replace(means=means)

    # -- means ----------------------------------------------------------------------------------

    def blend(self, gamma: float, to: Store) -> None:
        """Move all means and ell by gamma towards another point; w and v stay as they were."""
        call(blend, "blend", gamma, self.arrays.means, self.arrays.ell, to, self.work)

    def tidy(self, last_visit: np.ndarray) -> None:
        """Weights and ell without the rounding of many steps; corners out of use are dropped."""
        if self.keeps_corners:
            oldest = last_visit - PATIENCE * len(self.blocks)
            self.drop_older(oldest)

    def drop_older(self, oldest: np.ndarray) -> None:
        """As `tidy`; corners of weight zero go that were last moved to before visit `oldest[i]`."""
        arrays = (self.arrays.stock, self.blocks.weight, self.arrays.ell, oldest)
        call(_tidy, "tidy", *arrays)

    def store(
        self,
        n_averaged: int = 0,
        order: np.ndarray | None = None,
        workers: Workers | None = None,
    ) -> Store:
        """The block means as they are, or their weighted average over so many visits.

        Where only some blocks are of interest, `order` names them; the others are left empty.
        """
        arrays, means = self.arrays, self.arrays.means
        share = 2.0 / (n_averaged * (n_averaged + 1.0)) if n_averaged else 0.0
        ell = arrays.ell - share * arrays.lag_ell if n_averaged else arrays.ell
        if self.keeps_corners:
            order = np.arange(len(ell)) if order is None else order
            corners = StoredCorners(arrays.stock, self.is_coded, means, share)
            most = self._most_parts(order, means.length if n_averaged else None)
            return sum_means(self.blocks, order, corners, most, ell, self._adders, workers)
        mean = means.mean - share * means.lag if n_averaged else means.mean
        return Store(means.start, means.length, means.part, mean, ell)

    def _most_parts(self, order: np.ndarray, lagging: np.ndarray | None) -> np.ndarray:
        """How many parts the means of these blocks have at most; zero for the others."""
        blocks, stock = self.blocks, self.arrays.stock
        if self.is_coded:
            stored = stock.n_rows[order] * blocks.part_size[order]
        else:  # (a mixture of outputs has more parts than any one of them)
            size = offsets(stock.size[entries(stock.start[order], stock.n_rows[order])])
            stored = np.diff(size[offsets(stock.n_rows[order])])
        most = np.zeros(len(blocks), dtype=np.int64)
        most[order] = np.diff(blocks.truth.start)[order] + stored
        if lagging is not None:
            most[order] += lagging[order]
        return np.minimum(most, blocks.n_parts)

    def list_bytes(self) -> int:
        """Memory of the `lists` of all blocks, which are there already where no codes are kept."""
        stock = self.arrays.stock
        n_parts = int((stock.n_rows * self.blocks.part_size).sum())
        return 4 * n_parts + 16 * len(stock.size) if self.is_coded else 0

    def lists(
        self, order: np.ndarray, with_idle: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The parts of stored corners: an array, and of each row where they begin, and how many.

        Of corners of weight zero they are there only if asked for.
        """
        blocks, stock = self.blocks, self.arrays.stock
        if not self.is_coded:
            return stock.code, stock.begin, stock.size
        n_rows = stock.n_rows[order]
        rows = entries(stock.start[order], n_rows)
        room = np.repeat(blocks.part_size[order], n_rows)
        at, size = np.zeros((2, len(stock.size)), dtype=np.int64)
        at[rows] = starts(room)
        lists = np.zeros(int(room.sum()), dtype=np.int32)
        args = (blocks.oracles.unpack, blocks.packed_data, order, stock, with_idle, lists, at, size)
        call(_unpack_rows, blocks.kind, *args)
        return lists, at, size

    def rebuild(self, workers: Workers | None = None) -> None:
        """Rebuild v from the blocks, free of accumulated rounding."""
        self.put(rebuild_v(self.blocks, self.store(workers=workers), workers))

    def n_stored(self) -> float:
        """Mean number of stored corners, active or not."""
        n_rows = self.arrays.stock.n_rows
        return int(n_rows.sum()) / len(n_rows)

    def n_active(self) -> float:
        """Mean size of the active sets."""
        if not self.keeps_corners:
            return float("nan")
        stock = self.arrays.stock
        found = call(_count_active, "active corners", stock.start, stock.n_rows, stock.weight)
        return float(found / len(self.blocks))

    # -- at rest ----------------------------------------------------------------------------------

    def state(self, n_averaged: int = 0, fingerprint: str | None = None) -> State:
        """A compact copy at rest; of the average over so many visits, where that is asked for.

        Its `fingerprint` is that of the blocks (which takes time), unless another one is given.
        """
        blocks, store = self.blocks, self.store(n_averaged)
        taken = entries(store.start, store.length)
        has_corners = self.keeps_corners and not n_averaged
        return State(
            start=offsets(store.length),
            part=store.part[taken],
            mean=store.mean[taken],
            ell=store.ell.copy(),
            v=rebuild_v(blocks, store),
            fingerprint=blocks.fingerprint if fingerprint is None else fingerprint,
            active=active_set(self.arrays.stock, self.is_coded) if has_corners else None,
        )

    def to_save(self) -> dict[str, Any]:
        """Everything that a checkpoint must hold."""
        return flattened(self.arrays) | {"lam": self.lam, "is_coded": self.is_coded}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`; `restoring` says what is checked."""
        read, blocks, arrays = Reader(saved, "point"), self.blocks, self.arrays
        n_features, n_blocks = blocks.n_features, len(blocks)
        self.lam, self.is_coded = read.number("lam", least=LEAST_LAM), read.flag("is_coded")
        if self.is_coded and not (self.keeps_corners and blocks.is_coded):
            raise Misfit("point.is_coded is True, but this run stores no codes.")
        has_means = self.has_average or not self.keeps_corners
        self.arrays = Point(
            w=read.array("w", np.float64, (n_features,)),
            box=Box(
                blocks.lower,  # (of the problem, whatever the file says)
                blocks.upper,
                read.array("box.raw", np.float64, (n_features if blocks.is_bounded else 0,)),
            ),
            ell=read.array("ell", np.float64, (n_blocks,)),
            lag_ell=read.array("lag_ell", np.float64, (n_blocks,)),
            means=means_of(read, blocks, not self.keeps_corners, self.has_average)
            if has_means
            else arrays.means,
            stock=stock_of(read, blocks, self.is_coded) if self.keeps_corners else arrays.stock,
        )
        # (at other weights an oracle need not find a maximum)
        fault = "point.w is outside of the bounds, or has scores that are not of its coefficients"
        check_rows(are_within_bounds(blocks, self.arrays.w), fault)

    def check_ell(self, is_tidy: bool) -> None:
        """Refuse an ell, from a file, that is not that of the stored corners."""
        if self.keeps_corners:
            check_ell(self.blocks, self.arrays.stock, self.arrays.ell, is_tidy)


def _box(blocks: Blocks, raw: np.ndarray) -> Box:
    return Box(blocks.lower, blocks.upper, raw if blocks.is_bounded else raw[:0])
