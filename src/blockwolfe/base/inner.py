"""Inner products of long vectors, on one core."""

from __future__ import annotations

import numpy as np

__all__ = ["inner"]


def inner(a: np.ndarray, b: np.ndarray) -> float:
    """<a, b>, to the same bits on any number of cores.

    BLAS would share it out, and its threads keep a core busy with waiting for a while after.
    Summed in pairs: one after another, 200,000 terms lose two digits more.

    >>> inner(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    with np.errstate(over="ignore", invalid="ignore"):  # (who asks looks at the number)
        return float(np.multiply(a, b).sum())
