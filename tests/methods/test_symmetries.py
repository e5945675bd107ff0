"""The problem's symmetries, with tolerances from certificates."""

import numpy as np
import pytest

import blockwolfe as bw
from zoo import chain_data

LAM, TOL = 0.5, 1e-3


def solve(X, Y, lam=LAM, tol=TOL, sample_weight=None, **task):
    problem = bw.Problem(bw.tasks.Chain(3, **task), X, Y, sample_weight)
    return bw.solve(problem, lam, tol=tol, random_state=0)


def assert_close(a, b, lam=LAM):
    gaps = (a.certificate.gap, b.certificate.gap)
    assert abs(a.certificate.primal - b.certificate.primal) <= max(gaps)
    assert np.linalg.norm(a.w - b.w) <= sum(np.sqrt(2 * gap / lam) for gap in gaps)


def test_order_of_examples_does_not_matter():
    X, Y = chain_data()
    order = np.random.default_rng(0).permutation(len(X))
    assert_close(solve(X, Y), solve([X[i] for i in order], [Y[i] for i in order]))


def test_all_examples_twice_is_the_same_problem():
    X, Y = chain_data()
    assert_close(solve(X, Y), solve(X + X, Y + Y))


def test_integer_weights_mean_repetition():
    X, Y = chain_data()
    weight = [1, 2, 0, 3, 1, 1, 2, 1]
    repeated = [i for i, times in enumerate(weight) for _ in range(times)]
    a = solve(X, Y, sample_weight=weight)
    assert_close(a, solve([X[i] for i in repeated], [Y[i] for i in repeated]))
    assert_close(a, solve(X, Y, sample_weight=7.5 * np.array(weight)))


def test_scaling_features_and_lambda():
    """(c phi, c^2 lam) gives w / c and the same objective."""
    X, Y = chain_data()
    switches = {"bias": False, "first": False, "last": False, "transition": False}
    a = solve(X, Y, **switches)
    b = solve([3 * x for x in X], Y, lam=9 * LAM, **switches)
    gaps = (a.certificate.gap, b.certificate.gap)
    assert abs(a.certificate.primal - b.certificate.primal) <= max(gaps)
    bound = np.sqrt(2 * gaps[0] / LAM) + 3 * np.sqrt(2 * gaps[1] / (9 * LAM))
    assert np.linalg.norm(a.w - 3 * b.w) <= bound


def test_scaling_loss_and_lambda():
    """(c L, lam / c) gives c w and c times the objective."""
    X, Y = chain_data()
    cost = 1.0 - np.eye(3)
    a = solve(X, Y, task_loss=cost)
    b = solve(X, Y, lam=LAM / 4, tol=4 * TOL, task_loss=4 * cost)
    assert (
        abs(4 * a.certificate.primal - b.certificate.primal)
        <= 4 * a.certificate.gap + b.certificate.gap
    )
    bound = 4 * np.sqrt(2 * a.certificate.gap / LAM) + np.sqrt(2 * b.certificate.gap / (LAM / 4))
    assert np.linalg.norm(4 * a.w - b.w) <= bound


def test_zero_weight_example_changes_nothing():
    X, Y = chain_data()
    full = solve(X, Y, sample_weight=[1] * 7 + [0])
    assert_close(full, solve(X[:7], Y[:7]))
    assert full.certificate.block_gaps[7] == 0.0


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_extreme_feature_scales_still_certify(scale):
    X, Y = chain_data()
    result = solve([scale * x for x in X], Y, lam=LAM * max(1.0, scale**2), tol=1e-3)
    assert result.is_certified
