"""Doubts about an oracle and a gradient that may be a user's own, before their gap is believed.

A wrong sign shows once x moves by steps that must descend. Where none was made, or nothing is said
of descent, it can leave x at a corner with a gap of zero: a false certificate. One more question
tells: the point that lies farthest along the gradient. It must not score below the answer that the
gap was made with, and half-way to it a convex f must not be below its tangent.
"""

from __future__ import annotations

import numpy as np

from blockwolfe.errors import OracleError
from blockwolfe.optimize.engine import OptimizeEngine
from blockwolfe.optimize.space import Place

__all__ = ["check_signs"]

# How clearly f must be below its tangent, relative to what is compared.
CLEARLY = 1e-6


def check_signs(engine: OptimizeEngine) -> None:
    """Refuse an oracle, or an objective, whose sign one more question shows to be wrong."""
    if engine.counts.steps and engine.method.is_monotone:
        return
    x, places = engine.w, engine.space.places
    gradient = np.concatenate([engine.follower.gradient(place.at) for place in places])
    far = np.concatenate([_farthest(place, gradient[place.at]) for place in places])
    _check_tangent(engine, x, gradient, far)


def _farthest(place: Place, gradient: np.ndarray) -> np.ndarray:
    near, far = place.minimize(gradient), place.minimize(-gradient)
    place.check_least(gradient, near, far, "the one it returns for the opposite gradient")
    return far.dense()


def _check_tangent(
    engine: OptimizeEngine, x: np.ndarray, gradient: np.ndarray, far: np.ndarray
) -> None:
    move = 0.5 * (far - x)
    value, slope = engine.follower.value(), float(gradient @ move)
    try:
        with np.errstate(all="ignore"):
            there = engine.objective.value(x + move)
    except (OracleError, ArithmeticError, ValueError):
        return  # (an f that is not defined there says nothing)
    if there < value + slope - CLEARLY * (abs(value) + abs(there) + abs(slope)):
        raise OracleError(
            f"{engine.objective!r} is {there:.6g} half-way from the result to another point of the "
            f"domain, below its tangent, {value + slope:.6g}: it is not convex, or its gradient is "
            "wrong. Is the sign of the gradient right? Run check_objective on it."
        )
