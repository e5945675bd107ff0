"""Minima of submodular functions, against all sets and against maximum flows."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from blockwolfe.errors import InputError, OptionError, OracleError
from blockwolfe.optimize import (
    BasePolytope,
    ConcaveOfCardinality,
    CutFunction,
    minimize_submodular,
)


class WithModular:
    """f(A) + sum of u over A + a constant, with gains."""

    def __init__(self, f, u, constant=0.0):
        self.f, self.u, self.constant, self.n = f, u, constant, len(u)

    def __call__(self, members):
        return self.f(members) + self.u[members].sum() + self.constant

    def gains(self, order):
        return self.f.gains(order) + self.u[order]


def cut(n, rng):
    weights = rng.random((n, n)) * (rng.random((n, n)) < 0.5)
    return WithModular(CutFunction(weights), rng.normal(size=n), constant=-3.0)


def integer_cut(n, rng):
    weights = rng.integers(0, 6, size=(n, n)) * (rng.random((n, n)) < 4.0 / n)
    return WithModular(CutFunction(weights), rng.integers(-9, 10, size=n).astype(float))


def concave(n, rng):
    return WithModular(ConcaveOfCardinality(np.sqrt(np.arange(n + 1))), rng.normal(size=n) - 0.3)


def lowest(f, n):
    """The lowest value of all 2^n sets."""
    sets = (
        np.array(members, dtype=np.int64)
        for size in range(n + 1)
        for members in combinations(range(n), size)
    )
    return min(f(members) for members in sets)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [1, 4, 10])
@pytest.mark.parametrize("kind", [cut, integer_cut, concave])
def test_no_set_is_lower(kind, n, seed):
    f = kind(n, np.random.default_rng(seed))
    found = minimize_submodular(f, tol=1e-9)
    truth = lowest(f, n)
    assert found.is_certified
    assert found.value == f(found.members)
    assert found.value == pytest.approx(truth, abs=2e-9)
    assert found.lower_bound <= truth + 1e-12
    assert found.members.dtype == np.int64
    assert (np.diff(found.members) > 0).all()


@pytest.mark.parametrize("method", ["fw", "pairwise", "away", "fcfw"])
def test_any_method_of_the_whole_domain_will_do(method):
    f = integer_cut(9, np.random.default_rng(3))
    found = minimize_submodular(f, tol=0.5, method=method)
    assert found.is_certified
    assert found.value == lowest(f, 9)


@pytest.mark.parametrize("max_passes", [0, 1, 2, 5])
def test_bounds_hold_wherever_a_run_is_ended(max_passes):
    """The point of the bound is in the polytope, and the value is that of a set."""
    for seed in range(6):
        f = cut(8, np.random.default_rng(seed))
        found = minimize_submodular(f, tol=0.0, max_passes=max_passes)
        truth = lowest(f, 8)
        assert found.lower_bound <= truth + 1e-12
        assert found.value >= truth
        assert BasePolytope(f).distance(found.x) <= 1e-12
        assert found.lower_bound == pytest.approx(-3.0 + np.minimum(found.x, 0.0).sum())


def flow_minimum(weights, u):
    """min over A of cut(A) + u(A), as a minimum cut between a source (in A) and a sink."""
    n = len(u)
    capacity = np.zeros((n + 2, n + 2), dtype=np.int32)
    capacity[:n, :n] = weights
    capacity[n, :n] = np.maximum(-u, 0)
    capacity[:n, n + 1] = np.maximum(u, 0)
    return maximum_flow(sp.csr_array(capacity), n, n + 1).flow_value - np.maximum(-u, 0).sum()


@pytest.mark.parametrize("seed", range(4))
def test_a_gap_below_one_proves_a_minimum_cut(seed):
    rng = np.random.default_rng(seed)
    f = integer_cut(60, rng)
    found = minimize_submodular(f, tol=0.99)
    assert found.gap < 1.0
    assert found.value == flow_minimum(f.f.weights, f.u)


def test_values_of_the_function_are_asked_for_once_per_oracle_call():
    """Level sets come with the greedy answers: only a new best set is asked for again."""
    n, asked = 10, []
    f = cut(n, np.random.default_rng(0))

    def counted(members):
        asked.append(len(members))
        return f(members)

    found = minimize_submodular(counted, n, tol=1e-6)
    calls = found.run.counts.oracle_calls + found.run.counts.certificate_calls
    assert len(asked) <= (n + 1) * (calls + 2) + 2 * calls + 2
    assert found.is_certified


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        (2, r"f is not submodular: .* by -1\.8136.* has -2\.4414.*check_domain"),
        (4, r"lambda.*check_domain"),
    ],
)
def test_functions_that_are_not_submodular_are_found_out(seed, words):
    """By a bound above a value; or by an oracle that is worse than an older answer."""
    values = np.random.default_rng(seed).normal(size=16)
    with pytest.raises(OracleError, match=words):
        minimize_submodular(lambda members: values[(1 << members).sum()], 4)


@pytest.mark.parametrize("tol", [-1.0, np.nan, np.inf, "0.5", True, None])
def test_tolerances_that_are_none(tol):
    with pytest.raises(OptionError, match=r"tol=.*>= 0"):
        minimize_submodular(ConcaveOfCardinality([0.0, 1.0]), tol=tol)


def test_what_is_no_set_function():
    with pytest.raises(OptionError, match=r"f=3 must be a function"):
        minimize_submodular(3, 2)
    with pytest.raises(OptionError, match=r"n=None"):
        minimize_submodular(len)
    with pytest.raises(InputError, match=r"n=5, but f is a function on 1"):
        minimize_submodular(ConcaveOfCardinality([0.0, 1.0]), 5)
    with pytest.raises(OracleError, match=r"expected a finite number"):
        minimize_submodular(lambda members: np.nan, 2)
