"""What the cache saves when the oracle is slow: a chain whose decoder waits before it answers.

    python benchmarks/slow_oracle_table.py [--milliseconds 1 10 100] [--strings 20] [--tol 0.05]

The waiting stands for decoders that take long; all else is Python. Wall time, because a sleeping
oracle uses no CPU.
"""

from __future__ import annotations

import time
from typing import Any

from common import machine, options, publish, table

import blockwolfe as bw

HEADER = ["oracle", "method", "ending", "gap", "calls", "cache hits", "calls saved", "seconds"]


class Slow:
    """A fitted task whose oracle takes so many seconds more."""

    def __init__(self, task: Any, seconds: float) -> None:
        self.task, self.seconds = task, seconds
        self.n_features = task.n_features

    def features(self, x: Any, y: Any) -> Any:
        """As the task has them."""
        return self.task.features(x, y)

    def loss(self, y: Any, y_hat: Any) -> float:
        """As the task has it."""
        return self.task.loss(y, y_hat)

    def decode(self, x: Any, w: Any) -> Any:
        """As fast as the task."""
        return self.task.decode(x, w)

    def augmented_decode(self, x: Any, y: Any, w: Any) -> Any:
        """The oracle."""
        time.sleep(self.seconds)
        return self.task.augmented_decode(x, y, w)


def lines(data: Any, milliseconds: float, given: Any) -> list[list[Any]]:
    """Both methods, without and with the cache."""
    fitted = bw.Problem(bw.tasks.Chain(10), data.X, data.Y).task
    problem = bw.Problem(Slow(fitted, milliseconds / 1000), data.X, data.Y)
    methods = [given.method, f"{given.method}+cache"]
    found = bw.compare(
        problem, given.lam, methods, budget=given.time_limit, tol=given.tol, targets=()
    )
    calls = [run.trace[-1].oracle_calls + run.trace[-1].certificate_calls for run in found.runs]
    return [
        [
            f"{milliseconds:g} ms",
            run.label,
            run.status.name,
            run.trace[-1].gap,
            made,
            run.trace[-1].cache_hits,
            f"{1 - made / calls[0]:.0%}",
            run.trace[-1].seconds,
        ]
        for run, made in zip(found.runs, calls, strict=True)
    ]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--milliseconds", type=float, nargs="+", default=[1.0, 10.0, 100.0])
    parser.add_argument("--strings", type=int, default=20, help="digit strings to train on")
    parser.add_argument("--lam", type=float, default=0.1)
    parser.add_argument("--tol", type=float, default=0.05)
    parser.add_argument("--method", default="bcfw+gap+pairwise")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds of each run")
    given = parser.parse_args()
    data = bw.datasets.digit_strings(n_strings=given.strings)
    rows = [line for waiting in given.milliseconds for line in lines(data, waiting, given)]
    publish(
        given.output,
        f"{given.strings} digit strings, lam = {given.lam:g}, certified gap {given.tol:g}; calls "
        "include those of certificates.",
        table(HEADER, rows),
        machine(),
    )


if __name__ == "__main__":
    main()
