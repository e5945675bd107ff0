"""Flows against all paths, and against linear programs where arcs go round in cycles."""

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

from blockwolfe.optimize.domains import Flow


def random_arcs(n_nodes, n_arcs, rng, is_acyclic):
    """Arcs in any order between shuffled nodes, some of them parallel, 0 joined with 1."""
    name = rng.permutation(n_nodes)
    arcs = []
    while len(arcs) < n_arcs:
        a, b = sorted(rng.integers(n_nodes, size=2))
        if a < b:
            arcs.append((name[a], name[b]))
            if not is_acyclic and rng.random() < 0.5:
                arcs[-1] = arcs[-1][::-1]
    arcs += [(name[k], name[k + 1]) for k in range(n_nodes - 1)]
    return rng.permutation(np.array(arcs)), int(name[0]), int(name[-1])


def best_by_program(flow, gradient):
    """The minimum over the description by inequalities."""
    incidence = np.zeros((flow.n_nodes, flow.size))
    for a, (tail, head) in enumerate(flow.arcs):
        incidence[tail, a] += 1.0
        incidence[head, a] -= 1.0
    balance = np.zeros(flow.n_nodes)
    balance[flow.source], balance[flow.target] = 1.0, -1.0
    return linprog(gradient, A_eq=incidence, b_eq=balance, bounds=(0.0, 1.0)).fun


@pytest.mark.parametrize("seed", range(10))
def test_paths_against_all_paths(seed):
    rng = np.random.default_rng(seed)
    arcs, source, target = random_arcs(8, 14, rng, is_acyclic=True)
    flow = Flow(arcs, source, target)
    assert flow.is_acyclic
    graph = nx.MultiDiGraph()
    graph.add_edges_from((tail, head, a) for a, (tail, head) in enumerate(arcs.tolist()))
    paths = [[a for _, _, a in path] for path in nx.all_simple_edge_paths(graph, source, target)]
    for gradient in [rng.normal(size=flow.size), -rng.random(flow.size), rng.random(flow.size)]:
        atom = flow.minimize(gradient)
        assert sorted(atom.index.tolist()) in [sorted(path) for path in paths]
        assert (atom.value == 1.0).all()
        best = min(gradient[path].sum() for path in paths)
        assert atom.dot(gradient) == pytest.approx(best, abs=1e-12)
        assert best_by_program(flow, gradient) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_flows_with_cycles_against_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    n_nodes = 3 + seed
    flow = Flow(*random_arcs(n_nodes, 4 * n_nodes, rng, is_acyclic=False))
    assert not flow.is_acyclic
    for gradient in [
        rng.normal(size=flow.size),
        rng.random(flow.size),
        -rng.random(flow.size),
        rng.integers(-1, 2, size=flow.size).astype(float),
    ]:
        atom = flow.minimize(gradient)
        assert flow.distance(atom.dense()) == 0.0
        assert atom.dot(gradient) == pytest.approx(best_by_program(flow, gradient), abs=1e-9)


def test_costs_above_zero_give_a_shortest_path_despite_cycles():
    rng = np.random.default_rng(0)
    arcs, source, target = random_arcs(12, 40, rng, is_acyclic=False)
    flow = Flow(arcs, source, target)
    costs = 0.1 + rng.random(flow.size)
    graph = nx.DiGraph()
    for (tail, head), cost in zip(arcs.tolist(), costs, strict=True):
        old = graph.get_edge_data(tail, head, {"weight": np.inf})["weight"]
        graph.add_edge(tail, head, weight=min(cost, old))
    shortest = nx.dijkstra_path_length(graph, source, target)
    assert flow.minimize(costs).dot(costs) == pytest.approx(shortest, rel=1e-13)


def test_a_cycle_of_negative_cost_is_used_beside_the_path():
    flow = Flow([[0, 1], [2, 3], [3, 2]], source=0, target=1)
    assert flow.minimize(np.array([5.0, -2.0, 1.0])).dense().tolist() == [1.0, 1.0, 1.0]
    assert flow.minimize(np.array([5.0, -2.0, 3.0])).dense().tolist() == [1.0, 0.0, 0.0]


def test_a_run_starts_on_a_path():
    for is_acyclic in (True, False):
        arcs, source, target = random_arcs(9, 20, np.random.default_rng(2), is_acyclic)
        flow = Flow(arcs, source, target)
        graph = nx.DiGraph(arcs.tolist())
        fewest = nx.shortest_path_length(graph, source, target)
        assert flow.start().value.sum() == fewest


@pytest.mark.parametrize(
    ("x", "distance"),
    [
        ([1.0, 1.0, 0.0], 0.0),
        ([0.25, 0.25, 0.75], 0.0),
        ([1.0, 0.0, 0.0], 1.0),  # (node 1 keeps what it gets)
        ([0.0, 0.0, 0.5], 0.5),
        ([1.5, 1.5, -0.5], 0.5),
    ],
)
def test_distance_is_the_largest_violation(x, distance):
    assert Flow([[0, 1], [1, 2], [0, 2]], 0, 2).distance(np.array(x)) == distance


def test_cycles_carry_one_unit_at_most():
    flow = Flow([[0, 1], [1, 2], [2, 1]], source=0, target=1)
    assert flow.distance(np.array([1.0, 0.5, 0.5])) == 0.0
    assert flow.distance(np.array([1.0, 1.5, 1.5])) == 0.5


def test_a_long_path_is_found_at_once():
    n = 20_000
    arcs = np.stack([np.arange(n), np.arange(1, n + 1)], axis=1)
    flow = Flow(np.vstack([arcs, arcs]), 0, n)
    gradient = np.random.default_rng(0).normal(size=2 * n)
    best = np.minimum(gradient[:n], gradient[n:]).sum()
    assert flow.minimize(gradient).dot(gradient) == pytest.approx(best, rel=1e-11)
