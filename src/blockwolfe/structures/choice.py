"""One label out of `n_labels`: the argmax, lowest label first among equals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures.checks import check_scores

__all__ = ["enumerate_outputs", "maximize", "soften"]


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
