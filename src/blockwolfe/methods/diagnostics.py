"""Numbers about the block gaps that tell whether adaptive sampling pays (Osokin et al. 2016)."""

from __future__ import annotations

import math

import numpy as np

from blockwolfe.base.inner import inner
from blockwolfe.methods.ledger import Ledger

__all__ = ["gap_numbers", "non_uniformity"]


def non_uniformity(x: np.ndarray) -> float:
    """chi(x) = sqrt(1 + n^2 Var[x / |x|_1]): from 1, all equal, to sqrt(n), all in one.

    >>> non_uniformity(np.ones(9)), non_uniformity(np.array([0.0, 0.0, 0.0, 5.0]))
    (1.0, 2.0)
    """
    largest = float(np.max(x, initial=0.0))
    if largest == 0.0:
        return 1.0
    shares = x / largest  # (squares of numbers as they are may be too small or too large)
    return math.sqrt(len(x) * inner(shares, shares)) / float(np.sum(shares))


def gap_numbers(ledger: Ledger) -> dict[str, float]:
    """The trace's columns of a full pass.

    The curvature of a block is taken as the square of the longest direction it was seen to have.
    """
    gap, longest = ledger.gap, ledger.notes.longest
    if not np.isfinite(gap).all():
        return {}
    chi = non_uniformity(gap)
    factor = chi**3 / non_uniformity(longest) if longest.any() else np.nan
    return {"staleness": ledger.staleness, "chi": chi, "sampling_factor": float(factor)}
