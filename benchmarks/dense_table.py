"""Dense features against their bound, the matrix product: visits, scores and full passes.

    python benchmarks/dense_table.py [--small] [--passes 20]

Random sequences of one length T with p features and K labels, so that every block has the product
X (T x p) times W (p x K) of the same shape; numpy's, by its BLAS with one thread. Microseconds per
block, each the best of several repetitions that take turns. Visits are those of "bcfw" and with
pairwise steps, as the default makes them, after so many passes; a full pass is one of a certificate
of the latter: scores, Viterbi, and all else that they are made of.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import machine, options, publish, table
from threadpoolctl import threadpool_limits

import blockwolfe as bw
from blockwolfe.base.compiled import call, jit
from blockwolfe.methods.base import Setup
from blockwolfe.methods.registry import as_method
from blockwolfe.problem.workers import Workers

# (T, p, K)
SHAPES = [
    (20, 64, 10), (20, 64, 50), (5, 768, 17), (20, 768, 10), (20, 768, 17), (20, 768, 50),
    (25, 768, 26), (10, 1000, 26), (10, 3000, 26), (1, 768, 17),
]  # fmt: skip
SMALL = [(3, 10, 4)]
HEADER = [
    "T x p x K", "values", "numpy's product", "score", "/ product", "oracle", "visit", "/ product",
    "pairwise visit", "/ product", "full pass", "/ product",
]  # fmt: skip


@jit
def score_all(features: Any, data: Any, n: int, w: Any, theta: Any) -> None:
    for i in range(n):
        features.score(data, i, w, 1.0, theta)


@jit
def answer_all(seam: Any, data: Any, scratch: Any, n: int, w: Any, work: Any) -> None:
    features, oracles = seam
    for i in range(n):
        features.score(data, i, w, 1.0, work.theta)
        oracles.maximize(data, i, work.theta, scratch, work.code, work.value)


def generated(shape: tuple[int, int, int], n: int, dtype: Any) -> bw.Problem:
    """Labels by linear scores and noise."""
    (length, width, n_labels), rng = shape, np.random.default_rng(0)
    X = [rng.normal(size=(length, width)).astype(dtype) for _ in range(n)]
    W = rng.normal(size=(width, n_labels)) / np.sqrt(width)
    Y = [np.argmax(x @ W + rng.normal(size=(length, n_labels)), axis=1) for x in X]
    if length == 1:
        return bw.Problem(bw.tasks.Multiclass(n_labels), np.concatenate(X), np.concatenate(Y))
    return bw.Problem(bw.tasks.Chain(n_labels), X, Y)


def after(problem: bw.Problem, method: str, passes: int) -> Any:
    """A method that has come so far."""
    blocks, n, rng = problem.blocks, len(problem), np.random.default_rng(0)
    given = Setup(blocks, problem.initial_state(), 1.0 / n, rng, Workers(blocks, 1))
    engine: Any = as_method(method).start(given)
    engine.prepare()
    for _ in range(passes):
        engine.advance(n, lambda: True)
    return engine


def measures(
    problem: bw.Problem, shape: tuple[int, int, int], passes: int
) -> dict[str, Callable[[], Any]]:
    """What is timed, each over all blocks."""
    length, width, n_labels = shape
    blocks, n, rng = problem.blocks, len(problem), np.random.default_rng(0)
    engine = after(problem, "bcfw+uniform", passes)
    pairwise = after(problem, "bcfw+uniform+pairwise", passes)
    w, work, scratch = rng.normal(size=problem.n_features), engine.point.work, blocks.scratch()
    W = np.ascontiguousarray(w[: width * n_labels].reshape(width, n_labels))
    rows = np.concatenate(problem.X).reshape(n, length, width).astype(np.float64)
    out, seam = np.zeros((length, n_labels)), (blocks.features, blocks.oracles)

    def multiply() -> None:
        for x in rows:
            np.dot(x, W, out=out)

    return {
        "product": multiply,
        "score": lambda: call(
            score_all, blocks.kind, blocks.features, blocks.packed_data, n, w, work.theta
        ),
        "oracle": lambda: call(
            answer_all, blocks.kind, seam, blocks.packed_data, scratch, n, w, work
        ),
        "visit": lambda: engine.advance(n, lambda: True),
        "pairwise visit": lambda: pairwise.advance(n, lambda: True),
        "pass": pairwise.certify,
    }


def seconds(function: Callable[[], Any]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def line(
    shape: tuple[int, int, int], n: int, dtype: Any, passes: int, repetitions: int
) -> list[Any]:
    """One shape."""
    problem = generated(shape, n, dtype)
    timed = measures(problem, shape, passes)
    best = dict.fromkeys(timed, np.inf)
    for _ in range(repetitions):
        for name, function in timed.items():
            best[name] = min(best[name], 1e6 * seconds(function) / n)
    bound, score, oracle, visit, pairwise, full = (best[name] for name in timed)
    name, kind = " x ".join(map(str, shape)), np.dtype(dtype).name
    start = [name, kind, bound, score, score / bound, oracle, visit, visit / bound]
    return [*start, pairwise, pairwise / bound, full, full / bound]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--small", action="store_true", help="one small shape, to see it run")
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=60)
    given = parser.parse_args()
    n, repetitions = (4, 1) if given.small else (given.blocks, given.repetitions)
    shapes = SMALL if given.small else SHAPES
    with threadpool_limits(1):  # (of BLAS)
        rows = [
            line(shape, n, kind, given.passes, repetitions)
            for shape in shapes
            for kind in (np.float64, np.float32)
        ]
    publish(given.output, table(HEADER, rows), machine())


if __name__ == "__main__":
    main()
