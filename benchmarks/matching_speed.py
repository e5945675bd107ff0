"""Speed of the compiled matching against other solvers, and how its cost grows with the size.

    python benchmarks/matching_speed.py [--sizes 10 20 ...] [--output FILE]

Three kinds of scores: "trained" as in word alignment with trained weights (few links help), "flat"
as at the start of training (all links help, uniform scores), "sparse" (8 candidate links per word).
scipy and networkx are called as their users would call them for a matching with optional links:
scipy on max(scores, 0), dense; networkx on the graph of links that help, made beforehand. Ours is
measured twice: from Python (`maximize`, with its checks) and as the oracle has it, called from
compiled code (`maximize_into`).
Best of several repetitions, interleaved, because machines are shared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
from common import machine, options, publish, table

from blockwolfe.base.compiled import jit
from blockwolfe.structures import matching
from blockwolfe.structures.augmenting_paths import n_scratch
from blockwolfe.structures.links import all_links

LARGEST_FOR_NETWORKX = 50


def instance(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores and links of n words with n words."""
    links = all_links((n, n)).astype(np.int32)
    if kind == "trained":
        return (rng.normal(size=(n, n)) - 2.0 + 4.0 * np.eye(n)).ravel(), links
    if kind == "flat":
        return rng.random(n * n), links
    links = links[rng.random(n * n) < 8.0 / n]
    return rng.normal(size=len(links)), links


@jit
def repeat(n_times: int, args: Any) -> int:
    """The same matching again and again, without a way through Python in between."""
    size = 0
    for _ in range(n_times):
        size = matching.maximize_into(*args)
    return size


def compiled(scores: np.ndarray, links: np.ndarray, n: int) -> Callable[[], float]:
    n_ints, n_floats = n_scratch(n, n, len(links))
    ints, floats = np.zeros(n_ints, dtype=np.int64), np.zeros(n_floats)
    capacity, chosen = np.ones(2 * n, dtype=np.int64), np.zeros(n, dtype=np.int32)

    n_times = max(1, 500 // n)

    def run() -> float:
        args = (scores, links, capacity, n, chosen, ints, floats)
        size = repeat(n_times, args)
        return float(scores[chosen[:size]].sum())

    run.n_times = n_times  # type: ignore[attr-defined]

    return run


def assignment(scores: np.ndarray, links: np.ndarray, n: int) -> Callable[[], float]:
    matrix = np.full((n, n), -1.0)
    matrix[tuple(links.T)] = scores

    def run() -> float:
        helpful = np.maximum(matrix, 0.0)
        found = scipy.optimize.linear_sum_assignment(helpful, maximize=True)
        return float(helpful[found].sum())

    return run


def networkx_matching(scores: np.ndarray, links: np.ndarray, n: int) -> Callable[[], float] | None:
    try:
        import networkx as nx
    except ImportError:
        return None
    if n > LARGEST_FOR_NETWORKX:
        return None
    graph = nx.Graph()
    helps = scores > 0
    for (a, b), score in zip(links[helps].tolist(), scores[helps], strict=True):
        graph.add_edge(a, n + b, weight=float(score))

    def run() -> float:
        return sum(graph.edges[link]["weight"] for link in nx.max_weight_matching(graph))

    return run


def from_python(scores: np.ndarray, links: np.ndarray, n: int) -> Callable[[], float]:
    matrix = np.zeros((n, n))
    matrix[tuple(links.T)] = scores
    is_dense = len(links) == n * n

    def run() -> float:
        args = (matrix,) if is_dense else (scores, links, (n, n))
        found = matching.maximize(*args)
        return float(matrix[found[:, 0], found[:, 1]].sum())

    return run


SOLVERS: dict[str, Any] = {
    "compiled": compiled,
    "from Python": from_python,
    "scipy": assignment,
    "networkx": networkx_matching,
}


def measure(kind: str, n: int) -> dict[str, float]:
    """Microseconds per matching, mean over three instances of the best of several runs."""
    rng, spent = np.random.default_rng(n), {name: [] for name in SOLVERS}
    for _ in range(3):
        scores, links = instance(kind, n, rng)
        runs = {name: make(scores, links, n) for name, make in SOLVERS.items()}
        runs = {name: run for name, run in runs.items() if run is not None}
        values = [run() for run in runs.values()]
        assert np.ptp(values) <= 1e-9 * (1 + max(values)), values
        best = dict.fromkeys(runs, np.inf)
        for repetition in range(max(3, min(200, 2_000_000 // n**2))):
            for name, run in runs.items():
                if name == "networkx" and repetition >= 3:
                    continue
                began = time.perf_counter()
                run()
                took = (time.perf_counter() - began) / getattr(run, "n_times", 1)
                best[name] = min(best[name], took)
        for name in SOLVERS:
            spent[name].append(1e6 * best.get(name, np.nan))
    return {name: float(np.mean(values)) for name, values in spent.items()}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 40, 80, 200, 500, 1000])
    settings = parser.parse_args()
    rows = []
    for kind in ("trained", "flat", "sparse"):
        before = None
        for n in settings.sizes:
            found = measure(kind, n)
            growth = np.nan
            if before is not None:
                growth = np.log(found["compiled"] / before[1]) / np.log(n / before[0])
            before = (n, found["compiled"])
            rows.append(
                [kind, n, *found.values(), found["scipy"] / found["compiled"], float(growth)]
            )
    header = ["scores", "n", *SOLVERS, "scipy / compiled", "growth exponent"]
    publish(settings.output, "## Matchings of n with n words, microseconds", machine())
    publish(settings.output, table(header, rows))


if __name__ == "__main__":
    main()
