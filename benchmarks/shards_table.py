"""Shards against one core: time and passes to certified gaps, with 1 to 16 shards in threads.

    python benchmarks/shards_table.py [--shards 1 2 4 8 16] [--minutes 7.5] [--csv FILE]

One run to each gap; one shard is `auto` itself. All sets, lambdas and gaps are done with the first
number of shards, then with the next, as long as there is time: give the important numbers first.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

from common import conll2000, machine, ocr, options, publish, table, timed, warm_up

import blockwolfe as bw

PROBLEMS = {"OCR-large": lambda home: ocr("large", home), "CoNLL-2000": conll2000}
NAN = float("nan")


@dataclass(frozen=True)
class Run:
    """One run, as a line of the table."""

    data: str
    lam_n: float  # lambda times the number of examples
    shards: int
    gap: float
    seconds: float  # not a number where the time limit came first
    passes: float
    reached: float  # the gap at the end
    times_faster: float  # than one shard
    efficiency: float  # the same, for each shard
    visits_per_second: float  # of the whole run
    faster_visits: float  # than those of one shard
    communication: float  # share of the time of the last pass's rounds
    rounds: float  # in all
    cpu_seconds: float  # of the whole run


def run_of(name: str, problem: Any, times: float, gap: float, shards: int, given: Any) -> Run:
    """One run; ratios are added later."""
    method = "auto" if shards == 1 else bw.Sharded(shards, given.engine)
    lam = times / len(problem)
    warm_up(problem, lam, method)
    result, _, cpu_seconds = timed(
        lambda: bw.solve(problem, lam, method, tol=gap, random_state=0, time_limit=given.time_limit)
    )
    last, speed = result.trace[-1], result.counts.visits / result.seconds
    seconds = result.seconds if result.is_certified else NAN
    shares = (_number(last, "communication_share"), _number(last, "rounds"), cpu_seconds)
    passes = result.counts.visits / len(problem)
    return Run(
        name, times, shards, gap, seconds, passes, result.certificate.gap, NAN, NAN, speed, NAN,
        *shares,
    )  # fmt: skip


def _number(row: Any, name: str) -> float:
    return float(getattr(row, name, NAN))


def runs_of(given: Any) -> Iterator[Run]:
    """All runs for which there is time."""
    began, problems = perf_counter(), {}
    for name in given.sets:
        problems[name] = PROBLEMS[name](given.data_home).problem
    kinds = product(given.shards, given.gaps, given.sets, given.times)
    for shards, gap, name, times in kinds:
        if perf_counter() - began < 60.0 * given.minutes - given.time_limit:
            yield run_of(name, problems[name], times, gap, shards, given)


def compared(runs: list[Run]) -> list[Run]:
    """With ratios to the run of one shard."""
    alone = {(run.data, run.lam_n, run.gap): run for run in runs if run.shards == 1}
    found = []
    for run in runs:
        one = alone.get((run.data, run.lam_n, run.gap))
        faster = one.seconds / run.seconds if one else NAN
        visits = run.visits_per_second / one.visits_per_second if one else NAN
        ratios = {
            "times_faster": faster,
            "efficiency": faster / run.shards,
            "faster_visits": visits,
        }
        found.append(Run(**(vars(run) | ratios)))
    order = list(PROBLEMS)
    return sorted(found, key=lambda r: (order.index(r.data), r.lam_n, -r.gap, r.shards))


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--sets", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--times", type=float, nargs="+", default=[1.0, 10.0], help="lam times n")
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 2, 4, 16, 8])
    parser.add_argument("--gaps", type=float, nargs="+", default=[1e-2, 1e-3])
    parser.add_argument("--engine", default="threads")
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds of each run")
    parser.add_argument("--minutes", type=float, default=7.5, help="of all; further runs are left")
    parser.add_argument("--csv", type=Path, help="also write the lines to this file")
    given = parser.parse_args()
    runs = compared(list(runs_of(given)))
    header = [field.name for field in fields(Run)]
    if given.csv is not None:
        with given.csv.open("w", newline="") as file:
            csv.writer(file).writerows([header, *map(astuple, runs)])
    publish(
        given.output,
        table([name.replace("_", " ") for name in header], map(astuple, runs)),
        machine(),
    )


if __name__ == "__main__":
    main()
