"""Oracle calls where each takes long: a chain whose decoder waits before it answers.

    python benchmarks/slow_oracle_table.py [--milliseconds 1 10 100] [--strings 20] [--tol 0.05]

The waiting stands for decoders that take long; all else is Python. Calls are means over some
seeds, made without waiting; seconds are those of one run of the first seed. Wall time, because a
sleeping oracle uses no CPU; the CPU seconds are all that the library and the decoder itself take.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from common import machine, options, publish, table

import blockwolfe as bw

METHODS = ["auto", "bcfw+gap+pairwise+cache", "cutting_plane+n", "cutting_plane", "bcfw"]


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


def problem_of(data: Any, milliseconds: float) -> Any:
    fitted = bw.Problem(bw.tasks.Chain(10), data.X, data.Y).task
    return bw.Problem(Slow(fitted, milliseconds / 1000), data.X, data.Y)


def run(problem: Any, method: str, seed: int, given: Any) -> tuple[Any, float, float]:
    """A run, its wall time and its CPU time."""
    began, cpu = time.perf_counter(), time.process_time()
    found = bw.solve(problem, given.lam, method, given.tol, random_state=seed)
    return found, time.perf_counter() - began, time.process_time() - cpu


def line(data: Any, method: str, given: Any) -> list[Any]:
    """Calls of one method over seeds, and its seconds for every waiting time."""
    free = problem_of(data, 0.0)
    run(free, method, 0, given)  # (compiles)
    runs = [run(free, method, seed, given) for seed in range(given.seeds)]
    counts = [found.counts for found, _, _ in runs]
    calls = [c.oracle_calls + c.certificate_calls for c in counts]
    seconds = [run(problem_of(data, ms), method, 0, given)[1] for ms in given.milliseconds]
    return [
        method,
        "/".join(sorted({found.status.name for found, _, _ in runs})),
        f"{np.mean(calls):.0f}",
        f"{min(calls)} to {max(calls)}",
        f"{np.mean([c.certificate_calls for c in counts]):.0f}",
        f"{np.mean([cpu for _, _, cpu in runs]):.2f}",
        *(f"{wall:.1f}" for wall in seconds),
    ]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--milliseconds", type=float, nargs="+", default=[1.0, 10.0, 100.0])
    parser.add_argument("--strings", type=int, default=20, help="digit strings to train on")
    parser.add_argument("--lam", type=float, default=0.1)
    parser.add_argument("--tol", type=float, default=0.05)
    parser.add_argument("--seeds", type=int, default=4, help="runs over which calls are averaged")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    given = parser.parse_args()
    data = bw.datasets.digit_strings(n_strings=given.strings)
    header = ["method", "ending", "calls", "of seeds", "of certificates", "CPU seconds"]
    header += [f"seconds at {ms:g} ms" for ms in given.milliseconds]
    publish(
        given.output,
        f"{given.strings} digit strings, lam = {given.lam:g}, tol = {given.tol:g}; calls "
        "include those of certificates.",
        table(header, [line(data, method, given) for method in given.methods]),
        machine(),
    )


if __name__ == "__main__":
    main()
