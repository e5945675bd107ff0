"""Time of a best single-rooted tree, its growth with the length of the sentence, and networkx.

    python benchmarks/spanning_tree_speed.py [--sizes 10 20 40 100 200] [--output FILE]

networkx has no rule of one root: it solves the easier problem with any number of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import common
import numpy as np

from blockwolfe.structures import spanning_tree

NETWORKX_UP_TO = 40


def best_time(function: Callable[[], Any], repetitions: int) -> float:
    """Least seconds of a call."""
    seconds = []
    for _ in range(repetitions):
        began = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def compiled_time(instances: Sequence[np.ndarray], repetitions: int) -> float:
    """Mean over sentences of the least time of the compiled function, copies included."""
    n = len(instances[0])
    level = np.zeros((n, n), dtype=np.int64)
    level[:, 0] = spanning_tree.OF_ROOT
    weights = [np.ascontiguousarray(scores.T).ravel() for scores in instances]
    heads, enters = np.zeros(n, dtype=np.int64), np.empty(n * n, dtype=np.int64)
    ints = np.empty(spanning_tree.n_scratch(n - 1), dtype=np.int64)

    def run(weight: np.ndarray) -> None:
        spanning_tree.maximize_into(weight.copy(), level.ravel().copy(), enters, heads, ints)

    return float(np.mean([best_time(lambda w=w: run(w), repetitions) for w in weights]))


def networkx_time(instances: Sequence[np.ndarray]) -> float:
    try:
        import networkx as nx
    except ImportError:
        return float("nan")
    if len(instances[0]) > NETWORKX_UP_TO + 1:
        return float("nan")
    seconds = []
    for scores in instances[:3]:
        graph = nx.DiGraph()
        for h in range(len(scores)):
            graph.add_weighted_edges_from(
                (h, c, scores[h, c]) for c in range(1, len(scores)) if c != h
            )
        seconds.append(best_time(lambda g=graph: nx.maximum_spanning_arborescence(g), 2))
    return float(np.mean(seconds))


def main() -> None:
    parser = common.options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 40, 100, 200])
    parser.add_argument("--repetitions", type=int, default=15)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = []
    for n_words in given.sizes:
        instances = [rng.normal(size=(n_words + 1, n_words + 1)) for _ in range(10)]
        spanning_tree.maximize(instances[0])  # (compiles)
        ours = compiled_time(instances, given.repetitions)
        whole = np.mean(
            [best_time(lambda s=s: spanning_tree.maximize(s), given.repetitions) for s in instances]
        )
        other = networkx_time(instances)
        per_arc = ours / n_words**2 * 1e9
        rows.append([n_words, ours * 1e6, per_arc, float(whole) * 1e6, other * 1e6, other / ours])
    header = ["words", "compiled, us", "ns per arc", "from Python, us", "networkx, us", "ratio"]
    common.publish(given.output, common.machine(), common.table(header, rows))


if __name__ == "__main__":
    main()
