"""More room for blocks that have filled theirs: parts, stored corners, and entries of corners.

Arrays are never changed in place here: a grown pool or stock is a new tuple, put in place by
one assignment, which Ctrl-C cannot split.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.methods.corners import Stock
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import ActiveSet, State

__all__ = [
    "ROW_BYTES",
    "CapTooSmallError",
    "Pool",
    "active_set",
    "entries",
    "entry_bytes",
    "live_rows",
    "make_pool",
    "make_stock",
    "no_stock",
    "roomier_pool",
    "roomier_stock",
]

_ROW_COLUMNS = ("weight", "loss", "height", "used_at", "begin", "size")
ROW_BYTES = 8 * len(_ROW_COLUMNS)
FEW_ENTRIES = 1 << 12


def entry_bytes(is_unit: bool) -> int:
    """Memory of one entry of a stored corner: its slot, and its value unless that is always one."""
    return 4 if is_unit else 12


class Pool(NamedTuple):
    """Block i has `length[i]` parts in a room of `capacity[i]` that begins at `start[i]`."""

    start: np.ndarray
    length: np.ndarray
    capacity: np.ndarray
    part: np.ndarray
    mean: np.ndarray
    lag_mean: np.ndarray


class CapTooSmallError(Exception):
    """The active corners alone need more than the cache may hold."""


def entries(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Positions start[i], ..., start[i] + length[i] - 1 of all i, end to end."""
    shift = start - (np.cumsum(length) - length)
    return np.repeat(shift, length) + np.arange(int(length.sum()))


def _starts(length: np.ndarray) -> np.ndarray:
    return np.cumsum(length) - length


# -- parts ------------------------------------------------------------------------------------


def make_pool(state: State, has_average: bool) -> Pool:
    """The parts of a state, with no room to spare."""
    length = np.diff(state.start)
    return Pool(
        start=state.start[:-1].copy(),
        length=length,
        capacity=length.copy(),
        part=state.part.copy(),
        mean=state.mean.copy(),
        lag_mean=np.zeros(len(state.mean) if has_average else 0),
    )


def roomier_pool(pool: Pool, bound: np.ndarray, has_average: bool) -> Pool:
    """Every block can take one more corner; blocks that are full double."""
    is_full = pool.capacity - pool.length < bound
    if not is_full.any():
        return pool
    capacity = np.where(is_full, 2 * pool.length + bound, pool.capacity)
    start = _starts(capacity)
    source, target = entries(pool.start, pool.length), entries(start, pool.length)

    def moved(values: np.ndarray) -> np.ndarray:
        larger = np.zeros(int(capacity.sum()), dtype=values.dtype)
        larger[target] = values[source]
        return larger

    lag_mean = moved(pool.lag_mean) if has_average else pool.lag_mean
    return Pool(start, pool.length, capacity, moved(pool.part), moved(pool.mean), lag_mean)


# -- stored corners ----------------------------------------------------------------------------


def no_stock(n_blocks: int) -> Stock:
    """For methods that keep no corners."""
    none = np.zeros(n_blocks, dtype=np.int64)
    rows: dict[str, Any] = {name: np.zeros(0) for name in _ROW_COLUMNS}
    rows |= {name: np.zeros(0, dtype=np.int64) for name in ("used_at", "begin", "size")}
    slot = np.zeros(0, dtype=np.int32)
    end = np.zeros(1, dtype=np.int64)
    return Stock(none, none.copy(), none.copy(), slot=slot, value=np.zeros(0), end=end, **rows)


def make_stock(blocks: Blocks, state: State) -> Stock:
    """The corners of a state; one that knows only its means is taken as a corner per block."""
    active = state.active if state.active is not None else _as_corners(blocks, state)
    count = np.diff(active.start)
    n_rows = len(active.weight)
    slot, value = active.slot.copy(), active.value.copy()
    if len(value) or not blocks.is_unit:  # one entry to spare: no values would mean all ones
        slot, value = np.append(slot, np.int32(0)), np.append(value, 0.0)
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
        slot=slot,
        value=value,
        end=np.array([len(active.slot)], dtype=np.int64),
    )


def _as_corners(blocks: Blocks, state: State) -> ActiveSet:
    n_blocks, truth = len(blocks), blocks.true_corners
    start, ones = np.arange(n_blocks + 1), np.ones(n_blocks)
    if blocks.is_unit and not state.ell.any() and np.array_equal(state.mean, blocks.truth.value):
        slot = _slots_of_truth(blocks)
        return ActiveSet(start, ones, np.zeros(n_blocks), truth.start, slot, np.zeros(0))
    length = np.diff(state.start)
    slot = entries(np.zeros(n_blocks, dtype=np.int64), length).astype(np.int32)
    loss = np.divide(state.ell, blocks.weight, out=np.zeros(n_blocks), where=blocks.weight > 0)
    return ActiveSet(start, ones, loss, state.start, slot, state.mean)


def _slots_of_truth(blocks: Blocks) -> np.ndarray:
    """Where the parts of the true corners, as the oracle lists them, lie among the merged ones."""
    listed, merged, n = blocks.true_corners, blocks.truth, blocks.n_parts
    block_of = np.repeat(np.arange(len(blocks)), np.diff(listed.start))
    merged_block = np.repeat(np.arange(len(blocks)), np.diff(merged.start))
    merged_key, key = merged_block * n + merged.part, block_of * n + listed.part
    order = np.argsort(merged_key)
    found = order[np.searchsorted(merged_key, key, sorter=order)]
    return (found - merged.start[block_of]).astype(np.int32)


