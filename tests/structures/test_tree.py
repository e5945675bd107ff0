"""Max-sum and sum-product on trees and forests equal enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from blockwolfe.errors import InputError
from blockwolfe.structures import chain, tree
from blockwolfe.structures.chain import FORBIDDEN
from blockwolfe.structures.tree_marginals import marginals

SCORES = st.integers(-3, 3).map(float)  # few values: many ties


@st.composite
def forests(draw, most_labels=9):
    """A random forest, its nodes and the two ends of its edges in any order."""
    n_labels = draw(st.integers(1, most_labels))
    n_nodes = draw(st.integers(1, 5 if n_labels < 4 else 2))
    order = draw(st.permutations(range(n_nodes)))
    edges = []
    for t in range(1, n_nodes):
        parent = draw(st.integers(-1, t - 1))  # -1: t is the root of another tree
        if parent >= 0:
            pair = (order[parent], order[t])
            edges.append(pair if draw(st.booleans()) else pair[::-1])
    edges = np.array(draw(st.permutations(edges)), dtype=int).reshape(-1, 2)
    unary = draw(hnp.arrays(float, (n_nodes, n_labels), elements=SCORES))
    pairwise = draw(hnp.arrays(float, (len(edges), n_labels, n_labels), elements=SCORES))
    return unary, pairwise, edges


def labellings(unary):
    n_nodes, n_labels = unary.shape
    return list(itertools.product(range(n_labels), repeat=n_nodes))


@settings(max_examples=200, deadline=None)
@given(forests())
def test_maximum_equals_enumeration(case):
    found = tree.maximize(*case)
    best = max(tree.score(*case, y) for y in labellings(case[0]))
    assert tree.score(*case, found) == best


def all_scores(unary, pairwise, edges):
    outputs = np.array(labellings(unary))
    scores = unary[np.arange(len(unary)), outputs].sum(axis=1)
    for table, (a, b) in zip(pairwise, edges, strict=True):
        scores += table[outputs[:, a], outputs[:, b]]
    return scores


def random_forest(rng):
    n_labels, n_nodes = int(rng.integers(1, 4)), int(rng.integers(1, 7))
    order, edges = rng.permutation(n_nodes), []
    for t in range(1, n_nodes):
        if rng.random() < 0.8:
            edges.append(rng.permutation([order[rng.integers(t)], order[t]]).tolist())
    edges = np.array(edges, dtype=int).reshape(-1, 2)
    shapes = (n_nodes, n_labels), (len(edges), n_labels, n_labels)
    return *(rng.integers(-3, 4, size=shape).astype(float) for shape in shapes), edges


def test_maximum_equals_enumeration_thousands_of_times():
    rng = np.random.default_rng(0)
    for _ in range(3000):
        case = random_forest(rng)
        assert tree.score(*case, tree.maximize(*case)) == all_scores(*case).max()


@settings(max_examples=150, deadline=None)
@given(forests(), st.data())
def test_forbidden_labels_are_not_chosen(case, data):
    unary, pairwise, edges = case
    allowed = data.draw(hnp.arrays(bool, unary.shape))
    allowed[:, data.draw(st.integers(0, unary.shape[1] - 1))] = True
    masked = np.where(allowed, unary, FORBIDDEN)
    found = tree.maximize(masked, pairwise, edges)
    nodes = np.arange(len(unary))
    assert allowed[nodes, found].all()
    fine = [y for y in labellings(unary) if allowed[nodes, list(y)].all()]
    assert tree.score(*case, found) == max(tree.score(*case, y) for y in fine)


def test_ties_go_to_the_lowest_label_from_the_root_down():
    edges = [[1, 0], [1, 2], [3, 2]]
    assert tree.maximize(np.zeros((4, 3)), np.zeros((3, 3, 3)), edges).tolist() == [0, 0, 0, 0]
    differ = np.tile(1.0 - np.eye(2), (3, 1, 1))
    assert tree.maximize(np.zeros((4, 2)), differ, edges).tolist() == [0, 1, 0, 1]


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 12), st.integers(1, 7), st.integers(0, 10**6))
def test_a_chain_is_a_tree(n_labels, n_positions, seed):
    """Same labels, ties too: a chain is followed from its last position, a tree from node 0."""
    rng = np.random.default_rng(seed)
    unary = rng.integers(-2, 3, size=(n_positions, n_labels)).astype(float)
    transition = rng.integers(-2, 3, size=(n_labels, n_labels)).astype(float)
    expected = chain.maximize(unary, transition)
    node = n_positions - 1 - np.arange(n_positions)
    edges = np.stack([node[:-1], node[1:]], axis=1)
    tables = np.tile(transition, (n_positions - 1, 1, 1))
    assert tree.maximize(unary[::-1], tables, edges)[::-1].tolist() == expected.tolist()
    flipped = tables.transpose(0, 2, 1)
    found = tree.maximize(unary[::-1], flipped, edges[:, ::-1])
    assert found[::-1].tolist() == expected.tolist()


@pytest.mark.parametrize("n_labels", range(1, 40))
def test_many_labels_equal_a_plain_recursion(n_labels):
    """Labels are combined in fours; every remainder must be right, in both directions of edges."""
    rng = np.random.default_rng(n_labels)
    for _ in range(10):
        n_nodes = 8
        parent = [int(rng.integers(t)) for t in range(1, n_nodes)]
        edges = [[t, u] if rng.random() < 0.5 else [u, t] for t, u in enumerate(parent, start=1)]
        unary = rng.normal(size=(n_nodes, n_labels))
        pairwise = rng.normal(size=(n_nodes - 1, n_labels, n_labels))
        best = unary.copy()
        for t in range(n_nodes - 1, 0, -1):
            table = pairwise[t - 1] if edges[t - 1][0] == t else pairwise[t - 1].T
            best[parent[t - 1]] += (best[t][:, None] + table).max(axis=0)
        found = tree.score(unary, pairwise, edges, tree.maximize(unary, pairwise, edges))
        assert found == pytest.approx(best[0].max(), rel=1e-12)


def enumerated(unary, pairwise, edges):
    outputs = np.array(labellings(unary))
    scores = np.array([tree.score(unary, pairwise, edges, y) for y in outputs])
    log_partition = scores.max() + np.log(np.exp(scores - scores.max()).sum())
    probability = np.exp(scores - log_partition)
    node, edge = np.zeros(unary.shape), np.zeros(pairwise.shape)
    for y, p in zip(outputs, probability, strict=True):
        node[np.arange(len(y)), y] += p
        edge[np.arange(len(edges)), y[edges[:, 0]], y[edges[:, 1]]] += p
    return node, edge, log_partition


@settings(max_examples=150, deadline=None)
@given(forests(most_labels=5), st.sampled_from([1e-3, 1.0, 30.0, 1e4]))
def test_marginals_equal_enumeration(case, scale):
    unary, pairwise, edges = case
    case = scale * unary, scale * pairwise, edges
    for found, expected in zip(marginals(*case), enumerated(*case), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_log_partition_equals_enumeration_a_thousand_times():
    rng = np.random.default_rng(1)
    for _ in range(1000):
        case = random_forest(rng)
        found = marginals(*case)
        assert found.log_partition == pytest.approx(np.log(np.exp(all_scores(*case)).sum()))
        for table, (a, b) in zip(found.edge, case[2], strict=True):
            np.testing.assert_allclose(table.sum(axis=1), found.node[a], atol=1e-12)
            np.testing.assert_allclose(table.sum(axis=0), found.node[b], atol=1e-12)


@settings(max_examples=150, deadline=None)
@given(forests(most_labels=4), st.data(), st.sampled_from([FORBIDDEN, -np.inf]))
def test_marginals_of_forbidden_labels_are_zero(case, data, mark):
    """Also where a forbidden pair cuts a label off: nothing may be found by subtraction."""
    unary, pairwise, edges = case
    allowed = data.draw(hnp.arrays(bool, unary.shape))
    allowed[:, 0] = True
    pairs = data.draw(hnp.arrays(bool, pairwise.shape))
    pairs[:, 0, 0] = True
    masked = np.where(allowed, unary, mark), np.where(pairs, pairwise, mark), edges
    with np.errstate(invalid="ignore"):
        expected = enumerated(
            np.where(allowed, unary, -np.inf), np.where(pairs, pairwise, -np.inf), edges
        )
    for found, wanted in zip(marginals(*masked), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_marginals_of_large_scores_and_long_trees():
    rng = np.random.default_rng(0)
    n_nodes, n_labels = 3000, 3
    edges = np.array([[t, max(0, t - 1 - t % 3)] for t in range(1, n_nodes)])
    unary, pairwise = rng.normal(size=(n_nodes, n_labels)), np.zeros((n_nodes - 1, 3, 3))
    found = marginals(1e5 + unary, pairwise, edges)
    expected = np.exp(unary) / np.exp(unary).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.node, expected, rtol=1e-6)
    assert found.log_partition == pytest.approx(
        n_nodes * 1e5 + np.log(np.exp(unary).sum(axis=1)).sum(), rel=1e-12
    )
    star = np.array([[0, t] for t in range(1, n_nodes)])
    again = marginals(unary, pairwise, star)
    np.testing.assert_allclose(again.node, expected, rtol=1e-9)
    np.testing.assert_allclose(again.edge.sum(axis=2), np.tile(expected[0], (n_nodes - 1, 1)))


BAD = {
    "cycle": ((3, 2), (3, 2, 2), [[0, 1], [1, 2], [2, 0]], r"edges\[2\] = \(2, 0\) closes a cycle"),
    "twice": ((2, 2), (2, 2, 2), [[0, 1], [1, 0]], r"edges\[1\] = \(1, 0\) closes a cycle"),
    "loop": ((2, 2), (1, 2, 2), [[1, 1]], r"edges\[0\] = \(1, 1\) closes a cycle"),
    "outside": ((2, 2), (1, 2, 2), [[0, 2]], r"edges joins nodes 0..2, of 0..1"),
    "negative": ((2, 2), (1, 2, 2), [[0, -1]], r"edges joins nodes -1..0, of 0..1"),
    "pairwise": ((2, 2), (1, 2, 3), [[0, 1]], r"pairwise has shape \(1, 2, 3\); expected \(1, 2"),
    "flat": ((2, 2), (4,), [[0, 1]], r"pairwise has shape \(4,\); expected \(1, 2, 2\)"),
    "unary": ((2,), (1, 2, 2), [[0, 1]], r"unary has shape \(2,\); expected \(n_nodes"),
    "ends": ((2, 2), (1, 2, 2), [[0, 1, 1]], r"edges has shape \(1, 3\)"),
    "float": ((2, 2), (1, 2, 2), [[0.0, 1.0]], r"edges has .* type float64; expected integers"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("function", [tree.maximize, marginals])
def test_bad_input_is_refused(function, name):
    unary, pairwise, edges, message = BAD[name]
    with pytest.raises(InputError, match=message):
        function(np.zeros(unary), np.zeros(pairwise), edges)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_none_are_refused(value):
    with pytest.raises(InputError, match="unary has NaN or"):
        tree.maximize([[0.0, value]], [], [])
    with pytest.raises(InputError, match="pairwise has NaN or"):
        marginals(np.zeros((2, 1)), [[[value]]], [[0, 1]])
