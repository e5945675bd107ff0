"""The stored corners of all blocks: the active set, and with a cache the corners beyond it.

A stored corner is a row (dual weight, loss, height) and a list of *slots*: places in its
block's list of parts, so that its score is a sum over scores the visit has read already.
Rows of one block lie together in its room; lists of slots lie end to end in one arena. Both
leave early where they lack room, and Python gives them more (`rooms`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit

__all__ = [
    "Stock",
    "drop_idle",
    "find_corner",
    "insert_corner",
    "least_useful",
    "rank_corners",
    "remove_corner",
]


class Stock(NamedTuple):
    """Block i has rows start[i] ... start[i] + n_rows[i] - 1 of a room of capacity[i]."""

    start: np.ndarray
    n_rows: np.ndarray
    capacity: np.ndarray
    weight: np.ndarray  # row: dual weight alpha_i(y); zero for a corner that is only cached
    loss: np.ndarray  # row: L_i(y)
    height: np.ndarray  # row: L_i(y) + <theta, z(y)> at the last visit
    used_at: np.ndarray  # row: last visit at which it was the corner to move to
    begin: np.ndarray  # row: where its entries begin
    size: np.ndarray  # row: how many entries it has
    slot: np.ndarray  # entry: place in the block's list of parts
    value: np.ndarray  # entry: value of the part; empty when every value is one
    end: np.ndarray  # (1,): entries in use, dropped corners included


@jit(inline="always")
def _score(begin: int, size: int, slot: Any, value: Any, theta: Any) -> float:
    """<theta, z> over the entries of one corner. Unsigned indices need no test for < 0."""
    total = 0.0
    if value.shape[0] == 0:
        for e in range(np.uint64(begin), np.uint64(begin + size)):
            total += theta[np.uint64(slot[e])]
    else:
        for e in range(begin, begin + size):
            total += value[e] * theta[slot[e]]
    return total


@jit
def rank_corners(stock: Any, i: int, theta: Any) -> tuple[int, int, int]:
    """Heights of block i's corners; rows of the highest, the highest and the lowest active one."""
    first, count = stock.start[i], stock.n_rows[i]
    height, weight, loss = stock.height, stock.weight, stock.loss
    begin, size, slot, value = stock.begin, stock.size, stock.slot, stock.value
    best, top, low = first, -1, -1
    for row in range(first, first + count):
        height[row] = loss[row] + _score(begin[row], size[row], slot, value, theta)
        if height[row] > height[best]:
            best = row
        if weight[row] > 0.0:
            if top < 0 or height[row] > height[top]:
                top = row
            if low < 0 or height[row] < height[low]:
                low = row
    return best, top, low


@jit
def find_corner(stock: Any, i: int, corner: Any, loss: float) -> int:
    """The row of an equal corner, or -1. `corner` is (slot, value, size)."""
    slot, value, size = corner
    for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
        if stock.loss[row] != loss or stock.size[row] != size:
            continue
        begin, e = stock.begin[row], 0
        while e < size and stock.slot[begin + e] == slot[e]:
            if stock.value.shape[0] and stock.value[begin + e] != value[e]:
                break
            e += 1
        if e == size:
            return row
    return -1


@jit
def insert_corner(stock: Any, i: int, corner: Any, loss: float, height: float) -> int:
    """A new row of weight zero; its room has been seen to."""
    slot, value, size = corner
    row, begin = stock.start[i] + stock.n_rows[i], stock.end[0]
    for e in range(size):
        stock.slot[begin + e] = slot[e]
    if stock.value.shape[0]:
        for e in range(size):
            stock.value[begin + e] = value[e]
    stock.weight[row], stock.loss[row], stock.height[row] = 0.0, loss, height
    stock.begin[row], stock.size[row] = begin, size
    stock.end[0] += size
    stock.n_rows[i] += 1
    return row


@jit
def remove_corner(stock: Any, i: int, row: int) -> None:
    """The last row of the block takes its place; its entries wait to be packed away."""
    stock.n_rows[i] -= 1
    last = stock.start[i] + stock.n_rows[i]
    stock.weight[row], stock.loss[row] = stock.weight[last], stock.loss[last]
    stock.height[row], stock.used_at[row] = stock.height[last], stock.used_at[last]
    stock.begin[row], stock.size[row] = stock.begin[last], stock.size[last]


@jit
def least_useful(stock: Any, i: int) -> int:
    """The lowest corner of weight zero, or -1: an active corner is never evicted."""
    found = -1
    for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
        if stock.weight[row] == 0.0 and (found < 0 or stock.height[row] < stock.height[found]):
            found = row
    return found


@jit
def drop_idle(stock: Any, i: int, before: int) -> None:
    """Corners of weight zero that were last moved to before that visit are gone."""
    row = stock.start[i]
    while row < stock.start[i] + stock.n_rows[i]:
        if stock.weight[row] == 0.0 and stock.used_at[row] < before:
            remove_corner(stock, i, row)
        else:
            row += 1
