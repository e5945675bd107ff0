"""One shard against two on real data; what a round takes in threads, processes and Ray.

    python benchmarks/shards_table.py [--sets ocr conll] [--times 1 10] [--engines threads ray]

One shard is `auto` itself, with its acceleration, which shards go without: it is measured without
it as well. Shards run one after another here, where they do not disturb each other; the longest way
is what would be left with a core for each: CPU seconds less those of all shards but the slowest, in
every round and every certificate. A round without visits is messages, vectors and the joint step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from common import Benchmark, conll2000, machine, ocr, options, publish, table, timed, warm_up
from scale_model import Watch, WatchedShards

import blockwolfe as bw
from blockwolfe.distributed.joint import joint_step
from blockwolfe.methods.base import Setup
from blockwolfe.problem.workers import Workers

SETS = {"ocr": ("OCR-large", partial(ocr, "large")), "conll": ("CoNLL-2000", conll2000)}
HEADER = ["data", "lam", "method", "gap", "passes", "CPU s", "longest way s", "times faster"]
ROUNDS = ["data", "weights", "engine", "ms a round without visits", "of that the joint step"]


@dataclass(frozen=True)
class Plain(bw.Auto):
    """`auto` as it is in shards: without acceleration."""

    def start(self, setup: Setup) -> Any:
        """As a shard does."""
        return self.start_on_corners(setup)


def methods(n_shards: int) -> Iterator[tuple[str, Any, Watch]]:
    """By the names that lines have."""
    yield "auto", bw.Auto(), Watch()
    yield "auto without acceleration", Plain(), Watch()
    watch = Watch()
    yield f"{n_shards} shards", WatchedShards(n_shards, "serial", watch=watch), watch


def lines(name: str, problem: bw.Problem, times: float, given: Any) -> Iterator[list[Any]]:
    """A line for each method, at lam = times/n."""
    lam, first = times / len(problem), float("nan")
    for words, method, watch in methods(given.shards):
        warm_up(problem, lam, method)
        watch.clear()
        solve = partial(bw.solve, problem, lam, method, tol=given.tol, random_state=0)
        found, _, cpu_seconds = timed(partial(solve, max_passes=given.most_passes))
        longest = cpu_seconds - watch.saved if found.is_certified else float("nan")
        first = longest if np.isnan(first) else first
        gap, passes = float(found.certificate.gap), found.counts.visits / len(problem)
        yield [name, f"{times:g}/n", words, gap, passes, cpu_seconds, longest, first / longest]


def round_line(name: str, problem: bw.Problem, engine: str, n_rounds: int) -> list[Any]:
    """What rounds without visits take, beside the joint step alone."""
    workers, state = Workers(problem.blocks, 1), problem.initial_state()
    rng, lam = np.random.default_rng(0), 1.0 / len(problem)
    given = Setup(problem.blocks, state, lam, rng, workers, problem=problem)
    d = problem.n_features
    changes, raw = [rng.normal(size=d) for _ in range(2)], rng.normal(size=d)
    with workers, ExitStack() as stack:
        work: Any = bw.Sharded(2, engine, rounds=1).start(given)
        stack.callback(work.end)
        work.prepare()
        work.advance(len(problem), lambda: True)  # (what travels is as after a pass)

        def make() -> None:
            work.runner.ask("go", work._raw, 1.0, 0, 0)
            joint_step(problem.blocks, raw, lam, changes, np.ones(2))
            work.runner.ask("settle", 0.0)

        join = partial(joint_step, problem.blocks, raw, lam, changes, np.ones(2))
        seconds = np.median([timed(make).seconds for _ in range(n_rounds)])
        joining = np.median([timed(join).seconds for _ in range(n_rounds)])
    return [name, d, engine, 1e3 * float(seconds), f"{joining / seconds:.0%}"]


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--times", type=float, nargs="+", default=[1.0, 10.0], help="lam times n")
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--most-passes", type=int, default=400, help="of each run")
    parser.add_argument("--engines", nargs="+", default=["serial", "threads", "processes", "ray"])
    parser.add_argument("--rounds", type=int, default=20, help="of which the median is taken")
    given = parser.parse_args()
    solved, rounds = [], []
    for name, load in map(SETS.get, given.sets):
        benchmark: Benchmark = load(given.data_home)
        for times in given.times:
            solved += lines(name, benchmark.problem, times, given)
        rounds += [round_line(name, benchmark.problem, e, given.rounds) for e in given.engines]
    publish(given.output, table(HEADER, solved), table(ROUNDS, rounds), machine())


if __name__ == "__main__":
    main()