def live_rows(stock: Stock) -> np.ndarray:
    """All rows in use, block by block."""
    return entries(stock.start, stock.n_rows)


def active_set(stock: Stock) -> ActiveSet:
    """A compact copy of the corners with positive weight."""
    rows = live_rows(stock)
    block_of = np.repeat(np.arange(len(stock.n_rows)), stock.n_rows)
    is_active = stock.weight[rows] > 0.0
    rows = rows[is_active]
    count = np.bincount(block_of[is_active], minlength=len(stock.n_rows))
    taken = entries(stock.begin[rows], stock.size[rows])
    return ActiveSet(
        start=np.concatenate([[0], np.cumsum(count)]).astype(np.int64),
        weight=stock.weight[rows],
        loss=stock.loss[rows],
        begin=np.concatenate([[0], np.cumsum(stock.size[rows])]).astype(np.int64),
        slot=stock.slot[taken],
        value=stock.value[taken] if len(stock.value) else stock.value,
    )


def roomier_stock(stock: Stock, bound: np.ndarray, max_bytes: int | None) -> Stock:
    """Every block can take one more corner; within `max_bytes`, at the cost of idle corners."""
    needed = int(bound.max())
    if (stock.n_rows >= stock.capacity).any():
        stock = _more_rows(stock)
    if len(stock.slot) - stock.end[0] >= needed:
        return stock
    if max_bytes is None:
        return _more_entries(stock, needed, None)
    per_entry = entry_bytes(is_unit=len(stock.value) == 0)
    allowed = (max_bytes - ROW_BYTES * len(stock.weight)) // per_entry
    rows = live_rows(stock)
    if stock.size[rows].sum() + needed > allowed:
        stock = _without_oldest(stock, rows, allowed, needed, per_entry)
    return _more_entries(stock, needed, allowed)


def _more_rows(stock: Stock) -> Stock:
    is_full = stock.n_rows >= stock.capacity
    capacity = np.where(is_full, 2 * stock.n_rows + 2, stock.capacity)
    start = _starts(capacity)
    source, target = live_rows(stock), entries(start, stock.n_rows)

    def moved(values: np.ndarray) -> np.ndarray:
        larger = np.zeros(int(capacity.sum()), dtype=values.dtype)
        larger[target] = values[source]
        return larger

    columns = {name: moved(getattr(stock, name)) for name in _ROW_COLUMNS}
    return stock._replace(start=start, capacity=capacity, **columns)


def _more_entries(stock: Stock, needed: int, allowed: int | None) -> Stock:
    """Entries of dropped corners are given up, and the arena doubled."""
    rows = live_rows(stock)
    size = stock.size[rows]
    taken, used = entries(stock.begin[rows], size), int(size.sum())
    capacity = 2 * used + 8 * needed + FEW_ENTRIES
    if allowed is not None:
        capacity = min(capacity, allowed)
    begin = stock.begin.copy()
    begin[rows] = _starts(size)

    def packed(values: np.ndarray) -> np.ndarray:
        larger = np.zeros(capacity, dtype=values.dtype)
        larger[:used] = values[taken]
        return larger

    value = packed(stock.value) if len(stock.value) else stock.value
    end = np.array([used], dtype=np.int64)
    return stock._replace(begin=begin, slot=packed(stock.slot), value=value, end=end)


def _without_oldest(
    stock: Stock, rows: np.ndarray, allowed: int, needed: int, per_entry: int
) -> Stock:
    """Evict idle corners, those not used for longest first, to about half of what is allowed."""
    is_idle = stock.weight[rows] == 0.0
    active_size = int(stock.size[rows[~is_idle]].sum())
    if active_size + needed > allowed:
        bytes_needed = (active_size + needed) * per_entry + ROW_BYTES * len(stock.weight)
        raise CapTooSmallError(
            f"max_bytes is too small: the active sets need at least {bytes_needed} bytes now"
        )
    idle = rows[is_idle][np.argsort(stock.used_at[rows[is_idle]], kind="stable")[::-1]]
    room = max((allowed - active_size) // 2, 0)
    n_kept = int(np.searchsorted(np.cumsum(stock.size[idle]), min(room, allowed - needed)))
    is_kept = np.zeros(len(stock.weight), dtype=bool)
    is_kept[rows[~is_idle]] = True
    is_kept[idle[:n_kept]] = True
    return _keep_rows(stock, rows, is_kept[rows])


def _keep_rows(stock: Stock, rows: np.ndarray, is_kept: np.ndarray) -> Stock:
    block_of = np.repeat(np.arange(len(stock.n_rows)), stock.n_rows)
    kept, count = rows[is_kept], np.bincount(block_of[is_kept], minlength=len(stock.n_rows))
    target = entries(stock.start, count)
    columns = {}
    for name in _ROW_COLUMNS:
        values = getattr(stock, name).copy()
        values[target] = values[kept]
        columns[name] = values
    return stock._replace(n_rows=count, **columns)
