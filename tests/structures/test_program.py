"""0/1 programs: enumeration, structures with a linear form, and what can go wrong."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import OptimizeResult, linear_sum_assignment

from blockwolfe.errors import InputError, OracleError
from blockwolfe.structures import chain, program


def random_program(rng):
    m, n_rows = rng.integers(1, 8), rng.integers(0, 4)
    A = rng.integers(-3, 4, size=(n_rows, m)).astype(float)
    b = rng.integers(-1, 4, size=n_rows).astype(float)
    lower = b - rng.integers(0, 3, size=n_rows) if rng.random() < 0.4 else None
    scores = rng.integers(-3, 4, size=m) * rng.choice([1e-3, 1.0, 1e3])  # many ties
    return scores, sp.csr_array(A) if rng.random() < 0.5 else A, b, lower


def test_equals_enumeration_and_finds_infeasible_ones():
    rng = np.random.default_rng(0)
    n_infeasible = n_searched = 0
    for _ in range(800):
        scores, A, b, lower = random_program(rng)
        outputs = program.enumerate_outputs(len(scores), A, b, lower)
        if not len(outputs):
            n_infeasible += 1
            with pytest.raises(InputError, match="the program is infeasible"):
                program.maximize(scores, A, b, lower)
            continue
        found = program.solve(scores, A, b, lower)
        assert any((found.z == z).all() for z in outputs)
        best = (outputs @ scores).max()
        assert found.value == pytest.approx(best, rel=1e-9, abs=1e-9 * np.abs(scores).max())
        n_searched += not found.is_relaxed
    assert n_infeasible > 30
    assert n_searched > 30


def assignment_rows(k):
    """Each of k rows and of k columns at most once."""
    return np.concatenate([np.kron(np.eye(k), np.ones(k)), np.kron(np.ones(k), np.eye(k))])


@pytest.mark.parametrize("k", [1, 3, 6])
def test_assignments_are_integral_at_once(k):
    rng = np.random.default_rng(k)
    ones = np.ones(2 * k)
    for _ in range(20):
        scores = rng.normal(size=(k, k))
        found = program.solve(scores.ravel(), sp.csc_array(assignment_rows(k)), ones, ones)
        rows, columns = linear_sum_assignment(-scores)
        assert found.is_relaxed
        assert found.value == pytest.approx(scores[rows, columns].sum())
        np.testing.assert_array_equal(found.z.reshape(k, k).argmax(axis=1), columns)


def test_chains_as_paths():
    """z[t, j, k]: label j at t and k at t + 1; what enters a label leaves it."""
    rng = np.random.default_rng(0)
    n_positions, n_labels = 4, 3
    z = np.arange((n_positions - 1) * n_labels**2).reshape(-1, n_labels, n_labels)
    rows = [np.isin(np.arange(z.size), z[0]).astype(float)]
    for t in range(1, len(z)):
        for k in range(n_labels):
            enters, leaves = (
                np.isin(np.arange(z.size), part) for part in (z[t - 1, :, k], z[t, k])
            )
            rows.append(enters.astype(float) - leaves)
    bounds = np.zeros(len(rows))
    bounds[0] = 1.0
    for _ in range(30):
        unary, transition = rng.normal(size=(n_positions, 3)), rng.normal(size=(3, 3))
        scores = transition + unary[1:, None, :]
        scores[0] += unary[0][:, None]
        found = program.solve(scores.ravel(), np.array(rows), bounds, bounds)
        labels = chain.maximize(unary, transition)
        assert found.is_relaxed
        assert found.value == pytest.approx(chain.score(unary, transition, labels))
        assert [found.z[z[t, labels[t], labels[t + 1]]] for t in range(3)] == [1, 1, 1]


def test_a_fractional_relaxation_is_searched():
    odd_cycle = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    found = program.solve([1.0, 1.0, 1.0], odd_cycle, [1, 1, 1])
    assert not found.is_relaxed
    assert found.value == 1.0


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_gap_is_zero_at_any_scale(scale):
    """Two knapsacks that differ by one part in 1e7: below the gap at which HiGHS would stop."""
    scores = scale * np.array([1.0, 1.0 + 1e-7, 1.0])
    found = program.maximize(scores, [[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 1, 1])
    assert found.tolist() == [0, 1, 0]


def answers_of(monkeypatch, *answers):
    """HiGHS replaced by a list of answers: x and a bound on the scaled objective."""
    waiting = [
        OptimizeResult(status=4 * (x is None), x=None if x is None else np.array(x),
                       mip_dual_bound=bound, message="Unknown.")
        for x, bound in answers
    ]  # fmt: skip
    monkeypatch.setattr("scipy.optimize.milp", lambda *_, **__: waiting.pop(0))
    return waiting


ROWS = [[1.0, 1.0]], [1.9]
BEST = -program.SCALE  # of the scores (1, 1), as HiGHS says it: it minimises


def test_rounding_is_checked(monkeypatch):
    """A solver that is a little off: what it says is not taken on trust."""
    waiting = answers_of(
        monkeypatch, ([1.0 - 5e-7, 1.0], None), ([1.0, 1.0], BEST), ([1.0, 1.0], BEST)
    )
    with pytest.raises(OracleError, match="violates row 0 once it is rounded"):
        program.maximize([1.0, 1.0], *ROWS)
    assert not waiting
    answers_of(monkeypatch, ([0.5, 0.5], None), ([1.0, 1.0], BEST), ([0.0, 1.0], BEST))
    assert program.maximize([1.0, 1.0], *ROWS).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("x", "bound", "words"),
    [([0.3, 1.0], BEST, "leaves variable 0 between 0 and 1"), ([0.0, 1.0], None, "has no bound")],
)
def test_answers_that_prove_nothing_are_refused(monkeypatch, x, bound, words):
    answers_of(monkeypatch, ([0.5, 0.5], None), (x, bound), (x, bound))
    with pytest.raises(OracleError, match=words):
        program.maximize([1.0, 1.0], *ROWS)


def test_where_highs_cannot_tell_it_is_asked_in_another_way(monkeypatch):
    answers_of(monkeypatch, (None, None), (None, None), ([0.0, 1.0], BEST))
    assert program.maximize([1.0, 1.0], *ROWS).tolist() == [0, 1]
    answers_of(monkeypatch, *[(None, None)] * 3)
    with pytest.raises(OracleError, match=r"HiGHS is missing \(Unknown\)"):
        program.maximize([1.0, 1.0], *ROWS)


def test_the_bound_is_that_of_highs(monkeypatch):
    """A search that ends early says so by its bound."""
    answers_of(monkeypatch, ([0.5, 0.5], None), ([0.0, 1.0], 1.25 * BEST))
    found = program.solve([1.0, 1.0], *ROWS)
    assert found.value == 1.0
    assert found.bound == pytest.approx(1.25, abs=1e-12)


def test_no_output_is_above_the_bound_and_the_bound_is_tight():
    """Against sums without rounding, with one forced variable of any score."""
    rng = np.random.default_rng(1)
    n_searched = 0
    for _ in range(60):
        m = int(rng.integers(3, 8))
        A = np.vstack([np.eye(m)[0], rng.normal(size=(2, m)).round(3)])
        z = np.concatenate([[1], rng.integers(0, 2, size=m - 1)])
        above = np.concatenate([[1.0], A[1:] @ z + 0.5])
        lower = np.array([1.0, -np.inf, -np.inf])
        scores = rng.normal(size=m) * 10.0 ** rng.uniform(-3, 0, size=m)
        scores[0] = 10.0 ** rng.integers(0, 12)
        found = program.solve(scores, A, above, lower)
        best = max(math.fsum(scores[z > 0]) for z in program.enumerate_outputs(m, A, above, lower))
        assert found.value == pytest.approx(best, rel=0, abs=1e-15 * scores[0] + 1e-14)
        assert (
            0.0 <= found.bound - best <= 1e-13 * np.abs(scores[1:]).max() * 100 + 1e-14 * scores[0]
        )
        n_searched += not found.is_relaxed
    assert n_searched > 5


def test_forced_variables_are_found():
    """By one row, and by one row after another; in a program without solution none is."""
    # z0 = 1, so z1 = 0, so z2 + z3 >= 1 with z3 <= z1 leaves z2 = 1; z4 is free
    A = [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, -1, 0, 1, 0], [0, 0, 0, 0, 1]]
    rows = program._Rows(
        np.array(A, dtype=float), np.ones(5), np.array([1, -np.inf, 1, -np.inf, -np.inf])
    )
    rows.above[3] = 0.0
    z, is_free = program._forced(rows)
    assert z[:4].tolist() == [1, 0, 1, 0]
    assert is_free.tolist() == [False, False, False, False, True]
    with pytest.raises(InputError, match="the program is infeasible"):
        program.maximize([1.0, 1.0], [[1, 0], [1, 1], [0, 1]], [1, 1, 1], [1, -np.inf, 1])


def test_no_rows_no_items_no_scores():
    assert program.maximize([1.0, 0.0, -1.0], np.zeros((0, 3)), []).tolist() == [1, 0, 0]
    assert program.maximize([], np.zeros((0, 0)), []).shape == (0,)
    assert program.maximize([0.0, 0.0], [[1, 1]], [1], [1]).sum() == 1
    with pytest.raises(InputError, match="scores has NaN"):
        program.maximize([np.nan], [[1]], [1])
