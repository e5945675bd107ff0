"""Base polytopes: greedy points by every way to ask a set function, against linear programs."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from blockwolfe.errors import OracleError
from blockwolfe.optimize.domains import BasePolytope, ConcaveOfCardinality, CutFunction
from blockwolfe.optimize.domains.submodular import gains_of


def all_sets(n):
    for size in range(1, n + 1):
        yield from combinations(range(n), size)


def best_by_program(f, n, gradient):
    """The minimum over x(A) <= F(A) for all A, with equality for the last."""
    sets = list(all_sets(n))
    rows = np.zeros((len(sets), n))
    for row, members in zip(rows, sets, strict=True):
        row[list(members)] = 1.0
    empty = f(np.array([], dtype=int))
    values = [f(np.array(members)) - empty for members in sets]
    return linprog(
        gradient,
        A_ub=rows[:-1],
        b_ub=values[:-1],
        A_eq=rows[-1:],
        b_eq=values[-1:],
        bounds=(None, None),
    ).fun


def matroid_rank(members):
    """Of a graph with the edges below: nodes less components."""
    edges = np.array([[0, 1], [1, 2], [0, 2], [2, 3], [3, 4], [2, 4]])[members]
    ones = np.ones(len(edges))
    graph = sp.coo_array((ones, (edges[:, 0], edges[:, 1])), shape=(5, 5))
    return 5 - sp.csgraph.connected_components(graph, directed=False)[0]


def facility(members):
    """The best of the chosen for each of 9 customers; 3 for nobody."""
    worth = np.random.default_rng(1).random((9, 6))
    return 3.0 + (worth[:, members].max(axis=1).sum() if len(members) else 0.0)


FUNCTIONS = {
    "rank": (matroid_rank, 6),
    "facility": (facility, 6),
    "cut": (CutFunction(np.random.default_rng(2).random((6, 6))), 6),
    "concave": (ConcaveOfCardinality(np.log1p(np.arange(7))), 6),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_greedy_is_the_minimum_of_the_linear_program(name):
    f, n = FUNCTIONS[name]
    domain = BasePolytope(f, n)
    for seed in range(5):
        gradient = np.random.default_rng(seed).normal(size=n)
        atom = domain.minimize(gradient)
        assert atom.dot(gradient) == pytest.approx(best_by_program(f, n, gradient), abs=1e-9)
        assert domain.distance(atom.dense()) <= 1e-12


class Prefixes:
    """The same function, by the values of all prefixes."""

    def __init__(self, f):
        self.f, self.n_calls = f, 0

    def __call__(self, members):
        return self.f(members)

    def prefixes(self, order):
        self.n_calls += 1
        return [self.f(np.sort(order[:k])) for k in range(len(order) + 1)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_way_to_ask_gives_the_same(name):
    f, n = FUNCTIONS[name]
    fast = Prefixes(f)
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(n)
        by_calls = gains_of(f.__call__, order)  # (which has no other way)
        assert gains_of(fast, order) == pytest.approx(by_calls, abs=1e-12)
        assert gains_of(f, order) == pytest.approx(by_calls, abs=1e-12)
    assert fast.n_calls == 4


@pytest.mark.parametrize("make", [np.asarray, sp.coo_array, sp.csr_matrix])
def test_cuts_of_many_nodes(make):
    rng = np.random.default_rng(0)
    weights = rng.random((40, 40)) * (rng.random((40, 40)) < 0.3)
    cut = CutFunction(make(weights))
    order = rng.permutation(40)
    values = np.concatenate([[0.0], np.cumsum(cut.gains(order))])
    for k in range(41):
        chosen, rest = order[:k], order[k:]
        expected = weights[np.ix_(chosen, rest)].sum()
        assert values[k] == pytest.approx(expected, abs=1e-11)
        assert cut(np.sort(chosen)) == pytest.approx(expected, abs=1e-11)


def test_a_vertex_has_one_key_whatever_order_finds_it():
    """Two cuts that do not touch: orders that mix them differently give the same vertex."""
    rng = np.random.default_rng(3)
    weights = np.zeros((8, 8))
    weights[:4, :4], weights[4:, 4:] = rng.random((2, 4, 4))
    for form in (weights, sp.csr_array(weights)):
        domain = BasePolytope(CutFunction(form))
        first = domain.minimize(np.arange(8.0))
        for gradient in ([4, 5, 6, 7, 0, 1, 2, 3], [0, 2, 4, 6, 1, 3, 5, 7]):
            assert domain.minimize(np.array(gradient, dtype=float)).key == first.key


def test_what_is_known_of_the_distance_for_many_elements():
    domain = BasePolytope(ConcaveOfCardinality(np.sqrt(np.arange(31))))
    inside = domain.minimize(np.arange(30.0)).dense()
    assert np.isnan(domain.distance(inside))
    inside[3] += 0.5
    assert domain.distance(inside) == pytest.approx(0.5, rel=1e-9)
    inside[3] -= 1.0
    assert domain.distance(inside) == pytest.approx(0.5, rel=1e-9)


def test_distance_sees_every_set_of_few_elements():
    """With F(A) = |A| on a box, each entry has a bound of its own."""
    domain = BasePolytope(lambda members: float(min(len(members), 1)), 3)
    assert domain.distance(np.array([0.5, 0.25, 0.25])) == 0.0
    assert domain.distance(np.array([1.5, 0.0, -0.5])) == pytest.approx(0.5)
    assert domain.distance(np.array([0.5, 0.25, 0.5])) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("answer", "message"),
    [(np.nan, "finite"), (np.inf, "finite"), ("many", "number"), (None, "number")],
)
def test_wrong_values_name_the_set(answer, message):
    domain = BasePolytope(lambda members: answer if len(members) == 2 else 0.0, 3)
    with pytest.raises(OracleError, match=message) as caught:
        domain.minimize(np.array([2.0, 0.0, 1.0]))
    assert "f([1, 2])" in str(caught.value)


@pytest.mark.parametrize("answer", [[0.0, 1.0], np.full(4, np.nan), ["a"] * 4, np.ones((4, 1))])
def test_wrong_prefixes_are_named(answer):
    class Wrong:
        def __call__(self, members):
            return 0.0

        def prefixes(self, order):
            return answer

    with pytest.raises(OracleError, match="prefixes"):
        BasePolytope(Wrong(), 3).minimize(np.zeros(3))


def test_distance_sees_sets_that_do_not_hold_the_largest_entries():
    """The cut of two edges, and 3 for nothing: only {0, 1}, which no edge leaves, is violated."""

    def cut(members):
        return 3.0 + sum(len({a, a + 1} & set(members.tolist())) == 1 for a in (0, 2))

    domain = BasePolytope(cut, 4)
    assert domain.distance(np.array([1.0, -0.9, 0.4, -0.5])) == pytest.approx(0.1)
    assert domain.distance(np.array([1.0, -1.0, 0.5, -0.5])) == 0.0


def test_distance_of_many_elements_looks_at_the_largest_entries():
    domain = BasePolytope(ConcaveOfCardinality(np.sqrt(np.arange(31))))
    x = domain.minimize(np.arange(30.0)).dense()
    x[0] += 0.5
    x[29] -= 0.5
    assert domain.distance(x) == pytest.approx(0.5, rel=1e-9)
