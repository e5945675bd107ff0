"""Single-rooted spanning trees against enumeration and networkx; sums over trees likewise."""

import functools
import math

import networkx as nx
import numpy as np
import pytest

from blockwolfe.errors import InputError
from blockwolfe.structures import spanning_tree as st


@functools.cache
def trees(n_words):
    return np.array(list(st.enumerate_outputs(n_words)))


def scores_of(scores, heads):
    return scores[heads, np.arange(1, heads.shape[1] + 1)].sum(axis=1)


def instance(rng, n_words, kind):
    """Random scores; few values make ties, and -inf forbids arcs."""
    shape = (n_words + 1, n_words + 1)
    scores = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4)
    if kind == "ties":
        scores = rng.integers(-2, 3, size=shape).astype(float)
    if kind == "forbidden":
        scores = rng.integers(-3, 4, size=shape).astype(float)
        scores[rng.random(shape) < rng.choice([0.2, 0.5, 0.7])] = -np.inf
    if kind == "cheap root":  # every word would rather be a child of the root
        scores[0] += 100.0
    if kind == "cycles":  # pairs of words that prefer one another
        partner = rng.permutation(n_words) + 1
        scores[partner, np.roll(partner, 1)] += 50.0
        scores[np.roll(partner, 1), partner] += 50.0
    return scores


@pytest.mark.parametrize("kind", ["plain", "ties", "forbidden", "cheap root", "cycles"])
@pytest.mark.parametrize(
    ("n_words", "n"), [(1, 5), (2, 200), (3, 500), (4, 700), (5, 400), (6, 60)]
)
def test_maximum_equals_enumeration(kind, n_words, n):
    rng = np.random.default_rng([n_words, len(kind)])
    n_infeasible = 0
    for _ in range(n):
        scores = instance(rng, n_words, kind)
        best = scores_of(scores, trees(n_words)).max()
        if best == -np.inf:
            n_infeasible += 1
            with pytest.raises(InputError, match="forbidden"):
                st.maximize(scores)
            continue
        found = st.maximize(scores)
        st.check_heads(found)
        assert st.score(scores, found) == pytest.approx(best, rel=1e-12, abs=1e-12)
    assert n_infeasible < n or kind == "forbidden"


@pytest.mark.parametrize("n_words", [8, 15, 40])
def test_maximum_equals_networkx(n_words):
    """networkx has no rule of one root, so each word in turn gets the only arc of the root."""
    rng = np.random.default_rng(n_words)
    scores = rng.integers(0, 30, size=(n_words + 1, n_words + 1)).astype(float)
    best = -np.inf
    for root in range(1, n_words + 1):
        graph = nx.DiGraph()
        for h in range(n_words + 1):
            for c in range(1, n_words + 1):
                if h != c and (h > 0 or c == root):
                    graph.add_edge(h, c, weight=scores[h, c] + 1.0)
        tree = nx.maximum_spanning_arborescence(graph)
        best = max(best, sum(scores[h, c] for h, c in tree.edges))
        if n_words == 40 and root == 3:
            return  # (slow) at least: none of these is better
        assert st.score(scores, st.maximize(scores)) >= best
    assert st.score(scores, st.maximize(scores)) == best


@pytest.mark.parametrize("n_words", [1, 2, 3, 8])
def test_ties_are_the_same_every_time_and_input_is_kept(n_words):
    """Of equal arcs that of the lowest head: all words below the first, where all scores are one."""
    for value in (0.0, -3.5, 7.0):
        scores = np.full((n_words + 1, n_words + 1), value)
        assert st.maximize(scores).tolist() == [0, *[1] * (n_words - 1)]
    rng = np.random.default_rng(n_words)
    scores = rng.integers(-2, 3, size=(n_words + 1, n_words + 1)).astype(float)
    before = scores.copy()
    for form in (scores, np.asfortranarray(scores), scores.astype(np.float32), scores.tolist()):
        np.testing.assert_array_equal(st.maximize(form), st.maximize(before.copy()))
    np.testing.assert_array_equal(scores, before)


def test_the_root_has_one_child_whatever_its_scores():
    """A constant that forbids a second child of the root would have to exceed these."""
    rng = np.random.default_rng(0)
    for size in (1e15, 1e250):
        scores = rng.normal(size=(20, 20))
        scores[0] *= size
        found = st.maximize(scores)
        assert st.check_heads(found)[np.argmax(scores[0, 1:])] == 0


