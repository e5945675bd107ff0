"""f(x) = 1/2 x^T Q x + <c, x>, by Q x.

gradient        Q x + c
along d         slope <Q x + c, d>, curvature <d, Q d>
a move          Q x += gamma Q d
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from blockwolfe.errors import InputError
from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.objectives.convexity import negative_eigenvalue
from blockwolfe.optimize.objectives.followers import Follower
from blockwolfe.optimize.objectives.lines import QuadraticLine
from blockwolfe.optimize.objectives.matrices import columns_of
from blockwolfe.optimize.objectives.reading import read_matrix, read_point, read_vector

__all__ = ["Quadratic"]

# Largest asymmetry that is taken for rounding, as a share of the largest entry.
_ROUNDING = 1e-12


class Quadratic(Objective):
    """1/2 x^T Q x + <c, x>, with Q symmetric and positive semidefinite.

    A Q with a negative eigenvalue is refused: f is not convex then, and no gap would be one. Up to
    1000 coordinates that is decided; beyond, by some steps of Lanczos' method, which find what is
    far from semidefinite but are no proof.

    Parameters
    ----------
    Q : dense or scipy.sparse matrix, symmetric up to rounding
        Not copied where it is exactly symmetric and Fortran-ordered float64, or CSC: do not write
        to it afterwards.
    c : a vector; None for zero

    Examples
    --------
    >>> f = Quadratic([[2.0, 0.0], [0.0, 4.0]], [-2.0, 0.0])
    >>> f.value([1.0, 1.0]), f.gradient([1.0, 1.0])
    (1.0, array([0., 4.]))
    >>> Quadratic([[1.0, 2.0], [2.0, 1.0]])
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: Q is not positive semidefinite: it has an eigenvalue <= -1...
    """

    is_quadratic: ClassVar[bool] = True

    def __init__(self, Q: Any, c: Any = None) -> None:
        Q = read_matrix("Q", Q)
        self.size = Q.shape[1]
        self.c = None
        if c is not None:
            self.c = read_vector("c", c, self.size, of="one entry per column of Q").copy()
        self.Q = _symmetric(Q)
        least = negative_eigenvalue(self.Q)
        if least is not None:
            raise InputError(
                f"Q is not positive semidefinite: it has an eigenvalue <= {least:.6g}, so that f "
                "is not convex. Add at least minus that to the diagonal, or look for a sign error."
            )

    def value(self, x: np.ndarray) -> float:
        """f(x)."""
        return self.follow(x).value()

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient at x."""
        return self.follow(x).gradient(slice(0, self.Q.shape[1]))

    def block_gradient(self, x: np.ndarray, block: slice) -> np.ndarray:
        """The gradient at x in the coordinates of a block."""
        x = read_point(x, self.size)
        found = columns_of(self.Q).adjoint(x, block)  # (the rows of the block alone)
        return found if self.c is None else found + self.c[block]

    def follow(self, x: np.ndarray) -> QuadraticFollower:
        """The objective at a point that begins at x."""
        return QuadraticFollower(self, read_point(x, self.size).copy())

    def __repr__(self) -> str:
        return f"Quadratic({self.size} x {self.size})"


def _symmetric(Q: Any) -> Any:
    """(Q + Q^T) / 2, which has the same f, where the two differ by no more than rounding."""
    if Q.shape[0] != Q.shape[1]:
        raise InputError(f"Q has shape {Q.shape}; expected as many rows as columns.")
    apart, largest = float(abs(Q - Q.T).max()), float(abs(Q).max())
    if apart > _ROUNDING * largest:
        raise InputError(
            f"Q is not symmetric: entries mirrored at the diagonal differ by up to {apart:.6g}; "
            "pass (Q + Q.T) / 2, which gives the same f."
        )
    return Q if apart == 0.0 else read_matrix("Q", 0.5 * (Q + Q.T))


class QuadraticFollower(Follower):
    """It maintains Q x."""

    maintained: ClassVar[tuple[str, ...]] = ("product",)

    def __init__(self, objective: Quadratic, x: np.ndarray) -> None:
        self.x, self._c = x, objective.c
        self._matrix = columns_of(objective.Q)
        self._scratch = np.zeros(len(x))
        self.rebuild()

    def value(self) -> float:
        """f(x)."""
        half = 0.5 * float(np.dot(self.x, self.product))
        return half if self._c is None else half + float(np.dot(self._c, self.x))

    def gradient(self, block: slice) -> np.ndarray:
        """The gradient at x in the coordinates of a block."""
        return self._gradient_at(block)

    def entries(self, index: np.ndarray) -> np.ndarray:
        """The gradient at x in some coordinates."""
        return self._gradient_at(index)

    def _gradient_at(self, index: np.ndarray | slice) -> np.ndarray:
        product = self.product[index]
        return product if self._c is None else product + self._c[index]

    def along(self, direction: Direction) -> QuadraticLine:
        """The objective on the line through x along d."""
        image = self._matrix.image(direction)
        slope = float(np.dot(self._gradient_at(direction.index), direction.value))
        return QuadraticLine(direction, slope, self._product(image, direction), self.value, image)

    def _product(self, image: Direction, direction: Direction) -> float:
        """<d, Q d>; both may be sparse, at different coordinates."""
        if isinstance(image.index, slice):
            return direction.dot(image.value)
        image.add_to(self._scratch)
        product = direction.dot(self._scratch)
        self._scratch[image.index] = 0.0
        return product

    def move(self, line: QuadraticLine, gamma: float) -> None:
        """Move x by gamma d."""
        line.direction.add_to(self.x, gamma)
        line.image.add_to(self.product, gamma)

    def factors(self, direction: Direction) -> tuple[np.ndarray, np.ndarray]:
        """D and Q d."""
        own, image = np.zeros(len(self.x)), np.zeros(len(self.x))
        direction.add_to(own)
        self._matrix.image(direction).add_to(image)
        return own, image

    def size_of_terms(self) -> float:
        """Of Q x and c."""
        linear = 0.0 if self._c is None else float(np.abs(self._c).max(initial=0.0))
        return self._matrix.longest_column * float(np.abs(self.x).sum()) + linear

    def rebuild(self) -> None:
        """Q x, anew from x."""
        self.product = self._matrix.times(self.x)
