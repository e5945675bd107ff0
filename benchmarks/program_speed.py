"""Milliseconds per 0/1 program, and how often the linear relaxation is integral, by kind and size.

python benchmarks/program_speed.py [--sizes 25 100 400] [--programs 20]

Assignments (each row and column at most once; always integral), the same with a budget across, and
knapsacks with a limit per group. Beside: scipy's assignment solver where it applies, and HiGHS
asked for integers at once, without the relaxation first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import machine, options, publish, table
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

from blockwolfe.structures import program

HEADER = (
    "programs",
    "variables",
    "rows",
    "integral",
    "ms, best",
    "ms, median",
    "ms, integers at once",
    "ms, assignment solver",
)


def assignment(m: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """sqrt(m) rows and as many columns."""
    k = round(m**0.5)
    rows = sp.vstack(
        [sp.kron(sp.eye_array(k), np.ones((1, k))), sp.kron(np.ones((1, k)), sp.eye_array(k))]
    )
    return sp.csc_array(rows), np.ones(2 * k)


def budgeted(m: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """An assignment whose links have prices, with a third of the money that all would take."""
    A, b = assignment(m, rng)
    price = rng.integers(1, 20, size=A.shape[1])
    return sp.csc_array(sp.vstack([A, price[None]])), np.append(b, price.mean() * len(b) / 6)


def knapsack(m: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """A third of the total weight, and at most two of every group of five."""
    weight = rng.integers(1, 20, size=m)
    groups = np.arange(m) // 5 == np.arange((m + 4) // 5)[:, None]
    return sp.csc_array(np.vstack([weight, groups]).astype(float)), np.append(
        weight.sum() / 3, np.full(len(groups), 2.0)
    )


KINDS: dict[str, Callable[[int, np.random.Generator], tuple[Any, np.ndarray]]] = {
    "assignment": assignment,
    "assignment with budget": budgeted,
    "knapsack with groups": knapsack,
}


def milliseconds(function: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    value = function()
    return 1e3 * (time.perf_counter() - began), value


def at_once(scores: np.ndarray, A: Any, b: np.ndarray) -> Any:
    """HiGHS as one would call it first."""
    return milp(
        -scores,
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(A, -np.inf, b),
        integrality=np.ones(len(scores)),
        options={"mip_rel_gap": 0.0},
    )


def row(kind: str, m: int, n_programs: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    ours, theirs, matched, n_integral = [], [], [], 0
    for _ in range(n_programs):
        A, b = KINDS[kind](m, rng)
        scores = rng.normal(size=A.shape[1])
        spent, found = milliseconds(lambda s=scores, A=A, b=b: program.solve(s, A, b))
        ours.append(spent)
        n_integral += found.is_relaxed
        theirs.append(milliseconds(lambda s=scores, A=A, b=b: at_once(s, A, b))[0])
        if kind == "assignment":
            k = round(len(scores) ** 0.5)
            gains = -np.maximum(scores, 0.0).reshape(k, k)
            matched.append(milliseconds(lambda gains=gains: linear_sum_assignment(gains))[0])
    return (
        kind,
        A.shape[1],
        A.shape[0],
        f"{n_integral}/{n_programs}",
        min(ours),
        float(np.median(ours)),
        float(np.median(theirs)),
        float(np.median(matched)) if matched else float("nan"),
    )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[25, 100, 400])
    parser.add_argument("--programs", type=int, default=20, help="of each kind and size")
    given = parser.parse_args()
    rows = [row(kind, m, given.programs) for kind in KINDS for m in given.sizes]
    publish(given.output, table(HEADER, rows), machine())


if __name__ == "__main__":
    main()
