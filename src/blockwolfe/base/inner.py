"""Inner products of long vectors, on one core."""

from __future__ import annotations

import numpy as np

__all__ = ["inner"]


def inner(a: np.ndarray, b: np.ndarray) -> float:
    """<a, b>, to the same bits on any number of cores.

    BLAS would share it out, and its threads keep a core busy with waiting for a while after.

    >>> inner(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i", a, b))
