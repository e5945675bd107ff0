"""CPU seconds to a certified gap with `optimize.minimize`, and with other solvers.

    python benchmarks/optimize_table.py [--small] [--problems "simplex" ...] [--jobs 8]

Gaps are relative to f where a run of ours starts, and always by our certificate: at the point that
a solver returned, projected to the domain where it is slightly outside. Solvers whose tolerance is
another number than the gap get a ladder of tolerances, and are given the time of the first that is
enough. Medians of CPU time, as machines are shared; call it with OMP_NUM_THREADS=1. With `--jobs`
several processes measure at once, each one solver on one problem.
copt and cvxpy (with Clarabel) are measured where they are installed; cvxpy's time has its modelling
in it, as a user's has.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from common import machine, options, publish, table, timed
from optimize_problems import Problem, problems
from optimize_solvers import Solver, solvers

TARGETS = (1e-4, 1e-6)
LADDER = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)
ENOUGH_SECONDS = 10.0  # of repetitions: a run that takes longer is not repeated
OTHERS = ("scipy", "scikit-learn", "copt", "cvxpy", "clarabel")


class Reached(NamedTuple):
    """Median CPU seconds to a target, NaN where it was not reached, and the gap there."""

    seconds: float
    gap: float

    def __str__(self) -> str:
        return f"({self.gap:.0e})" if np.isnan(self.seconds) else f"{self.seconds:.2g}"


class Job(NamedTuple):
    """What one process measures."""

    problem: str
    solver: str
    given: argparse.Namespace


@functools.cache
def problems_by_name(is_small: bool) -> dict[str, Problem]:
    return {problem.name: problem for problem in problems(is_small)}


def measured(
    problem: Problem, solve: Solver, ladder: tuple[float, ...], target: float, given: Any
) -> Reached:
    """The first rung of the ladder that is enough, run several times."""
    best, spent = np.inf, 0.0
    for tol in ladder:
        if spent > given.seconds:
            break
        first = timed(lambda tol=tol: solve(tol, given.seconds))
        gap = problem.relative_gap(first.value) if np.isfinite(first.value).all() else np.inf
        best, spent = min(best, gap), spent + first.cpu_seconds
        if gap <= target and first.cpu_seconds <= given.seconds:
            took = [first.cpu_seconds]
            while len(took) < given.repetitions and sum(took) < ENOUGH_SECONDS:
                took.append(timed(lambda tol=tol: solve(tol, given.seconds)).cpu_seconds)
            return Reached(float(np.median(took)), gap)
    return Reached(float("nan"), best)


def carry_out(job: Job) -> tuple[Reached, ...]:
    """To every target, in the process that calls."""
    problem = problems_by_name(job.given.small)[job.problem]
    solve, stops_by_gap = solvers(problem)[job.solver]
    solve(0.1, job.given.seconds)  # (compiles what it needs)
    reached = tuple(
        measured(problem, solve, (target,) if stops_by_gap else LADDER, target, job.given)
        for target in TARGETS
    )
    print(job.problem, job.solver, *reached, sep="; ", file=sys.stderr, flush=True)
    return reached


def all_jobs(given: argparse.Namespace) -> list[Job]:
    wanted = tuple(given.problems or [""])
    return [
        Job(name, solver, given)
        for name, problem in problems_by_name(given.small).items()
        if name.startswith(wanted)
        for solver in solvers(problem)
    ]


def results(jobs: list[Job], n_processes: int) -> Iterator[tuple[Reached, ...]]:
    """In the order of the jobs."""
    if n_processes == 1:
        yield from map(carry_out, jobs)
        return
    with ProcessPoolExecutor(n_processes) as pool:
        yield from pool.map(carry_out, jobs)


def one_table(jobs: list[Job], reached: Iterator[tuple[Reached, ...]]) -> str:
    """A row for each solver, a column for each problem."""
    cells = {
        (job.solver, job.problem): " / ".join(map(str, each))
        for job, each in zip(jobs, reached, strict=True)
    }
    names = list(dict.fromkeys(job.problem for job in jobs))
    rows = sorted(dict.fromkeys(job.solver for job in jobs), key=lambda name: name[:5] != "ours,")
    return table(
        ["", *names], ([row, *(cells.get((row, name), "") for name in names)] for row in rows)
    )


def versions() -> Iterator[str]:
    """Of the packages that we are compared with."""
    for name in OTHERS:
        with contextlib.suppress(PackageNotFoundError):
            yield f"{name} {version(name)}"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--small", action="store_true", help="problems of a tenth of the size")
    parser.add_argument("--problems", nargs="+", help="only those whose names begin like this")
    parser.add_argument("--repetitions", type=int, default=15, help="at most")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of a run")
    parser.add_argument("--jobs", type=int, default=1, help="processes that measure at once")
    given = parser.parse_args()
    publish(
        given.output,
        f"## The general form, CPU seconds to relative gaps of {TARGETS[0]:.0e} / {TARGETS[1]:.0e}",
        f"{machine()}, {', '.join(versions())}; {given.jobs} at a time.",
        f"In brackets: the gap after {given.seconds:g} s, or with the smallest tolerance.",
    )
    jobs = all_jobs(given)
    publish(given.output, one_table(jobs, results(jobs, given.jobs)))


if __name__ == "__main__":
    main()
