"""One label out of `n_labels`: the argmax, lowest label first among equals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blockwolfe.compiled import jit

__all__ = ["enumerate_outputs", "maximize"]


@jit
def maximize(theta: Any) -> int:
    """Label of the largest score.

    >>> import numpy as np
    >>> maximize(np.array([0.0, 2.0, 2.0]))
    1
    """
    best = 0
    for k in range(1, theta.shape[0]):
        if theta[k] > theta[best]:
            best = k
    return best


def enumerate_outputs(n_labels: int) -> Iterator[int]:
    """Every output, for checks on small problems.

    >>> list(enumerate_outputs(3))
    [0, 1, 2]
    """
    yield from range(n_labels)
