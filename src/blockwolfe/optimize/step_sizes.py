"""Step-size rules: how far along a line, gamma in [0, gamma_max].

With slope s = <gradient, d> < 0 (a descent direction; else no step is made):

    ExactSearch     the minimiser of f along the line
    Adaptive        a step that a quadratic upper bound with an estimate L of the Lipschitz
                    constant allows: gamma = min(-s / (L |d|^2), gamma_max), and
                    (a)  f(x + gamma d) <= f(x) + gamma s + gamma^2 L |d|^2 / 2
    ShortStep       the same with a constant that is known
    Predefined      2n / (k + 2n), at visit k of n blocks; those that led to a start count

A rule has no state. What it remembers of a block is in `memory`, `n_memory` numbers that are zero
at first and belong to the caller, who can save them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq

from blockwolfe.base.checks import check_positive, is_real
from blockwolfe.errors import OptionError
from blockwolfe.optimize.objectives.lines import Line

__all__ = ["Adaptive", "ExactSearch", "Predefined", "ShortStep", "StepSize", "allows"]

_EPS = float(np.finfo(float).eps)
_TINY = float(np.finfo(float).tiny)
_LARGEST = float(np.finfo(float).max)
_MAX_TRIALS = 1000  # (some 10 do for most lines, 200 for a triple root at 1e-30)
_GIVEN_UP = 1e30  # a search ends when L is that much larger than what could be wanted


class StepSize(ABC):
    """How far to go along a line.

    >>> isinstance(Adaptive(), StepSize), Adaptive().n_memory
    (True, 1)
    """

    n_memory: ClassVar[int] = 0

    @abstractmethod
    def choose(
        self, line: Line, gamma_max: float, k: int, n_blocks: int, memory: np.ndarray
    ) -> float:
        """Gamma in [0, gamma_max], at visit k of any of `n_blocks` blocks.

        `memory` is that of the block, `n_memory` numbers, and may be changed.
        """


def _bounded_step(slope: float, curvature: float, gamma_max: float) -> float:
    """The minimiser of gamma slope + gamma^2 curvature / 2 on [0, gamma_max], for slope < 0."""
    if gamma_max * curvature <= -slope:  # (also where the curvature is zero, or below by rounding)
        return gamma_max
    return -slope / curvature


@dataclass(frozen=True)
class ExactSearch(StepSize):
    """The minimiser along the line: in closed form for quadratics, else where the slope is zero.

    The root of the slope is found by Brent's method to the last digits; a trial costs a gradient.

    >>> from blockwolfe.optimize.directions import Direction
    >>> from blockwolfe.optimize.objectives.least_squares import LeastSquares
    >>> line = LeastSquares([[2.0]], [1.0]).follow([0.0]).along(Direction(slice(0, 1), np.ones(1)))
    >>> ExactSearch().choose(line, 1.0, k=0, n_blocks=1, memory=np.zeros(0))
    0.5
    """

    def choose(
        self, line: Line, gamma_max: float, k: int, n_blocks: int, memory: np.ndarray
    ) -> float:
        """The minimiser of f on [0, gamma_max]."""
        if line.slope >= 0.0 or gamma_max <= 0.0:
            return 0.0
        if line.curvature is not None:
            return _bounded_step(line.slope, line.curvature, gamma_max)
        if line.slope_at(gamma_max) <= 0.0:
            return gamma_max
        return _root_of_slope(line, gamma_max)


def _root_of_slope(line: Line, gamma_max: float) -> float:
    """Where the slope is zero, by Brent's method; it is below zero at 0 and above at the end."""

    def slope_at(gamma: float) -> float:
        return line.slope if gamma == 0.0 else line.slope_at(gamma)

    # (the tolerance is relative: the last steps of a run are short)
    limits = {"xtol": _TINY, "rtol": 4.0 * _EPS, "maxiter": _MAX_TRIALS}
    return float(brentq(slope_at, 0.0, gamma_max, disp=False, **limits))


