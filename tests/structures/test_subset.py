"""The best subset equals enumeration, ties, repeated pairs and single items included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amount import some
from blockwolfe.errors import InputError
from blockwolfe.structures import subset, tree


@st.composite
def instances(draw):
    n = draw(st.integers(1, 8))
    item = st.integers(0, n - 1)
    pair = st.tuples(item, item).filter(lambda p: p[0] != p[1])
    ends = draw(st.lists(pair, max_size=2 * n)) if n > 1 else []
    score = st.integers(-3, 3) if draw(st.booleans()) else st.floats(-2, 2)
    unary = draw(st.lists(score, min_size=n, max_size=n))
    pairwise = draw(st.lists(score, min_size=len(ends), max_size=len(ends)))
    return np.array(unary, float), np.array(pairwise, float), np.array(ends, int).reshape(-1, 2)


def best_of_all(unary, pairwise, ends):
    outputs = subset.enumerate_outputs(len(unary))
    return max(subset.score(unary, pairwise, ends, z) for z in outputs)


@settings(max_examples=some(1000), deadline=None)
@given(instances())
def test_equals_enumeration(instance):
    found = subset.maximize(*instance)
    assert set(found) <= {0, 1}
    best = best_of_all(*instance)
    assert subset.score(*instance, found) == pytest.approx(best, abs=1e-12)
    local = subset.score(*instance, subset.maximize(*instance, exact=False))
    assert local <= best + 1e-12


@settings(max_examples=300, deadline=None)
@given(instances())
def test_climbs_end_where_no_single_change_helps(instance):
    found = subset.maximize(*instance, exact=False)
    reached = subset.score(*instance, found)
    for at in range(len(found)):
        other = found.copy()
        other[at] = 1 - other[at]
        assert subset.score(*instance, other) <= reached + 1e-9


def all_pairs(n):
    return np.array([(a, b) for a in range(n) for b in range(a + 1, n)])


@pytest.mark.parametrize("sign", [-1.0, 1.0, 0.0])
def test_dense_instances_of_every_sign_equal_enumeration(sign):
    rng = np.random.default_rng(0)
    ends = all_pairs(11)
    outputs = subset.enumerate_outputs(11)
    both = outputs[:, ends[:, 0]] * outputs[:, ends[:, 1]]
    for _ in range(200):
        unary, pairwise = rng.normal(size=11), rng.normal(size=len(ends))
        if sign:
            pairwise = sign * np.abs(pairwise)
            unary -= sign * 4.0
        best = (outputs @ unary + both @ pairwise).max()
        found = subset.maximize(unary, pairwise, ends)
        assert subset.score(unary, pairwise, ends, found) == pytest.approx(best, rel=1e-12)


def test_agrees_with_max_sum_on_trees_of_many_items():
    rng = np.random.default_rng(1)
    for n in (2, 12, subset.MOST_ITEMS):
        for _ in range(20):
            ends = np.array([(rng.integers(b), b) for b in range(1, n)])
            unary, pairwise = rng.normal(size=n), 2 * rng.normal(size=n - 1)
            tables = np.zeros((n - 1, 2, 2))
            tables[:, 1, 1] = pairwise
            labels = tree.maximize(np.stack([np.zeros(n), unary], axis=1), tables, ends)
            found = subset.maximize(unary, pairwise, ends)
            np.testing.assert_array_equal(found, labels)


def test_no_items_and_ties():
    assert subset.maximize([], [], []).shape == (0,)
    assert subset.maximize([0.0, 0.0], [], []).tolist() == [0, 0]


def test_too_many_items_for_the_exact_search():
    n = subset.MOST_ITEMS + 1
    with pytest.raises(InputError, match=rf"unary has {n} items.*exact=False"):
        subset.maximize(np.zeros(n), [], [])
    assert subset.maximize(np.ones(n), [], [], exact=False).all()


@pytest.mark.parametrize(
    ("unary", "pairwise", "edges", "message"),
    [
        ([1.0, 1.0], [-3.0], [[0, 100_000_000]], r"edges\[0\] is \(0, 100000000\)"),
        ([1.0, 1.0], [-3.0], [[0, -1]], r"edges\[0\] is \(0, -1\); expected two different nodes"),
        ([1.0, 1.0], [-3.0], [[1, 1]], r"edges\[0\] joins node 1 to itself"),
        ([1.0, 1.0], [-3.0], [[0.0, 1.9]], "expected integers"),
        ([1.0, 1.0], [-3.0], [[0, 1], [1]], "unequal length"),
        ([-1.0, -1.0], [], [[0, 1]], "pairwise has 0 entries for 1 edges"),
        ([np.nan, 1.0], [1.0], [[0, 1]], r"unary\[0\] is nan"),
        ([[1.0]], [], [], r"unary has shape \(1, 1\)"),
    ],
)
def test_bad_input(unary, pairwise, edges, message):
    with pytest.raises(InputError, match=message):
        subset.maximize(unary, pairwise, edges)
