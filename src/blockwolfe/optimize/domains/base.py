"""What a domain is: a convex compact set with a linear oracle.

    minimize(gradient) = an atom that minimises <gradient, s> over s in the set

is all that Frank-Wolfe steps ask of it. Points are flat float64 vectors of `size` entries; `shape`
is how users see them. Of atoms that tie, an oracle returns the same one each time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod
from typing import Any

import numpy as np

from blockwolfe.errors import InputError, OptionError
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.reading import are_finite, as_numbers

__all__ = ["Domain"]


class Domain(ABC):
    """A convex compact set that linear functions can be minimised over.

    A set of your own needs `minimize`; `project`, with `has_projection = True`, and `distance` let
    more be tested and more methods be used. `check_domain` tests what you have written.

    Parameters
    ----------
    shape : tuple of int
        The shape of a point as users see it.
    is_polytope : bool, default=True
        Whether the set is the convex hull of finitely many atoms.

    Examples
    --------
    >>> class Segment(Domain):
    ...     "All points between 0 and e, of which one coordinate is enough."
    ...     def minimize(self, gradient):
    ...         return Atom.unit(1, 0, 0.0 if gradient[0] >= 0.0 else 1.0)
    >>> Segment((1,)).minimize(np.array([-2.0]))
    Atom(size=1, {0: 1})
    """

    has_projection: bool = False
    n_atoms: int | None = None
    inexactness: float = 0.0  # what `minimize` may miss, relative to what it finds

    def __init__(self, shape: tuple[int, ...], is_polytope: bool = True) -> None:
        self.shape = shape
        self.size = prod(shape)
        self.is_polytope = is_polytope

    @abstractmethod
    def minimize(self, gradient: np.ndarray) -> Atom:
        """An atom that minimises <gradient, s>; of those that tie, always the same."""

    def minimize_among(self, gradient: np.ndarray, numbers: np.ndarray) -> Atom:
        """As `minimize`, but only among the atoms with these numbers, 0..n_atoms - 1."""
        raise self._unnumbered()

    def coordinates(self, numbers: np.ndarray) -> np.ndarray | None:
        """Those that `minimize_among` looks at; None for all of them."""
        return None

    def atom(self, number: int) -> Atom:
        """The atom with this number, 0..n_atoms - 1."""
        raise self._unnumbered()

    def start(self) -> Atom:
        """Where a run begins unless it is told."""
        return self.minimize(np.zeros(self.size))

    def project(self, x: np.ndarray) -> np.ndarray:
        """The point of the set that is nearest to x in the Euclidean norm."""
        raise OptionError(
            f"{self!r} has no projection; choose a method that uses its linear oracle."
        )

    def distance(self, x: np.ndarray) -> float:
        """How far x is from the set: 0 inside, to rounding; NaN where that cannot be told."""
        if not self.has_projection:
            return float("nan")
        x = self._vector("x", x)
        return float(np.linalg.norm(x - self.project(x)))

    @property
    def blocks(self) -> tuple[Domain, ...]:
        """The sets that this one is the product of."""
        return (self,)

    def _vector(self, name: str, value: Any) -> np.ndarray:
        """A finite vector of this domain's space."""
        vector = self._of_size(name, value)
        if not are_finite(vector):
            raise InputError(f"{name} has entries that are NaN or infinite; expected finite ones.")
        return vector

    def _of_size(self, name: str, value: Any) -> np.ndarray:
        vector = as_numbers(name, value)
        if vector.shape != (self.size,):
            remedy = " Ravel it." if vector.size == self.size else ""
            raise InputError(
                f"{name} has shape {vector.shape}; expected ({self.size},), a flat vector of "
                f"{self!r}.{remedy}"
            )
        return vector

    def _numbers(self, numbers: Any) -> np.ndarray:
        """Numbers of atoms, at least one."""
        array = np.asarray(numbers)
        if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
            raise InputError(
                f"numbers has shape {array.shape} and type {array.dtype.name}; expected a flat "
                "list of at least one integer."
            )
        if array.min() < 0 or array.max() >= (self.n_atoms or 0):
            raise InputError(
                f"numbers go from {array.min()} to {array.max()}; atoms of {self!r} are 0.."
                f"{(self.n_atoms or 0) - 1}."
            )
        return array

    def _lowest(self, values: np.ndarray, numbers: np.ndarray) -> int:
        """The number whose value is lowest; the smallest of those that tie."""
        if not np.isfinite(values).all():
            raise InputError("gradient has entries that are NaN or infinite; expected finite ones.")
        return int(numbers[values == values.min()].min())

    def _unnumbered(self) -> OptionError:
        return OptionError(
            f"the atoms of {self!r} are not numbered (n_atoms is None); use minimize, or a domain "
            "with few atoms such as Simplex, L1Ball or Vertices."
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape})"
