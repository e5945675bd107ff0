"""What a round of shards costs besides visits, and whether twice the workers do twice the work.

    python benchmarks/rounds_table.py [--engines threads processes ray] [--passes 12]

*Overhead*: a problem so small that visits take next to no time. A round is the message to all
shards, their work, and their answers; what the slowest shard works is taken off. *Weak scaling*:
one worker with half of OCR-large, then two with half each, without acceleration; the time in which
the slowest shard makes its share of a pass. Medians, without the first passes, which compile.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from common import machine, ocr, options, publish, table

import blockwolfe as bw
from blockwolfe.distributed.watching import Log

METHOD, WARM_UP = "bcfw+pairwise", 2  # passes


def rounds_of(problem: Any, method: Any, n_passes: int) -> list[tuple[float, float]]:
    """Seconds of each round, and those that its slowest shard worked."""
    found, plain = [], Log.add

    def add(log: Any, reports: Sequence[Any], seconds: float) -> None:
        found.append((seconds, max(report.seconds for report in reports)))
        plain(log, reports, seconds)

    with patch.object(Log, "add", add):
        bw.solve(problem, 1e-3, method, tol=0, max_passes=n_passes, random_state=0)
    return found[WARM_UP * len(found) // n_passes :]


def overhead(engine: str, n_shards: int, n_columns: int, n_passes: int) -> list[float]:
    """Of a round, in milliseconds: the median, and the 90th percentile."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(16 * n_shards, n_columns)), np.arange(16 * n_shards) % 2
    problem = bw.Problem(bw.tasks.Multiclass(), X, Y)
    found = rounds_of(problem, bw.Sharded(n_shards, engine, METHOD, rounds=4), n_passes)
    over = [1e3 * (seconds - working) for seconds, working in found]
    return [median(over), float(np.quantile(over, 0.9))]


def share_of_a_pass(engine: str, data: Any, n_workers: int, n_passes: int) -> list[float]:
    """Milliseconds of a round, and of the slowest shard in it, with half of the data for each."""
    half = len(data.X) // 2
    parts = [(data.X[a : a + half], data.Y[a : a + half]) for a in (0, half)][:n_workers]
    with bw.ShardedProblem(bw.tasks.Chain(26), parts, engine, keep=True) as problem:
        method = bw.Sharded(n_workers, engine, METHOD, rounds=1)
        found = rounds_of(problem, method, n_passes)
    return [1e3 * median(column) for column in zip(*found, strict=True)]


def main() -> None:
    """Both tables."""
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--engines", nargs="+", default=["threads", "processes", "ray"])
    parser.add_argument("--passes", type=int, default=12)
    given = parser.parse_args()
    sizes = (4, 500_000)  # columns: twice as many weights
    over = [
        (engine, 2, 2 * n, *overhead(engine, 2, n, given.passes))
        for engine in given.engines
        for n in sizes
    ]
    data = ocr("large", given.data_home).problem
    weak = [
        (engine, n, *share_of_a_pass(engine, data, n, given.passes))
        for engine in given.engines
        for n in (1, 2)
    ]
    publish(
        given.output,
        machine(),
        table(["engine", "shards", "weights", "ms a round besides visits", "90 %"], over),
        table(["engine", "workers", "ms a round", "ms of the slowest shard"], weak),
    )


if __name__ == "__main__":
    main()
