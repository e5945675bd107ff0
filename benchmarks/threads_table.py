"""One core against two on OCR-large: a full certificate pass, and the time to a certified gap.

python benchmarks/threads_table.py [--jobs 1 2] [--tol 0.01] [--repetitions 5]
"""

from __future__ import annotations

from typing import Any

from common import machine, ocr, options, publish, table, timed, warm_up

import blockwolfe as bw

HEADER = ["n_jobs", "certificate s", "calls per second", "times faster", "to the gap s", "CPU s"]


def line(problem: bw.Problem, lam: float, state: Any, n_jobs: int, given: Any) -> list[Any]:
    """Best certificate of several, and one run to the gap."""
    warm_up(problem, lam, given.method, n_jobs=n_jobs)
    passes = [
        timed(lambda: bw.certify(problem, state, lam, n_jobs=n_jobs)).seconds
        for _ in range(given.repetitions)
    ]
    result, _, cpu_seconds = timed(
        lambda: bw.solve(
            problem, lam, given.method, tol=given.tol, random_state=0, n_jobs=n_jobs,
            time_limit=given.time_limit,
        )
    )  # fmt: skip
    to_gap = result.seconds if result.is_certified else float("nan")
    return [n_jobs, min(passes), len(problem) / min(passes), float("nan"), to_gap, cpu_seconds]


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--times", type=float, default=10.0, help="lam times n")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds of each run")
    given = parser.parse_args()
    problem = ocr("large", given.data_home).problem
    lam = given.times / len(problem)
    state = bw.solve(problem, lam, "bcfw", tol=0.0, max_passes=3, random_state=0).state
    rows = [line(problem, lam, state, n_jobs, given) for n_jobs in given.jobs]
    for row in rows:
        row[3] = rows[0][1] / row[1]
    publish(
        given.output,
        f"OCR-large, lam = {given.times:g}/n, method {given.method}, certified gap {given.tol:g}.",
        table(HEADER, rows),
        machine(),
    )


if __name__ == "__main__":
    main()