def test_long_sentences_are_trees():
    rng = np.random.default_rng(0)
    for n_words in (100, 300):
        st.check_heads(st.maximize(rng.normal(size=(n_words + 1, n_words + 1))))


def test_numbers_of_trees():
    for n_words in range(1, 6):
        assert len(trees(n_words)) == n_words ** (n_words - 1)
    allowed = np.ones((4, 4), dtype=bool)
    allowed[0, 1:3] = False
    assert all(heads[2] == 0 for heads in st.enumerate_outputs(3, allowed))


@pytest.mark.parametrize("kind", ["plain", "ties", "forbidden", "cheap root", "cycles"])
@pytest.mark.parametrize("n_words", [1, 2, 3, 4, 5])
def test_sums_equal_enumeration(kind, n_words):
    rng = np.random.default_rng([n_words, len(kind), 1])
    for _ in range(60):
        scores = instance(rng, n_words, kind)
        if kind == "plain":
            scores = np.clip(scores, -30, 30)
        values = scores_of(scores, trees(n_words))
        if values.max() == -np.inf:
            with pytest.raises(InputError, match="forbidden"):
                st.marginals(scores)
            continue
        log_z = values.max() + math.log(np.exp(values - values.max()).sum())
        assert st.log_partition(scores) == pytest.approx(log_z, rel=1e-10, abs=1e-10)
        expected = np.zeros((n_words + 1, n_words + 1))
        for heads, p in zip(trees(n_words), np.exp(values - log_z), strict=True):
            expected[heads, np.arange(1, n_words + 1)] += p
        np.testing.assert_allclose(st.marginals(scores), expected, atol=1e-9)


def test_log_partition_is_koos_determinant():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(13, 13))
    s = np.exp(scores)
    words = s[1:, 1:] * (1 - np.eye(12))
    laplacian = np.diag(words.sum(axis=0)) - words
    laplacian[0] = s[0, 1:]
    assert st.log_partition(scores) == pytest.approx(np.linalg.slogdet(laplacian)[1], rel=1e-10)


def test_marginals_of_extreme_scores_are_those_of_the_maximum():
    """Scores far beyond exp(): a determinant in floats would be 0, inf or NaN."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(31, 31)) * 1e5
    best = st.maximize(scores)
    p = st.marginals(scores)
    np.testing.assert_allclose(p[best, np.arange(1, 31)], 1.0, atol=1e-9)
    assert st.log_partition(scores) == pytest.approx(st.score(scores, best), rel=1e-12)
    np.testing.assert_allclose(p[:, 1:].sum(axis=0), 1.0)


@pytest.mark.parametrize(("scores", "message"), [
    (np.zeros((2, 3)), r"scores has shape \(2, 3\); expected \(n \+ 1, n \+ 1\)"),
    (np.zeros((1, 1)), "n >= 1 words"),
    ([[0, np.nan], [0, 0]], r"scores\[0, 1\] is nan"),
    ([[0, np.inf], [0, 0]], r"scores\[0, 1\] is inf"),
    ([["a", "b"], ["c", "d"]], "not a matrix of numbers"),
    ([[0, 1, -np.inf], [0, 0, -np.inf], [0, 1, 0]], "every arc to word 2 is -inf"),
    ([[0, 1, 1], [0, 0, -np.inf], [0, -np.inf, 0]], "no single-rooted tree is left"),
])  # fmt: skip
@pytest.mark.parametrize("function", [st.maximize, st.marginals, st.log_partition])
def test_bad_scores_are_refused(function, scores, message):
    with pytest.raises(InputError, match=message):
        function(scores)


@pytest.mark.parametrize(("heads", "message"), [
    ([2, 3, 1, 0], "the cycle 1 -> 2 -> 3 -> 1"),
    ([0, 3, 2], "the cycle 2 -> 3 -> 2"),
    ([0, 0, 1], "2 children of the root, words 1 and 2"),
    ([0, 4, 1], "the head of word 2 is 4"),
    ([0, -1, 1], "the head of word 2 is -1"),
    ([1, 0], "the head of word 1 is 1"),
    ([0.0, 1.0], "float64; expected one integer per word"),
    ([], "shape"),
])  # fmt: skip
def test_heads_that_are_no_tree_are_refused(heads, message):
    with pytest.raises(InputError, match=message):
        st.check_heads(heads, "Y[3]")
