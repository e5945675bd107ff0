"""Any 0/1 program: max <scores, z> over z in {0, 1}^m with lower <= A z <= b, by HiGHS.

Variables that the rows force to one value are taken out first, so that their scores, however large,
do not set the scale of the others. The linear relaxation is solved before a search: a corner of
it that is integral is optimal, and the simplex method is several times faster. Otherwise branch
and cut, to a gap of zero.

What HiGHS answers is not taken on trust. Its z is rounded and checked against the rows, and its
value comes with a *bound* on every other z: HiGHS's own dual bound, plus what its tolerances leave
open. (Some versions of it print a line about `tmpSolver.run()` now and then, whatever they are
told: HiGHS.jl issue 312.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from blockwolfe.errors import InputError, OracleError
from blockwolfe.structures import subset

__all__ = ["CutShort", "Solution", "enumerate_outputs", "first_violation", "maximize", "solve"]

FEASIBLE = 1e-6  # relative to the size of a row's terms
WHOLE = 1e-5  # how far from 0 and 1 HiGHS may leave a variable (its own tolerance is 1e-6)
# HiGHS stops at absolute gaps of 1e-6 and accepts reduced costs of 1e-7 of the wrong sign; scores
# are scaled to this size, so that both are near the last place of a number.
SCALE = 2.0**24
GAP, REDUCED_COST = 1e-6, 1e-7
# Rounding of a sum of scores, relative to its terms.
UNITS = 8.0 * float(np.finfo(float).eps)
# Statuses of `scipy.optimize.milp`: infeasible, or (4) something else, among it "unbounded or
# infeasible", which for bounded variables is infeasible.
_INFEASIBLE, _OTHER = 2, 4


class Solution(NamedTuple):
    """A best z, its value <scores, z>, whether the linear relaxation was integral, and a bound.

    `bound` is at least the value of every z that satisfies the rows: how far it is above `value` is
    all that z may lack.

    >>> solve([1.0, 2.0], [[1, 1]], [1]).is_relaxed
    True
    """

    z: np.ndarray
    value: float
    is_relaxed: bool
    bound: float


class CutShort(NamedTuple):
    """A search that ends after some nodes of branch and cut, with at least what is known already.

    `known` satisfies the rows; it is the answer where nothing better was found.
    """

    max_nodes: int
    known: np.ndarray


class _Rows(NamedTuple):
    """The rows below <= matrix z <= above."""

    matrix: Any
    above: np.ndarray
    below: np.ndarray

    def without(self, z: np.ndarray, is_free: np.ndarray) -> _Rows:
        """The rows of the free variables, with the others fixed as in z."""
        fixed = self.matrix @ np.where(is_free, 0.0, z)
        return _Rows(
            self.matrix[:, np.flatnonzero(is_free)], self.above - fixed, self.below - fixed
        )


def maximize(scores: Any, A: Any, b: Any, lower: Any = None) -> np.ndarray:
    """The best z, as integers; an `InputError` when no z satisfies the rows.

    >>> maximize([3.0, 2.0, 2.0], [[2, 1, 1]], [2])  # a knapsack
    array([0, 1, 1])
    >>> maximize([-1.0, -2.0], [[1, 1]], [1], lower=[1])  # exactly one
    array([1, 0])
    """
    return solve(scores, A, b, lower).z


def solve(
    scores: Any, A: Any, b: Any, lower: Any = None, cut_short: CutShort | None = None
) -> Solution:
    """As `maximize`, with the value, how it was found, and a bound.

    With `cut_short` the search may end before z is the best; the bound still holds.

    >>> found = solve([5.0, 4.0, 3.0], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 1, 1])
    >>> found.z, found.value, found.is_relaxed, 0.0 <= found.bound - found.value <= 1e-11
    (array([1, 0, 0]), 5.0, False, True)
    """
    scores = np.asarray(scores, dtype=np.float64)
    above = np.asarray(b, dtype=np.float64)
    below = np.full(len(above), -np.inf) if lower is None else np.asarray(lower, dtype=np.float64)
    rows = _Rows(_matrix(A, len(above), len(scores)), above, below)
    if not np.isfinite(scores).all():
        raise InputError("scores has NaN or infinite entries; expected finite numbers.")
    z, is_free = _forced(rows)
    is_relaxed, bound = True, 0.0
    if not len(above):
        z, is_free = np.array(scores > 0.0, dtype=np.int64), np.zeros(len(scores), dtype=np.bool_)
    if is_free.any():
        free_rows = rows.without(z, is_free)
        if cut_short is not None:
            cut_short = CutShort(cut_short.max_nodes, np.asarray(cut_short.known)[is_free])
        z[is_free], is_relaxed, bound = _solve_free(scores[is_free], free_rows, cut_short)
    elif first_violation(z, *rows) is not None:
        raise _infeasible()
    value, rounding = float(np.dot(scores, z)), UNITS * float(np.abs(scores).sum())
    bound += float(np.dot(scores[~is_free], z[~is_free]))
    return Solution(z, value, is_relaxed, max(bound + rounding, value))


def _infeasible() -> InputError:
    return InputError(
        "the program is infeasible: no 0/1 vector satisfies its rows. Relax b, or drop rows."
    )


def _forced(rows: _Rows) -> tuple[np.ndarray, np.ndarray]:
    """Variables that have one value in every solution: a vector with them, and which are free."""
    low, high = np.zeros((2, rows.matrix.shape[1]), dtype=np.bool_)
    high[:] = True
    up, down = _implied(rows, low, high)
    while (up | down).any():
        low, high = low | up, high & ~down
        up, down = _implied(rows, low, high)
    if (low & ~high).any():  # no solution: HiGHS will say so
        return np.zeros(len(low), dtype=np.int64), np.ones(len(low), dtype=np.bool_)
    return low.astype(np.int64), high & ~low


def _implied(rows: _Rows, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which free variables a row forces to 1, and which to 0, with z between low and high.

    A row that the others cannot bring into its bounds, at their best, needs this one.
    """
    entries = sp.coo_array(rows.matrix)
    (row, column), value, n_rows = entries.coords, entries.data, entries.shape[0]
    room = FEASIBLE * (1.0 + np.bincount(row, np.abs(value), n_rows))
    least = np.bincount(row, value * np.where(value > 0.0, low[column], high[column]), n_rows)
    most = np.bincount(row, value * np.where(value > 0.0, high[column], low[column]), n_rows)
    is_free, size = (high & ~low)[column], np.abs(value)
    is_too_much = is_free & (size > (rows.above - least + room)[row])
    is_needed = is_free & (size > (most - rows.below + room)[row])
    up, down = np.zeros((2, len(low)), dtype=np.bool_)
    up[column[np.where(value > 0.0, is_needed, is_too_much)]] = True
    down[column[np.where(value > 0.0, is_too_much, is_needed)]] = True
    return up, down


