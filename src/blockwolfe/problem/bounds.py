"""Box constraints l <= w <= u: as a pair, or by the task's groups of weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blockwolfe.errors import InputError, OptionError, unknown_option
from blockwolfe.tasks.kernelized.task import is_kernelized

__all__ = ["box_of", "check_kernel_bounds"]

_EXPECTED = "expected (lower, upper): each a number, an array of length d, or None for none."


def box_of(bounds: Any, task: Any, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """(l, u) of length d, or two empty arrays when nothing is bounded.

    `bounds` is a pair (l, u), or a dict from the names of `task.groups` to pairs, as in
    ``{"transition": (0, None)}``. Bounds that the task itself asks for (`task.bounds`, in either
    form) hold besides.
    """
    lower, upper = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    for name, given in (("task.bounds", getattr(task, "bounds", None)), ("bounds", bounds)):
        if given is not None:
            _tighten(lower, upper, given, task, name)
    if not np.isfinite(lower).any() and not np.isfinite(upper).any():
        return np.zeros(0), np.zeros(0)
    return lower, upper


def check_kernel_bounds(bounds: Any, task: Any) -> None:
    """Refuse bounds on weights that a kernel never forms."""
    if not is_kernelized(task):
        return
    linear = [name for name, at in task.groups.items() if at.stop > at.start]
    bounded = list(bounds) if isinstance(bounds, Mapping) else [None]
    if not set(bounded) <= set(linear):
        raise OptionError(
            f"bounds={bounds!r} with kernel={task.kernel!r}: the weights of node inputs are never "
            "formed, and cannot be bounded. Bound groups of linear weights alone, by a dict; those "
            f"of this task are {', '.join(map(repr, linear)) or 'none'}."
        )


def _tighten(lower: np.ndarray, upper: np.ndarray, given: Any, task: Any, name: str) -> None:
    if not isinstance(given, Mapping):
        _tighten_slice(lower, upper, given, name)
        return
    groups = getattr(task, "groups", {})
    for group, pair in given.items():
        if group not in groups:
            raise unknown_option(f"{name} group", group, groups)
        at = groups[group]
        _tighten_slice(lower[at], upper[at], pair, f"{name}[{group!r}]")


def _tighten_slice(lower: np.ndarray, upper: np.ndarray, pair: Any, name: str) -> None:
    """Lower and upper are views: they are tightened in place."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise InputError(f"{name} is {pair!r}; {_EXPECTED}")
    np.maximum(lower, _side(pair[0], -np.inf, len(lower), f"{name}[0] (lower)"), out=lower)
    np.minimum(upper, _side(pair[1], np.inf, len(upper), f"{name}[1] (upper)"), out=upper)
    is_crossed = lower > upper
    if is_crossed.any():
        j = int(np.argmax(is_crossed))
        raise InputError(
            f"{name}: the lower bound {lower[j]:g} of weight {j} is above its upper bound "
            f"{upper[j]:g}; no w satisfies both."
        )
    if (lower == np.inf).any() or (upper == -np.inf).any():
        raise InputError(f"{name}: a lower bound of +inf or an upper bound of -inf admits no w.")


def _side(given: Any, none: float, size: int, name: str) -> np.ndarray:
    if given is None:
        return np.full(size, none)
    try:
        side = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is {given!r}; {_EXPECTED}") from error
    if side.ndim and side.shape != (size,):
        raise InputError(f"{name} has shape {side.shape}; expected a number or shape ({size},).")
    if np.isnan(side).any():
        raise InputError(f"{name} has NaN; use None, or an infinite value, for no bound.")
    return np.broadcast_to(side, (size,))
