"""How alike two words are spelt: common prefixes and edit distances of many pairs at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.ragged import offsets

__all__ = ["spelling"]


@jit
def _compare(a: Any, b: Any, row: Any) -> tuple[int, int]:
    """Length of the common prefix, and edit distance; `row` is scratch of len(b) + 1."""
    n, m = a.shape[0], b.shape[0]
    prefix = 0
    while prefix < n and prefix < m and a[prefix] == b[prefix]:
        prefix += 1
    for j in range(m + 1):
        row[j] = j
    for i in range(n):
        corner = row[0]
        row[0] = i + 1
        for j in range(m):
            change = corner + (a[i] != b[j])
            corner = row[j + 1]
            row[j + 1] = min(change, corner + 1, row[j] + 1)
    return prefix, row[m]


@jit
def _compare_all(
    letters: Any, start: Any, n_source: int, row: Any, prefix: Any, distance: Any
) -> None:
    for i in range(prefix.shape[0]):
        a = letters[start[i] : start[i + 1]]
        for j in range(prefix.shape[1]):
            k = n_source + j
            b = letters[start[k] : start[k + 1]]
            prefix[i, j], distance[i, j] = _compare(a, b, row)


def spelling(source: Sequence[str], target: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Common prefix and edit distance of every pair of words, each as a share of the longer word.

    >>> prefix, distance = spelling(["house"], ["houses", "maison"])
    >>> prefix.round(2).tolist(), distance.round(2).tolist()
    ([[0.83, 0.0]], [[0.17, 0.83]])
    """
    words = [*source, *target]
    length = np.array([len(word) for word in words], dtype=np.int64)
    start = offsets(length)
    letters = np.array([ord(letter) for word in words for letter in word], dtype=np.int64)
    prefix, distance = np.zeros((2, len(source), len(target)), dtype=np.int64)
    row = np.zeros(length.max(initial=0) + 1, dtype=np.int64)
    _compare_all(letters, start, len(source), row, prefix, distance)
    longer = np.maximum.outer(length[: len(source)], length[len(source) :])
    longer = np.maximum(longer, 1)
    return prefix / longer, distance / longer
