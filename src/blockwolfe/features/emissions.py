"""Label-indicator features: phi(x, y) pairs each active feature of a position with its label.

The layout of `w`, all blocks row-major and each optional one switchable:

    emission (n_features x K) | bias (K) | first (K) | last (K) | transition (K x K) | ...

Transitions of order j, runs of j + 1 labels, have a table of K^(j+1) weights; the tables lie one
after another at the end, the lowest order first.

Parts of a sequence of T positions over K labels are numbered

    t * K + k               "position t has label k"
    T * K + j * K + k       "label j is followed by label k", counted over positions

and so on for longer runs, in the order of their weights: the part T * K + p always has the weight
transition + p. So a block's emission, bias, first and last features meet in one Gram matrix over
positions: |F delta|^2 = sum_{s,t} G[s, t] <delta_s, delta_t> + |delta_transition|^2.
It is kept (`gram`) while it is not too large; for longer sequences F delta is formed in a buffer.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.prefetch import FAR, prefetch_rows
from blockwolfe.errors import InputError
from blockwolfe.features.rows import (
    Tokens,
    add_dense,
    is_dense,
    largest_norms,
    peek_dense,
    score_dense,
    valued,
)

# Rows of a long w are fetched so many entries before they are added (8 to 32 do equally well).
AHEAD = 8


class Layout(NamedTuple):
    """Where each group of weights begins in `w`; -1 for a group that is switched off.

    `transition` is where the tables of transitions begin, `size` where they end, and bit j - 1 of
    `orders` says whether order j has one.
    """

    n_features: int
    n_labels: int
    bias: int
    first: int
    last: int
    transition: int
    size: int
    orders: int

    @classmethod
    def of(
        cls,
        n_features: int,
        n_labels: int,
        *,
        bias: bool,
        first: bool,
        last: bool,
        transition: Collection[int] = (),
    ) -> Layout:
        """Lay out the switched-on groups one after another; `transition` are orders."""
        end = n_features * n_labels
        begin = {}
        for name, is_on in {"bias": bias, "first": first, "last": last}.items():
            begin[name] = end if is_on else -1
            end += n_labels if is_on else 0
        begin["transition"] = end if transition else -1
        size = end + sum(n_labels ** (j + 1) for j in transition)
        orders = sum(1 << (j - 1) for j in transition)
        return cls(n_features, n_labels, size=size, orders=orders, **begin)

    @property
    def order(self) -> int:
        """The highest order of transitions; 0 without any."""
        return self.orders.bit_length()

    @property
    def n_transitions(self) -> int:
        """Weights of transitions of all orders."""
        return self.size - self.transition if self.orders else 0

    def tables(self) -> dict[int, slice]:
        """Where the weights of transitions of each order lie."""
        found, begin = {}, self.transition
        for j in range(1, self.order + 1):
            if self.orders >> (j - 1) & 1:
                found[j] = slice(begin, begin + self.n_labels ** (j + 1))
                begin = found[j].stop
        return found

    def groups(self) -> dict[str, slice]:
        """The groups that are switched on, by name."""
        found = {"emission": slice(0, self.n_features * self.n_labels)}
        for name in ("bias", "first", "last"):
            begin = getattr(self, name)
            if begin >= 0:
                found[name] = slice(begin, begin + self.n_labels)
        for j, place in self.tables().items():
            found["transition" if j == 1 else f"transition_{j}"] = place
        return found


@jit(inline="always")  # as for `max_plus`
def add_rows(
    w: Any, index: Any, value: Any, span: Any, scale: float, scores: Any, n_labels: int, stride: int
) -> None:
    """Add scale * sum_e value[e] * (weights from index[e] * stride on, by label) to scores.

    Of the entries `span`, four at a time. Where w is long, rows that come soon are fetched ahead.
    """
    e, end = span
    fetched = index.shape[0] - AHEAD if w.shape[0] > FAR else 0  # up to here there are such rows
    while e + 4 <= end:
        if e + 4 <= fetched:
            prefetch_rows(w, index, e + AHEAD, n_labels, stride)
        x0, x1 = valued(value, e, scale), valued(value, e + 1, scale)
        x2, x3 = valued(value, e + 2, scale), valued(value, e + 3, scale)
        b0, b1 = np.int64(index[e]) * stride, np.int64(index[e + 1]) * stride
        b2, b3 = np.int64(index[e + 2]) * stride, np.int64(index[e + 3]) * stride
        r0, r1 = w[b0 : b0 + n_labels], w[b1 : b1 + n_labels]
        r2, r3 = w[b2 : b2 + n_labels], w[b3 : b3 + n_labels]
        for k in range(n_labels):
            scores[k] = scores[k] + x0 * r0[k] + x1 * r1[k] + x2 * r2[k] + x3 * r3[k]
        e += 4
    while e < end:
        x, base = valued(value, e, scale), np.int64(index[e]) * stride
        row = w[base : base + n_labels]
        for k in range(n_labels):
            scores[k] += x * row[k]
        e += 1


@jit(inline="always")
def weights_at(tokens: Tokens, row: int, entry: int, n_labels: int) -> int:
    """Where the weights begin of the feature of an entry."""
    if tokens.indices.shape[0] == 0:
        return int(entry - tokens.indptr[row]) * n_labels
    return int(tokens.indices[entry])


def placed(tokens: Tokens, n_labels: int) -> Tokens:
    """The same rows with the indices, in the place of columns, of where their weights begin.

    What is done with rows then needs no products (three cycles each on some machines), and values
    that are all one are left out: entries to read are a third as long.
    """
    indices = tokens.indices
    if len(indices) and int(indices.max()) * n_labels >= np.iinfo(np.int32).max:
        raise InputError(
            f"X has features up to number {int(indices.max())}, and there are {n_labels} labels: "
            f"more than {np.iinfo(np.int32).max} weights; leave rare features out."
        )
    is_unit = len(indices) > 0 and bool((tokens.values == 1.0).all())
    values = tokens.values[:0] if is_unit else tokens.values
    return tokens._replace(indices=indices * np.int32(n_labels), values=values)


@jit(inline="always")
def score_positions(
    tokens: Tokens, layout: Layout, i: int, w: Any, scale: float, theta: Any
) -> None:
    """theta[t * K + k] = scale times the score of label k at position t of sequence i.

    Emission, bias, first and last together.
    """
    n_labels = layout.n_labels
    indptr, indices, values = tokens.indptr, tokens.indices, tokens.values
    begin, end, dense = tokens.offset[i], tokens.offset[i + 1], is_dense(tokens)
    grid = theta[: (end - begin) * n_labels].reshape(end - begin, n_labels)
    for row in range(begin, end):
        scores = grid[row - begin]
        for k in range(n_labels):
            scores[k] = scale * w[layout.bias + k] if layout.bias >= 0 else 0.0
        if not dense:
            span = indptr[row], indptr[row + 1]
            add_rows(w, indices, values, span, scale, scores, n_labels, 1)
    if dense:
        score_dense(tokens, i, n_labels, 0, w, scale, theta)
    if layout.first >= 0:
        for k in range(n_labels):
            grid[0, k] += scale * w[layout.first + k]
    if layout.last >= 0:
        for k in range(n_labels):
            grid[end - begin - 1, k] += scale * w[layout.last + k]


@jit(inline="always")
def score_label(
    w: Any, index: Any, value: Any, begin: int, end: int, label: int, stride: int
) -> float:
    """sum_e value[e] * w[index[e] * stride + label]; four sums, so that none waits for another."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, step = np.uint64(begin), np.uint64(stride)
    last, at = np.uint64(end), np.uint64(label)
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    if value.shape[0] == 0:
        while e + four <= last:
            a += w[np.uint64(index[e]) * step + at]
            b += w[np.uint64(index[e + one]) * step + at]
            c += w[np.uint64(index[e + two]) * step + at]
            d += w[np.uint64(index[e + three]) * step + at]
            e += four
    while e + four <= last:
        a += value[e] * w[np.uint64(index[e]) * step + at]
        b += value[e + one] * w[np.uint64(index[e + one]) * step + at]
        c += value[e + two] * w[np.uint64(index[e + two]) * step + at]
        d += value[e + three] * w[np.uint64(index[e + three]) * step + at]
        e += four
    while e < last:
        a += valued(value, e, 1.0) * w[np.uint64(index[e]) * step + at]
        e += one
    return (a + b) + (c + d)


