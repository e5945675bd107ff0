"""Boxes and the Euclidean ball."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.errors import InputError
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains.base import Domain
from blockwolfe.optimize.domains.reading import finite_array
from blockwolfe.optimize.domains.scaled import ScaledDomain
from blockwolfe.optimize.reading import as_numbers

__all__ = ["Box", "L2Ball"]


class Box(Domain):
    """Vectors with lower <= x <= upper, entry by entry.

    Parameters
    ----------
    lower, upper : array or float
        Bounds of every entry; a number holds for all of them. They are finite: linear functions
        have no minimum on a side without end.
    n : int, optional
        Number of entries, where both bounds are numbers.

    Examples
    --------
    >>> box = Box(0.0, [1.0, 2.0, 3.0])
    >>> box.minimize(np.array([1.0, -1.0, 0.0]))
    Atom([0. 2. 0.])
    >>> box.project(np.array([-1.0, 1.0, 9.0]))
    array([0., 1., 3.])
    >>> Box(-1.0, 1.0, n=2)
    Box(shape=(2,))
    """

    has_projection = True

    def __init__(self, lower: Any, upper: Any, n: int | None = None) -> None:
        low, high = _side("lower", lower), _side("upper", upper)
        shape = _common_shape(low, high, n)
        low, high = np.broadcast_to(low, shape).ravel(), np.broadcast_to(high, shape).ravel()
        above = np.flatnonzero(low > high)
        if len(above):
            j = int(above[0])
            raise InputError(
                f"lower[{j}]={low[j]:g} is above upper[{j}]={high[j]:g}; expected lower <= upper "
                "everywhere (are they swapped?)."
            )
        self.lower, self.upper = low, high
        super().__init__(shape)

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The corner with the lower bound where the gradient is >= 0, and the upper elsewhere."""
        gradient = self._vector("gradient", gradient)
        return Atom.owning(np.where(gradient < 0.0, self.upper, self.lower))

    def project(self, x: np.ndarray) -> np.ndarray:
        """Each entry moved to the nearest bound that it is beyond."""
        return np.clip(self._vector("x", x), self.lower, self.upper)


def _side(name: str, bound: Any) -> np.ndarray:
    array = as_numbers(name, bound)
    if np.isinf(array).any():
        raise InputError(
            f"{name} has infinite entries, and the linear oracle has no minimum on an unbounded "
            "set; give finite bounds that the solution surely meets."
        )
    return finite_array(name, array)


def _common_shape(low: np.ndarray, high: np.ndarray, n: int | None) -> tuple[int, ...]:
    """Of both bounds, or (n,) where both are numbers."""
    check_integer("n", n, 1, or_none=True)
    shapes = {bound.shape for bound in (low, high) if bound.ndim}
    if n is not None:
        shapes.add((int(n),))
    if not shapes:
        raise InputError("lower and upper are numbers; say how many entries there are by n=.")
    if len(shapes) > 1:
        n_told = "" if n is None else f" and n={n}"
        raise InputError(
            f"lower has shape {low.shape}, upper {high.shape}{n_told}; expected one shape, or "
            "numbers that hold for all entries."
        )
    return shapes.pop()


class L2Ball(ScaledDomain):
    """Vectors whose Euclidean distance from `center` is at most `radius`.

    Parameters
    ----------
    n : int
        Number of entries.
    radius : float, default=1.0
        The largest distance.
    center : array of n floats, optional
        The middle of the ball, 0 where not given.

    Examples
    --------
    >>> L2Ball(2, radius=10.0).minimize(np.array([3.0, -4.0]))
    Atom([-6.  8.])
    """

    has_projection = True

    def __init__(self, n: int, radius: float = 1.0, center: Any = None) -> None:
        super().__init__(n, radius, is_polytope=False)
        self.center = np.zeros(self.n) if center is None else finite_array("center", center)
        if self.center.shape != self.shape:
            raise InputError(f"center has shape {self.center.shape}; expected {self.shape}.")

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The point straight against the gradient; center + radius * e_0 where that is zero."""
        gradient = self._vector("gradient", gradient)
        largest = float(np.abs(gradient).max())
        if largest == 0.0:
            direction = np.zeros(self.n)
            direction[0] = 1.0
        else:
            direction = gradient / -largest  # (squares of very large or small entries are lost)
            direction /= np.linalg.norm(direction)
        return Atom.owning(self.center + self.radius * direction)

    def project(self, x: np.ndarray) -> np.ndarray:
        """The same point inside; outside, where the line to the center enters."""
        x = self._vector("x", x)
        away = x - self.center
        length = float(np.linalg.norm(away))
        return x.copy() if length <= self.radius else self.center + self.radius / length * away
