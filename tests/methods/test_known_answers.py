"""Optima known by other means; tolerances come from the certificates alone."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

import blockwolfe as bw
from zoo import METHODS, PROBLEMS, chain_data, enumerated_optimum, multiclass_data


@pytest.mark.parametrize("lam", [0.1, 1.0])
@pytest.mark.parametrize(
    "name", ["multiclass-dense", "multiclass-costs", "chain-weighted", "toy-jitted"]
)
def test_tiny_problems_equal_the_enumerated_qp(name, lam):
    problem = PROBLEMS[name]()
    if name.startswith("chain"):
        X, Y = chain_data(longest=3)
        problem = bw.Problem(bw.tasks.Chain(3), X, Y, sample_weight=[1, 2, 0, 3, 1, 1, 5, 1])
    optimum, w = enumerated_optimum(problem, lam)
    result = bw.solve(problem, lam, tol=2e-3, random_state=0)
    assert result.is_certified
    assert result.certificate.dual - 1e-9 <= optimum <= result.certificate.primal + 1e-9
    assert np.linalg.norm(result.w - w) <= np.sqrt(2 * result.certificate.gap / lam) + 1e-4


def test_masked_chain_equals_the_enumerated_qp():
    X, Y = chain_data(n=5, longest=3)
    allowed = [np.eye(3, dtype=bool)[y] | np.array([True, False, True]) for y in Y]
    X = [bw.tasks.Masked(x, a) for x, a in zip(X, allowed, strict=True)]
    problem = bw.Problem(bw.tasks.Chain(3), X, Y)
    result = bw.solve(problem, 0.2, tol=1e-3)
    optimum, _ = enumerated_optimum(problem, 0.2)
    assert result.certificate.dual - 1e-9 <= optimum <= result.certificate.primal + 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_methods_agree_within_their_certificates(method):
    problem = PROBLEMS["chain-dense"]()
    reference = bw.solve(problem, 0.5, tol=1e-3, random_state=1)
    result = bw.solve(problem, 0.5, method, tol=1e-2, max_passes=20000, random_state=0)
    assert result.is_certified
    assert result.certificate.dual <= reference.certificate.primal
    assert reference.certificate.dual <= result.certificate.primal
    distance = np.linalg.norm(result.w - reference.w)
    gaps = (result.certificate.gap, reference.certificate.gap)
    assert distance <= sum(np.sqrt(2 * gap / 0.5) for gap in gaps)


def digits(n=400):
    X, y = load_digits(return_X_y=True)
    return X[:n] / 16.0, y[:n]


def test_crammer_singer_equals_linear_svc():
    X, y = digits()
    C = 0.05
    reference = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, C=C, tol=1e-8, max_iter=100_000
    ).fit(X, y)
    lam = 1 / (C * len(X))
    problem = bw.Problem(bw.tasks.Multiclass(bias=False), X, y)
    result = bw.solve(problem, lam, tol=2e-3, random_state=0)
    theirs = reference.coef_.T.ravel()  # ours is features x labels
    assert result.is_certified
    assert problem.primal(theirs, lam) == pytest.approx(result.certificate.primal, abs=2e-3)
    bound = np.sqrt(2 * result.certificate.gap / lam)
    gap_of_theirs = problem.primal(theirs, lam) - result.certificate.dual
    assert np.linalg.norm(result.w - theirs) <= bound + np.sqrt(2 * gap_of_theirs / lam)


def test_binary_equals_linear_svc_with_hinge_loss():
    """Two labels: w_1 = -w_0 = u/2, so lam/2 (|w_0|^2 + |w_1|^2) = (lam/2)/2 |u|^2."""
    X, y = digits()
    X, y = X[y < 2], y[y < 2]
    C = 0.1
    reference = LinearSVC(loss="hinge", fit_intercept=False, C=C, tol=1e-10, max_iter=10**6).fit(
        X, y
    )
    u = reference.coef_[0]
    lam = 2 / (C * len(X))
    problem = bw.Problem(bw.tasks.Multiclass(bias=False), X, y)
    result = bw.solve(problem, lam, tol=1e-4, random_state=0)
    theirs = np.stack([-u / 2, u / 2], axis=1).ravel()
    assert result.certificate.dual <= problem.primal(theirs, lam) + 1e-12
    assert problem.primal(theirs, lam) <= result.certificate.primal + 1e-8
    gap_of_theirs = problem.primal(theirs, lam) - result.certificate.dual
    bound = np.sqrt(2 * result.certificate.gap / lam) + np.sqrt(2 * gap_of_theirs / lam)
    assert np.linalg.norm(result.w - theirs) <= bound


@pytest.mark.parametrize(("n", "n_labels"), [(1, 1), (1, 5), (10, 1), (10, 10)])
@pytest.mark.parametrize("method", METHODS)
def test_toy_problem_has_its_closed_form_optimum(n, n_labels, method):
    toy = bw.datasets.toy_problem(n, n_labels)
    problem = bw.Problem(toy.task, toy.X, toy.Y)
    assert problem.primal(toy.w, toy.lam) == pytest.approx(toy.optimum, rel=1e-12)
    result = bw.solve(problem, toy.lam, method, tol=5e-3, random_state=0)
    assert result.certificate.dual - 1e-12 <= toy.optimum <= result.certificate.primal + 1e-12
    assert np.linalg.norm(result.w - toy.w) <= np.sqrt(2 * result.certificate.gap / toy.lam) + 1e-9


def test_two_labels_closed_form():
    """One example, two labels, psi = x: w = min(1/lam, 1/|x|^2)... on the scale of (1)."""
    x = np.array([2.0, 1.0])
    problem = bw.Problem(bw.tasks.Multiclass(labels=[0, 1], bias=False), [x], [1])
    for lam in (0.5, 50.0):
        alpha = min(1.0, lam / (2 * np.dot(x, x)))  # psi = (-x, x), |psi|^2 = 2 |x|^2
        dual = alpha - alpha**2 * 2 * np.dot(x, x) / (2 * lam)
        result = bw.solve(problem, lam, tol=1e-12)
        assert result.certificate.dual == pytest.approx(dual, rel=1e-12)


def test_rate_of_the_theory():
    """E[D* - D_k] <= 2n/(k+2n) (C + h0): the mean over seeds, by a bound that says something.

    C = sum_i |weight_i (psi_a - psi_b)|^2 / lam at most, here 2 (|x_i|^2 + 1) / (lam n^2) each.
    """
    X, Y = multiclass_data(n=40)
    problem = bw.Problem(bw.tasks.Multiclass(), X, Y)
    n, lam = len(problem), 0.5
    reference = bw.solve(problem, lam, tol=1e-6, random_state=0).certificate
    optimum = reference.primal  # (not below the best dual)
    curvature = sum(2 * (np.dot(x, x) + 1) for x in X) / (lam * n**2)
    for method in ("bcfw+uniform", "bcfw+uniform+predefined"):
        runs = [
            bw.solve(problem, lam, method, tol=0.0, max_passes=40, random_state=seed).trace
            for seed in range(5)
        ]
        lacking = optimum - np.mean([trace["dual"] for trace in runs], axis=0)
        visits = runs[0]["visits"]
        bound = 2 * n / (visits + 2 * n) * (curvature + optimum)
        assert (lacking <= bound).all()
        assert bound[-1] < 0.15 * optimum < lacking[0]  # it would catch a method that stays behind
