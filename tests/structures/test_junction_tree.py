"""Marginals of graphs with cycles against sums over all labellings, and orders of elimination."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

import blockwolfe as bw
from blockwolfe.structures import junction_tree, tree_marginals
from blockwolfe.structures.chain import FORBIDDEN
from blockwolfe.structures.elimination import eliminate

SHAPES = {
    "one": (1, []),
    "apart": (4, [(2, 0)]),
    "triangle": (3, [(0, 1), (1, 2), (2, 0)]),
    "ring": (6, [(0, 1), (2, 1), (2, 3), (3, 4), (5, 4), (0, 5)]),
    "complete": (5, list(itertools.combinations(range(5), 2))),
    "double": (3, [(0, 1), (1, 0), (1, 2)]),
    "grid": (
        9,
        [(3 * r + c, 3 * r + c + 1) for r in range(3) for c in range(2)]
        + [(3 * r + c, 3 * r + c + 3) for r in range(2) for c in range(3)],
    ),
    "two rings": (7, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 6), (6, 3)]),
}
WIDTHS = {"one": 0, "apart": 1, "triangle": 2, "ring": 2, "complete": 4, "grid": 3, "two rings": 2}


def by_enumeration(unary, pairwise, edges):
    n_nodes, n_labels = unary.shape
    outputs = np.array(list(itertools.product(range(n_labels), repeat=n_nodes)))
    total = unary[np.arange(n_nodes), outputs].sum(axis=1)
    for e, (a, b) in enumerate(edges):
        total = total + pairwise[e, outputs[:, a], outputs[:, b]]
    p = np.exp(total - logsumexp(total))
    node, edge = np.zeros(unary.shape), np.zeros(pairwise.shape)
    for t in range(n_nodes):
        np.add.at(node[t], outputs[:, t], p)
    for e, (a, b) in enumerate(edges):
        np.add.at(edge[e], (outputs[:, a], outputs[:, b]), p)
    return node, edge, logsumexp(total)


def tables(name, n_labels, size, seed=0):
    n_nodes, edges = SHAPES[name]
    rng = np.random.default_rng(seed)
    unary = rng.normal(size=(n_nodes, n_labels)) * size
    return unary, rng.normal(size=(len(edges), n_labels, n_labels)) * size, edges


SMALL = [(name, K) for name, (n, _) in SHAPES.items() for K in (1, 2, 3) if K**n <= 3000]


@pytest.mark.parametrize("size", [0.0, 1.0, 30.0, 1e4])
@pytest.mark.parametrize(("name", "n_labels"), SMALL)
def test_they_are_sums_over_all_labellings(name, n_labels, size):
    given = tables(name, n_labels, size)
    found, (node, edge, total) = junction_tree.marginals(*given), by_enumeration(*given)
    noise = 1e-13 * max(1.0, size)
    np.testing.assert_allclose(found.node, node, rtol=0, atol=noise)
    np.testing.assert_allclose(found.edge, edge, rtol=0, atol=noise)
    assert found.log_partition == pytest.approx(total, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["triangle", "grid"])
def test_forbidden_labels_have_probability_zero(name):
    unary, pairwise, edges = tables(name, 2, 1.0)
    unary[0, 1] = unary[2, 0] = FORBIDDEN
    found = junction_tree.marginals(unary, pairwise, edges)
    node, edge, total = by_enumeration(np.maximum(unary, -1e5), pairwise, edges)
    np.testing.assert_allclose(found.node, node, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.edge, edge, rtol=0, atol=1e-13)
    assert found.log_partition == pytest.approx(total, rel=1e-12)


def test_on_a_tree_it_is_sum_product():
    rng, n_nodes = np.random.default_rng(1), 40
    edges = [(int(rng.integers(t)), t) for t in range(1, n_nodes)]
    given = (rng.normal(size=(n_nodes, 4)), rng.normal(size=(n_nodes - 1, 4, 4)), edges)
    found, expected = junction_tree.marginals(*given), tree_marginals.marginals(*given)
    np.testing.assert_allclose(found.node, expected.node, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.edge, expected.edge, rtol=0, atol=1e-13)
    assert found.log_partition == pytest.approx(expected.log_partition, rel=1e-13)


@pytest.mark.parametrize("size", [1e4, 1e8, 1e100])
def test_large_scores_leave_probabilities(size):
    found = junction_tree.marginals(*tables("grid", 2, size))
    for p in (found.node.reshape(9, -1), found.edge.reshape(12, -1)):
        assert 0.0 <= p.min() <= p.max() <= 1.0
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", WIDTHS)
def test_orders_of_small_graphs_are_the_best_there_are(name):
    n_nodes, edges = SHAPES[name]
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    found = eliminate(n_nodes, ends, n_nodes)
    assert found.width == WIDTHS[name]
    assert sorted(found.order) == list(range(n_nodes))
    if found.width:
        assert eliminate(n_nodes, ends, found.width - 1) is None
    # every edge lies in the clique of its node that is eliminated first
    place = np.argsort(found.order)
    for a, b in edges:
        first, second = sorted((place[a], place[b]))
        assert second in found.met[found.start[first] : found.start[first + 1]]
    # who is met is met by the first of them, or is that one: messages find their table
    for q in range(n_nodes):
        met = found.met[found.start[q] : found.start[q + 1]]
        assert (np.diff(met) > 0).all()
        if len(met):
            above = found.met[found.start[met[0]] : found.start[met[0] + 1]]
            assert set(met[1:]) <= set(above)


def test_a_graph_that_is_too_wide_is_refused():
    n_nodes = 18
    edges = list(itertools.combinations(range(n_nodes), 2))
    with pytest.raises(bw.InputError, match="cliques of more than 16 nodes"):
        junction_tree.marginals(np.zeros((n_nodes, 2)), np.zeros((len(edges), 2, 2)), edges)
