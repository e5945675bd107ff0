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
from blockwolfe.features.rows import (
    Tokens,
    add_dense,
    column_of,
    is_dense,
    largest_norms,
    peek_dense,
    score_dense,
)


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
    w: Any, index: Any, value: Any, span: Any, scale: float, scores: Any, n_labels: int
) -> None:
    """Add scale * sum_e value[e] * (weights of feature index[e], by label) to scores.

    Of the entries `span`, four at a time.
    """
    e, end = span
    while e + 4 <= end:
        x0, x1 = scale * value[e], scale * value[e + 1]
        x2, x3 = scale * value[e + 2], scale * value[e + 3]
        b0, b1 = np.int64(index[e]) * n_labels, np.int64(index[e + 1]) * n_labels
        b2, b3 = np.int64(index[e + 2]) * n_labels, np.int64(index[e + 3]) * n_labels
        r0, r1 = w[b0 : b0 + n_labels], w[b1 : b1 + n_labels]
        r2, r3 = w[b2 : b2 + n_labels], w[b3 : b3 + n_labels]
        for k in range(n_labels):
            scores[k] = scores[k] + x0 * r0[k] + x1 * r1[k] + x2 * r2[k] + x3 * r3[k]
        e += 4
    while e < end:
        x, base = scale * value[e], np.int64(index[e]) * n_labels
        row = w[base : base + n_labels]
        for k in range(n_labels):
            scores[k] += x * row[k]
        e += 1


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
            add_rows(w, indices, values, span, scale, scores, n_labels)
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
    w: Any, index: Any, value: Any, begin: int, end: int, label: int, n_labels: int
) -> float:
    """sum_e value[e] * w[index[e], label]; four sums at a time, so that none waits for another."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, stride = np.uint64(begin), np.uint64(n_labels)
    last, at = np.uint64(end), np.uint64(label)
    one, four = np.uint64(1), np.uint64(4)
    while e + four <= last:
        a += value[e] * w[np.uint64(index[e]) * stride + at]
        b += value[e + np.uint64(1)] * w[np.uint64(index[e + np.uint64(1)]) * stride + at]
        c += value[e + np.uint64(2)] * w[np.uint64(index[e + np.uint64(2)]) * stride + at]
        d += value[e + np.uint64(3)] * w[np.uint64(index[e + np.uint64(3)]) * stride + at]
        e += four
    while e < last:
        a += value[e] * w[np.uint64(index[e]) * stride + at]
        e += one
    return (a + b) + (c + d)


@jit(fastmath={"contract"})
def score_parts(
    tokens: Tokens, layout: Layout, i: int, w: Any, part: Any, size: int, theta: Any
) -> None:
    """theta[p] = <w, F[:, p]> of the listed parts; arrays are taken out as in `add_parts`."""
    indptr, indices, values = tokens.indptr, tokens.indices, tokens.values
    bias, first, last, n_labels = layout.bias, layout.first, layout.last, layout.n_labels
    begin = tokens.offset[i]
    n_positions = tokens.offset[i + 1] - begin
    n_unary, dense = n_positions * n_labels, is_dense(tokens)
    if dense:
        peek_dense(tokens, i, n_labels, 0, w, part, size, theta)
    for s in range(size):
        p = np.int64(part[s])
        if p >= n_unary:
            theta[p] = w[layout.transition - n_unary + p]
            continue
        t = np.int64(np.uint32(p) // np.uint32(n_labels))  # (half the time of signed 64 bits)
        label = p - t * n_labels
        at, end = indptr[begin + t], indptr[begin + t + 1]
        total = theta[p] if dense else score_label(w, indices, values, at, end, label, n_labels)
        if bias >= 0:
            total += w[bias + label]
        if first >= 0 and t == 0:
            total += w[first + label]
        if last >= 0 and t == n_positions - 1:
            total += w[last + label]
        theta[p] = total


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
    references, which costs more than the additions. Unsigned indices need no test for < 0.
    """
    indptr, indices, values = tokens.indptr, tokens.indices, tokens.values
    bias, first, last, n_labels = layout.bias, layout.first, layout.last, layout.n_labels
    begin = tokens.offset[i]
    n_positions = tokens.offset[i + 1] - begin
    n_unary, dense = n_positions * n_labels, is_dense(tokens)
    if dense:
        add_dense(tokens, i, n_labels, 0, (part, delta, size), coefficient, out)
    for s in range(size):
        p, change = np.int64(part[s]), coefficient * delta[s]
        if p >= n_unary:
            out[layout.transition - n_unary + p] += change
            continue
        t = np.int64(np.uint32(p) // np.uint32(n_labels))  # (half the time of signed 64 bits)
        label = p - t * n_labels
        end = np.uint64(indptr[begin + t] if dense else indptr[begin + t + 1])
        for e in range(np.uint64(indptr[begin + t]), end):
            at = np.uint64(indices[e]) * np.uint64(n_labels) + np.uint64(label)
            out[at] += change * values[e]
        if bias >= 0:
            out[bias + label] += change
        if first >= 0 and t == 0:
            out[first + label] += change
        if last >= 0 and t == n_positions - 1:
            out[last + label] += change


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
            at = column_of(tokens, begin + t, e) * n_labels + label
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
