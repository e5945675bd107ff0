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

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from blockwolfe.errors import InputError

__all__ = ["log_partition", "marginals"]


class _Step(NamedTuple):
    """Elimination of word k: what was left (without k), and log s, log D_k before it."""

    k: int
    left: np.ndarray
    s: np.ndarray
    d: float


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
    steps, last = _eliminate(scores)
    return float(sum(step.d for step in steps) + last.s[0, last.k])


def marginals(scores: Any) -> np.ndarray:
    """Probability of each arc, (n + 1, n + 1), when a tree's is exp(score) / Z.

    >>> marginals([[0, 0, 0], [0, 0, 0], [0, 0, 0]])
    array([[0. , 0.5, 0.5],
           [0. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    steps, last = _eliminate(scores)
    p = np.zeros_like(last.s)
    p[0, last.k] = 1.0
    for step, after in zip(reversed(steps), reversed([*steps, last][1:]), strict=True):
        _go_back(step, after.s, p)
    return p


def _eliminate(scores: Any) -> tuple[list[_Step], _Step]:
    s = check_scores(scores)
    left = np.arange(1, len(s))
    steps = []
    while len(left) > 1:
        into = logsumexp(s[np.ix_(left, left)], axis=0)
        at = int(np.argmax(into))  # (any word with D > 0 will do)
        k, d = int(left[at]), float(into[at])
        _check_possible(d)
        left = np.delete(left, at)
        steps.append(_Step(k, left, s, d))
        s = s.copy()
        rows = np.append(0, left)
        detour = s[rows, k][:, None] + s[k, left][None, :] - d
        block = np.logaddexp(s[np.ix_(rows, left)], detour)
        block[np.arange(1, len(rows)), np.arange(len(left))] = -np.inf
        s[np.ix_(rows, left)] = block
    k = int(left[0])
    _check_possible(float(s[0, k]))
    return steps, _Step(k, left, s, 0.0)


def _check_possible(log_weight: float) -> None:
    if log_weight == -np.inf:
        raise no_tree()


def _go_back(step: _Step, after: np.ndarray, p: np.ndarray) -> None:
    """Turn derivatives by log s after a step into those by log s before it."""
    k, left, s, d = step
    rows = np.append(0, left)
    block = np.ix_(rows, left)
    whole = np.where(np.isneginf(after[block]), np.inf, after[block])  # (then shares are zero)
    direct = np.exp(s[block] - whole)
    through = p[block] * np.exp(s[rows, k][:, None] + s[k, left][None, :] - d - whole)
    p[block] *= direct
    p[k, left] += through.sum(axis=0)
    p[rows, k] += through.sum(axis=1)
    p[left, k] += (1.0 - through.sum()) * np.exp(s[left, k] - d)
