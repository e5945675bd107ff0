"""Oracle calls to a given gap on the toy problem: gap sampling against uniform sampling.

    python benchmarks/toy_table.py [--share 0.01] [--sizes 10 100 1000] [--seeds 5]

n - 1 blocks are solved by one visit to any of them, one hard block needs t visits. Uniform draws
need about n t calls until the hard block has had its t; gap sampling about n + t, because after
the first pass it knows where the gap is. The gap to reach is a share of the optimum, which falls
like 1/n. t is measured on the hard block alone. The calls of the certificate that proves the gap
are not counted; those of gap sampling's refresh passes are.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from common import machine, options, publish, table

import blockwolfe as bw

UNIFORM = bw.BCFW(sampling=bw.Uniform(), certify_every=10**9)
GAP = bw.BCFW(sampling=bw.GapSampling(), certify_every=10**9)


def calls_to(problem: bw.Problem, lam: float, method: Any, target: float, seed: int) -> int:
    """The least number of calls after which the gap is certified to be at most `target`.

    A run with a larger budget begins with the same visits, so the number is found by doubling
    and halving.
    """

    def is_enough(calls: int) -> bool:
        budget = calls + len(problem)  # what comes on top is the certificate
        result = bw.solve(problem, lam, method, tol=0.0, max_oracle_calls=budget, random_state=seed)
        return bool(result.certificate.gap <= target)

    low, high = 0, 1
    while not is_enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def median_calls(n: int, n_labels: int, method: Any, share: float, seeds: int) -> float:
    toy = bw.datasets.toy_problem(n, n_labels)
    problem = bw.Problem(toy.task, toy.X, toy.Y)
    target = share * toy.optimum
    return float(np.median([calls_to(problem, toy.lam, method, target, s) for s in range(seeds)]))


def hard_visits(n_labels: int, share: float) -> int:
    """t: the visits that the hard block alone needs for the same gap, 1/n of which it shares."""
    toy = bw.datasets.toy_problem(1, n_labels)
    problem = bw.Problem(toy.task, toy.X, toy.Y)
    target = share * (toy.optimum + 0.5)  # n times the optimum of the problem with easy blocks
    return calls_to(problem, toy.lam, UNIFORM, target, seed=0)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--share", type=float, default=0.01, help="gap / optimum to reach")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--seeds", type=int, default=5, help="median over this many")
    given = parser.parse_args()
    rows = []
    for n, n_labels in product(given.sizes, given.sizes):
        t = hard_visits(n_labels, given.share)
        uniform, gap = (
            median_calls(n, n_labels, method, given.share, given.seeds) for method in (UNIFORM, GAP)
        )
        rows.append([n, n_labels, t, uniform, n * t, gap, n + t, uniform / gap])
    header = ["n", "K", "t", "uniform", "n t", "gap sampling", "n + t", "uniform / gap"]
    publish(
        given.output,
        f"Oracle calls to a certified gap of {given.share:g} of the optimum, toy problem, "
        f"lam = 1/n, median of {given.seeds} seeds.",
        table(header, rows),
        machine(),
    )


if __name__ == "__main__":
    main()