def _solve_free(
    scores: np.ndarray, rows: _Rows, cut_short: CutShort | None
) -> tuple[np.ndarray, bool, float]:
    """By HiGHS, scaled: z, whether the relaxation was integral, and a bound."""
    largest = np.abs(scores).max()
    factor = SCALE / 2.0 ** np.ceil(np.log2(largest)) if largest > 0.0 else 1.0
    # HiGHS's bound is the value of dual variables of which each may be wrong by a tolerance: those
    # of variables, which are at most 1, and those of rows, which act on all entries of a row.
    left_open = GAP + REDUCED_COST * (len(scores) + float(abs(rows.matrix).sum()))
    scaled = factor * scores
    z, bound = _relaxed(scaled, rows, left_open)
    is_relaxed = z is not None
    if z is None:
        z, bound = (
            _searched(scaled, rows)
            if cut_short is None
            else _searched_briefly(scaled, rows, cut_short, bound)
        )
    return z, is_relaxed, float((bound + left_open) / factor)


def _matrix(A: Any, n_rows: int, m: int) -> Any:
    """A as a matrix; lists may be empty, and have no shape then."""
    return A if sp.issparse(A) else np.asarray(A, dtype=np.float64).reshape(n_rows, m)


def _run(
    scaled: np.ndarray,
    rows: _Rows,
    whole: bool,
    presolve: bool = True,
    max_nodes: int | None = None,
) -> Any:
    from scipy.optimize import Bounds, LinearConstraint, milp

    limit = {} if max_nodes is None else {"node_limit": max_nodes}
    found = milp(
        -scaled,
        bounds=Bounds(0.0, 1.0),
        constraints=LinearConstraint(rows.matrix, rows.below, rows.above),
        integrality=np.ones(len(scaled)) if whole else None,
        options={"mip_rel_gap": 0.0, "presolve": presolve, **limit} if whole else None,
    )
    is_either = found.status == _OTHER and "infeasible" in found.message.lower()
    if found.status == _INFEASIBLE or is_either:
        raise _infeasible()
    return found


