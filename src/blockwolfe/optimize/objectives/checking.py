"""`check_objective`: what methods take for granted of an objective, tested near a point.

its value and gradient are finite
<gradient, d> is the derivative of the value along d          (central differences)
a block's gradient is that part of the gradient
f is convex                                                   (on random segments)
a follower agrees with f after moves, and a line with f along it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.seeds import generator
from blockwolfe.base.words import counted
from blockwolfe.errors import OracleError
from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.objectives.function import as_objective
from blockwolfe.optimize.objectives.plain import checked_gradient, checked_value
from blockwolfe.optimize.objectives.reading import read_point

__all__ = ["Finding", "ObjectiveReport", "check_objective"]

_EPS = float(np.finfo(float).eps)
_N_TRIALS = 10
_NEAR = 0.1  # how far trial points are from x, as a multiple of its mean entry
_SAME = 1e-9  # what two computations of one number may differ by, relative to its terms
_CLOSE = 1e-5  # what a gradient and a difference of values may differ by


@dataclass(frozen=True)
class Finding:
    """One thing that was tested; `problem` is empty where it is in order."""

    what: str
    problem: str = ""


@dataclass(frozen=True)
class ObjectiveReport:
    """What `check_objective` found.

    >>> ObjectiveReport((Finding("f is convex", "f(midpoint) = 2 > 1"),))
    objective is wrong: 1 of 1 check failed
      WRONG  f is convex: f(midpoint) = 2 > 1
    """

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in sentences."""
        return tuple(f"{f.what}: {f.problem}" for f in self.findings if f.problem)

    def __repr__(self) -> str:
        n, n_wrong = len(self.findings), len(self.problems)
        head = f"objective is wrong: {n_wrong} of {counted(n, 'check')} failed"
        if self.ok:
            head = f"objective is sound: {counted(n, 'check')} passed"
        lines = [
            f"  WRONG  {f.what}: {f.problem}" if f.problem else f"  ok     {f.what}"
            for f in self.findings
        ]
        return "\n".join([head, *lines])


def check_objective(objective: Any, x: Any, random_state: Any = 0) -> ObjectiveReport:
    """Test an objective at x and at random points near it.

    Take an x in the interior of the domain, whose entries have the size that they will have.

    Parameters
    ----------
    objective : an objective, or an object with value(x) and gradient(x)
    x : a flat vector
    random_state : the same seed tests at the same points

    Examples
    --------
    >>> from blockwolfe.optimize.objectives.function import Function
    >>> check_objective(Function(lambda x: np.exp(x).sum(), np.exp), np.zeros(3))
    objective is sound: 5 checks passed
      ok     value and gradient are finite
      ok     the gradient is the derivative of the value
      ok     gradients of blocks are parts of the gradient
      ok     f is convex
      ok     followers agree with f after moves
    >>> check_objective(Function(lambda x: np.exp(x).sum(), lambda x: -np.exp(x)), np.zeros(3)).ok
    False
    """
    f = as_objective(objective)
    tester = _Tester(f, read_point(x, f.size), generator(random_state))
    checks: list[tuple[str, Callable[[], str]]] = [
        ("value and gradient are finite", tester.finite),
        ("the gradient is the derivative of the value", tester.derivative),
        ("gradients of blocks are parts of the gradient", tester.blocks),
        ("f is convex", tester.convex),
        ("followers agree with f after moves", tester.follower),
    ]
    return ObjectiveReport(tuple(Finding(what, _problem(check)) for what, check in checks))


def _problem(check: Callable[[], str]) -> str:
    """What a check finds; an objective that raises on the way has a problem, too."""
    try:
        return check()
    except OracleError as error:
        return str(error)


