"""A concave quadratic over a unit box, of a few variables, solved exactly.

    maximise  f(c) = <s, c> - <c, Q c> / 2      0 <= c <= 1

Sweeps of exact coordinate steps find the face, a Newton step on the variables strictly between
their bounds finds the maximum on it; both never decrease f. Q may be singular.
"""

from __future__ import annotations

import numpy as np

__all__ = ["maximize_on_box"]

EPS = float(np.finfo(np.float64).eps)
# Slopes are zero where they are below this many units of rounding of their terms.
UNITS = 8.0
# Far more rounds than were ever seen: only NaN, or slopes that are all rounding, reach it.
MOST_ROUNDS = 200


def maximize_on_box(Q: np.ndarray, s: np.ndarray) -> np.ndarray:
    """The maximiser; where there are several, one of them.

    >>> maximize_on_box(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, 5.0]))
    array([0., 1.])
    """
    c = np.zeros(len(s))
    for _ in range(MOST_ROUNDS):
        _sweep(Q, s, c)
        _newton(Q, s, c)
        if _is_maximal(Q, s, c):
            break
    return c


def _sweep(Q: np.ndarray, s: np.ndarray, c: np.ndarray) -> None:
    """One exact step in every coordinate; a flat one goes to its bound if that is uphill."""
    for k in range(len(c)):
        slope = s[k] - Q[k] @ c
        if slope * slope > 0.0:
            step = slope / Q[k, k] if Q[k, k] > 0.0 else np.copysign(np.inf, slope)
            c[k] = min(max(c[k] + step, 0.0), 1.0)


def _newton(Q: np.ndarray, s: np.ndarray, c: np.ndarray) -> None:
    """Towards the maximum on the face of c, as far as the box goes."""
    free = np.flatnonzero((c > 0.0) & (c < 1.0))
    if not len(free):
        return
    slope = (s - Q @ c)[free]
    step = np.linalg.lstsq(Q[np.ix_(free, free)], slope, rcond=None)[0]
    if not slope @ step > 0.0:
        return
    room = np.where(step > 0.0, 1.0 - c[free], c[free])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.nanmin(np.append(room / np.abs(step), 1.0))
    c[free] = np.clip(c[free] + share * step, 0.0, 1.0)


def _is_maximal(Q: np.ndarray, s: np.ndarray, c: np.ndarray) -> bool:
    """Whether no coordinate can go uphill by more than rounding."""
    slope, rounding = s - Q @ c, UNITS * EPS * (np.abs(s) + np.abs(Q) @ c)
    is_uphill = ((slope > rounding) & (c < 1.0)) | ((slope < -rounding) & (c > 0.0))
    return not is_uphill.any()
