"""One core against two on OCR-large: a full certificate pass, and the time to a certified gap.

`certify` starts its threads anew; within a run they wait for the next full pass.

python benchmarks/threads_table.py [--jobs 1 2] [--tol 0.01] [--repetitions 30]
"""

from __future__ import annotations

import contextlib
from typing import Any

from common import machine, ocr, options, publish, table, timed, warm_up

import blockwolfe as bw
from blockwolfe.problem.certificate import examine
from blockwolfe.problem.workers import Workers

HEADER = [
    "n_jobs", "certify() s", "times faster", "full pass in a run s", "times faster",
    "visits per second", "to the gap s", "CPU s",
]  # fmt: skip


def certificate_seconds(problem: bw.Problem, lam: float, state: Any, given: Any) -> list[float]:
    """Best of several certificates for each number of workers, taken in turn."""
    best = [float("inf")] * len(given.jobs)
    for _ in range(given.repetitions):
        for k, n_jobs in enumerate(given.jobs):
            taken = timed(lambda n_jobs=n_jobs: bw.certify(problem, state, lam, n_jobs=n_jobs))
            best[k] = min(best[k], taken.seconds)
    return best


def pass_seconds(problem: bw.Problem, lam: float, state: Any, given: Any) -> list[float]:
    """The same pass by workers that are there already, as in a run."""
    blocks, store = problem.blocks, state.store()
    with contextlib.ExitStack() as stack:
        crews = [stack.enter_context(Workers(blocks, n_jobs)) for n_jobs in given.jobs]
        best, own = [float("inf")] * len(crews), blocks.own()
        for _ in range(given.repetitions):
            for k, crew in enumerate(crews):
                taken = timed(lambda crew=crew: examine(blocks, store, lam, *own, workers=crew))
                best[k] = min(best[k], taken.seconds)
    return best


def to_gap(problem: bw.Problem, lam: float, n_jobs: int, given: Any) -> list[Any]:
    """Visits per second, seconds and CPU seconds of one run to the gap."""
    warm_up(problem, lam, given.method, n_jobs=n_jobs)
    result, _, cpu_seconds = timed(
        lambda: bw.solve(
            problem, lam, given.method, tol=given.tol, random_state=0, n_jobs=n_jobs,
            time_limit=given.time_limit,
        )
    )  # fmt: skip
    seconds = result.seconds if result.is_certified else float("nan")
    return [result.counts.visits / result.seconds, seconds, cpu_seconds]


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--times", type=float, default=10.0, help="lam times n")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds of each run")
    given = parser.parse_args()
    problem = ocr("large", given.data_home).problem
    lam = given.times / len(problem)
    state = bw.solve(problem, lam, "bcfw", tol=0.0, max_passes=3, random_state=0).state
    best = certificate_seconds(problem, lam, state, given)
    inside = pass_seconds(problem, lam, state, given)
    rows = [
        [
            n_jobs,
            best[k],
            best[0] / best[k],
            inside[k],
            inside[0] / inside[k],
            *to_gap(problem, lam, n_jobs, given),
        ]
        for k, n_jobs in enumerate(given.jobs)
    ]
    publish(
        given.output,
        f"OCR-large, lam = {given.times:g}/n, method {given.method}, certified gap {given.tol:g}.",
        table(HEADER, rows),
        machine(),
    )


if __name__ == "__main__":
    main()