class _Tester:
    def __init__(self, f: Objective, x: np.ndarray, rng: np.random.Generator) -> None:
        self.x, self.rng, self.n = x, rng, len(x)
        self.f = f
        self.radius = _NEAR * (float(np.abs(x).mean()) or 1.0)

    def value(self, x: np.ndarray) -> float:
        return checked_value(self.f.value(x.copy()), x)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return checked_gradient(self.f.gradient(x.copy()), x, self.n)

    def block_gradient(self, x: np.ndarray, block: slice) -> np.ndarray:
        found, name = self.f.block_gradient(x.copy(), block), "block_gradient(x, block)"
        return checked_gradient(found, x, block.stop - block.start, name)

    def near(self) -> np.ndarray:
        """A random point near x."""
        return self.x + self.radius * self.rng.normal(size=self.n)

    def block(self) -> slice:
        """A random block that is not empty."""
        begin, end = sorted(self.rng.choice(self.n + 1, size=2, replace=False).tolist())
        return slice(begin, end)

    def finite(self) -> str:
        for point in (self.x, self.near(), self.near()):
            self.value(point)
            self.gradient(point)
            x = point.copy()
            self.f.value(x)
            self.f.gradient(x)
            if not np.array_equal(x, point):
                return "value(x) or gradient(x) changes x; let it work on a copy"
        return ""

    def derivative(self) -> str:
        for trial in range(_N_TRIALS):
            point = self.x if trial == 0 else self.near()
            g, d = self.gradient(point), self.rng.normal(size=self.n)
            d /= np.linalg.norm(d)
            found, error = self._difference(point, d)
            if abs(float(g @ d) - found) > error + _CLOSE * float(np.linalg.norm(g)):
                return (
                    f"<gradient, d> is {float(g @ d):.6g} along a random unit vector d, but "
                    f"central differences of the value are {found:.6g}"
                )
        return ""

    def _difference(self, x: np.ndarray, d: np.ndarray) -> tuple[float, float]:
        """The central difference, and its error: rounding, and what halving the step changes."""
        h = 1e-3 * self.radius
        slopes, largest = [], 0.0
        for step in (h, 0.5 * h):
            ahead, behind = self.value(x + step * d), self.value(x - step * d)
            slopes.append((ahead - behind) / (2.0 * step))
            largest = max(largest, abs(ahead), abs(behind))
        return slopes[1], abs(slopes[1] - slopes[0]) + 100.0 * _EPS * largest / h

    def blocks(self) -> str:
        for _ in range(_N_TRIALS):
            point, block = self.near(), self.block()
            whole, part = self.gradient(point), self.block_gradient(point, block)
            error = float(np.abs(part - whole[block]).max())
            if error > _SAME * float(np.abs(whole).max()):
                return f"block_gradient(x, {block}) is {error:.3g} away from gradient(x)[{block}]"
        return ""

    def convex(self) -> str:
        for _ in range(_N_TRIALS):
            a, b = self.near(), self.near()
            f_a, f_b, middle = self.value(a), self.value(b), self.value(0.5 * (a + b))
            chord = 0.5 * (f_a + f_b)
            if middle > chord + _SAME * max(abs(f_a), abs(f_b), abs(middle)):
                return f"f is {middle:.9g} halfway between two points whose mean is {chord:.9g}"
            bend = float((self.gradient(a) - self.gradient(b)) @ (a - b))
            size = float(np.abs(self.gradient(a)) @ np.abs(a - b))
            if bend < -_SAME * size:
                return f"<gradient(a) - gradient(b), a - b> is {bend:.6g}, below zero"
        return ""

    def follower(self) -> str:
        follower = self.f.follow(self.x)
        for trial in range(_N_TRIALS):
            direction, gamma = self._direction(trial), float(self.rng.random())
            start = follower.x.copy()
            line = follower.along(direction)
            end = start.copy()
            direction.add_to(end, gamma)
            pairs = [
                ("slope", line.slope, direction.dot(self.gradient(start))),
                ("slope_at", line.slope_at(gamma), direction.dot(self.gradient(end))),
                ("value", line.value(gamma), self.value(end)),
            ]
            size = float(np.abs(self.gradient(start)) @ np.abs(start)) + abs(self.value(start))
            follower.move(line, gamma)
            pairs.append(("value after a move", follower.value(), self.value(follower.x)))
            for name, found, expected in pairs:
                if abs(found - expected) > _SAME * (abs(found) + abs(expected) + size):
                    return f"{name} is {found:.12g}, but {expected:.12g} by the objective itself"
            block = self.block()
            expected_part = self.gradient(end)
            error = float(np.abs(follower.gradient(block) - expected_part[block]).max())
            if error > _SAME * (float(np.abs(expected_part).max()) + size / self.radius):
                return f"the gradient of {block} is {error:.3g} away from that of the objective"
        return ""

    def _direction(self, trial: int) -> Direction:
        """Sparse and dense ones in turn."""
        if trial % 2:
            block = self.block()
            value = self.radius * self.rng.normal(size=block.stop - block.start)
            return Direction(block, value)
        index = self.rng.choice(self.n, size=min(self.n, 2), replace=False)
        return Direction(index, self.radius * self.rng.normal(size=len(index)))
