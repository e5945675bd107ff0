"""Gram matrices over the positions of a sequence (see `emissions` for what they are good for).

One is kept while it is no larger than a few times the features of its sequence.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.features.dense import inner
from blockwolfe.features.emissions import Layout
from blockwolfe.features.rows import Tokens, is_dense

__all__ = ["gram_matrices"]

# Gram entries allowed per stored feature value of a block.
GRAM_PER_VALUE = 4


@jit(inline="always")
def _inner_rows(tokens: Tokens, row: int, other: int, laid_out: Any) -> float:
    """<row, other>, where `laid_out` has the values of `row` by column unless rows are dense."""
    at, begin, end = tokens.indptr[row], tokens.indptr[other], tokens.indptr[other + 1]
    if not is_dense(tokens):
        total = 0.0
        for entry in range(begin, end):
            total += tokens.values[entry] * laid_out[tokens.indices[entry]]
        return total
    if tokens.single.shape[0] > 0:
        return inner(tokens.single, at, tokens.single, begin, end - begin)
    return inner(tokens.values, at, tokens.values, begin, end - begin)


@jit(inline="always")
def _fill_gram(tokens: Tokens, layout: Layout, i: int, laid_out: Any, gram: Any) -> None:
    """Packed lower triangle of <features of position t, features of position s>, s <= t."""
    begin, end = tokens.offset[i], tokens.offset[i + 1]
    at, constant = 0, 1.0 if layout.bias >= 0 else 0.0
    for row in range(begin, end):
        first = tokens.indptr[row]
        last = first if is_dense(tokens) else tokens.indptr[row + 1]  # of what is laid out
        for entry in range(first, last):
            laid_out[tokens.indices[entry]] = tokens.values[entry]
        for other in range(begin, row + 1):
            gram[at] = constant + _inner_rows(tokens, row, other, laid_out)
            at += 1
        for entry in range(first, last):
            laid_out[tokens.indices[entry]] = 0.0
    if layout.first >= 0:
        gram[0] += 1.0
    if layout.last >= 0:
        gram[at - 1] += 1.0


@jit
def _fill_grams(tokens: Tokens, layout: Layout, start: Any, laid_out: Any, gram: Any) -> None:
    for i in range(start.shape[0]):
        if start[i] >= 0:
            _fill_gram(tokens, layout, i, laid_out, gram[start[i] :])


def gram_matrices(tokens: Tokens, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Gram matrices over positions and where each begins; -1 where one would be too large."""
    length = np.diff(tokens.offset)
    n_values = tokens.indptr[tokens.offset[1:]] - tokens.indptr[tokens.offset[:-1]]
    size = length * (length + 1) // 2
    is_kept = size <= GRAM_PER_VALUE * (n_values + length)
    end = np.cumsum(np.where(is_kept, size, 0))
    gram = np.empty(int(end[-1]) if len(end) else 0)
    start = np.where(is_kept, end - size, -1)
    _fill_grams(tokens.alone, layout, start, np.zeros(layout.n_features), gram)
    return gram, start
