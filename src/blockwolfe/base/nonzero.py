"""Which weights are not zero."""

from __future__ import annotations

import numpy as np

__all__ = ["is_nonzero"]

# Steps add up to zero only up to rounding: what is smaller than this share of the largest is such.
RESIDUE = 1e-12


def is_nonzero(w: np.ndarray) -> np.ndarray:
    """Whether each weight is more than what rounding leaves of a zero.

    >>> is_nonzero(np.array([1.0, 0.0, 1e-16])).tolist()
    [True, False, False]
    """
    size = np.abs(w)
    return np.asarray(size > RESIDUE * size.max(initial=0.0))
