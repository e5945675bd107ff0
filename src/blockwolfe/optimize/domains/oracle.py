"""A set given by a user's function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_flag
from blockwolfe.errors import InputError, OptionError, OracleError
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains.base import Domain
from blockwolfe.optimize.domains.reading import read_shape
from blockwolfe.optimize.reading import as_numbers, called_read_only

__all__ = ["Oracle"]


class Oracle(Domain):
    """The set that a linear oracle of your own describes. `check_domain` tests it.

    Parameters
    ----------
    f : callable
        ``f(gradient)`` returns a point of the set that minimises <gradient, point>: an array of
        `size`, or an `Atom`. The gradient has the same shape, and may not be written to.
    size : int or tuple of int
        Number of entries of a point, or its shape.
    is_polytope : bool, default=False
        Whether the set has finitely many extreme points, and `f` returns only those.
    project : callable, optional
        ``project(x)`` returns the nearest point of the set.

    Examples
    --------
    >>> def disc(gradient):
    ...     length = np.linalg.norm(gradient)
    ...     return -gradient / length if length else np.array([1.0, 0.0])
    >>> Oracle(disc, 2).minimize(np.array([3.0, 4.0]))
    Atom([-0.6 -0.8])
    """

    def __init__(
        self,
        f: Callable[[np.ndarray], Any],
        size: Any,
        is_polytope: bool = False,
        project: Callable[[np.ndarray], Any] | None = None,
    ) -> None:
        if not callable(f):
            raise OptionError(f"f={f!r} must be a function of the gradient that returns a point.")
        if project is not None and not callable(project):
            raise OptionError(f"project={project!r} must be a function of x, or None.")
        check_flag("is_polytope", is_polytope)
        super().__init__(read_shape("size", size), bool(is_polytope))
        self.f, self.own_projection = f, project
        self.has_projection = project is not None

    def minimize(self, gradient: np.ndarray) -> Atom:
        """What the function returns, checked: the right number of entries, all finite."""
        answer = called_read_only(
            "f", self.f, self._vector("gradient", gradient).reshape(self.shape)
        )
        if isinstance(answer, Atom):
            self._check("f", answer.size, answer.value)
            return answer
        return Atom.full(self._point("f", answer))

    def project(self, x: np.ndarray) -> np.ndarray:
        """What the user's projection returns, checked in the same way."""
        if self.own_projection is None:
            return super().project(x)
        x = self._vector("x", x).reshape(self.shape)
        return self._point("project", called_read_only("project", self.own_projection, x)).copy()

    def _point(self, name: str, answer: Any) -> np.ndarray:
        try:
            array = as_numbers(name, answer)
        except InputError as error:
            raise OracleError(
                f"{name} returned {type(answer).__name__}; expected an array of {self.shape} "
                "numbers, or an Atom."
            ) from error
        flat = array.reshape(-1) if array.shape == self.shape else array
        self._check(name, flat.size if flat.ndim == 1 else array.shape, flat)
        return flat

    def _check(self, name: str, size: Any, value: np.ndarray) -> None:
        if size != self.size:
            raise OracleError(f"{name} returned a point of size {size}; expected {self.shape}.")
        if not np.isfinite(value).all():
            raise OracleError(f"{name} returned a point with entries that are NaN or infinite.")

    def __repr__(self) -> str:
        named = getattr(self.f, "__name__", type(self.f).__name__)
        return f"Oracle({named}, {self.size if len(self.shape) == 1 else self.shape})"
