"""The minimum of a submodular set function, by the point of least norm of its base polytope.

For every x in the base polytope B(F), with F({}) = 0, and every set A,

    sum_j min(0, x_j) <= x(A) <= F(A),

so that each x bounds the minimum of F from below. At the point of least norm the bound is attained
by the set {j : x_j < 0} (Fujishige 1980). Before that point is reached, the best set that the
greedy oracle has met on its way is taken: it walks through all level sets of x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.checks import is_real
from blockwolfe.base.rounding import ROUNDING, UNITS
from blockwolfe.errors import OptionError, OracleError
from blockwolfe.optimize.domains.base_polytope import BasePolytope
from blockwolfe.optimize.domains.submodular import gains_of, value_of
from blockwolfe.optimize.minimize import minimize
from blockwolfe.optimize.objectives.squared_norm import SquaredNorm
from blockwolfe.optimize.result import OptimizeEvent, OptimizeResult

__all__ = ["SubmodularMinimum", "minimize_submodular"]


@dataclass(frozen=True, repr=False)
class SubmodularMinimum:
    """A set, its value, and how far from the minimum it is at most.

    `members` are the elements of the set, sorted, and `value` is f of it. `lower_bound` is
    f({}) + sum_j min(0, x_j), with `x` a point of the base polytope: no set has a lower value.
    Where all values are integers, a `gap` below 1 proves that the set is a minimiser. `run` is the
    result of the run over the base polytope, whose own gap is that of 1/2 |x|^2.

    >>> from blockwolfe import optimize
    >>> f = optimize.ConcaveOfCardinality([0.0, 2.0, 3.0, -1.0])
    >>> found = optimize.minimize_submodular(f)
    >>> found.members, found.value, found.is_certified
    (array([0, 1, 2]), -1.0, True)
    """

    members: np.ndarray
    value: float
    lower_bound: float
    x: np.ndarray
    tol: float
    run: OptimizeResult

    @property
    def gap(self) -> float:
        """How much lower than `value` the minimum can be."""
        return self.value - self.lower_bound

    @property
    def is_certified(self) -> bool:
        """Whether the gap is at most `tol`."""
        return self.gap <= self.tol

    def __repr__(self) -> str:
        return (
            f"SubmodularMinimum({len(self.members)} of {len(self.x)} elements, "
            f"value {self.value:.6g}, gap {self.gap:.3g})"
        )


def minimize_submodular(
    f: Any,
    n: int | None = None,
    tol: float = 1e-6,
    *,
    method: Any = "min_norm_point",
    max_passes: int | str | None = "auto",
    max_oracle_calls: int | None = None,
    time_limit: float | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> SubmodularMinimum:
    """A set of lowest value of a submodular function on 0..n-1, to a certified gap.

    Parameters
    ----------
    f : callable
        ``f(members)`` is the value of a set, given as a sorted int64 array of its elements. As for
        `BasePolytope`, a method ``gains(order)`` or ``prefixes(order)`` makes it faster. A function
        that is not submodular is an `OracleError` where bounds and values contradict each other;
        `check_domain(BasePolytope(f, n))` looks for more, but neither is a proof.
    n : number of elements; not needed for functions with an attribute ``n``.
    tol : stop when the value of the best set is at most this above the lower bound. For functions
        with integer values any tol below 1, such as 0.5, gives a proven minimum.
    method : how to find the point of least norm: any method of `minimize` for the whole domain.
    max_passes, max_oracle_calls, time_limit, random_state, verbose : as of `minimize`.

    Examples
    --------
    >>> from blockwolfe import optimize
    >>> class Purchase:
    ...     "What members cost, less what they bring; two of a kind cost less than twice one."
    ...     n, bring = 4, np.array([3.0, 1.0, 0.5, 2.5])
    ...     def __call__(self, members):
    ...         return 2.0 * np.sqrt(len(members)) - self.bring[members].sum()
    >>> found = optimize.minimize_submodular(Purchase())
    >>> found.members, round(found.value, 3), found.is_certified
    (array([0, 1, 3]), -3.036, True)
    """
    if not is_real(tol) or not 0.0 <= tol < np.inf:
        raise OptionError(f"tol={tol!r} must be a finite number >= 0: a difference of values.")
    given = BasePolytope(f, n)
    watch = _Watch(f, given.n, given.empty, float(tol))
    # (tol=0: it is the gap of F that ends the run, not that of the norm)
    run = minimize(
        SquaredNorm(),
        BasePolytope(watch),
        method,
        tol=0.0,
        max_passes=max_passes,
        max_oracle_calls=max_oracle_calls,
        time_limit=time_limit,
        random_state=random_state,
        callbacks=[watch.look],
        verbose=verbose,
    )
    watch.note_point(run.x)
    return watch.found(run)


class _Watch:
    """A set function that remembers the best set it was asked for, and the best lower bound."""

    def __init__(self, f: Any, n: int, empty: float, tol: float) -> None:
        self.f, self.n, self.empty, self.tol = f, n, empty, tol
        self.members, self.value = np.empty(0, dtype=np.int64), empty
        self.x, self.bound = np.zeros(n), -np.inf
        self.largest = abs(empty)  # of all values and entries met: what rounding is relative to

    def __call__(self, members: np.ndarray) -> float:
        return value_of(self.f, members)

    def __repr__(self) -> str:
        return getattr(self.f, "__name__", None) or repr(self.f)

    def gains(self, order: np.ndarray) -> np.ndarray:
        """Those of f; the lowest of the values that they add up to is noted."""
        gains = gains_of(self.f, order)
        values = self.empty + np.cumsum(gains)
        self.largest = max(self.largest, float(np.abs(values).max()))
        k = int(values.argmin())
        if values[k] < self.value:
            members = np.sort(order[: k + 1])
            value = value_of(self.f, members)  # (without what the sum has lost)
            if value < self.value:
                self.members, self.value = members, value
        return gains

    def look(self, event: OptimizeEvent) -> bool:
        """After every pass: whether the gap is small enough."""
        self.note_point(event.x)
        return self.value - self.bound <= self.tol

    def note_point(self, x: np.ndarray) -> None:
        """Its lower bound, if that is the best so far."""
        self.largest = max(self.largest, float(np.abs(x).sum()))
        noise = UNITS * self.n * self.largest  # (each entry of x is a difference of values)
        bound = self.empty + float(np.minimum(x, 0.0).sum()) - noise
        if bound > self.bound:
            self.x, self.bound = np.array(x), bound

    def found(self, run: OptimizeResult) -> SubmodularMinimum:
        """What is known at the end."""
        if self.bound > self.value + ROUNDING * self.n * self.largest:
            raise OracleError(
                f"f is not submodular: a point of its base polytope bounds all values from below "
                f"by {self.bound:.6g}, but a set of {len(self.members)} elements has "
                f"{self.value:.6g}. Run check_domain(BasePolytope(f, n)), or look for a sign error."
            )
        bound = min(self.bound, self.value)
        return SubmodularMinimum(self.members, self.value, bound, self.x, self.tol, run)
