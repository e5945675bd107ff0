"""Any 0/1 program: max <scores, z> over z in {0, 1}^m with lower <= A z <= b, by HiGHS.

The linear relaxation is solved first: a corner of it that is integral is optimal, and the
simplex method is several times faster than a search. Otherwise branch and cut, to a gap of zero.
What HiGHS answers is rounded and checked. (Some versions of it print a line about `tmpSolver.run()`
now and then, whatever they are told: HiGHS.jl issue 312.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from blockwolfe.errors import InputError, OracleError
from blockwolfe.structures import subset

__all__ = ["Solution", "enumerate_outputs", "first_violation", "maximize", "solve"]

OPTIMAL = 1e-9
FEASIBLE = 1e-6  # relative to the size of a row's terms
# HiGHS stops at absolute gaps of 1e-6 and reduced costs of 1e-7; scores are scaled to this size,
# so that neither is more than 1e-9 of them.
SCALE = 2.0**10
# Statuses of `scipy.optimize.milp`: infeasible, or (4) something else, among it "unbounded or
# infeasible", which for bounded variables is infeasible.
_INFEASIBLE, _OTHER = 2, 4


class Solution(NamedTuple):
    """A best z, its value <scores, z>, and whether the linear relaxation was integral.

    >>> solve([1.0, 2.0], [[1, 1]], [1]).is_relaxed
    True
    """

    z: np.ndarray
    value: float
    is_relaxed: bool


def maximize(scores: Any, A: Any, b: Any, lower: Any = None) -> np.ndarray:
    """The best z, as integers; an `InputError` when no z satisfies the rows.

    >>> maximize([3.0, 2.0, 2.0], [[2, 1, 1]], [2])  # a knapsack
    array([0, 1, 1])
    >>> maximize([-1.0, -2.0], [[1, 1]], [1], lower=[1])  # exactly one
    array([1, 0])
    """
    return solve(scores, A, b, lower).z


def solve(scores: Any, A: Any, b: Any, lower: Any = None) -> Solution:
    """As `maximize`, with the value and how it was found.

    >>> solve([5.0, 4.0, 3.0], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 1, 1])
    Solution(z=array([1, 0, 0]), value=5.0, is_relaxed=False)
    """
    scores = np.asarray(scores, dtype=np.float64)
    above = np.asarray(b, dtype=np.float64)
    rows = _rows(A, len(above), len(scores))
    below = np.full(len(above), -np.inf) if lower is None else np.asarray(lower, dtype=np.float64)
    if not np.isfinite(scores).all():
        raise InputError("scores has NaN or infinite entries; expected finite numbers.")
    if not len(scores) or not rows.shape[0]:
        return _checked(np.array(scores > 0.0, dtype=np.int64), scores, rows, above, below, True)
    largest = np.abs(scores).max()
    scaled = scores * (SCALE / 2.0 ** np.ceil(np.log2(largest))) if largest > 0.0 else scores
    return _relaxed(scaled, scores, rows, above, below) or _searched(
        scaled, scores, rows, above, below
    )


def _rows(A: Any, n_rows: int, m: int) -> Any:
    """A as a matrix; lists may be empty, and have no shape then."""
    return A if sp.issparse(A) else np.asarray(A, dtype=np.float64).reshape(n_rows, m)


def _run(
    scaled: np.ndarray,
    rows: Any,
    above: np.ndarray,
    below: np.ndarray,
    whole: bool,
    presolve: bool = True,
) -> Any:
    found = milp(
        -scaled,
        bounds=Bounds(0.0, 1.0),
        constraints=LinearConstraint(rows, below, above),
        integrality=np.ones(len(scaled)) if whole else None,
        options={"mip_rel_gap": 0.0, "presolve": presolve} if whole else None,
    )
    is_either = found.status == _OTHER and "infeasible" in found.message.lower()
    if found.status == _INFEASIBLE or is_either:
        raise InputError(
            "the program is infeasible: no 0/1 vector satisfies its rows. Relax b, or drop rows."
        )
    if found.x is None:
        raise OracleError(f"HiGHS found no solution of a 0/1 program: {found.message}")
    return found


def _relaxed(
    scaled: np.ndarray, scores: np.ndarray, rows: Any, above: np.ndarray, below: np.ndarray
) -> Solution | None:
    """The solution of the linear relaxation rounded, if it is feasible and reaches the bound."""
    x = _run(scaled, rows, above, below, whole=False).x
    z = np.rint(x).astype(np.int64)
    bound, reached = np.dot(scaled, x), np.dot(scaled, z)
    if reached < bound - OPTIMAL * (SCALE + abs(bound)):
        return None
    if first_violation(z, rows, above, below) is not None:
        return None
    return Solution(z, float(np.dot(scores, z)), True)


def _searched(
    scaled: np.ndarray, scores: np.ndarray, rows: Any, above: np.ndarray, below: np.ndarray
) -> Solution:
    """By branch and cut; without presolve where that gave something infeasible (scipy 24141)."""
    z = np.zeros(len(scores), dtype=np.int64)
    for presolve in (True, False):
        z = np.rint(_run(scaled, rows, above, below, True, presolve).x).astype(np.int64)
        if first_violation(z, rows, above, below) is None:
            break
    return _checked(z, scores, rows, above, below, False)


def _checked(
    z: np.ndarray,
    scores: np.ndarray,
    rows: Any,
    above: np.ndarray,
    below: np.ndarray,
    relaxed: bool,
) -> Solution:
    row = first_violation(z, rows, above, below)
    if row is not None:
        raise OracleError(
            f"the solution of HiGHS violates row {row} once it is rounded to 0 and 1; scale the "
            "row so that its coefficients are near one."
        )
    return Solution(z, float(np.dot(scores, z)), relaxed)


def first_violation(z: Any, A: Any, b: Any, lower: Any = None) -> int | None:
    """The first row that z violates by more than rounding, or None.

    >>> first_violation([1, 1], [[1, 0], [1, 1]], [1, 1])
    1
    """
    z = np.asarray(z, dtype=np.float64)
    rows = _rows(A, np.size(b), len(z))
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
