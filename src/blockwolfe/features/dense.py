"""Rows of features that are mostly not zero: kept without indices, multiplied as matrices.

The rows of a block are a matrix X (rows x p), the weights of their group a matrix W (p x labels),
both row-major and flat. Scores are X W, and parts add X^T delta to the weights. X may be of single
precision; all sums are of double precision.

Functions that score and add are compiled by themselves and handed to their callers with the data:
compiled into them, they would take longer to compile than all else that callers do.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import types

from blockwolfe.base.compiled import Piece, jit
from blockwolfe.base.lanes import (
    IS_WIDE,
    add_product,
    add_transposed,
    stack_integers,
    stack_vector,
    sum_rows,
)

__all__ = ["Place", "Products", "inner", "no_products", "products"]

# Features at a time: their weights stay in the fastest memory for all rows and parts of a block.
CHUNK = 128
# Rows of single precision that are converted beforehand, at least and at most, and least labels.
FEW_ROWS, MOST_ROWS, SOME_LABELS = 4, 32, 16
CONVERTED = MOST_ROWS * CHUNK
# Where there are at least so many parts for each label, rows are summed by label,
PARTS_PER_LABEL = 1.0
# of at most so many parts at a time, and labels (not whole pages: writes to one array hold back
# reads of another at the same place of its page);
ROOM, MOST_LABELS = 504, 520
# so many features at a time, and so many features and labels that change places.
LANES, SQUARE = 64 if IS_WIDE else 16, 8
STRIDE = LANES + SQUARE
SUMS = STRIDE * SQUARE


class Products(NamedTuple):
    """What is done with the dense rows of a block; `place` is a `Place`.

    * ``score(values, single, place, w, scale, theta)``: theta[p] += scale times the score of p, for
      all parts p of the rows;
    * ``peek(values, single, place, w, part, size, theta)``: theta[p] = the score of p, for the
      listed parts p that are of these rows, each listed once;
    * ``add(values, single, place, part, delta, size, coefficient, out)``: out += coefficient
      times the features of such parts, times delta.
    """

    score: Any
    peek: Any
    add: Any


class Place(NamedTuple):
    """Where the rows of a block lie, and their parts: that of row t and label k is first + t K + k.

    (Compiled code takes it as a plain tuple.)
    """

    begin: int  # of the rows, in `values` or `single`
    n_rows: int
    width: int
    n_labels: int  # K
    first: int
    n_scored: int  # labels that are scored, from the first on


# -- scores ----------------------------------------------------------------------------------------


@jit
def _add_scores(x: Any, place: Any, w: Any, scale: float, theta: Any) -> None:
    """Sums of four rows and eight labels fill the registers of most machines, or of eight rows."""
    begin, n_rows, width, n_labels, first, n_scored = place
    eight = n_rows - n_rows % 8 if IS_WIDE else 0
    four, two = n_rows - n_rows % 4, n_rows - n_rows % 2
    for f in range(0, width, CHUNK):
        n, at, right = min(CHUNK, width - f), begin + f, (w, f * n_labels, n_labels)
        if eight > 0:
            out = (theta, first, n_labels)
            add_product(8, (x, at, width), right, out, (eight, n, n_scored), scale)
        if eight < four:
            left, out = (x, at + eight * width, width), (theta, first + eight * n_labels, n_labels)
            add_product(4, left, right, out, (four - eight, n, n_scored), scale)
        if four < two:
            left, out = (x, at + four * width, width), (theta, first + four * n_labels, n_labels)
            add_product(2, left, right, out, (2, n, n_scored), scale)
        if two < n_rows:
            left, out = (x, at + two * width, width), (theta, first + two * n_labels, n_labels)
            add_product(1, left, right, out, (1, n, n_scored), scale)


@jit(fastmath={"contract"})
def inner(x: Any, at: int, y: Any, other: int, n: int) -> float:
    """<x[at:at+n], y[other:other+n]>; four sums, in the same order for all kinds of numbers."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    own, others, whole = x[at : at + n], y[other : other + n], n - n % 4
    for f in range(0, whole, 4):
        a += np.float64(own[f]) * np.float64(others[f])
        b += np.float64(own[f + 1]) * np.float64(others[f + 1])
        c += np.float64(own[f + 2]) * np.float64(others[f + 2])
        d += np.float64(own[f + 3]) * np.float64(others[f + 3])
    for f in range(whole, n):
        a += np.float64(own[f]) * np.float64(others[f])
    return (a + b) + (c + d)


@jit
def _score(values: Any, single: Any, place: Any, w: Any, scale: float, theta: Any) -> None:
    _add_scores(values, place, w, scale, theta)


