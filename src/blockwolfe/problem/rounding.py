"""How far rounding can take the numbers of a certificate from the truth.

A sum of terms t_k is off by at most a few units of the last place of sum_k |t_k|, however small
the sum itself is: what counts is the size of terms *before* they cancel. Every number here is a sum
of losses and of products of w with features. With R_i a bound on the norms of the terms of which
the feature vectors of block i (the corner found, the mean, the truth) are sums, R their weighted
sum, S_i the larger of R_i and that bound for any output of block i, and |w| the length of the
longer of the weights and those of the dual point (in an accelerated run they are two),

    scores of block i       their terms add up to at most |w| R_i       (Cauchy and Schwarz)
    v                       off by e_v = u R in norm
    primal and dual         off by u (sum_i weight_i (L_i + |w| S_i) + ell + lam |w|^2)
                            and by e_v^2 / lam: D is quadratic in v, which may be all noise

The primal has S_i because the oracle, too, adds up terms: an output that it passes over for one
without any features may be better by the rounding of its own score. R_i and S_i do not depend
on w: they are sums of |values| of parts times the largest norm of a feature column of the block.
Where parts are the features themselves no output is known but those found, and S_i is R_i.
"""

from __future__ import annotations

import numpy as np

from blockwolfe.base.inner import inner
from blockwolfe.base.rounding import UNITS

__all__ = ["magnitudes", "resolution"]


def magnitudes(loss: np.ndarray, reach: np.ndarray, length: float) -> np.ndarray:
    """Sizes of the terms of which hinges are made: L_i + |w| R_i, with |w| the `length`.

    >>> magnitudes(np.array([1.0]), np.array([2.0]), 5.0)
    array([11.])
    """
    return np.asarray(loss + length * reach)


def resolution(
    weight: np.ndarray,
    magnitude: np.ndarray,
    reach: np.ndarray,
    square: float,
    ell: float,
    lam: float,
) -> float:
    """The size of rounding errors in primal, dual and gap, where |w|^2 is `square`.

    >>> one = np.ones(1)
    >>> 0.0 < resolution(one, one, one, 1.0, 1.0, 1.0) < 1e-14
    True
    """
    terms = inner(weight, magnitude) + ell + lam * square
    noise = UNITS * inner(weight, reach)
    return UNITS * terms + noise * noise / lam
