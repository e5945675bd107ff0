"""Sums over all single-rooted trees: log-partition and marginals of arcs.

    Z = sum over trees y of exp(score(y)),    p[h, c] = share of Z that has the arc from h to c

The matrix-tree theorem (Koo et al. 2007 for one child of the root) gives Z as a determinant. Here
it is found by eliminating word after word, without a subtraction, so that it can be done in logs:

    D_k = sum_h s[h, k]  over words h left,    s[h, c] += s[h, k] s[k, c] / D_k    (h a word or 0)
    Z   = product of the D_k, times s[0, last word]

An arc of the root never enters D_k: that would count trees with a second child of the root.
Marginals are the derivatives of log Z, taken backwards through the same steps: O(n^3) in all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError

__all__ = ["log_partition", "marginals", "marginals_into"]


def check_scores(scores: Any) -> np.ndarray:
    """A square matrix without NaN, with an arc left into every word; column 0 and diagonal -inf."""
    try:
        scores = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"scores is not a matrix of numbers: {error}.") from error
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or len(scores) < 2:
        raise InputError(
            f"scores has shape {scores.shape}; expected (n + 1, n + 1) with n >= 1 words, "
            "row 0 for the root."
        )
    scores[:, 0] = -np.inf
    np.fill_diagonal(scores, -np.inf)
    is_bad = np.isnan(scores) | np.isposinf(scores)
    if is_bad.any():
        h, c = np.argwhere(is_bad)[0]
        raise InputError(
            f"scores[{h}, {c}] is {scores[h, c]}; expected a number, or -inf for a forbidden arc."
        )
    is_cut = np.isneginf(scores[:, 1:]).all(axis=0)
    if is_cut.any():
        raise InputError(
            f"scores: every arc to word {int(np.argmax(is_cut)) + 1} is -inf (forbidden), so there "
            "is no tree; allow one."
        )
    return scores


def no_tree() -> InputError:
    """The error of scores that forbid every single-rooted tree."""
    return InputError(
        "scores: no single-rooted tree is left, too many arcs are -inf (forbidden); allow an arc "
        "of the root, and a way from its word to all others."
    )


def log_partition(scores: Any) -> float:
    """Log of the sum of exp(score) over all single-rooted trees; -inf in `scores` forbids an arc.

    >>> round(float(np.exp(log_partition(np.zeros((4, 4))))), 6)  # 3 words: 3^2 trees
    9.0
    """
    return _solved(scores)[0]


def marginals(scores: Any) -> np.ndarray:
    """Probability of each arc, (n + 1, n + 1), when a tree's is exp(score) / Z.

    >>> marginals([[0, 0, 0], [0, 0, 0], [0, 0, 0]])
    array([[0. , 0.5, 0.5],
           [0. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    return _solved(scores)[1]


def _solved(scores: Any) -> tuple[float, np.ndarray]:
    scores = check_scores(scores)
    n_words = len(scores) - 1
    stages, swapped = np.zeros(n_stages(n_words)), np.zeros(n_words, dtype=np.int64)
    stages[: scores[:, 1:].size] = scores[:, 1:].ravel()
    d, p = np.zeros(n_words), np.zeros(scores.shape)
    arcs = np.zeros(scores[:, 1:].size)
    total = marginals_into(n_words, stages, d, swapped, arcs)
    if total == -np.inf:
        raise no_tree()
    p[:, 1:] = arcs.reshape(n_words + 1, n_words)
    return float(total), p


def n_stages(n_words: int) -> int:
    """Floats that all stages of an elimination take: with m words left there are (m + 1) m arcs.

    >>> n_stages(2)
    8
    """
    return n_words * (n_words + 1) * (n_words + 2) // 3


@jit
def marginals_into(n_words: int, stages: Any, d: Any, swapped: Any, p: Any) -> float:
    """Fill `p`, (n + 1) x n flat, with the probabilities of arcs; log Z, or -inf without a tree.

    `stages` begins with the scores of arcs in the same order: a row per head, the root first, and
    a column per word; -inf where there is none. With m words left, stage m is (m + 1) x m, and the
    word that is eliminated is swapped with the last. `d` and `swapped` are scratch of n entries.
    """
    begin, total = 0, 0.0
    for m in range(n_words, 1, -1):
        now = stages[begin : begin + (m + 1) * m]
        following = stages[begin + (m + 1) * m :][: m * (m - 1)]
        at = _heaviest(now, m, d)
        if d[m - 1] == -np.inf:
            return -np.inf
        swapped[m - 1] = at
        _swap(now, m, m, at)
        _eliminate(now, m, d[m - 1], following)
        total += d[m - 1]
        begin += (m + 1) * m
    total += stages[begin]
    if total == -np.inf:
        return -np.inf
    p[0] = 1.0
    for m in range(2, n_words + 1):
        after, begin = stages[begin : begin + m * (m - 1)], begin - (m + 1) * m
        now = stages[begin : begin + (m + 1) * m]
        _go_back(now, after, m, d[m - 1], n_words, p)
        _swap(now, m, m, swapped[m - 1])
        _swap(p, m, n_words, swapped[m - 1])
    _normalize(n_words, p)
    return float(total)


@jit
def _normalize(n_words: int, p: Any) -> None:
    """Every word has one head: what its arcs lack to probability one, or to zero, is rounding."""
    for c in range(n_words):
        total = 0.0
        for h in range(n_words + 1):
            at = h * n_words + c
            p[at] = max(p[at], 0.0)
            total += p[at]
        for h in range(n_words + 1 if total > 0.0 else 0):
            p[h * n_words + c] /= total


@jit
def _heaviest(s: Any, m: int, d: Any) -> int:
    """The word with the largest D, which goes to d[m - 1]; any with D > 0 will do."""
    at, most = 0, -np.inf
    for c in range(m):
        top, total = -np.inf, 0.0
        for r in range(1, m + 1):
            top = max(top, s[r * m + c])
        for r in range(1, m + 1 if top > -np.inf else 1):
            total += np.exp(s[r * m + c] - top)
        into = top + np.log(total) if top > -np.inf else -np.inf
        if into > most:
            at, most = c, into
    d[m - 1] = most
    return at


@jit
def _swap(s: Any, m: int, width: int, at: int) -> None:
    """Swap word `at` with the last of m, as head and as child; rows have `width` entries."""
    for r in range(m + 1):
        a, b = r * width + at, r * width + m - 1
        s[a], s[b] = s[b], s[a]
    for c in range(m):
        a, b = (at + 1) * width + c, m * width + c
        s[a], s[b] = s[b], s[a]


@jit
def _eliminate(s: Any, m: int, d: float, following: Any) -> None:
    """The next stage, without the last word."""
    k = m - 1
    for r in range(m):
        for c in range(k):
            one, other = s[r * m + c], s[r * m + k] + s[m * m + c] - d
            high, low = max(one, other), min(one, other)
            if high > -np.inf:
                high += np.log1p(np.exp(low - high))
            following[r * k + c] = high if r != c + 1 else -np.inf  # (no word heads itself)


@jit
def _go_back(s: Any, after: Any, m: int, d: float, width: int, p: Any) -> None:
    """Turn derivatives by log s after a step into those by log s before it."""
    k, all_through = m - 1, 0.0
    for c in range(m):
        p[m * width + c] = 0.0
    for r in range(m):
        from_r = 0.0
        for c in range(k):
            at, whole = r * width + c, after[r * k + c]
            if whole == -np.inf:
                p[at] = 0.0
                continue
            through = p[at] * np.exp(s[r * m + k] + s[m * m + c] - d - whole)
            p[at] *= np.exp(s[r * m + c] - whole)
            p[m * width + c] += through
            from_r += through
        p[r * width + k] = from_r
        all_through += from_r
    for r in range(1, m):
        p[r * width + k] += (1.0 - all_through) * np.exp(s[r * m + k] - d)
