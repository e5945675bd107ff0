"""f(x) = scale sum_i log(1 + exp(-m_i)) with the margins m_i = b_i <a_i, x>.

gradient        scale A^T p,  p_i = -b_i / (1 + exp(m_i))
along d         m_i(gamma) = m_i + gamma b_i (A d)_i,  slope scale <p(gamma), A d>
a move          m and p change in the rows of A d alone
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from blockwolfe.errors import InputError
from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.objectives.followers import Follower
from blockwolfe.optimize.objectives.linear_model import LinearModel
from blockwolfe.optimize.objectives.lines import Line
from blockwolfe.optimize.objectives.matrices import columns_of
from blockwolfe.optimize.objectives.reading import read_point

__all__ = ["Logistic"]

_EPS = float(np.finfo(float).eps)


class Logistic(LinearModel):
    """scale sum_i log(1 + exp(-b_i <a_i, x>)), with a_i the rows of A.

    Parameters
    ----------
    A : dense or scipy.sparse matrix, one column per coordinate of x
        Not copied where it is Fortran-ordered float64, or CSC: do not write to it afterwards.
    b : -1 or 1 for each row of A
    scale : a factor > 0, as ``1 / len(b)`` for the mean

    Examples
    --------
    >>> f = Logistic([[1.0], [1.0]], [1, -1])
    >>> f.value([0.0]).__round__(6), f.gradient([0.0])
    (1.386294, array([0.]))
    """

    def __init__(self, A: Any, b: Any, scale: float = 1.0) -> None:
        super().__init__(A, b, scale)
        is_bad = np.abs(self.b) != 1.0
        if is_bad.any():
            i = int(np.argmax(is_bad))
            raise InputError(
                f"b[{i}] is {self.b[i]:g}; expected labels -1 and 1. Labels 0 and 1 become these "
                "by 2 * b - 1."
            )

    def follow(self, x: np.ndarray) -> LogisticFollower:
        """The objective at a point that begins at x."""
        return LogisticFollower(self, read_point(x, self.size).copy())


def _loss(margins: np.ndarray) -> np.ndarray:
    """log(1 + exp(-m)), which neither overflows nor loses digits for large |m|."""
    return np.logaddexp(0.0, -margins)


class LogisticFollower(Follower):
    """It maintains the margins m, and p."""

    maintained: ClassVar[tuple[str, ...]] = ("margins", "pull")

    def __init__(self, objective: Logistic, x: np.ndarray) -> None:
        self.x, self._b, self._scale = x, objective.b, objective.scale
        self._matrix = columns_of(objective.A)
        self.rebuild()

    def value(self) -> float:
        """f(x)."""
        return self._scale * float(_loss(self.margins).sum())

    def gradient(self, block: slice) -> np.ndarray:
        """The gradient at x in the coordinates of a block."""
        found = self._matrix.adjoint(self.pull, block)
        found *= self._scale
        return found

    def entries(self, index: np.ndarray) -> np.ndarray:
        """The gradient at x in some coordinates."""
        return self._scale * self._matrix.adjoint_at(self.pull, index)

    def along(self, direction: Direction) -> LogisticLine:
        """The objective on the line through x along d."""
        image = self._matrix.image(direction)
        moved = Direction(image.index, self._b[image.index] * image.value)
        return LogisticLine(direction, moved, self.margins[moved.index], self._scale, self.value)

    def move(self, line: LogisticLine, gamma: float) -> None:
        """Move x by gamma d."""
        line.direction.add_to(self.x, gamma)
        line.image.add_to(self.margins, gamma)
        self._renew(line.image.index)

    def size_of_terms(self) -> float:
        """Columns times p, whose own error is at most a quarter of that of the margins."""
        longest = self._matrix.longest_column
        of_margins = longest * float(np.abs(self.x).sum())
        return self._scale * longest * (float(np.sqrt(len(self._b))) + 0.25 * of_margins)

    def rebuild(self) -> None:
        """Margins and p, anew from x."""
        self.margins = self._b * self._matrix.times(self.x)
        self.pull = np.empty(len(self._b))
        self._renew(slice(0, len(self._b)))

    def _renew(self, rows: np.ndarray | slice) -> None:
        self.pull[rows] = -self._b[rows] * expit(-self.margins[rows])


class LogisticLine(Line):
    """The margins of the rows that d changes, and how."""

    def __init__(
        self,
        direction: Direction,
        image: Direction,
        margins: np.ndarray,
        scale: float,
        at_zero: Any,
    ) -> None:
        self.direction, self.image = direction, image
        self._margins, self._scale, self._at_zero = margins, scale, at_zero
        self.slope = self.slope_at(0.0)

    def value(self, gamma: float) -> float:
        """f(x + gamma d)."""
        return self._at_zero() + self.change(gamma)[0]

    def slope_at(self, gamma: float) -> float:
        """The derivative at gamma."""
        share = expit(-(self._margins + gamma * self.image.value))
        return -self._scale * float(np.dot(share, self.image.value))

    def change(self, gamma: float) -> tuple[float, float]:
        """f(x + gamma d) - f(x), row by row.

        Small changes t of a margin are computed without a difference of losses:
        log(1 + exp(-m - t)) - log(1 + exp(-m)) = log(1 + expm1(-t) / (1 + exp(m))).
        """
        moved = gamma * self.image.value
        is_small = np.abs(moved) <= 0.5
        near, far = self._margins[is_small], self._margins[~is_small]
        small = np.log1p(expit(-near) * np.expm1(-moved[is_small]))
        before, after = _loss(far), _loss(far + moved[~is_small])
        total = float(small.sum()) + float((after - before).sum())
        size = float(np.abs(small).sum()) + float(before.sum()) + float(after.sum())
        return self._scale * total, 8.0 * _EPS * self._scale * size
