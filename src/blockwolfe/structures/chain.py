"""Label sequences scored by position and by neighbouring pair: exact maximum by Viterbi.

    score(y) = sum_t unary[t, y_t] + sum_t transition[y_t, y_{t+1}]

Start and end scores are part of `unary[0]` and `unary[-1]`. A label that is not
allowed at a position has the score `FORBIDDEN` there: large but finite, so that
compiled arithmetic stays defined.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures.checks import check_scores

__all__ = ["FORBIDDEN", "enumerate_outputs", "maximize", "maximize_into", "score"]

FORBIDDEN = -1e200


@jit(inline="always")  # a call would count references to its arrays, at every position
def max_plus(before: Any, transition: Any, now: Any, n_labels: int) -> None:
    """now[k] = max_j before[j] + transition[j, k], four rows of `transition` at a time.

    The hot loop of the library: one load and store of `now` per four rows, and an inner loop
    that vectorises.
    """
    for k in range(n_labels):
        now[k] = before[0] + transition[0, k]
    j = 1
    while j + 4 <= n_labels:
        prefixes = before[j], before[j + 1], before[j + 2], before[j + 3]
        rows = transition[j], transition[j + 1], transition[j + 2], transition[j + 3]
        raise_by_four(prefixes, rows, now, n_labels)
        j += 4
    while j < n_labels:
        raise_by_one(before[j], transition[j], now, n_labels)
        j += 1


@jit(inline="always")
def raise_by_four(prefixes: Any, rows: Any, now: Any, n_labels: int) -> None:
    """now[k] = the largest of now[k] and the four prefixes[i] + rows[i][k]."""
    p0, p1, p2, p3 = prefixes
    r0, r1, r2, r3 = rows
    for k in range(n_labels):
        a, b, c, d = p0 + r0[k], p1 + r1[k], p2 + r2[k], p3 + r3[k]
        a = a if a > b else b
        c = c if c > d else d
        a = a if a > c else c
        now[k] = a if a > now[k] else now[k]


@jit(inline="always")
def raise_by_one(prefix: float, row: Any, now: Any, n_labels: int) -> None:
    """now[k] = the larger of now[k] and prefix + row[k]."""
    for k in range(n_labels):
        a = prefix + row[k]
        now[k] = a if a > now[k] else now[k]


@jit
def maximize_into(unary: Any, transition: Any, best: Any, labels: Any) -> None:
    """Write the best label sequence into `labels`; ties go to the lowest label.

    `best` is scratch of at least the shape of `unary`: best[t, k] is the score of
    the best prefix that ends in label k at position t. The forward sweep takes
    maxima only; the argmax is recomputed along the one path that is followed back.
    """
    n_positions, n_labels = unary.shape
    for k in range(n_labels):
        best[0, k] = unary[0, k]
    for t in range(1, n_positions):
        max_plus(best[t - 1], transition, best[t], n_labels)
        for k in range(n_labels):
            best[t, k] += unary[t, k]
    _follow_back(transition, best, n_positions, n_labels, labels)


@jit
def _follow_back(transition: Any, best: Any, n_positions: int, n_labels: int, labels: Any) -> None:
    last = n_positions - 1
    label = 0
    for k in range(1, n_labels):
        if best[last, k] > best[last, label]:
            label = k
    labels[last] = label
    for t in range(last - 1, -1, -1):
        following = label
        label = 0
        top = best[t, 0] + transition[0, following]
        for j in range(1, n_labels):
            candidate = best[t, j] + transition[j, following]
            if candidate > top:
                top = candidate
                label = j
        labels[t] = label


def maximize(unary: Any, transition: Any, allowed: Any = None) -> np.ndarray:
    """Best label sequence for `unary` (T, K), `transition` (K, K), `allowed` (T, K) or None.

    >>> maximize(np.array([[1.0, 0.0], [0.0, 0.5]]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    array([0, 0])
    """
    unary = checked_unary(unary, allowed)
    transition = checked_transition(transition, unary.shape[1])
    labels = np.empty(len(unary), dtype=np.int64)
    maximize_into(unary, transition, np.empty_like(unary), labels)
    return labels


def checked_transition(transition: Any, n_labels: int) -> np.ndarray:
    """Scores of neighbouring pairs, a row and a column for each label."""
    transition = check_scores(transition, "transition", ("n_labels", "n_labels"), is_finite=False)
    if transition.shape != (n_labels, n_labels):
        raise InputError(
            f"transition has shape {transition.shape}; expected ({n_labels}, {n_labels}), a row "
            "and a column per label of unary."
        )
    return transition


def checked_unary(unary: Any, allowed: Any) -> np.ndarray:
    """A copy of the scores of positions, with those that are not allowed at `FORBIDDEN`."""
    unary = check_scores(unary, "unary", ("n_positions", "n_labels"), is_finite=False).copy()
    if not unary.size:
        raise InputError(f"unary has shape {unary.shape}; expected a position and a label.")
    if allowed is not None:
        mask = np.asarray(allowed, dtype=bool)
        if mask.shape != unary.shape:
            raise InputError(f"allowed has shape {mask.shape}; expected {unary.shape}, as unary.")
        unary[~mask] = FORBIDDEN
    return unary


def score(unary: Any, transition: Any, labels: Any) -> float:
    """Score of one label sequence.

    >>> score(np.array([[1.0, 0.0], [0.0, 0.5]]), np.eye(2), [0, 1])
    1.5
    """
    labels = np.asarray(labels)
    along = np.asarray(unary)[np.arange(len(labels)), labels].sum()
    return float(along + np.asarray(transition)[labels[:-1], labels[1:]].sum())


def enumerate_outputs(
    n_positions: int, n_labels: int, allowed: Any = None
) -> Iterator[tuple[int, ...]]:
    """Every (allowed) label sequence, for checks on small problems.

    >>> list(enumerate_outputs(2, 2))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    choices: list[Any] = [range(n_labels)] * n_positions
    if allowed is not None:
        choices = [np.flatnonzero(row).tolist() for row in np.asarray(allowed)]
    yield from itertools.product(*choices)
