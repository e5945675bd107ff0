"""How far rounding takes sums from the truth, and norms that keep their digits."""

from __future__ import annotations

import math

import numpy as np

from blockwolfe.base.inner import inner

__all__ = ["ROUNDING", "UNITS", "norm"]

# How far below zero rounding may push a quantity that is >= 0, relative to the terms it is made of:
# an oracle adds up thousands of them, in an order of its own.
ROUNDING = 1e-12
# Units of the last place by which sums are off, relative to their terms: above every error seen
# against exact arithmetic (docs/decisions.md).
UNITS = 8.0 * float(np.finfo(float).eps)


# Squares below this have lost digits: they are near the smallest numbers that there are.
SMALLEST_SQUARE = 1e-280


def norm(w: np.ndarray, square: float) -> float:
    """|w|, where <w, w> is `square`; infinite where that is, but not zero where that is.

    >>> norm(np.array([3.0, 4.0]), 25.0), norm(np.array([3e-300, 4e-300]), 0.0)
    (5.0, 5e-300)
    """
    if not square < SMALLEST_SQUARE:
        return math.sqrt(square)
    largest = float(np.abs(w).max(initial=0.0))
    return largest * math.sqrt(inner(w / largest, w / largest)) if largest > 0.0 else 0.0
