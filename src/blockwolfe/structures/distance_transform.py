"""Generalised distance transforms: the best of all sources, less a quadratic price of the way.

    out[j] = max_q f[q] - (a x^2 + b x),    x = j + shift - q                            (1)

Less what all q share, source q is a line in p = j + shift: slope 2 a q, height f[q] - a q^2 + b q
at p = 0. Slopes come sorted, so the upper envelope of all lines, and with it (1) for all j, takes
linear time (Felzenszwalb and Huttenlocher, "Distance transforms of sampled functions", 2012).
Nothing needs a > 0: for a < 0 the lines come in the opposite order, for a = 0 one line wins
everywhere. In two dimensions the price is a sum by axis: rows first, then columns.

Comparing all pairs takes quadratic time but vectorises, and no branch is ever guessed wrong: on
short lines that is faster, so it is done there (`SHORT`) unless the best q is asked for.

A source that may not be used has the value `chain.FORBIDDEN`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures.chain import FORBIDDEN

__all__ = ["maximize", "maximize_2d", "maximize_2d_into", "maximize_into"]


SHORT = 100  # measured: all pairs win up to 100 to 150 pixels (benchmarks/tree_speed.py)


@jit
def compare_all_into(f: Any, price: Any, out: Any, stride: int, floats: Any) -> None:
    """(1) for all j by all pairs, four sources at a time; `floats` (3 n) is scratch."""
    a, b, shift = price
    n = f.shape[0]
    cost, best = floats[: 2 * n - 1], floats[2 * n : 3 * n]  # cost[j - q + n - 1]
    for k in range(2 * n - 1):
        x = k - (n - 1) + shift
        cost[k] = (a * x + b) * x
    for j in range(n):
        best[j] = f[0] - cost[n - 1 + j]
    q = 1
    while q + 4 <= n:
        f0, f1, f2, f3 = f[q], f[q + 1], f[q + 2], f[q + 3]
        c0, c1, c2, c3 = cost[n - 1 - q :], cost[n - 2 - q :], cost[n - 3 - q :], cost[n - 4 - q :]
        for j in range(n):
            r0, r1, r2, r3 = f0 - c0[j], f1 - c1[j], f2 - c2[j], f3 - c3[j]
            r0 = r0 if r0 > r1 else r1
            r2 = r2 if r2 > r3 else r3
            r0 = r0 if r0 > r2 else r2
            best[j] = r0 if r0 > best[j] else best[j]
        q += 4
    while q < n:
        price_of = cost[n - 1 - q :]
        for j in range(n):
            r0 = f[q] - price_of[j]
            best[j] = r0 if r0 > best[j] else best[j]
        q += 1
    for j in range(n):
        out[j * stride] = best[j]


@jit(inline="always")
def _envelope(f: Any, a: float, b: float, line: Any, begin: Any, height: Any) -> int:
    """Lines of the upper envelope from left to right: line[k] is best from p = begin[k] on.

    Returns how many there are.
    """
    n, highest = f.shape[0], 0
    for q in range(n):
        height[q] = f[q] - (a * q - b) * q
        if height[q] > height[highest]:
            highest = q
    step, q = (1, 0) if a > 0.0 else (-1, n - 1)  # in the order of slopes
    line[0], begin[0] = q, -np.inf
    if a == 0.0:  # all are parallel
        line[0] = highest
        return 1
    top = 0
    for _ in range(1, n):
        q += step
        ahead, steeper = height[line[top]] - height[q], 2.0 * a * (q - line[top])
        while top > 0 and ahead <= begin[top] * steeper:  # the top line is nowhere best
            top -= 1
            ahead, steeper = height[line[top]] - height[q], 2.0 * a * (q - line[top])
        top += 1
        line[top], begin[top] = q, ahead / steeper
    return top + 1


@jit
def maximize_into(
    f: Any, price: Any, out: Any, at: Any, stride: int, line: Any, floats: Any
) -> None:
    """(1) for j = 0..n-1 into out[j * stride], and the best q into at[j * stride].

    `f` has n entries, `price` is (a, b, shift); `at` without entries is not written. `line` (n of
    int64) and `floats` (3 n) are scratch.
    """
    a, b, shift = price
    n, is_wanted = f.shape[0], at.shape[0] > 0
    if n <= SHORT and not is_wanted:
        compare_all_into(f, price, out, stride, floats)
        return
    begin = floats[:n]
    count = _envelope(f, a, b, line, begin, floats[n : 2 * n])
    k = 0
    for j in range(n):
        while k + 1 < count and begin[k + 1] < j + shift:
            k += 1
        best = line[k]
        x = j + shift - best
        out[j * stride] = f[best] - (a * x + b) * x
        if is_wanted:
            at[j * stride] = best


@jit
def maximize_2d_into(f: Any, width: int, prices: Any, out: Any, at: Any, scratch: Any) -> None:
    """The transform of f (height * width, by rows) along x and then y; all arrays are flat.

    `prices` is ((a, b, shift) along x, the same along y). `at` is (best column of a row for each
    goal's column, by columns; best row for each goal), both without entries if not wanted.
    `scratch` is (as many floats as f has; `line` and `floats` for the longer side).
    """
    along, line, floats = scratch
    at_column, at_row = at
    height = f.shape[0] // width
    n_at = height if at_column.shape[0] > 0 else 0
    for y in range(height):
        row = f[y * width : (y + 1) * width]
        columns = at_column[y:] if n_at > 0 else at_column
        maximize_into(row, prices[0], along[y:], columns, height, line, floats)
    for x in range(width):
        column = along[x * height : (x + 1) * height]
        rows = at_row[x:] if n_at > 0 else at_row
        maximize_into(column, prices[1], out[x:], rows, width, line, floats)


def maximize(f: Any, a: float, b: float = 0.0, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """(1) for every j, and the q that it is reached at.

    >>> maximize([0.0, 5.0, 0.0, 0.0], a=1.0)
    (array([4., 5., 4., 1.]), array([1, 1, 1, 1]))
    >>> maximize([0.0, 5.0, 0.0, 0.0], a=1.0, shift=1.0)[0]
    array([ 5.,  4.,  1., -1.])
    """
    f = _checked(f, 1)
    price = _price(a, b, shift)
    out, (at, line) = np.zeros(len(f)), _integers(2, len(f))
    maximize_into(f, price, out, at, 1, line, np.zeros(3 * len(f)))
    return out, at


def maximize_2d(
    f: Any, a: Any, b: Any = (0.0, 0.0), shift: Any = (0.0, 0.0)
) -> tuple[np.ndarray, np.ndarray]:
    """The transform in two dimensions: `f` (height, width), and a pair (along x, along y) of each.

    Returns the values and, as (height, width, 2), the (x, y) that they are reached at.

    >>> values, at = maximize_2d([[0.0, 0.0], [9.0, 0.0]], a=(1.0, 2.0))
    >>> values
    array([[7., 6.],
           [9., 8.]])
    >>> at[0, 1]
    array([0, 1])
    """
    f = _checked(f, 2)
    height, width = f.shape
    prices = tuple(_price(a[axis], b[axis], shift[axis]) for axis in range(2))
    at_column, at_row = _integers(2, f.size)
    scratch = (np.zeros(f.size), *_integers(1, max(f.shape)), np.zeros(3 * max(f.shape)))
    out = np.zeros(f.size)
    maximize_2d_into(f.ravel(), width, prices, out, (at_column, at_row), scratch)
    rows = at_row.reshape(f.shape)
    columns = at_column.reshape(width, height)[np.arange(width), rows]
    return out.reshape(f.shape), np.stack([columns, rows], axis=-1)


def _integers(n: int, size: int) -> list[np.ndarray]:
    return [np.zeros(size, dtype=np.int64) for _ in range(n)]


def _price(a: Any, b: Any, shift: Any) -> tuple[float, float, float]:
    price = (float(a), float(b), float(shift))
    if not np.isfinite(price).all():
        raise InputError(f"a, b, shift = {price}; expected finite numbers.")
    return price


def _checked(f: Any, n_dimensions: int) -> np.ndarray:
    f = np.ascontiguousarray(f, dtype=np.float64)
    if f.ndim != n_dimensions or not f.size:
        raise InputError(
            f"f has shape {f.shape}; expected {n_dimensions} dimension(s), and no empty one."
        )
    if not (f < np.inf).all():
        raise InputError("f has NaN or +inf; expected scores that are finite or -inf.")
    return np.maximum(f, FORBIDDEN)