@jit(inline="always")
def _score_two(
    w: Any, index: Any, value: Any, begin: int, end: int, labels: tuple[Any, Any]
) -> tuple[float, float]:
    """The same of two labels, whose entries are read once; of where the weights begin."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, last, one, two = np.uint64(begin), np.uint64(end), np.uint64(1), np.uint64(2)
    first, second = np.uint64(labels[0]), np.uint64(labels[1])
    if value.shape[0] == 0:
        while e + two <= last:
            base, other = np.uint64(index[e]), np.uint64(index[e + one])
            a += w[base + first]
            b += w[base + second]
            c += w[other + first]
            d += w[other + second]
            e += two
    while e + two <= last:
        base, other = np.uint64(index[e]), np.uint64(index[e + one])
        a += value[e] * w[base + first]
        b += value[e] * w[base + second]
        c += value[e + one] * w[other + first]
        d += value[e + one] * w[other + second]
        e += two
    if e < last:
        x, base = valued(value, e, 1.0), np.uint64(index[e])
        a += x * w[base + first]
        b += x * w[base + second]
    return a + c, b + d


@jit(inline="always")
def _constant(w: Any, layout: Layout, t: int, n_positions: int, label: int) -> float:
    """Bias, first and last of a label at position t."""
    total = w[layout.bias + label] if layout.bias >= 0 else 0.0
    if layout.first >= 0 and t == 0:
        total += w[layout.first + label]
    if layout.last >= 0 and t == n_positions - 1:
        total += w[layout.last + label]
    return total


@jit(fastmath={"contract"})
def score_parts(
    tokens: Tokens, layout: Layout, i: int, w: Any, part: Any, size: int, theta: Any
) -> None:
    """theta[p] = <w, F[:, p]> of the listed parts; arrays are taken out as in `add_parts`.

    Labels of one position that follow each other are scored by twos.
    """
    indptr, indices, values = tokens.indptr, tokens.indices, tokens.values
    n_labels, begin = layout.n_labels, tokens.offset[i]
    n_positions = tokens.offset[i + 1] - begin
    n_unary, dense = n_positions * n_labels, is_dense(tokens)
    if dense:
        peek_dense(tokens, i, n_labels, 0, w, part, size, theta)
    s = 0
    while s < size:
        p = np.int64(part[s])
        s += 1
        if p >= n_unary:
            theta[p] = w[layout.transition - n_unary + p]
            continue
        t = np.int64(np.uint32(p) // np.uint32(n_labels))  # (half the time of signed 64 bits)
        label, row = p - t * n_labels, begin + t
        other = np.int64(part[s]) - t * n_labels if s < size and not dense else -1
        if dense:
            one = theta[p]
        elif 0 <= other < n_labels:
            s += 1
            one, two = _score_two(w, indices, values, indptr[row], indptr[row + 1], (label, other))
            theta[p - label + other] = two + _constant(w, layout, t, n_positions, other)
        else:
            one = score_label(w, indices, values, indptr[row], indptr[row + 1], label, 1)
        theta[p] = one + _constant(w, layout, t, n_positions, label)


@jit(inline="always")
def _add_column(indices: Any, values: Any, span: Any, label: int, change: float, out: Any) -> None:
    """Add `change` times the features of a position to the weights of a label."""
    at = np.uint64(label)
    if values.shape[0] == 0:
        for e in range(span[0], span[1]):
            out[np.uint64(indices[e]) + at] += change
    else:
        for e in range(span[0], span[1]):
            out[np.uint64(indices[e]) + at] += change * values[e]


@jit(inline="always")
def _add_two(indices: Any, values: Any, span: Any, labels: Any, changes: Any, out: Any) -> None:
    """The same for two labels, whose entries are read once, and whose weights lie side by side."""
    (one, two), (first, second) = changes, (np.uint64(labels[0]), np.uint64(labels[1]))
    if values.shape[0] == 0:
        for e in range(span[0], span[1]):
            base = np.uint64(indices[e])
            out[base + first] += one
            out[base + second] += two
    else:
        for e in range(span[0], span[1]):
            base = np.uint64(indices[e])
            out[base + first] += one * values[e]
            out[base + second] += two * values[e]


@jit(inline="always")
def _add_constant(
    layout: Layout, t: int, n_positions: int, label: int, change: float, out: Any
) -> None:
    """The same of bias, first and last at position t."""
    if layout.bias >= 0:
        out[layout.bias + label] += change
    if layout.first >= 0 and t == 0:
        out[layout.first + label] += change
    if layout.last >= 0 and t == n_positions - 1:
        out[layout.last + label] += change


@jit
def add_parts(
    tokens: Tokens,
    layout: Layout,
    i: int,
    part: Any,
    delta: Any,
    size: int,
    coefficient: float,
    out: Any,
) -> None:
    """Add coefficient F delta to `out`, part by part.

    Arrays are taken out of their tuples before the loop: inside it each access would count
    references, which costs more than the additions. Unsigned indices need no test for < 0. Labels
    of one position that follow each other are added by twos.
    """
    indptr, indices, values = tokens.indptr, tokens.indices, tokens.values
    n_labels, begin = layout.n_labels, tokens.offset[i]
    n_positions = tokens.offset[i + 1] - begin
    n_unary, dense = n_positions * n_labels, is_dense(tokens)
    if dense:
        add_dense(tokens, i, n_labels, 0, (part, delta, size), coefficient, out)
    s = 0
    while s < size:
        p, change = np.int64(part[s]), coefficient * delta[s]
        s += 1
        if p >= n_unary:
            out[layout.transition - n_unary + p] += change
            continue
        t = np.int64(np.uint32(p) // np.uint32(n_labels))  # (half the time of signed 64 bits)
        label, other = p - t * n_labels, np.int64(part[s]) - t * n_labels if s < size else -1
        span = np.uint64(indptr[begin + t]), np.uint64(indptr[begin + t + 1])
        if not dense and 0 <= other < n_labels:
            more = coefficient * delta[s]
            s += 1
            _add_two(indices, values, span, (label, other), (change, more), out)
            _add_constant(layout, t, n_positions, other, more, out)
        elif not dense:
            _add_column(indices, values, span, label, change, out)
        _add_constant(layout, t, n_positions, label, change, out)


@jit(inline="always")
def take_one(at: int, found: int, image: Any, index: Any, value: Any) -> int:
    """Move image[at], unless it is zero, to the end of the (index, value) pairs found so far."""
    if image[at] == 0.0:
        return found
    index[found], value[found] = at, image[at]
    image[at] = 0.0
    return found + 1


@jit
def take_out(
    tokens: Tokens, layout: Layout, i: int, parts: Any, image: Any, index: Any, value: Any
) -> int:
    """What `add_parts` put into `image`, as (index, value) pairs; `image` is zero again."""
    part, size = parts
    n_labels, begin = layout.n_labels, tokens.offset[i]
    n_positions = tokens.offset[i + 1] - begin
    n_unary = n_positions * n_labels
    found = 0
    for s in range(size):
        p = np.int64(part[s])
        if p >= n_unary:
            found = take_one(layout.transition - n_unary + p, found, image, index, value)
            continue
        t = np.int64(np.uint32(p) // np.uint32(n_labels))  # (half the time of signed 64 bits)
        label = p - t * n_labels
        for e in range(tokens.indptr[begin + t], tokens.indptr[begin + t + 1]):
            at = weights_at(tokens, begin + t, e, n_labels) + label
            found = take_one(at, found, image, index, value)
        if layout.bias >= 0:
            found = take_one(layout.bias + label, found, image, index, value)
        if layout.first >= 0 and t == 0:
            found = take_one(layout.first + label, found, image, index, value)
        if layout.last >= 0 and t == n_positions - 1:
            found = take_one(layout.last + label, found, image, index, value)
    return found


def column_norms(tokens: Tokens, layout: Layout) -> np.ndarray:
    """The largest norm of a feature column of each sequence."""
    n_constant = (layout.bias >= 0) + (layout.first >= 0) + (layout.last >= 0)
    norms = largest_norms(tokens, float(n_constant))
    return np.maximum(norms, 1.0) if layout.transition >= 0 else norms
