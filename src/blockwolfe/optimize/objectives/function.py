"""Objectives of the user's own: a pair of Python functions, or an object that has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.errors import InputError
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.objectives.plain import (
    PlainFollower,
    checked_gradient,
    checked_value,
)
from blockwolfe.optimize.objectives.reading import read_point

__all__ = ["Function", "as_objective"]


@dataclass(frozen=True)
class _Own:
    """The user's functions as they are."""

    value: Callable[[np.ndarray], Any]
    gradient: Callable[[np.ndarray], Any]
    of_block: Callable[[np.ndarray, slice], Any] | None
    size: int | None

    @property
    def has_block_gradient(self) -> bool:
        return self.of_block is not None

    def block_gradient(self, x: np.ndarray, block: slice) -> Any:
        return self.gradient(x)[block] if self.of_block is None else self.of_block(x, block)


class Function(Objective):
    """A smooth convex function by Python functions for its value and its gradient.

    `check_objective` tests them. All results are checked: what is not finite, or has the wrong
    shape, is an `OracleError` that says where.

    Parameters
    ----------
    value : x -> f(x), a number
    gradient : x -> the gradient at x, as long as x
    size : the length of x; None for any
    block_gradient : (x, block) -> the gradient in the coordinates ``x[block]``, a slice
        Only where it is cheaper than all of the gradient. It gets x read-only, not as a copy.

    Examples
    --------
    >>> f = Function(lambda x: np.exp(x).sum(), np.exp)
    >>> f.value([0.0, 0.0]), f.gradient([0.0, 0.0])
    (2.0, array([1., 1.]))
    """

    def __init__(
        self,
        value: Callable[[np.ndarray], Any],
        gradient: Callable[[np.ndarray], Any],
        size: int | None = None,
        block_gradient: Callable[[np.ndarray, slice], Any] | None = None,
    ) -> None:
        for name, given in (("value", value), ("gradient", gradient)):
            if not callable(given):
                raise InputError(f"{name}={given!r} is not a function; expected one of x.")
        if block_gradient is not None and not callable(block_gradient):
            raise InputError(
                f"block_gradient={block_gradient!r} is not a function; expected one of (x, block), "
                "or None."
            )
        check_integer("size", size, 1, or_none=True)
        self.size = None if size is None else int(size)
        self._own = _Own(value, gradient, block_gradient, self.size)

    def value(self, x: np.ndarray) -> float:
        """f(x)."""
        x = read_point(x, self.size)
        return checked_value(self._own.value(x), x)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient at x."""
        x = read_point(x, self.size)
        return checked_gradient(self._own.gradient(x), x, len(x))

    def block_gradient(self, x: np.ndarray, block: slice) -> np.ndarray:
        """The gradient at x in the coordinates of a block."""
        if not self.has_block_gradient:
            return self.gradient(x)[block]
        x = read_point(x, self.size)
        n = len(range(*block.indices(len(x))))
        found = self._own.block_gradient(x, block)
        return checked_gradient(found, x, n, "block_gradient(x, block)")

    @property
    def has_block_gradient(self) -> bool:
        """Whether one was given."""
        return self._own.has_block_gradient

    def follow(self, x: np.ndarray) -> PlainFollower:
        """The objective at a point that begins at x, which is copied."""
        return PlainFollower(self._own, x)  # (it checks the results itself)

    def __repr__(self) -> str:
        name = getattr(self._own.value, "__qualname__", type(self._own.value).__name__)
        return f"Function({name})"


def as_objective(thing: Any) -> Objective:
    """An objective, or what has `value(x)` and `gradient(x)`, as an `Objective`.

    `size` and `block_gradient` of such an object are used where it has them.

    >>> class Cosh:
    ...     def value(self, x):
    ...         return np.cosh(x).sum()
    ...     def gradient(self, x):
    ...         return np.sinh(x)
    >>> as_objective(Cosh()).value([0.0])
    1.0
    >>> as_objective(np.cosh)
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: objective=<ufunc 'cosh'> has no value(x) and no
    gradient(x); expected an objective as LeastSquares, ...
    """
    if isinstance(thing, Objective):
        return thing
    if isinstance(thing, type):
        raise InputError(
            f"objective is the class {thing.__name__}; expected an object of it, "
            f"as {thing.__name__}(...)."
        )
    missing = [n for n in ("value", "gradient") if not callable(getattr(thing, n, None))]
    if missing:
        lacks = " and ".join(f"no {name}(x)" for name in missing)
        raise InputError(
            f"objective={thing!r} has {lacks}; expected an objective as LeastSquares, an object "
            "with both methods, or Function(value, gradient)."
        )
    size, block_gradient = getattr(thing, "size", None), getattr(thing, "block_gradient", None)
    return Function(thing.value, thing.gradient, size, block_gradient)