@jit
def _score_single(values: Any, single: Any, place: Any, w: Any, scale: float, theta: Any) -> None:
    """As doubles, each converted once, where there are more than a few rows and labels."""
    begin, n_rows, width, n_labels, first, n_scored = place
    if n_rows < FEW_ROWS or n_scored < SOME_LABELS:
        _add_scores(single, place, w, scale, theta)
        return
    rows: Any = stack_vector(CONVERTED)
    for t in range(0, n_rows, MOST_ROWS):
        n = min(MOST_ROWS, n_rows - t)
        for f in range(0, width, CHUNK):
            size, at = min(CHUNK, width - f), begin + t * width + f
            for r in range(n):
                row, given = rows[r * size : (r + 1) * size], single[at + r * width :][:size]
                for e in range(size):
                    row[e] = given[e]
            own = 0, n, size, n_labels, first + t * n_labels, n_scored
            _add_scores(rows, own, w[f * n_labels :], scale, theta)


# -- some parts ------------------------------------------------------------------------------------


@jit(inline="always")
def _dot_column(x: Any, at: int, w: Any, place: int, n: int, n_labels: int) -> float:
    """sum_f x[at + f] w[place + f * n_labels]; four sums, so that none waits for another."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    e, end, p, stride = np.uint64(at), np.uint64(at + n), np.uint64(place), np.uint64(n_labels)
    while e + four <= end:
        a += x[e] * w[p]
        b += x[e + one] * w[p + stride]
        c += x[e + two] * w[p + two * stride]
        d += x[e + three] * w[p + three * stride]
        e, p = e + four, p + four * stride
    while e < end:
        a += x[e] * w[p]
        e, p = e + one, p + stride
    return (a + b) + (c + d)


@jit(inline="always")
def _split(p: Any, n_labels: int) -> tuple[Any, Any]:
    """Row and label of a part."""
    t = np.int64(np.uint32(p) // np.uint32(n_labels))  # (half the time of signed 64 bits)
    return t, p - t * n_labels


@jit(fastmath={"contract"})
def _score_some(x: Any, place: Any, w: Any, part: Any, size: int, theta: Any) -> None:
    begin, n_rows, width, n_labels, first, _ = place
    for f in range(0, width, CHUNK):
        n = min(CHUNK, width - f)
        for s in range(size):
            p = np.int64(part[s]) - first
            if 0 <= p < n_rows * n_labels:
                t, label = _split(p, n_labels)
                at = begin + t * width + f
                own = _dot_column(x, at, w, f * n_labels + label, n, n_labels)
                theta[first + p] = own if f == 0 else theta[first + p] + own


@jit
def _peek(values: Any, single: Any, place: Any, w: Any, part: Any, size: int, theta: Any) -> None:
    _score_some(values, place, w, part, size, theta)


@jit
def _peek_single(
    values: Any, single: Any, place: Any, w: Any, part: Any, size: int, theta: Any
) -> None:
    _score_some(single, place, w, part, size, theta)


@jit(fastmath={"contract"})
def _add_few(
    x: Any, place: Any, part: Any, delta: Any, size: int, coefficient: float, out: Any
) -> None:
    """Part by part."""
    begin, n_rows, width, n_labels, first, _ = place
    one, stride = np.uint64(1), np.uint64(n_labels)
    for f in range(0, width, CHUNK):
        n = min(CHUNK, width - f)
        for s in range(size):
            p, change = np.int64(part[s]) - first, coefficient * delta[s]
            if 0 <= p < n_rows * n_labels:
                t, label = _split(p, n_labels)
                e, at = np.uint64(begin + t * width + f), np.uint64(f * n_labels + label)
                for _ in range(n):
                    out[at] += change * x[e]
                    e, at = e + one, at + stride


@jit
def _sort_by_label(
    place: Any, part: Any, delta: Any, span: Any, coefficient: float, at: Any, factor: Any, end: Any
) -> None:
    """Where the rows of some parts begin, and by what they are multiplied, label by label.

    Those of label k end at end[k].
    """
    begin, n_rows, width, n_labels, first, _ = place
    for k in range(n_labels):
        end[k] = 0
    for s in range(span[0], span[1]):
        p = np.int64(part[s]) - first
        if 0 <= p < n_rows * n_labels:
            end[_split(p, n_labels)[1]] += 1
    n = 0
    for k in range(n_labels):
        n, end[k] = n + end[k], n
    for s in range(span[0], span[1]):
        p = np.int64(part[s]) - first
        if 0 <= p < n_rows * n_labels:
            t, k = _split(p, n_labels)
            at[end[k]], factor[end[k]] = begin + t * width, coefficient * delta[s]
            end[k] += 1


@jit(inline="always")
def _sum_rows(x: Any, f: int, n: int, at: Any, factor: Any, span: Any, sums: Any, to: int) -> None:
    """sums[to + e] = sum_s factor[s] x[at[s] + f + e], for e < n."""
    e = 0
    while e + LANES <= n:
        sum_rows(LANES, x, f + e, at, factor, span, sums, to + e)
        e += LANES
    while e + SQUARE <= n:
        sum_rows(SQUARE, x, f + e, at, factor, span, sums, to + e)
        e += SQUARE
    while e < n:
        sum_rows(1, x, f + e, at, factor, span, sums, to + e)
        e += 1


@jit
def _add_by_label(
    x: Any, place: Any, part: Any, delta: Any, span: Any, coefficient: float, out: Any
) -> None:
    """Rows are summed by label, eight labels and some features at a time, and then added to `out`.

    So `out`, in which features of a label are far apart, is written to once, in whole registers.
    """
    _, _, width, n_labels, _, _ = place
    at: Any = stack_integers(ROOM)
    end: Any = stack_integers(MOST_LABELS)
    factor: Any = stack_vector(ROOM)
    sums: Any = stack_vector(SUMS)
    _sort_by_label(place, part, delta, span, coefficient, at, factor, end)
    for f in range(0, width, LANES):
        n, s = min(LANES, width - f), 0
        for k in range(0, n_labels, SQUARE):
            until = min(k + SQUARE, n_labels)
            if end[until - 1] == s:
                continue
            for label in range(k, until):
                _sum_rows(x, f, n, at, factor, (s, end[label]), sums, (label - k) * STRIDE)
                s = end[label]
            whole = n - n % SQUARE if until - k == SQUARE else 0
            for e in range(0, whole, SQUARE):
                square = (out, (f + e) * n_labels + k, n_labels)
                add_transposed(SQUARE, (sums, e, STRIDE), square)
            for label in range(k, until):
                own, to = sums[(label - k) * STRIDE :][:n], np.uint64(f * n_labels + label)
                for e in range(whole, n):
                    out[to + np.uint64(e * n_labels)] += own[e]


@jit
def _add_some(
    x: Any, place: Any, part: Any, delta: Any, size: int, coefficient: float, out: Any
) -> None:
    n_labels = place[3]
    if n_labels > MOST_LABELS or size < PARTS_PER_LABEL * n_labels:
        _add_few(x, place, part, delta, size, coefficient, out)
    else:
        for s in range(0, size, ROOM):
            span = (s, min(s + ROOM, size))
            _add_by_label(x, place, part, delta, span, coefficient, out)


@jit
def _add(
    values: Any, single: Any, place: Any, part: Any, delta: Any, size: int, coefficient: float,
    out: Any,
) -> None:  # fmt: skip
    _add_some(values, place, part, delta, size, coefficient, out)


@jit
def _add_single(
    values: Any, single: Any, place: Any, part: Any, delta: Any, size: int, coefficient: float,
    out: Any,
) -> None:  # fmt: skip
    _add_some(single, place, part, delta, size, coefficient, out)


# -- as values -------------------------------------------------------------------------------------


@jit
def _score_nothing(values: Any, single: Any, place: Any, w: Any, scale: float, theta: Any) -> None:
    return


@jit
def _peek_nothing(
    values: Any, single: Any, place: Any, w: Any, part: Any, size: int, theta: Any
) -> None:
    return


@jit
def _add_nothing(
    values: Any, single: Any, place: Any, part: Any, delta: Any, size: int, coefficient: float,
    out: Any,
) -> None:  # fmt: skip
    return


_I64, _F64, _VECTOR, _PARTS = types.int64, types.float64, types.float64[::1], types.int32[::1]
_ROWS = (_VECTOR, types.float32[::1], types.UniTuple(_I64, len(Place._fields)))


def _pieces(score: Any, peek: Any, add: Any) -> Products:
    made = Products(
        Piece(score, types.void(*_ROWS, _VECTOR, _F64, _VECTOR)),
        Piece(peek, types.void(*_ROWS, _VECTOR, _PARTS, _I64, _VECTOR)),
        Piece(add, types.void(*_ROWS, _PARTS, _VECTOR, _I64, _F64, _VECTOR)),
    )
    for piece in made:  # (at once: while data are read there is nothing else to compile)
        piece.begin()
    return made


@functools.cache
def products(is_single: bool) -> Products:
    """For data with dense rows, in `single` or in `values`: each is compiled where it is used."""
    if is_single:
        return _pieces(_score_single, _peek_single, _add_single)
    return _pieces(_score, _peek, _add)


@functools.cache
def no_products() -> Products:
    """For data without dense rows, of the same types."""
    return _pieces(_score_nothing, _peek_nothing, _add_nothing)
