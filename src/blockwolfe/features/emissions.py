"""Label-indicator features: phi(x, y) pairs each active feature of a position with its label.

The layout of `w`, all blocks row-major and each optional one switchable:

    emission (n_features x K) | bias (K) | first (K) | last (K) | transition (K x K)

Parts of a sequence of T positions over K labels are numbered

    t * K + k               "position t has label k"
    T * K + j * K + k       "label j is followed by label k", counted over positions

so a block's emission, bias, first and last features meet in one Gram matrix over
positions: |F delta|^2 = sum_{s,t} G[s, t] <delta_s, delta_t> + |delta_transition|^2.
The Gram matrix is kept while it is no larger than a few times the block's own
features; for longer sequences F delta is formed in a buffer instead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.compiled import jit

# Gram entries allowed per stored feature value of a block.
GRAM_PER_VALUE = 4


class Layout(NamedTuple):
    """Where each group of weights begins in `w`; -1 for a group that is switched off."""

    n_features: int
    n_labels: int
    bias: int
    first: int
    last: int
    transition: int
    size: int

    @classmethod
    def of(
        cls,
        n_features: int,
        n_labels: int,
        *,
        bias: bool,
        first: bool,
        last: bool,
        transition: bool,
    ) -> Layout:
        """Lay out the switched-on groups one after another."""
        end = n_features * n_labels
        groups = {"bias": bias, "first": first, "last": last, "transition": transition}
        begin = {}
        for name, is_on in groups.items():
            begin[name] = end if is_on else -1
            size = n_labels**2 if name == "transition" else n_labels
            end += size if is_on else 0
        return cls(n_features, n_labels, size=end, **begin)


class Tokens(NamedTuple):
    """All positions as one CSR matrix; sequence i is rows offset[i]:offset[i+1]."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    offset: np.ndarray


@jit(fastmath={"contract"})
def add_weighted_rows(tokens: Any, begin: int, end: int, w: Any, scores: Any) -> None:
    """Scores += the weight rows of some entries times their values, four rows at a time."""
    n_labels = scores.shape[0]
    index, value = tokens.indices, tokens.values
    entry = begin
    while entry + 4 <= end:
        x0, x1, x2, x3 = value[entry], value[entry + 1], value[entry + 2], value[entry + 3]
        r0 = weight_row(w, index[entry], n_labels)
        r1 = weight_row(w, index[entry + 1], n_labels)
        r2 = weight_row(w, index[entry + 2], n_labels)
        r3 = weight_row(w, index[entry + 3], n_labels)
        for k in range(n_labels):
            scores[k] = scores[k] + x0 * r0[k] + x1 * r1[k] + x2 * r2[k] + x3 * r3[k]
        entry += 4
    for rest in range(entry, end):
        x, row = value[rest], weight_row(w, index[rest], n_labels)
        for k in range(n_labels):
            scores[k] += x * row[k]


@jit
def weight_row(w: Any, feature: int, n_labels: int) -> Any:
    """The weights of one feature, a label each."""
    base = np.int64(feature) * n_labels
    return w[base : base + n_labels]


@jit
def score_positions(tokens: Any, layout: Any, i: int, w: Any, theta: Any) -> None:
    """theta[t, k] = score of label k at position t of sequence i: emission, bias, first, last."""
    n_labels = layout.n_labels
    begin, end = tokens.offset[i], tokens.offset[i + 1]
    for row in range(begin, end):
        scores = theta[row - begin]
        if layout.bias >= 0:
            for k in range(n_labels):
                scores[k] = w[layout.bias + k]
        else:
            for k in range(n_labels):
                scores[k] = 0.0
        add_weighted_rows(tokens, tokens.indptr[row], tokens.indptr[row + 1], w, scores)
    if layout.first >= 0:
        for k in range(n_labels):
            theta[0, k] += w[layout.first + k]
    if layout.last >= 0:
        for k in range(n_labels):
            theta[end - begin - 1, k] += w[layout.last + k]


@jit
def add_position(
    tokens: Any, layout: Any, i: int, t: int, label: int, change: float, out: Any
) -> None:
    """Out += change * F e_(t, label): the features of position t paired with one label."""
    row = tokens.offset[i] + t
    for entry in range(tokens.indptr[row], tokens.indptr[row + 1]):
        at = np.int64(tokens.indices[entry]) * layout.n_labels + label
        out[at] += change * tokens.values[entry]
    if layout.bias >= 0:
        out[layout.bias + label] += change
    if layout.first >= 0 and t == 0:
        out[layout.first + label] += change
    if layout.last >= 0 and row == tokens.offset[i + 1] - 1:
        out[layout.last + label] += change


@jit
def _fill_gram(tokens: Any, layout: Any, i: int, dense: Any, gram: Any) -> None:
    """Packed lower triangle of <features of position t, features of position s>, s <= t."""
    begin, end = tokens.offset[i], tokens.offset[i + 1]
    at = 0
    for row in range(begin, end):
        for entry in range(tokens.indptr[row], tokens.indptr[row + 1]):
            dense[tokens.indices[entry]] = tokens.values[entry]
        for other in range(begin, row + 1):
            inner = 1.0 if layout.bias >= 0 else 0.0
            for entry in range(tokens.indptr[other], tokens.indptr[other + 1]):
                inner += tokens.values[entry] * dense[tokens.indices[entry]]
            gram[at] = inner
            at += 1
        for entry in range(tokens.indptr[row], tokens.indptr[row + 1]):
            dense[tokens.indices[entry]] = 0.0
    if layout.first >= 0:
        gram[0] += 1.0
    if layout.last >= 0:
        gram[at - 1] += 1.0


@jit
def _fill_grams(tokens: Any, layout: Any, start: Any, dense: Any, gram: Any) -> None:
    for i in range(start.shape[0]):
        if start[i] >= 0:
            _fill_gram(tokens, layout, i, dense, gram[start[i] :])


def gram_matrices(tokens: Tokens, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Gram matrices over positions and where each begins; -1 where one would be too large."""
    length = np.diff(tokens.offset)
    n_values = tokens.indptr[tokens.offset[1:]] - tokens.indptr[tokens.offset[:-1]]
    size = length * (length + 1) // 2
    is_kept = size <= GRAM_PER_VALUE * (n_values + length)
    end = np.cumsum(np.where(is_kept, size, 0))
    gram = np.empty(int(end[-1]) if len(end) else 0)
    start = np.where(is_kept, end - size, -1)
    dense = np.zeros(layout.n_features)
    _fill_grams(tokens, layout, start, dense, gram)
    return gram, start
