"""Exact line searches along a direction d of v (the mathematics, (4)).

The slope of the dual at the beginning is s = change of ell minus <w, d>.

Without bounds the dual is one quadratic along the line, and

    gamma* = clip(lam s / |d|^2, 0, gamma_max).

With bounds l <= w <= u the slope at gamma is

    slope(gamma) = ell' - sum_j d_j clip((v_j + gamma d_j) / lam, l_j, u_j),

continuous, piecewise linear and never increasing. lam s / |d|^2 is then a lower bound of its
root, the *safe* step; the *exact* one is found by Newton's method inside a bracket, which ends
on the linear piece that holds the root.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import call, jit

__all__ = ["Box", "bounded_step", "clip_weights", "free_step", "step_along"]

MAX_TRIALS = 100


class Box(NamedTuple):
    """Bounds of w, and v / lam before they are applied; all empty when there are no bounds."""

    lower: np.ndarray
    upper: np.ndarray
    raw: np.ndarray


@jit(inline="always")
def free_step(lam: float, slope: float, sqnorm: float, gamma_max: float) -> float:
    """(4) without bounds; also the safe step under bounds."""
    if slope <= 0.0:
        return 0.0
    if gamma_max * sqnorm <= lam * slope:
        return gamma_max
    return lam * slope / sqnorm


@jit
def _slope_at(gamma: float, box: Any, index: Any, move: Any, size: int) -> tuple[float, float]:
    """<w(gamma), move> and its derivative, w(gamma) = clip(raw + gamma move, l, u)."""
    lower, upper, raw = box
    total, bend = 0.0, 0.0
    for k in range(size):
        j = index[k]
        moved = raw[j] + gamma * move[k]
        if moved <= lower[j]:
            total += lower[j] * move[k]
        elif moved >= upper[j]:
            total += upper[j] * move[k]
        else:
            total += moved * move[k]
            bend += move[k] * move[k]
    return total, bend


@jit
def bounded_step(
    box: Any, index: Any, move: Any, size: int, scaled_slope: float, gamma_max: float
) -> float:
    """The root of the slope on [0, gamma_max].

    `move` is d / lam at the coordinates `index`; `scaled_slope` is s / lam at gamma = 0.
    """
    if scaled_slope <= 0.0:
        return 0.0
    at_zero, _ = _slope_at(0.0, box, index, move, size)
    ell_change = scaled_slope + at_zero
    low, high = 0.0, gamma_max
    total, bend = _slope_at(high, box, index, move, size)
    if ell_change - total >= 0.0:
        return gamma_max
    gamma, slope = high, ell_change - total
    for _ in range(MAX_TRIALS):
        newton = gamma + slope / bend if bend > 0.0 else -1.0
        gamma = newton if low < newton < high else 0.5 * (low + high)
        total, bend = _slope_at(gamma, box, index, move, size)
        slope = ell_change - total
        if abs(slope) <= 1e-14 * (abs(ell_change) + abs(total)) or high - low <= 1e-16 * high:
            break
        if slope > 0.0:
            low = gamma
        else:
            high = gamma
    return gamma


@jit
def clip_weights(box: Any, index: Any, move: Any, size: int, gamma: float, w: Any) -> None:
    """Add gamma move to raw, and set w = clip(raw, l, u), at the coordinates of the move."""
    lower, upper, raw = box
    for k in range(size):
        j = index[k]
        raw[j] += gamma * move[k]
        w[j] = min(max(raw[j], lower[j]), upper[j])


def step_along(box: Box, move: np.ndarray, scaled_slope: float) -> float:
    """The exact step, of at most one, along a move of all coordinates."""
    args = (box, np.arange(len(move)), move, len(move), scaled_slope, 1.0)
    return float(call(bounded_step, "bounded step", *args))
