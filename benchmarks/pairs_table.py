"""What pairing the best primal point with the dual point is worth: CPU time to a certified gap.

    python benchmarks/pairs_table.py [--sets ocr-small conll] [--tols 0.01 0.001] [--seeds 3]

Every seed is solved with `point="last"` and with `point="best"`, one after the other. The gap in
the table is that of `certify`, a full pass of its own at the point that was returned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import machine, options, publish, table, timed, warm_up
from predictions_table import SETS

import blockwolfe as bw

HEADER = ["data", "tol", "point", "ending", "passes", "relative gap", "CPU s", "of last"]
POINTS = ("last", "best")
TIMES = 5.0  # lam n, the default


def lines(name: str, problem: bw.Problem, tol: float, seeds: int) -> list[list[Any]]:
    """Without pairs and with them: medians over the seeds."""
    lam, rows, first = TIMES / len(problem), [], np.empty(0)
    runs = [{p: run(problem, lam, tol, p, seed) for p in POINTS} for seed in range(seeds)]
    for point in POINTS:
        found = [each[point] for each in runs]
        seconds = np.array([one.cpu_seconds for one in found])
        first = seconds if point == "last" else first
        passes = float(np.median([one.value.trace[-1].passes for one in found]))
        gap = max(checked(problem, lam, one.value) for one in found)
        ending = "/".join(sorted({one.value.status.name for one in found}))
        share = float(np.median(seconds / first))
        rows.append([name, tol, point, ending, passes, gap, float(np.median(seconds)), share])
    return rows


def run(problem: bw.Problem, lam: float, tol: float, point: str, seed: int) -> Any:
    """One run of the default method."""
    return timed(lambda: bw.solve(problem, lam, tol=tol, point=point, random_state=seed))


def checked(problem: bw.Problem, lam: float, result: bw.Result) -> float:
    """The relative gap by a full pass of its own; what the run said must be the same."""
    again = bw.certify(problem, result.state, lam, w=result.w)
    np.testing.assert_allclose(again.gap, result.certificate.gap, rtol=1e-6, atol=again.resolution)
    return again.relative_gap


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["ocr-small", "conll"])
    parser.add_argument("--tols", nargs="+", type=float, default=[1e-2, 1e-3])
    parser.add_argument("--seeds", type=int, default=3, help="runs of each kind")
    parser.add_argument("--at-most", type=int, help="examples to train on; all by default")
    given = parser.parse_args()
    for name in given.sets:
        data = SETS[name](given.data_home).first(given.at_most)
        problem = bw.Problem(bw.tasks.Chain(), data.X, data.Y)
        warm_up(problem, TIMES / len(problem), "auto")
        rows = [row for tol in given.tols for row in lines(name, problem, tol, given.seeds)]
        publish(given.output, table(HEADER, rows))
    publish(given.output, machine())


if __name__ == "__main__":
    main()
