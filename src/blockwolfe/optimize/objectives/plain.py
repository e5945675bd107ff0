"""A follower of any objective: nothing is maintained, values and gradients are computed anew.

Each is computed once at each x. What a line search saw at the step that it chose is kept as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from blockwolfe.base.checks import is_real
from blockwolfe.errors import OracleError
from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.objectives.followers import Follower
from blockwolfe.optimize.objectives.lines import Line
from blockwolfe.optimize.objectives.reading import read_point

__all__ = ["PlainFollower", "PlainLine", "checked_gradient", "checked_value"]


class _Evaluated(Protocol):
    """What this file needs of an objective."""

    @property
    def size(self) -> int | None: ...
    @property
    def has_block_gradient(self) -> bool: ...
    @property
    def value(self) -> Callable[[np.ndarray], Any]: ...
    @property
    def gradient(self) -> Callable[[np.ndarray], Any]: ...
    def block_gradient(self, x: np.ndarray, block: slice) -> Any: ...


def _at(x: np.ndarray) -> str:
    return f"at x = {np.array2string(x, precision=6, threshold=8, edgeitems=3)}"


def checked_value(value: Any, x: np.ndarray) -> float:
    """What `value(x)` returned: a finite number.

    >>> checked_value(float("nan"), np.zeros(2))
    Traceback (most recent call last):
    ...
    blockwolfe.errors.OracleError: value(x) is nan at x = [0. 0.]; expected a finite number ...
    """
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value[()]
    if not is_real(value):
        found = f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
        raise OracleError(f"value(x) returned {found} {_at(x)}; expected one real number.")
    if not np.isfinite(value):
        raise OracleError(
            f"value(x) is {float(value)} {_at(x)}; expected a finite number at every point of the "
            "domain."
        )
    return float(value)


def checked_gradient(
    gradient: Any, x: np.ndarray, size: int, name: str = "gradient(x)"
) -> np.ndarray:
    """What `gradient(x)` returned, as an own vector of `size` finite numbers.

    >>> checked_gradient([1.0], np.zeros(2), 2)
    Traceback (most recent call last):
    ...
    blockwolfe.errors.OracleError: gradient(x) returned shape (1,) at x = [0. 0.]; expected (2,)...
    """
    try:
        vector = np.array(gradient)
    except ValueError as error:
        raise OracleError(f"{name} returned no array {_at(x)}; expected ({size},).") from error
    if vector.dtype.kind not in "biuf":
        raise OracleError(
            f"{name} returned entries of type {vector.dtype} {_at(x)}; expected real numbers."
        )
    if vector.shape != (size,):
        raise OracleError(
            f"{name} returned shape {vector.shape} {_at(x)}; expected ({size},), flat and as long "
            "as what it is the gradient for."
        )
    is_bad = ~np.isfinite(vector)
    if is_bad.any():
        j = int(np.argmax(is_bad))
        raise OracleError(
            f"{name} has {vector[j]} in entry {j} {_at(x)}; expected finite numbers at every point "
            "of the domain."
        )
    return np.asarray(vector, dtype=np.float64)


class _Evaluation:
    """Value and gradient at one point, each computed when it is first asked for."""

    def __init__(self, objective: _Evaluated, x: np.ndarray) -> None:
        self._objective, self.x = objective, x
        self._value: float | None = None
        self._block, self._gradient = slice(0, 0), np.zeros(0)

    def value(self) -> float:
        if self._value is None:
            self._value = checked_value(self._objective.value(self.x.copy()), self.x)
        return self._value

    def gradient(self, block: slice) -> np.ndarray:
        """That of a block; of all of x where the objective cannot tell blocks apart."""
        known = self._block
        if not (known.start <= block.start and block.stop <= known.stop):
            self._compute(block)
            known = self._block
        return self._gradient[block.start - known.start : block.stop - known.start]

    def _compute(self, block: slice) -> None:
        if self._objective.has_block_gradient:
            found = self._objective.block_gradient(_read_only(self.x), block)
            size = block.stop - block.start
            self._gradient = checked_gradient(found, self.x, size, "block_gradient(x, block)")
            self._block = block
        else:
            found = self._objective.gradient(self.x.copy())
            self._gradient = checked_gradient(found, self.x, len(self.x))
            self._block = slice(0, len(self.x))


def _read_only(x: np.ndarray) -> np.ndarray:
    """A view that a user's function cannot write to; a copy would cost more than a block does."""
    view = x.view()
    view.setflags(write=False)
    return view


class PlainLine(Line):
    """f(x + gamma d) by evaluating f; the last point is kept."""

    def __init__(self, objective: _Evaluated, start: _Evaluation, direction: Direction) -> None:
        self.direction, self._objective, self._start = direction, objective, start
        self._span = direction.span()
        self.slope = self._slope_of(start)
        self._gamma, self._last = 0.0, start

    def value(self, gamma: float) -> float:
        """f(x + gamma d)."""
        return self.at(gamma).value()

    def slope_at(self, gamma: float) -> float:
        """The derivative at gamma."""
        return self._slope_of(self.at(gamma))

    def at(self, gamma: float) -> _Evaluation:
        """F at x + gamma d."""
        if gamma == 0.0:
            return self._start
        if gamma != self._gamma:
            x = self._start.x.copy()
            self.direction.add_to(x, gamma)
            self._gamma, self._last = gamma, _Evaluation(self._objective, x)
        return self._last

    def _slope_of(self, there: _Evaluation) -> float:
        return self.direction.dot(there.gradient(self._span), self._span.start)


class PlainFollower(Follower):
    """Any objective at a point that moves, by evaluating it anew."""

    def __init__(self, objective: _Evaluated, x: np.ndarray) -> None:
        self._objective = objective
        self.x = read_point(x, objective.size).copy()
        self._here = _Evaluation(objective, self.x)

    def value(self) -> float:
        """f(x)."""
        return self._here.value()

    def gradient(self, block: slice) -> np.ndarray:
        """The gradient at x in the coordinates of a block."""
        return self._here.gradient(block)

    def along(self, direction: Direction) -> PlainLine:
        """The objective on the line through x along d."""
        return PlainLine(self._objective, self._here, direction)

    def move(self, line: PlainLine, gamma: float) -> None:
        """Move x by gamma d."""
        there = line.at(gamma)
        if there is not self._here:
            self.x[line.direction.index] = there.x[line.direction.index]
            there.x, self._here = self.x, there

    def rebuild(self) -> None:
        """Nothing is maintained; what was computed at another x is forgotten."""
        self._here = _Evaluation(self._objective, self.x)
