"""The minimum cut against enumeration, scipy's and networkx's maximum flow; ties, fixed labels."""

import itertools

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse.csgraph import maximum_flow

import blockwolfe as bw
from amount import some
from blockwolfe.structures import cut
from blockwolfe.structures.chain import FORBIDDEN

LABELLINGS = {n: np.array(list(itertools.product([0, 1], repeat=n))) for n in range(1, 9)}


def score(unary, pairwise, edges, labels):
    """By the formula, of one labelling or a row of them; exact for whole numbers."""
    return labels @ unary - (labels[..., edges[:, 0]] != labels[..., edges[:, 1]]) @ pairwise


def best_with_fewest_ones(unary, pairwise, edges):
    """Every labelling is tried; the ones that all the best share."""
    labels = LABELLINGS[len(unary)]
    scores = score(unary, pairwise, edges, labels)
    return labels[scores == scores.max()].min(axis=0)


def grid(height, width):
    at = np.arange(height * width).reshape(height, width)
    across = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1)
    return np.concatenate([across, np.stack([at[:-1].ravel(), at[1:].ravel()], axis=1)])


@st.composite
def graphs(draw):
    """Few values, so that ties abound; parallel edges, single nodes, several components."""
    n = draw(st.integers(1, 8))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    edges = draw(st.lists(pair, max_size=14)) if n > 1 else []
    unary = draw(hnp.arrays(float, n, elements=st.integers(-4, 4).map(float)))
    pairwise = draw(hnp.arrays(float, len(edges), elements=st.integers(0, 4).map(float)))
    return unary, pairwise, np.array(edges, dtype=int).reshape(-1, 2)


@settings(max_examples=some(1000), deadline=None)
@given(graphs())
def test_cut_equals_enumeration_with_the_fewest_ones(case):
    np.testing.assert_array_equal(cut.maximize(*case), best_with_fewest_ones(*case))


@settings(max_examples=300, deadline=None)
@given(graphs(), st.data())
def test_fixed_labels_are_kept_and_the_rest_is_best(case, data):
    unary, pairwise, edges = case
    fixed = data.draw(hnp.arrays(int, len(unary), elements=st.integers(-1, 1)))
    given_unary = np.select([fixed == 0, fixed == 1], [FORBIDDEN, -FORBIDDEN], unary)
    found = cut.maximize(given_unary, pairwise, edges)
    assert (found[fixed >= 0] == fixed[fixed >= 0]).all()
    every = LABELLINGS[len(unary)]
    allowed = every[((fixed < 0) | (every == fixed)).all(axis=1)]
    best = score(unary, pairwise, edges, allowed).max()
    assert score(unary, pairwise, edges, found) == best


def with_terminals(unary, pairwise, edges):
    """(tail, head, capacity) of the network; source n, sink n + 1."""
    n = len(unary)
    nodes = np.arange(n)
    tail = np.concatenate([edges[:, 0], edges[:, 1], np.full(n, n), nodes])
    head = np.concatenate([edges[:, 1], edges[:, 0], nodes, np.full(n, n + 1)])
    terminals = np.concatenate([np.maximum(unary, 0), np.maximum(-unary, 0)])
    return tail, head, np.concatenate([pairwise, pairwise, terminals])


@pytest.mark.parametrize("strength", [1, 5, 20])
@pytest.mark.parametrize("seed", range(4))
def test_value_is_that_of_scipys_flow(seed, strength):
    rng = np.random.default_rng(seed)
    edges = grid(30 + seed, 40)
    unary = rng.integers(-10, 11, size=40 * (30 + seed))
    pairwise = rng.integers(0, strength + 1, size=len(edges))
    tail, head, capacity = with_terminals(unary, pairwise, edges)
    size = len(unary) + 2
    network = sp.csr_array((capacity.astype(np.int32), (tail, head)), shape=(size, size))
    flow = maximum_flow(network, size - 2, size - 1).flow_value
    labels = cut.maximize(unary, pairwise, edges)
    assert score(unary, pairwise, edges, labels) == np.maximum(unary, 0).sum() - flow


