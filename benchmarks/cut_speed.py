"""Time of one min-cut against other maximum-flow programs, and its growth with the grid.

All get the same whole-number capacities, as arrays; what counts is the time from arrays to labels
(or to the value of the flow), the best of several runs taken in turn. Programs that are not
installed are left out; networkx is left out above a thousand nodes.

python benchmarks/cut_speed.py [--sizes 1000 10000 100000 1000000] [--strength 1.0]
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from common import machine, options, publish, table, timed
from scipy.sparse.csgraph import maximum_flow

from blockwolfe.data.graphs import grid_edges
from blockwolfe.structures import cut

UNIT = 1000  # whole numbers, since scipy and ortools take no others


class Case(NamedTuple):
    """Scores of a grid, as `cut.maximize` takes them."""

    unary: np.ndarray
    pairwise: np.ndarray
    edges: np.ndarray

    def network(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tail, head, capacity of arcs; source n, sink n + 1."""
        n, (a, b) = len(self.unary), self.edges.T
        up, down = np.flatnonzero(self.unary > 0), np.flatnonzero(self.unary < 0)
        tail = np.concatenate([a, b, np.full(len(up), n), down])
        head = np.concatenate([b, a, up, np.full(len(down), n + 1)])
        capacity = [self.pairwise, self.pairwise, self.unary[up], -self.unary[down]]
        return tail, head, np.concatenate(capacity)


def random_grid(n_nodes: int, strength: float) -> Case:
    """Normal unaries; pairwise uniform up to `strength`."""
    side, rng = round(n_nodes**0.5), np.random.default_rng(0)
    edges = grid_edges(side, side)
    unary = np.rint(UNIT * rng.normal(size=side * side)).astype(np.int64)
    return Case(unary, np.rint(UNIT * strength * rng.random(len(edges))).astype(np.int64), edges)


def by_blockwolfe(case: Case) -> int:
    y = cut.maximize(case.unary, case.pairwise, case.edges)
    is_cut = y[case.edges[:, 0]] != y[case.edges[:, 1]]
    return int(np.maximum(case.unary, 0).sum() - case.unary @ y + case.pairwise @ is_cut)


def by_scipy(case: Case) -> int:
    tail, head, capacity = case.network()
    n = len(case.unary) + 2
    network = sp.csr_array((capacity.astype(np.int32), (tail, head)), shape=(n, n))
    return int(maximum_flow(network, n - 2, n - 1).flow_value)


def by_networkx(case: Case) -> int:
    import networkx as nx

    network = nx.DiGraph()
    arcs = zip(*(a.tolist() for a in case.network()), strict=True)
    network.add_weighted_edges_from(arcs, weight="capacity")
    n = len(case.unary)
    return int(nx.minimum_cut(network, n, n + 1)[0])


def by_pymaxflow(case: Case) -> int:
    import maxflow

    n, (a, b) = len(case.unary), case.edges.T
    graph = maxflow.Graph[float](n, len(a))
    graph.add_nodes(n)
    graph.add_edges(a, b, case.pairwise, case.pairwise)
    graph.add_grid_tedges(np.arange(n), np.maximum(case.unary, 0), np.maximum(-case.unary, 0))
    value = graph.maxflow()
    graph.get_grid_segments(np.arange(n))
    return int(value)


def by_ortools(case: Case) -> int:
    from ortools.graph.python import max_flow

    flow, n = max_flow.SimpleMaxFlow(), len(case.unary)
    flow.add_arcs_with_capacity(*case.network())
    flow.solve(n, n + 1)
    return int(flow.optimal_flow())


class Program(NamedTuple):
    """A maximum-flow program, the module it needs, and the most nodes that it is given."""

    name: str
    module: str
    solve: Callable[[Case], int]
    largest: float = np.inf


PROGRAMS = [
    Program("blockwolfe", "blockwolfe", by_blockwolfe),
    Program("PyMaxflow", "maxflow", by_pymaxflow),
    Program("ortools", "ortools", by_ortools, 1.1e5),
    Program("scipy", "scipy", by_scipy, 1.1e5),
    Program("networkx", "networkx", by_networkx, 1.1e3),
]


def measured(case: Case, programs: list[Program], repetitions: int) -> list[Any]:
    """Milliseconds of each program, after checking that all find the same value."""
    best = [float("nan")] * len(programs)
    values = set()
    for _ in range(repetitions):
        for k, program in enumerate(programs):
            if len(case.unary) <= program.largest:
                taken = timed(lambda program=program: program.solve(case))
                best[k] = np.fmin(best[k], 1e3 * taken.seconds)
                values.add(taken.value)
    assert len(values) == 1, f"flows differ: {values}"
    return [len(case.unary), *best, 1e3 * best[0] / len(case.unary)]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--strength", type=float, nargs="+", default=[0.3, 1.0, 2.0])
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args()
    programs = [p for p in PROGRAMS if importlib.util.find_spec(p.module)]
    by_blockwolfe(random_grid(100, 1.0))  # (compiles)
    header = ["nodes", *(f"{program.name} ms" for program in programs), "blockwolfe us per node"]
    for strength in given.strength:
        rows = [
            measured(random_grid(n, strength), programs, given.repetitions) for n in given.sizes
        ]
        publish(
            given.output,
            f"4-connected grids, normal unaries, pairwise uniform in 0..{strength:g}; from arrays.",
            table(header, rows),
        )
    publish(given.output, machine())


if __name__ == "__main__":
    main()
