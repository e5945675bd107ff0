"""What visits of the stochastic subgradient method cost beyond the bare oracle, in the same order.

    python benchmarks/visits_speed.py --data FOLDER     OCR-small and CoNLL-2000 of that folder;
                                                        without it, where data is found
                                                        (BLOCKWOLFE_DATA or ../shared/data), or
                                                        generated

The oracle is scores and Viterbi, nothing else, at the weights of a run, in the very array that its
visits read: with a copy, the oracle was 1 us slower or faster on CoNLL-2000 from process to process
(where the copy lies in memory, it seems). Passes take turns in one process, and in who begins: one
of each run, both in one order of blocks, and the bare oracle of each in the order of its latest
pass. Figures are CPU time, microseconds a block. Each is the median over repetitions of ten passes:
as often as the average is asked for (`certify_every`), and as visits add up what they have written
down, which is part of their time. What they take beyond the oracle is the median of the
differences.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from common import machine, options, publish, table, timed
from speed import advance_one_pass, engine_of, problems

import blockwolfe as bw
from blockwolfe.base.compiled import call, jit

ORDERS = {"permuted": bw.Permutation(), "in turn": bw.Cyclic()}
HEADER = ["problem", "order", "oracle", "visit", "beyond"]
HEADER += ["oracle", "averaged", "beyond", "average"]
PASSES = 10


@jit
def oracle_in_order(order, seam, data, scratch, total, scale, work):
    for i in order:
        seam.score(data, i, total, scale, work.theta)
        seam.oracles.maximize(data, i, work.theta, scratch, work.code, work.value)


def measure(problem: bw.Problem, sampling: bw.Sampling, given) -> list[float]:
    """A row of the table: microseconds a block."""
    blocks, n = problem.blocks, len(problem)
    methods = [
        bw.StochasticSubgradient(averaging=averaging, sampling=sampling)
        for averaging in (False, True)
    ]
    last, averaged = (engine_of(problem, method, given.lam) for method in methods)
    for _ in range(given.warm_up):
        advance_one_pass(last)
        advance_one_pass(averaged)
    scratch = blocks.scratch()

    def ask(engine) -> None:
        scale, given_blocks = (
            1.0 / (engine.lam * engine.counts.visits),
            (blocks.seam, blocks.packed_data),
        )
        of_engine = (engine.total, scale, engine._room)
        call(oracle_in_order, blocks.kind, engine.passes.order, *given_blocks, scratch, *of_engine)

    turns = {  # (in this order none finds its array in the caches)
        "visit": lambda: advance_one_pass(last),
        "its oracle": lambda: ask(averaged),
        "oracle": lambda: ask(last),
        "averaged": lambda: advance_one_pass(averaged),
    }
    ask(last)  # (compiled, if need be)
    took = {name: np.zeros(given.repetitions) for name in (*turns, "average")}
    names = list(turns)
    for repetition, _ in itertools.product(range(given.repetitions), range(PASSES)):
        for name in names:
            took[name][repetition] += timed(turns[name]).cpu_seconds
        names = names[1:] + names[:1]  # (each finds the caches as either other left them)
    for repetition in range(given.repetitions):
        took["average"][repetition] = timed(averaged.average_w).cpu_seconds
    names = ("oracle", "visit", "its oracle", "averaged", "average")
    oracle, visit, other, late, average = (1e6 * took[name] / (PASSES * n) for name in names)
    columns = (oracle, visit, visit - oracle, other, late, late - other, average)
    return [float(np.median(column)) for column in columns]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--small", action="store_true", help="generated chains, a few seconds")
    parser.add_argument("--data", type=Path, help="folder of OCR and CoNLL-2000")
    parser.add_argument("--problems", nargs="*", help="names of problems; all without")
    parser.add_argument("--lam", type=float, default=0.01)
    parser.add_argument(
        "--warm-up", type=int, default=PASSES, help="passes before the first figure"
    )
    parser.add_argument("--repetitions", type=int, default=9)
    given = parser.parse_args()
    rows = [
        [name, order, *measure(problem, sampling, given)]
        for name, problem in problems(given.small, given.data).items()
        if not given.problems or name in given.problems
        for order, sampling in ORDERS.items()
    ]
    publish(given.output, f"{machine()}, one thread", table(HEADER, rows))


if __name__ == "__main__":
    main()
