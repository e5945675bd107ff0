"""The base polytope of a submodular function F with F({}) = 0, by Edmonds' greedy algorithm.

    B(F) = {x : x(A) <= F(A) for every set A, and x(all) = F(all)},     x(A) = sum of x_j, j in A

The minimum of <g, s> is found by sorting g from the lowest: each element gets what it adds to
those before it. The point of least norm of B(F) gives the sets that minimise F: {j : x_j < 0}.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.errors import InputError, OptionError
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains.base import Domain
from blockwolfe.optimize.domains.submodular import gains_of, value_of

__all__ = ["BasePolytope"]

_ENUMERATED_UP_TO = 10  # elements: at most 1024 sets are looked at for a distance


class BasePolytope(Domain):
    """The base polytope of a submodular set function on 0..n-1.

    Parameters
    ----------
    f : callable
        ``f(members)`` is the value of a set, given as a sorted int64 array of its elements; the
        value of the empty set is subtracted. A method ``prefixes(order)`` that returns the
        values of order[:0], order[:1], ..., order[:n] at once, or ``gains(order)`` with their n
        differences, is used where there is one. That f is submodular is not tested here; see
        `check_domain`.
    n : int, optional
        Number of elements; not needed for functions with an attribute ``n``.

    Examples
    --------
    >>> rank = BasePolytope(lambda members: min(len(members), 2), 3)
    >>> rank.minimize(np.array([3.0, -1.0, 0.0]))
    Atom([0. 1. 1.])
    """

    def __init__(self, f: Any, n: int | None = None) -> None:
        if not callable(f):
            raise OptionError(f"f={f!r} must be a function of a set, given as an integer array.")
        own = getattr(f, "n", None)
        n = own if n is None else n
        check_integer("n", n, 1)
        if own is not None and own != n:
            raise InputError(f"n={n}, but f is a function on {own} elements.")
        assert n is not None
        self.f, self.n = f, int(n)
        super().__init__((self.n,))
        self.empty = value_of(f, np.empty(0, dtype=np.int64))

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The greedy vertex, elements in the order of rising gradient; first come first."""
        order = np.argsort(self._vector("gradient", gradient), kind="stable")
        x = np.empty(self.n)
        x[order] = gains_of(self.f, order)
        return Atom.owning(x)

    def distance(self, x: np.ndarray) -> float:
        """The largest violation of x(A) <= F(A) or x(all) = F(all), where it can be told.

        All sets are looked at for up to 10 elements. For more it is those that hold the largest
        entries of x: what they violate is returned, and NaN where they violate nothing, as
        another set may.
        """
        x = self._vector("x", x)
        order = np.argsort(-x, kind="stable")
        excess = np.cumsum(x[order]) - np.cumsum(gains_of(self.f, order))
        worst = max(0.0, float(excess.max()), -float(excess[-1]))
        if self.n <= _ENUMERATED_UP_TO:
            return max(worst, self._largest_excess(x))
        rounding = 1e-9 * (1.0 + float(np.abs(x).sum()))
        return worst if worst > rounding else float("nan")

    def _largest_excess(self, x: np.ndarray) -> float:
        """The maximum of x(A) - F(A) over all sets A."""
        sets = (
            np.array(members, dtype=np.int64)
            for size in range(1, self.n + 1)
            for members in combinations(range(self.n), size)
        )
        return max(float(x[a].sum()) - value_of(self.f, a) + self.empty for a in sets)

    def __repr__(self) -> str:
        named = getattr(self.f, "__name__", None) or repr(self.f)
        return f"BasePolytope({named}, {self.n})"
