"""The stored corners of all blocks: the active set, and with a cache the corners beyond it.

A stored corner is a row (dual weight, loss, height) and the *code* of its output: labels of a
sequence, else the parts themselves. Rows of one block lie together; codes lie end to end in one
arena. A visit that lacks room in either leaves before any change, and Python makes more (`growth`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit

__all__ = [
    "Stock",
    "drop_idle",
    "find_corner",
    "insert_corner",
    "least_useful",
    "remove_corner",
]


class Stock(NamedTuple):
    """Block i has rows start[i] ... start[i] + n_rows[i] - 1, and room for capacity[i]."""

    start: np.ndarray
    n_rows: np.ndarray
    capacity: np.ndarray
    weight: np.ndarray  # row: dual weight alpha_i(y); zero for a corner that is only cached
    loss: np.ndarray  # row: L_i(y)
    height: np.ndarray  # row: L_i(y) + <theta, z(y)> at the last visit
    used_at: np.ndarray  # row: last visit at which it was the corner to move to
    begin: np.ndarray  # row: where its code begins
    size: np.ndarray  # row: how many entries its code has
    code: np.ndarray  # entry of a code
    value: np.ndarray  # entry: value of the part; empty when every value is one
    end: np.ndarray  # (1,): entries in use, dropped corners included


@jit
def find_corner(
    stock: Stock, i: int, code: np.ndarray, value: np.ndarray, size: int, loss: float
) -> int:
    """The row of an equal corner, or -1."""
    for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
        if stock.loss[row] != loss or stock.size[row] != size:
            continue
        begin, e = stock.begin[row], 0
        while e < size and stock.code[begin + e] == code[e]:
            if stock.value.shape[0] and stock.value[begin + e] != value[e]:
                break
            e += 1
        if e == size:
            return int(row)
    return -1


@jit
def insert_corner(
    stock: Stock, i: int, code: np.ndarray, value: np.ndarray, size: int, loss: float
) -> int:
    """A new row of weight zero; its room has been seen to."""
    row, begin = stock.start[i] + stock.n_rows[i], stock.end[0]
    for e in range(size):
        stock.code[begin + e] = code[e]
    if stock.value.shape[0]:
        for e in range(size):
            stock.value[begin + e] = value[e]
    stock.weight[row], stock.loss[row], stock.height[row] = 0.0, loss, 0.0
    stock.begin[row], stock.size[row], stock.used_at[row] = begin, size, 0
    stock.end[0] += size
    stock.n_rows[i] += 1
    return int(row)


@jit
def remove_corner(stock: Stock, i: int, row: int) -> None:
    """The last row of the block takes its place; its code waits to be packed away."""
    stock.n_rows[i] -= 1
    last = stock.start[i] + stock.n_rows[i]
    stock.weight[row], stock.loss[row] = stock.weight[last], stock.loss[last]
    stock.height[row], stock.used_at[row] = stock.height[last], stock.used_at[last]
    stock.begin[row], stock.size[row] = stock.begin[last], stock.size[last]


@jit
def least_useful(stock: Stock, i: int) -> int:
    """The lowest corner of weight zero, or -1: an active corner is never evicted."""
    found = -1
    for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
        if stock.weight[row] == 0.0 and (found < 0 or stock.height[row] < stock.height[found]):
            found = row
    return found


@jit
def drop_idle(stock: Stock, i: int, before: int) -> None:
    """Corners of weight zero that were last moved to before that visit are gone."""
    row = stock.start[i]
    while row < stock.start[i] + stock.n_rows[i]:
        if stock.weight[row] == 0.0 and stock.used_at[row] < before:
            remove_corner(stock, i, row)
        else:
            row += 1
