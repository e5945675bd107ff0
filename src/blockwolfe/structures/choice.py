"""One label out of `n_labels`: the argmax, lowest label first among equals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures.checks import check_scores

__all__ = ["enumerate_outputs", "maximize", "project", "soften"]


@jit
def best_label(theta: Any) -> int:
    """`maximize` in compiled code, where nothing is checked."""
    best = 0
    for k in range(1, theta.shape[0]):
        if theta[k] > theta[best]:
            best = k
    return best


@jit
def soften(theta: Any) -> float:
    """Put probabilities in the place of scores; the logarithm of the sum of exp(score).

    >>> scores = np.log([1.0, 3.0])
    >>> round(float(np.exp(soften(scores))), 6), scores.round(6)
    (4.0, array([0.25, 0.75]))
    """
    top, total = theta[best_label(theta)], 0.0
    for k in range(theta.shape[0]):
        theta[k] = np.exp(theta[k] - top)
        total += theta[k]
    for k in range(theta.shape[0]):
        theta[k] /= total
    return float(top + np.log(total))


@jit
def project(theta: Any) -> None:
    """Put the nearest point of the simplex in the place of scores.

    It is max(score - t, 0) with the t that makes its sum one; t is at least the highest score
    less one, and grows while scores that are not above it are left out of its mean.

    >>> scores = np.array([0.5, 1.1, -3.0])
    >>> project(scores)
    >>> scores.round(6)
    array([0.2, 0.8, 0. ])
    """
    top, level = theta[best_label(theta)], -1.0
    n, n_before = theta.shape[0] + 1, theta.shape[0] + 2
    while n < n_before:  # (rounding may bring a score back: it must not go on for ever)
        n_before, n, total = n, 0, 0.0
        for k in range(theta.shape[0]):
            if theta[k] - top > level:
                total += theta[k] - top
                n += 1
        if n > 0:  # (no score is above the highest where one is no number)
            level = max(level, (total - 1.0) / n)
    for k in range(theta.shape[0]):
        theta[k] = max(theta[k] - top - level, 0.0)


def maximize(theta: Any) -> int:
    """Label of the largest score.

    >>> maximize([0.0, 2.0, 2.0])
    1
    """
    scores = check_scores(theta, "theta", ("n_labels",), is_finite=False)
    if not len(scores):
        raise InputError("theta is empty; expected a score for at least one label.")
    return int(best_label(scores))


def enumerate_outputs(n_labels: int) -> Iterator[int]:
    """Every output, for checks on small problems.

    >>> list(enumerate_outputs(3))
    [0, 1, 2]
    """
    yield from range(n_labels)