def _relaxed(scaled: np.ndarray, rows: _Rows, left_open: float) -> tuple[np.ndarray | None, float]:
    """The linear relaxation rounded, if that is feasible and reaches the bound, and the bound."""
    x = _run(scaled, rows, whole=False).x
    if x is None:  # (where HiGHS cannot tell whether it is done)
        return None, float(np.maximum(scaled, 0.0).sum())
    z = np.rint(x).astype(np.int64)
    bound = float(np.dot(scaled, x))
    if np.dot(scaled, z) < bound - left_open or first_violation(z, *rows) is not None:
        return None, bound
    return z, bound


def _searched_briefly(
    scaled: np.ndarray, rows: _Rows, cut_short: CutShort, relaxed: float
) -> tuple[np.ndarray, float]:
    """By a search that is cut short: the better of what it found and what is known, and a bound."""
    found = _run(scaled, rows, True, max_nodes=cut_short.max_nodes)
    best = np.asarray(cut_short.known, dtype=np.int64)
    if found.x is not None:
        z = np.rint(found.x).astype(np.int64)
        if _fault(found.x, z, rows):  # (what presolve made is another program, with other bounds)
            return best, relaxed
        best = z if np.dot(scaled, z) > np.dot(scaled, best) else best
    bound = found.mip_dual_bound
    is_known = bound is not None and np.isfinite(bound)
    return best, min(relaxed, -float(bound)) if is_known else relaxed


def _searched(scaled: np.ndarray, rows: _Rows) -> tuple[np.ndarray, float]:
    """By branch and cut; without presolve where that gave something infeasible (scipy 24141)."""
    z, fault = np.zeros(len(scaled), dtype=np.int64), ""
    for presolve in (True, False):
        found = _run(scaled, rows, True, presolve)
        if found.x is None:
            fault = f"is missing ({found.message.rstrip('.')})"
            continue
        z, bound = np.rint(found.x).astype(np.int64), found.mip_dual_bound
        fault = _fault(found.x, z, rows)
        if not fault and bound is not None and np.isfinite(bound):
            return z, -float(bound)
    raise OracleError(
        f"the solution of HiGHS {fault or 'has no bound'}; scale the rows so that their "
        "coefficients are near one."
    )


def _fault(x: np.ndarray, z: np.ndarray, rows: _Rows) -> str:
    """What is wrong with an answer x that becomes z when rounded; nothing: an empty string."""
    if not (np.abs(x - z) <= WHOLE).all():
        return f"leaves variable {int(np.argmax(np.abs(x - z)))} between 0 and 1"
    row = first_violation(z, *rows)
    return "" if row is None else f"violates row {row} once it is rounded to 0 and 1"


def first_violation(z: Any, A: Any, b: Any, lower: Any = None) -> int | None:
    """The first row that z violates by more than rounding, or None.

    >>> first_violation([1, 1], [[1, 0], [1, 1]], [1, 1])
    1
    """
    z = np.asarray(z, dtype=np.float64)
    rows = _matrix(A, np.size(b), len(z))
    reached, room = rows @ z, FEASIBLE * (1.0 + abs(rows) @ z)
    is_violated = reached > np.asarray(b) + room
    if lower is not None:
        is_violated |= reached < np.asarray(lower) - room
    return int(np.argmax(is_violated)) if is_violated.any() else None


def enumerate_outputs(m: int, A: Any, b: Any, lower: Any = None) -> np.ndarray:
    """Every z that satisfies the rows, for checks on small problems.

    >>> enumerate_outputs(2, [[1, 1]], [1]).tolist()
    [[0, 0], [0, 1], [1, 0]]
    """
    kept = [z for z in subset.enumerate_outputs(m) if first_violation(z, A, b, lower) is None]
    return np.array(kept, dtype=np.int64).reshape(-1, m)