@dataclass(frozen=True)
class Adaptive(StepSize):
    """Backtracking by a local estimate L of the Lipschitz constant, kept for each block.

    A search begins at eta L, and multiplies L by tau until (a) holds. So L may fall where f is
    flatter, and no constant is needed (Pedregosa, Negiar, Askari and Jaggi, 2020).

    Near the optimum the two sides of (a) differ by less than the rounding errors of f. Slopes then
    decide in place of values: L is large enough if the slope at gamma is at most s + gamma L |d|^2,
    which is never above zero, so that a convex f falls all the way. What was decided so is not
    remembered: L would grow without end where slopes, too, are no more than rounding errors.

    Parameters
    ----------
    L0 : the first estimate, > 0; None takes the curvature between two close points of the line
    tau : the factor > 1 by which L grows
    eta : the factor in (0, 1] by which L falls at the beginning of a search

    >>> Adaptive(tau=3.0)
    Adaptive(L0=None, tau=3.0, eta=0.9)
    """

    n_memory: ClassVar[int] = 1

    L0: float | None = None
    tau: float = 2.0
    eta: float = 0.9

    def __post_init__(self) -> None:
        if self.L0 is not None:
            check_positive("L0", self.L0, hint=", or None for an estimate along the first line")
        if check_positive("tau", self.tau, hint=" and above 1: L is multiplied by it") <= 1.0:
            raise OptionError(f"tau={self.tau!r} must be a number > 1: L is multiplied by it.")
        if not is_real(self.eta) or not 0.0 < self.eta <= 1.0:
            raise OptionError(f"eta={self.eta!r} must be a number in (0, 1]: L falls by it.")

    def choose(
        self, line: Line, gamma_max: float, k: int, n_blocks: int, memory: np.ndarray
    ) -> float:
        """A step for which (a) holds; `memory[0]` is L, or zero before the first search."""
        if line.slope >= 0.0 or gamma_max * line.sqnorm <= 0.0:
            return 0.0
        known = float(memory[0])
        L = max(self.eta * known if known > 0.0 else self._first(line, gamma_max), _TINY)
        most, is_sure = _GIVEN_UP * max(L, _whole(line, gamma_max)), True
        while min(most, _LARGEST) >= L:
            gamma = _bounded_step(line.slope, L * line.sqnorm, gamma_max)
            holds, by_values = allows(line, gamma, L * line.sqnorm)
            is_sure = is_sure and by_values
            if holds:
                if is_sure:
                    memory[0] = L
                return gamma
            L *= self.tau
        return 0.0  # no step is short enough: the gradient is not that of f

    def _first(self, line: Line, gamma_max: float) -> float:
        """L from L0, or from the curvature at the beginning of the line."""
        if self.L0 is not None:
            return float(self.L0)
        curvature, h = line.curvature, 1e-3 * gamma_max
        if curvature is None:
            curvature = (line.slope_at(h) - line.slope) / h if h > 0.0 else 0.0
        L = curvature / line.sqnorm
        return L if 0.0 < L < np.inf else _whole(line, gamma_max)


def _whole(line: Line, gamma_max: float) -> float:
    """The largest L that allows gamma_max."""
    return -line.slope / (gamma_max * line.sqnorm)


def allows(line: Line, gamma: float, bend: float) -> tuple[bool, bool]:
    """Whether (a) holds with L |d|^2 = `bend`; and whether values could tell."""
    if line.curvature is not None:
        return line.curvature <= bend * (1.0 + 4.0 * _EPS), True
    bound = gamma * line.slope + 0.5 * gamma * gamma * bend
    change, error = line.change(gamma)
    if abs(change - bound) > error:
        return change <= bound, True
    return line.slope_at(gamma) <= line.slope + gamma * bend, False


@dataclass(frozen=True)
class ShortStep(StepSize):
    """gamma = min(-s / (L |d|^2), gamma_max), with a Lipschitz constant L that is known.

    Parameters
    ----------
    lipschitz : > 0, a Lipschitz constant of the gradient; for blocks, of each block's gradient in
        the coordinates of the block

    >>> ShortStep(lipschitz=4.0)
    ShortStep(lipschitz=4.0)
    """

    lipschitz: float

    def __post_init__(self) -> None:
        check_positive("lipschitz", self.lipschitz, hint=": a constant of the gradient")

    def choose(
        self, line: Line, gamma_max: float, k: int, n_blocks: int, memory: np.ndarray
    ) -> float:
        """The minimiser of the upper bound (a)."""
        if line.slope >= 0.0 or gamma_max <= 0.0:
            return 0.0
        return _bounded_step(line.slope, float(self.lipschitz) * line.sqnorm, gamma_max)


@dataclass(frozen=True)
class Predefined(StepSize):
    """2n / (k + 2n), whatever f is; no value and no curvature is asked for.

    A run that goes on from a result (`start=`) counts k on from its passes. A point to begin at
    counts as one pass: a step of 1, which is the first of a run, would forget it.

    >>> Predefined()
    Predefined()
    """

    def choose(
        self, line: Line, gamma_max: float, k: int, n_blocks: int, memory: np.ndarray
    ) -> float:
        """2n / (k + 2n), or gamma_max where that is less."""
        return max(0.0, min(2.0 * n_blocks / (k + 2.0 * n_blocks), gamma_max))
