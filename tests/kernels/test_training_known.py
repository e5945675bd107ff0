"""Optima of problems with a kernel, found by other means; tolerances are the certificates."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

import blockwolfe as bw
from kernel_twins import TWINS, coefficients, with_nodes
from zoo import chain_data, enumerated_optimum, enumerated_primal, multiclass_data

LAM = 0.2
KERNELS = {
    "rbf": (lambda Z: rbf_kernel(Z, gamma=0.3), {"gamma": 0.3}),
    "poly": (
        lambda Z: polynomial_kernel(Z, gamma=0.5, degree=2, coef0=1.0),
        {"gamma": 0.5, "degree": 2, "coef0": 1.0},
    ),
}


def small(name):
    """The task and the data of a twin, with few enough outputs for a quadratic program."""
    task, data = TWINS[name]
    X, Y = chain_data(longest=3) if name.startswith("chain") else data()
    return task, X[:6], Y[:6]


def explicit(G):
    """Rows whose inner products are G."""
    values, vectors = np.linalg.eigh(G)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def three(name, kernel="rbf"):
    """One problem three times: by the kernel, by its values, and by features that have them."""
    task, X, Y = small(name)
    nodes = [x.nodes if hasattr(x, "nodes") else np.atleast_2d(x) for x in X]
    values, options = KERNELS[kernel]
    G = values(np.concatenate(nodes))
    cuts = np.cumsum([len(x) for x in nodes])[:-1]
    return (
        bw.Problem(task(kernel=kernel, **options), X, Y),
        bw.Problem(task(kernel="precomputed"), with_nodes(X, np.split(G, cuts)), Y),
        bw.Problem(task(), with_nodes(X, np.split(explicit(G), cuts)), Y),
    )


def explicit_w(problem, linear, w):
    """The weights of explicit features that stand for coefficients."""
    A, _ = coefficients(problem, w)
    phi = np.concatenate([x.nodes if hasattr(x, "nodes") else np.atleast_2d(x) for x in linear.X])
    return np.concatenate([(phi.T @ A.T).ravel(), w[: problem.task.n_linear]])


@pytest.mark.parametrize("name", ["chain", "multiclass", "tree", "cut", "multilabel"])
def test_the_optimum_is_that_of_the_enumerated_qp(name):
    by_name, precomputed, linear = three(name)
    optimum, w = enumerated_optimum(linear, LAM)
    for problem in (by_name, precomputed):
        result = bw.solve(problem, LAM, tol=1e-3, random_state=0)
        certificate = result.certificate
        assert result.is_certified
        assert certificate.dual - 1e-8 <= optimum <= certificate.primal + 1e-8
        apart = np.linalg.norm(explicit_w(problem, linear, result.w) - w)
        assert apart <= np.sqrt(2.0 * certificate.gap / LAM) + 1e-4


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["chain", "multiclass", "tree", "cut"])
def test_the_objective_is_that_of_explicit_features(name, kernel):
    by_name, precomputed, linear = three(name, kernel)
    rng = np.random.default_rng(0)
    n_linear, size = by_name.task.n_linear, by_name.blocks.kernel.size
    w = np.concatenate([rng.normal(size=n_linear), 0.3 * rng.normal(size=size), np.zeros(size)])
    if name == "cut":  # (edges that pay for agreement)
        w[:n_linear] = np.abs(w[:n_linear])
    expected = enumerated_primal(linear, explicit_w(by_name, linear, w), LAM)
    for problem in (by_name, precomputed):
        assert problem.primal(w, LAM) == pytest.approx(expected, rel=1e-10)
        assert problem.primal(w[:-size], LAM) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("method", ["bcfw", "bcfw+gap+pairwise+cache", "bcfw+averaging", "fw"])
def test_gaps_add_up_and_the_dual_never_falls(method):
    _, problem, linear = three("chain")
    state, dual = None, 0.0
    for passes in range(6):
        state = bw.solve(
            problem, LAM, method, 1e-12, start=state, max_passes=1, random_state=passes
        ).last_state
        found = bw.certify(problem, state, LAM)
        assert found.exact
        assert found.block_gaps.min() >= -found.resolution
        assert found.block_gaps.sum() == pytest.approx(found.primal - found.dual, abs=1e-12)
        v = explicit_w(problem, linear, state.v)
        assert found.primal == pytest.approx(enumerated_primal(linear, v / LAM, LAM), rel=1e-10)
        assert found.dual == pytest.approx(state.ell.sum() - v @ v / (2.0 * LAM), rel=1e-10)
        assert found.dual >= dual - 1e-12
        dual = found.dual


# -- scikit-learn's SVC --------------------------------------------------------------------------
#
# Of two labels, the optimum has w_1 = -w_0 = u / 2, so that |w|^2 = |u|^2 / 2, and
#
#     P = lam/4 |u|^2 + mean hinge(y <u, x>) = lam/2 (1/2 |u|^2 + C sum hinge),    C = 2 / (lam n)
#
# which is SVC's objective but for its bias. Where with (x, y) there is always (-x, -y), and the
# kernel has k(-x, -z) = k(x, z), the optimal u is odd, and a bias of 0 is optimal.


def odd_data(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + X[:, 1] ** 3 + 0.5 * rng.normal(size=n) > 0, 1, -1)
    return np.concatenate([X, -X]), np.concatenate([y, -y])


@pytest.mark.parametrize("kernel", KERNELS)
def test_two_labels_are_those_of_svc(kernel):
    X, y = odd_data()
    values, options = KERNELS[kernel]
    C = 2.0 / (LAM * len(y))
    reference = SVC(kernel=kernel, C=C, tol=1e-9, **options).fit(X, y)
    u = np.zeros(len(y))
    u[reference.support_] = reference.dual_coef_[0]
    scores = values(X) @ u  # without the bias
    hinge = np.maximum(1.0 - y * scores, 0.0)
    optimum = 0.25 * LAM * u @ scores + hinge.mean()

    task = bw.tasks.Multiclass(kernel=kernel, bias=False, **options)
    svm = bw.StructuredSVM(task, lam=LAM, tol=1e-4, random_state=0).fit(X, y)
    certificate = svm.certificate_
    assert certificate.dual - 1e-7 <= optimum <= certificate.primal + 1e-7
    # |u_a - u_b| <= sqrt(2) |w_a - w_b| <= 2 sqrt(gap / lam)
    apart = np.abs(svm.decision_function(X) - scores)
    length = np.sqrt(values(X).diagonal())
    assert (apart <= 2.0 * np.sqrt(certificate.gap / LAM) * length + 1e-4).all()
    # w_1 = -w_0, and C is the weight on the sum of hinge losses
    np.testing.assert_allclose(svm.dual_coef_.sum(axis=1), 0.0, atol=1e-12)
    same = bw.StructuredSVM(task, C=C / 2.0, tol=1e-4, random_state=0).fit(X, y)
    assert same.lam_ == pytest.approx(LAM)


def test_crammer_singer_of_more_labels_by_the_values_of_a_kernel():
    X, y = multiclass_data(n=20)
    G = rbf_kernel(X, gamma=0.3)
    svm = bw.StructuredSVM(bw.tasks.Multiclass(kernel="precomputed"), lam=LAM, tol=1e-3).fit(G, y)
    other = bw.StructuredSVM(bw.tasks.Multiclass(kernel="rbf", gamma=0.3), lam=LAM, tol=1e-3)
    other.fit(X, y)
    new = np.random.default_rng(3).normal(size=(7, X.shape[1]))
    apart = np.abs(
        svm.decision_function(rbf_kernel(new, X, gamma=0.3)) - other.decision_function(new)
    )
    gaps = svm.certificate_.gap, other.certificate_.gap
    # a score is that of a kernel and a bias: features of length sqrt(1 + 1)
    assert apart.max() <= np.sqrt(2.0) * sum(np.sqrt(2.0 * gap / LAM) for gap in gaps)
