"""What visits cost: over stored corners, where no oracle is called, and beside the bare oracle.

    python benchmarks/corner_visits.py [--small] [--passes 60 300] [--lams 0.01 0.001]

On OCR-small where it is found (BLOCKWOLFE_DATA or ../shared/data), else on generated chains. After
so many passes of gap sampling, pairwise steps and a cache, blocks drawn at random are visited
without an oracle call. Beside them pairwise visits with an oracle call each, after as many passes
of such visits, and scores and Viterbi of the same blocks at their w. Microseconds of CPU time,
medians over repetitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import machine, options, publish, table
from speed import advance_one_pass, bare_oracle, engine_of, problems

import blockwolfe as bw
from blockwolfe.base.compiled import call
from blockwolfe.methods.bcfw.engine import NO_BATCH, Draws
from blockwolfe.methods.bcfw.rules import FROM_STOCK
from blockwolfe.methods.registry import as_method

HEADER = [
    "lam", "passes", "corners per block", "visit over stored corners", "pairwise visit",
    "bare oracle", "beyond",
]  # fmt: skip
ROUNDS = 20  # visits of each block between two looks at the clock


def microseconds(function: Callable[[], Any], n_visits: int, repetitions: int) -> float:
    function()  # (compiles)
    found = []
    for _ in range(repetitions):
        began = time.process_time()
        function()
        found.append(time.process_time() - began)
    return 1e6 * float(np.median(found)) / n_visits


def after(problem: bw.Problem, method: str, lam: float, passes: int) -> Any:
    """A method that has come so far."""
    engine: Any = engine_of(problem, as_method(method), lam)
    while engine.ledger.visits < passes * len(problem):
        advance_one_pass(engine)
    return engine


def line(problem: bw.Problem, lam: float, passes: int, repetitions: int) -> list[Any]:
    """Both kinds of visits, and the oracle by itself."""
    n, blocks, rng = len(problem), problem.blocks, np.random.default_rng(0)
    engine = after(problem, "bcfw+gap+pairwise+cache", lam, passes)
    calling = after(problem, "bcfw+uniform+pairwise", lam, passes)

    def visit_stored() -> None:
        draws, done = Draws(rng.integers(0, n, ROUNDS * n), np.zeros(ROUNDS * n)), 0
        while done < ROUNDS * n:
            done = engine._visit(draws, done, FROM_STOCK, NO_BATCH)
            if done < ROUNDS * n:
                engine._make_room()

    args = (n, blocks.seam, blocks.packed_data, calling.own[1], calling.w, calling.point.work)
    n_corners = float(engine.point.arrays.stock.n_rows.mean())
    stored = microseconds(visit_stored, ROUNDS * n, repetitions)
    visit = microseconds(lambda: advance_one_pass(calling), n, repetitions)
    oracle = microseconds(lambda: call(bare_oracle, blocks.kind, *args), n, repetitions)
    return [lam, passes, n_corners, stored, visit, oracle, visit - oracle]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--small", action="store_true", help="a few seconds' worth")
    parser.add_argument("--passes", type=int, nargs="+", default=[60, 300])
    parser.add_argument("--lams", type=float, nargs="+", default=[0.01, 0.001])
    given = parser.parse_args()
    problem = next(iter(problems(given.small).values()))
    passes, repetitions = ([2], 2) if given.small else (given.passes, 40)
    rows = [line(problem, lam, k, repetitions) for lam in given.lams for k in passes]
    publish(given.output, table(HEADER, rows), machine())


if __name__ == "__main__":
    main()
