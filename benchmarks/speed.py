"""Speed of the compiled pass against its bounds, all from one run of one machine.

    make bench                    OCR-small and CoNLL-2000 where the data is found
                                  (BLOCKWOLFE_DATA or ../shared/data), else generated chains

Prints, per problem: microseconds per visit of the compiled pass, of stochastic subgradient steps
(averaged, and not), of the bare oracle (scores and Viterbi, nothing else), and of the same
algorithm written with numpy; then visits per second; then, of methods on the expectation oracle,
microseconds per block of a pass, beside the bare oracle (scores, and sums forwards and backwards);
then the time from `import` to the first iteration with a cold and with a warm cache.
Each figure is the best of several repetitions, interleaved, because machines are shared.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import data_home, machine
from rich.console import Console
from rich.table import Table

import blockwolfe as bw
from blockwolfe.base.compiled import call, jit
from blockwolfe.methods.base import Setup
from blockwolfe.methods.registry import as_method
from blockwolfe.problem.expectation import MarginalWork, expectations
from blockwolfe.problem.workers import Workers
from blockwolfe.running.engine import Engine

LAM = 0.01
console = Console()


def problems(is_small: bool, home: Path | None = None) -> dict[str, bw.Problem]:
    home, task = home or data_home(), bw.tasks.Chain(26, task_loss="normalized_hamming")
    if home is None or is_small:
        console.print("generated chains; set BLOCKWOLFE_DATA for real data")
        n_sequences = 30 if is_small else 600
        options = {"n_labels": 26, "n_features": 128, "random_state": 0}
        data = bw.datasets.synthetic_chains(n_sequences, **options)
        return {"generated": bw.Problem(task, data.X, data.Y)}
    ocr = bw.datasets.load_ocr("small", "train", home)
    conll = bw.datasets.load_conll2000("train", home)
    return {
        "OCR-small": bw.Problem(task, ocr.X, ocr.Y),
        "CoNLL-2000": bw.Problem(bw.tasks.Chain(), conll.X, conll.Y),
    }


@jit
def bare_oracle(n_blocks, seam, data, scratch, w, work):
    for i in range(n_blocks):
        seam.score(data, i, w, 1.0, work.theta)
        seam.oracles.maximize(data, i, work.theta, scratch, work.code, work.value)


def engine_of(problem: bw.Problem, method: bw.Method, lam: float = LAM) -> Engine:
    """A method at its start, on one core."""
    blocks, rng = problem.blocks, np.random.default_rng(0)
    state, workers = problem.initial_state(), Workers(blocks, 1)
    engine = method.start(Setup(blocks, state, lam, rng, workers))
    engine.prepare()
    return engine


def advance_one_pass(engine: Engine) -> None:
    engine.advance(engine.n_blocks, lambda: True)


def seconds(function) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def numpy_passes(problem: bw.Problem, order: np.ndarray, lam: float):
    """BCFW as a numpy user writes it: dense w_i per block, vectorised Viterbi. Returns the dual."""
    n, d, K = len(problem), problem.n_features, 26
    W, ell = np.zeros((n, d)), np.zeros(n)
    w = np.zeros(d)
    X = [np.hstack([x, np.ones((len(x), 1))]) for x in problem.X]  # the constant is the bias

    def phi(i, y):
        out = np.zeros(d)
        onehot = np.eye(K)[y]
        p = X[i].shape[1] * K
        out[:p] = (X[i].T @ onehot).ravel()
        out[p + y[0]] += 1.0
        out[p + K + y[-1]] += 1.0
        np.add.at(out[p + 2 * K :].reshape(K, K), (y[:-1], y[1:]), 1.0)
        return out

    def oracle(i, y):
        p = X[i].shape[1] * K
        unary = X[i] @ w[:p].reshape(-1, K)
        unary[0] += w[p : p + K]
        unary[-1] += w[p + K : p + 2 * K]
        unary += 1.0 / len(y)
        unary[np.arange(len(y)), y] -= 1.0 / len(y)
        transition = w[p + 2 * K :].reshape(K, K)
        best, back = unary[0], []
        for row in unary[1:]:
            scores = best[:, None] + transition
            back.append(scores.argmax(axis=0))
            best = scores.max(axis=0) + row
        found = [int(best.argmax())]
        for pointers in reversed(back):
            found.append(int(pointers[found[-1]]))
        return np.array(found[::-1])

    truth = [phi(i, y) for i, y in enumerate(problem.Y)]
    began = time.perf_counter()
    for i in order:
        y = problem.Y[i]
        found = oracle(i, y)
        w_s = (truth[i] - phi(i, found)) / (lam * n)
        ell_s = np.mean(found != y) / n
        direction = w_s - W[i]
        gap = lam * np.dot(-direction, w) - ell[i] + ell_s
        sqnorm = lam * np.dot(direction, direction)
        gamma = min(1.0, gap / sqnorm) if gap > 0 else 0.0
        W[i] += gamma * direction
        ell[i] += gamma * (ell_s - ell[i])
        w += gamma * direction
    spent = time.perf_counter() - began
    return spent, ell.sum() - lam / 2 * np.dot(w, w)


def measure(problem: bw.Problem, warm_up: int, repetitions: int) -> dict[str, float]:
    blocks, n = problem.blocks, len(problem)
    methods = (
        bw.BCFW(),
        bw.StochasticSubgradient(),
        bw.StochasticSubgradient(averaging=False),
    )
    engine, steps, last = (engine_of(problem, method) for method in methods)
    for _ in range(warm_up):
        for each in (engine, steps, last):
            advance_one_pass(each)
    args = (n, blocks.seam, blocks.packed_data, engine.own[1], engine.w, engine.point.work)
    call(bare_oracle, blocks.kind, *args)
    measured = {
        "visit": lambda: advance_one_pass(engine),
        "subgradient": lambda: advance_one_pass(steps),
        "last": lambda: advance_one_pass(last),
        "oracle": lambda: call(bare_oracle, blocks.kind, *args),
    }
    return best_of(measured, n, repetitions)


def best_of(measured: dict, n_blocks: int, repetitions: int) -> dict[str, float]:
    """Microseconds per block, one after another in every repetition."""
    spent = {name: [] for name in measured}
    for _ in range(repetitions):
        for name, function in measured.items():
            spent[name].append(seconds(function))
    return {name: 1e6 * min(found) / n_blocks for name, found in spent.items()}


# Methods on the expectation oracle, and how often a pass asks it of every block.
EXPECTING = {"online_eg": 1, "excessive_gap": 1, "extragradient+entropy": 2}


def measure_expecting(problem: bw.Problem, repetitions: int) -> dict[str, float]:
    """The bare oracle beside the methods that go by it, after some passes of each."""
    blocks, engines = problem.blocks, {}
    for name in EXPECTING:
        engines[name] = engine_of(problem, as_method(name))
        for _ in range(5):
            advance_one_pass(engines[name])
    w, own = engines["online_eg"].w, (MarginalWork.of(blocks), blocks.marginal_scratch())
    measured = {"oracle": lambda: expectations(blocks, w, 1.0, own=own)}
    for name, engine in engines.items():
        measured[name] = lambda engine=engine: advance_one_pass(engine)
    return best_of(measured, len(problem), repetitions)


def measure_numpy(problem: bw.Problem, n_passes: int = 3) -> tuple[float, float]:
    """Microseconds per visit over the first passes, numpy and compiled, to the very same dual."""
    rng = np.random.default_rng(0)
    order = np.concatenate([bw.Permutation().order(len(problem), rng) for _ in range(n_passes)])
    spent, dual = numpy_passes(problem, order, LAM)
    best = np.inf
    for _ in range(5):
        engine = engine_of(problem, bw.BCFW())
        spent_here = sum(seconds(lambda e=engine: advance_one_pass(e)) for _ in range(n_passes))
        best = min(best, spent_here)
    ours = engine.dual()
    assert abs(dual - ours) < 1e-10, (dual, ours)
    return 1e6 * spent / len(order), 1e6 * best / len(order)


START = """
import time; began = time.perf_counter()
import blockwolfe as bw
imported = time.perf_counter() - began
data = bw.datasets.digit_strings(n_strings=50)
began = time.perf_counter()
problem = bw.Problem(bw.tasks.Chain(10), data.X, data.Y)
bw.solve(problem, 0.1, tol=0.0, max_passes=1)
print(imported, time.perf_counter() - began)
"""


def start_up(cache: str) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-c", START],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    imported, first = map(float, done.stdout.split())
    return imported, first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a few seconds' worth")
    given = parser.parse_args()
    console.print(f"{machine()}, one thread")
    table = Table(
        "problem", "visit", "SSG step", "not averaged", "bare oracle", "ratio", "visits per second"
    )
    for name, problem in problems(given.small).items():
        is_small = problem.n_features < 10_000
        found = measure(problem, *((100, 40) if is_small else (3, 8)))
        table.add_row(
            name,
            f"{found['visit']:.2f} us",
            f"{found['subgradient']:.2f} us",
            f"{found['last']:.2f} us",
            f"{found['oracle']:.2f} us",
            f"{found['visit'] / found['oracle']:.2f}",
            f"{1e6 / found['visit']:,.0f}",
        )
        if name != "CoNLL-2000":
            expecting = measure_expecting(problem, 10)
            bare = expecting.pop("oracle")
            shown = [
                f"{method} {us:.1f} us ({us / (EXPECTING[method] * bare):.2f} of its bound)"
                for method, us in expecting.items()
            ]
            console.print(f"expectation oracle on {name}: {bare:.1f} us; {', '.join(shown)}")
            with_numpy, compiled = measure_numpy(problem)
            console.print(
                f"first three passes on {name}: numpy {with_numpy:.0f} us per visit, compiled "
                f"{compiled:.2f} us: {with_numpy / compiled:.0f} times faster, same dual"
            )
    console.print(table)
    if given.small:
        return
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = start_up(cache), min(start_up(cache) for _ in range(3))
    console.print(
        f"first iteration after import: {cold[1]:.1f} s with a cold cache (compiles once), "
        f"{warm[1]:.2f} s with a warm one; import itself {warm[0]:.2f} s"
    )


if __name__ == "__main__":
    main()