@pytest.mark.parametrize("seed", range(6))
def test_value_and_source_side_are_those_of_networkx(seed):
    """Floats, random graphs: dense ones, sparse ones, with nodes of high degree."""
    rng = np.random.default_rng(seed)
    n = 40
    edges = np.array([rng.choice(n, 2, replace=False) for _ in range(60 * (1 + seed))])
    edges = np.unique(np.sort(edges, axis=1), axis=0)
    if seed % 2:
        edges[: n - 1] = np.stack([np.zeros(n - 1), np.arange(1, n)], axis=1)
        edges = np.unique(edges, axis=0)
    unary, pairwise = rng.normal(size=n), rng.random(len(edges)) * rng.choice([0.1, 0.5, 2.0])
    network = nx.DiGraph()
    for tail, head, capacity in zip(*with_terminals(unary, pairwise, edges), strict=True):
        network.add_edge(int(tail), int(head), capacity=float(capacity))
    value, (side, _) = nx.minimum_cut(network, n, n + 1)
    labels = cut.maximize(unary, pairwise, edges)
    assert score(unary, pairwise, edges, labels) == pytest.approx(
        np.maximum(unary, 0).sum() - value, rel=1e-12
    )
    assert set(np.flatnonzero(labels)) == side - {n}


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-40, 1.0, 2.0**500])
def test_any_scale_of_floats(scale):
    """No tolerance is hidden anywhere: tiny scores are cut as exactly as large ones."""
    rng = np.random.default_rng(2)
    edges = grid(8, 9)
    unary, pairwise = rng.integers(-4, 5, size=72), rng.integers(0, 4, size=len(edges))
    expected = cut.maximize(unary, pairwise, edges)
    np.testing.assert_array_equal(cut.maximize(unary * scale, pairwise * scale, edges), expected)


def test_scores_of_very_different_sizes_end():
    rng = np.random.default_rng(3)
    edges = grid(25, 25)
    for _ in range(20):
        unary = rng.normal(size=625) * 10.0 ** rng.integers(-200, 100, size=625)
        pairwise = 10.0 ** rng.integers(-300, 150, size=len(edges))
        labels = cut.maximize(unary, pairwise, edges)
        ones = np.ones(625, dtype=int)
        for other in (ones, 0 * ones, (unary > 0).astype(int)):
            mine = score(unary, pairwise, edges, labels)
            theirs = score(unary, pairwise, edges, other)
            assert mine >= theirs - 1e-9 * abs(theirs)


def test_scratch_may_be_dirty_and_input_stays():
    rng = np.random.default_rng(4)
    edges = grid(6, 7).astype(np.int32)
    unary, pairwise = rng.normal(size=42), rng.random(len(edges))
    n_ints, n_floats = cut.n_scratch(42, len(edges))
    ints, floats = rng.integers(-9, 9, size=n_ints), rng.normal(size=n_floats)
    labels, before = np.full(42, 7), (unary.copy(), pairwise.copy())
    cut.maximize_into(unary, pairwise, edges, labels, ints, floats)
    np.testing.assert_array_equal(labels, cut.maximize(unary, pairwise, edges))
    np.testing.assert_array_equal(unary, before[0])
    np.testing.assert_array_equal(pairwise, before[1])


def test_a_large_grid_is_cut_exactly():
    """As no labelling of few flips is better: a check at a size that nothing else can do."""
    rng = np.random.default_rng(5)
    edges = grid(300, 300)
    unary, pairwise = rng.normal(size=90_000), rng.random(len(edges))
    labels = cut.maximize(unary, pairwise, edges)
    gain = (1 - 2 * labels) * unary
    disagrees = labels[edges[:, 0]] != labels[edges[:, 1]]
    for end in range(2):
        np.add.at(gain, edges[:, end], np.where(disagrees, pairwise, -pairwise))
    assert gain.max() <= 1e-12
    mine = score(unary, pairwise, edges, labels)
    assert mine > score(unary, pairwise, edges, (unary > 0).astype(int))


@pytest.mark.parametrize(
    ("unary", "pairwise", "edges", "message"),
    [
        ([1.0, 2.0], [-1.0], [[0, 1]], r"pairwise\[0\] is -1"),
        ([1.0, 2.0], [1.0, 1.0], [[0, 1]], "2 entries for 1 edges"),
        ([1.0, np.nan], [1.0], [[0, 1]], r"unary\[1\] is nan; expected finite"),
        ([1.0, 2.0], [np.inf], [[0, 1]], r"pairwise\[0\] is inf; expected finite"),
        ([1.0, 2.0], [1.0], [[0, 2]], r"edges\[0\] is \(0, 2\)"),
        ([1.0, 2.0], [1.0], [[1, 1]], r"edges\[0\] joins node 1 to itself"),
        ([1.0, 2.0], [1.0], [[0.0, 1.0]], "expected integers"),
    ],
)
def test_bad_input(unary, pairwise, edges, message):
    with pytest.raises(bw.InputError, match=message):
        cut.maximize(unary, pairwise, edges)
