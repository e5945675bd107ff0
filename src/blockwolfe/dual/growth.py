"""More room for blocks that have filled theirs: parts, stored corners, and codes of corners.

Arrays are never changed in place here: what has grown is a new tuple, put in place by one
assignment, which Ctrl-C cannot split.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.ragged import entries, offsets, starts
from blockwolfe.dual.stock import Stock
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import ActiveSet, State
from blockwolfe.running.engine import CapTooSmallError

__all__ = [
    "Means",
    "active_set",
    "corners_of",
    "entry_bytes",
    "is_coded",
    "live_rows",
    "make_means",
    "make_stock",
    "no_means",
    "no_stock",
    "roomier_means",
    "roomier_stock",
    "stock_bytes",
]

_ROW_COLUMNS = ("weight", "loss", "height", "used_at", "begin", "size")
ROW_BYTES = 8 * len(_ROW_COLUMNS)
BLOCK_BYTES = 8 * 3  # start, n_rows, capacity
FEW_ENTRIES = 1 << 12


def _is_tight(length: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Blocks to be given room while others get it: making room moves all of them."""
    return 2 * length > capacity


# -- parts ------------------------------------------------------------------------------------


class Means(NamedTuple):
    """Means over parts: block i has `length[i]` parts from `start[i]` on, and room for more.

    `mean` is empty where blocks store their corners, `lag` where nothing is averaged (see `loop`);
    where neither is kept there are no parts at all.
    """

    start: np.ndarray
    length: np.ndarray
    capacity: np.ndarray
    part: np.ndarray
    mean: np.ndarray
    lag: np.ndarray


def no_means(n_blocks: int) -> Means:
    """For methods that store corners and average nothing."""
    none = np.zeros(n_blocks, dtype=np.int64)
    empty = np.zeros(0)
    return Means(none, none.copy(), none.copy(), empty.astype(np.int32), empty, empty.copy())


def make_means(state: State, keeps_mean: bool, has_average: bool) -> Means:
    """The parts of a state, with no room to spare."""
    length = np.diff(state.start)
    return Means(
        start=state.start[:-1].copy(),
        length=length,
        capacity=length.copy(),
        part=state.part.copy(),
        mean=state.mean.copy() if keeps_mean else np.zeros(0),
        lag=np.zeros(len(state.mean) if has_average else 0),
    )


def roomier_means(means: Means, part_size: np.ndarray, keeps_mean: bool, has_lag: bool) -> Means:
    """Every block can take one more corner; blocks with little room left double."""
    if (means.capacity - means.length >= part_size).all():
        return means
    is_tight = _is_tight(means.length + part_size, means.capacity)
    capacity = np.where(is_tight, 2 * means.length + part_size, means.capacity)
    start = starts(capacity)
    source, target = entries(means.start, means.length), entries(start, means.length)

    def moved(values: np.ndarray, is_kept: bool = True) -> np.ndarray:
        larger = np.zeros(int(capacity.sum()) if is_kept else 0, dtype=values.dtype)
        if is_kept:
            larger[target] = values[source]
        return larger

    return Means(
        start,
        means.length,
        capacity,
        moved(means.part),
        moved(means.mean, keeps_mean),
        moved(means.lag, has_lag),
    )


# -- stored corners ----------------------------------------------------------------------------


def entry_bytes(is_unit: bool) -> int:
    """Memory of one entry of a stored code, and of its value unless that is always one."""
    return 4 if is_unit else 12


def no_stock(n_blocks: int) -> Stock:
    """For methods that keep no corners."""
    none = np.zeros(n_blocks, dtype=np.int64)
    rows: dict[str, Any] = {name: np.zeros(0) for name in _ROW_COLUMNS}
    rows |= {name: np.zeros(0, dtype=np.int64) for name in ("used_at", "begin", "size")}
    code = np.zeros(0, dtype=np.int32)
    end = np.zeros(1, dtype=np.int64)
    return Stock(none, none.copy(), none.copy(), code=code, value=np.zeros(0), end=end, **rows)


def make_stock(blocks: Blocks, state: State) -> Stock:
    """The corners of a state; one that knows only its means is taken as a corner per block."""
    active = state.active if state.active is not None else corners_of(blocks, state)
    count = np.diff(active.start)
    n_rows = len(active.weight)
    code, value = active.code.copy(), active.value.copy()
    if len(value) or not blocks.is_unit:  # one entry to spare: no values would mean all ones
        code, value = np.append(code, np.int32(0)), np.append(value, 0.0)
    return Stock(
        start=active.start[:-1].copy(),
        n_rows=count,
        capacity=count.copy(),
        weight=active.weight.copy(),
        loss=active.loss.copy(),
        height=np.zeros(n_rows),
        used_at=np.zeros(n_rows, dtype=np.int64),
        begin=active.begin[:-1].copy(),
        size=np.diff(active.begin),
        code=code,
        value=value,
        end=np.array([len(active.code)], dtype=np.int64),
    )


def corners_of(blocks: Blocks, state: State) -> ActiveSet:
    """True outputs where all weight is on them, else a corner of parts and their means."""
    n_blocks, truth = len(blocks), blocks.true_codes
    start, ones = np.arange(n_blocks + 1), np.ones(n_blocks)
    is_true = not state.ell.any() and np.array_equal(state.mean, blocks.truth.value)
    if is_true and blocks.is_unit:
        nothing, no_loss = np.zeros(0), np.zeros(n_blocks)
        return ActiveSet(start, ones, no_loss, truth.start, truth.code, nothing, blocks.is_coded)
    loss = np.divide(state.ell, blocks.weight, out=np.zeros(n_blocks), where=blocks.weight > 0)
    return ActiveSet(start, ones, loss, state.start, state.part, state.mean, is_coded=False)


