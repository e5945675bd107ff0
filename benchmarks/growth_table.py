"""Time and memory of a visit as the data grow: one size doubled four times, all others as they are.

    python benchmarks/growth_table.py [--sizes n T K] [--doublings 4]

Generated sequences with sparse rows. Sizes are examples n, positions T, labels K, columns of the
rows d (with as many entries a row), entries of a row, and stored corners of a block. A visit is one
of "bcfw" (an oracle call and a step), a stored visit one of pairwise steps over stored corners
alone, a full pass one of a certificate, per block, in CPU time. Memory is the peak of what training
holds besides the data (by `tracemalloc`). The last line of each size is the exponent that
fits best: 1 is linear. Viterbi needs K^2 T, and a visit reads T rows: no size should do worse.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from common import machine, options, publish, table

import blockwolfe as bw
from blockwolfe.methods.base import Setup
from blockwolfe.methods.bcfw.engine import NO_BATCH
from blockwolfe.methods.bcfw.rules import FROM_ORACLE, FROM_STOCK
from blockwolfe.methods.registry import as_method
from blockwolfe.problem.workers import Workers
from blockwolfe.rules.sampling import Draws
from blockwolfe.running.engine import Engine

LAM_TIMES_N = 1.0
SECONDS = 0.2  # spent on each figure, at least


class Sizes(NamedTuple):
    """What grows."""

    n: int = 100
    T: int = 10
    K: int = 8
    d: int = 1000
    entries: int = 10
    corners: int = 4


HEADER = ["size", "value", "visit us", "stored visit us", "full pass us", "MB"]


def generated(sizes: Sizes) -> bw.Problem:
    """Labels at random: no two sequences agree, so that corners stay in use."""
    rng = np.random.default_rng(0)
    shape, n_rows = (sizes.T, sizes.d), sizes.T * sizes.entries
    pointers = np.arange(0, n_rows + 1, sizes.entries)
    X = []
    for _ in range(sizes.n):
        columns = rng.integers(sizes.d, size=n_rows)
        X.append(sp.csr_array((rng.normal(size=n_rows), columns, pointers), shape=shape))
    Y = [rng.integers(sizes.K, size=sizes.T) for _ in range(sizes.n)]
    return bw.Problem(bw.tasks.Chain(sizes.K, task_loss="normalized_hamming"), X, Y)


def engine_of(problem: bw.Problem, method: Any) -> Engine:
    """A method at its start, on one core."""
    blocks, rng = problem.blocks, np.random.default_rng(0)
    lam, workers = LAM_TIMES_N / len(problem), Workers(blocks, 1)
    engine = as_method(method).start(Setup(blocks, problem.initial_state(), lam, rng, workers))
    engine.prepare()
    return engine


def passes(engine: Engine, n_passes: int) -> None:
    """So many passes of visits."""
    for _ in range(n_passes):
        engine.advance(engine.n_blocks, lambda: True)


def microseconds(function: Callable[[], Any], n_blocks: int) -> float:
    """Per block, the least of several repetitions."""
    best, spent = float("inf"), 0.0
    while spent < SECONDS:
        began = time.process_time()
        function()
        taken = time.process_time() - began
        best, spent = min(best, taken), spent + taken
    return 1e6 * best / n_blocks


def visit_all(engine: Any, source: int) -> None:
    """A visit to every block: by oracle calls, or over stored corners alone."""
    order = np.arange(engine.n_blocks)
    while engine._visit(Draws(order, np.zeros(len(order))), 0, source, NO_BATCH) < len(order):
        engine._make_room()


def with_corners(problem: bw.Problem, n_corners: int) -> Engine:
    """Pairwise steps after oracle calls that fill the stock of every block, or very many."""
    engine: Any = engine_of(problem, bw.BCFW(step=bw.Pairwise(), cache=bw.Cache()))
    for _ in range(4 * n_corners):
        if engine.point.n_stored() >= n_corners:
            break
        visit_all(engine, FROM_ORACLE)
    return engine


def line(name: str, sizes: Sizes) -> list[Any]:
    """One size at one value."""
    problem = generated(sizes)
    plain = engine_of(problem, "bcfw")
    passes(plain, 2)
    stored = with_corners(problem, sizes.corners)
    found = [
        microseconds(lambda: passes(plain, 1), sizes.n),
        microseconds(lambda: visit_all(stored, FROM_STOCK), sizes.n),
        microseconds(plain.certify, sizes.n),
    ]
    return [name, getattr(sizes, name), *found, megabytes(problem, sizes.corners)]


def megabytes(problem: bw.Problem, n_corners: int) -> float:
    """Peak of what training holds besides the data."""
    tracemalloc.start()
    with_corners(problem, n_corners).certify()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


def exponents(rows: list[list[Any]]) -> list[Any]:
    """Slopes of the logarithms."""
    numbers = np.log([row[1:] for row in rows])
    slopes = [float(np.polyfit(numbers[:, 0], column, 1)[0]) for column in numbers.T[1:]]
    return [f"{rows[0][0]}: exponent", "", *slopes]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sizes", nargs="+", choices=Sizes._fields, default=list(Sizes._fields))
    parser.add_argument("--doublings", type=int, default=4)
    given = parser.parse_args()
    rows: list[list[Any]] = []
    line("n", Sizes())  # (compiles)
    for name in given.sizes:
        values = [getattr(Sizes(), name) * 2**k for k in range(given.doublings + 1)]
        found = [line(name, Sizes()._replace(**{name: value})) for value in values]
        rows += [*found, exponents(found)]
    publish(given.output, table(HEADER, rows), machine())


if __name__ == "__main__":
    main()