def is_coded(blocks: Blocks, state: State) -> bool:
    """Whether the corners of a state can be kept as codes of outputs: mixtures cannot."""
    active = state.active if state.active is not None else corners_of(blocks, state)
    return bool(active.is_coded)


def live_rows(stock: Stock) -> np.ndarray:
    """All rows in use, block by block."""
    return entries(stock.start, stock.n_rows)


def active_set(stock: Stock, is_coded: bool) -> ActiveSet:
    """A compact copy of the corners with positive weight."""
    rows = live_rows(stock)
    block_of = np.repeat(np.arange(len(stock.n_rows)), stock.n_rows)
    is_active = stock.weight[rows] > 0.0
    rows = rows[is_active]
    taken = entries(stock.begin[rows], stock.size[rows])
    return ActiveSet(
        start=offsets(np.bincount(block_of[is_active], minlength=len(stock.n_rows))),
        weight=stock.weight[rows],
        loss=stock.loss[rows],
        begin=offsets(stock.size[rows]),
        code=stock.code[taken],
        value=stock.value[taken] if len(stock.value) else stock.value,
        is_coded=is_coded,
    )


def roomier_stock(
    stock: Stock,
    code_size: np.ndarray,
    max_bytes: int | None,
    n_entries: int = 0,
    n_more: int = 1,
) -> Stock:
    """Any block can take one more corner; within `max_bytes`, at the cost of idle corners.

    `n_entries` asks for more room for entries than one corner needs, `n_more` for so many corners.
    """
    needed = max(n_more * int(code_size.max()), n_entries)
    has_entries = len(stock.code) - stock.end[0] >= needed
    if has_entries and (stock.n_rows + n_more <= stock.capacity).all():
        return stock
    rows = live_rows(stock)
    is_tight = _is_tight(stock.n_rows + n_more, stock.capacity)
    wider = np.maximum(2 * stock.n_rows + 2, stock.n_rows + n_more)
    capacity = np.where(is_tight, wider, stock.capacity)
    used = int(stock.size[rows].sum())
    wanted = len(stock.code) if has_entries else 2 * used + 8 * int(code_size.max()) + FEW_ENTRIES
    wanted = max(wanted, used + needed)
    per_entry = entry_bytes(is_unit=len(stock.value) == 0)
    planned = stock_bytes(len(capacity), capacity.sum(), wanted, per_entry)
    if max_bytes is None or planned <= max_bytes:
        return _laid_out(stock, rows, stock.n_rows, capacity, wanted)
    return _within(stock, rows, needed, max_bytes, per_entry)


def stock_bytes(n_blocks: int, n_rows: int, n_entries: int, per_entry: int) -> int:
    """Memory of a stock with so much room."""
    return BLOCK_BYTES * n_blocks + ROW_BYTES * int(n_rows) + per_entry * int(n_entries)


def _laid_out(
    stock: Stock, rows: np.ndarray, n_rows: np.ndarray, capacity: np.ndarray, n_entries: int
) -> Stock:
    """The given rows, `n_rows` of each block, with space for `capacity`; their entries packed."""
    start, size = starts(capacity), stock.size[rows]
    target, taken, used = entries(start, n_rows), entries(stock.begin[rows], size), int(size.sum())

    def moved(values: np.ndarray) -> np.ndarray:
        larger = np.zeros(int(capacity.sum()), dtype=values.dtype)
        larger[target] = values
        return larger

    def packed(values: np.ndarray) -> np.ndarray:
        larger = np.zeros(n_entries, dtype=values.dtype)
        larger[:used] = values[taken]
        return larger

    columns = {name: moved(getattr(stock, name)[rows]) for name in _ROW_COLUMNS}
    columns["begin"] = moved(starts(size))
    value = packed(stock.value) if len(stock.value) else stock.value
    end = np.array([used], dtype=np.int64)
    return Stock(
        start, n_rows.copy(), capacity, code=packed(stock.code), value=value, end=end, **columns
    )


def _within(stock: Stock, rows: np.ndarray, needed: int, max_bytes: int, per_entry: int) -> Stock:
    """As much as the cap allows: all active corners, and the idle ones used last.

    Half of what the active corners leave goes to idle ones, the rest is room for new ones.
    """
    n_blocks = len(stock.n_rows)
    block_of = np.repeat(np.arange(n_blocks), stock.n_rows)
    is_kept = stock.weight[rows] > 0.0
    cost = ROW_BYTES + per_entry * stock.size[rows]
    bare = stock_bytes(n_blocks, n_blocks, needed, per_entry)  # room for one corner more
    tight = int(cost[is_kept].sum()) + bare
    if tight > max_bytes:
        raise CapTooSmallError(
            f"max_bytes={max_bytes} is too small: the active sets need at least {tight} bytes now"
        )
    idle = np.flatnonzero(~is_kept)
    idle = idle[np.argsort(-stock.used_at[rows[idle]], kind="stable")]
    is_kept[idle[np.cumsum(cost[idle]) <= (max_bytes - tight) // 2]] = True
    kept, n_rows = rows[is_kept], np.bincount(block_of[is_kept], minlength=n_blocks)
    left = max_bytes - int(cost[is_kept].sum()) - bare
    spare = left // 2 // (ROW_BYTES * n_blocks)  # rows more for each block
    n_entries = int(stock.size[kept].sum()) + needed
    n_entries += (left - spare * ROW_BYTES * n_blocks) // per_entry
    return _laid_out(stock, kept, n_rows, n_rows + 1 + spare, n_entries)
