"""Objectives against their formulas, finite differences, and each other."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Lasso

from blockwolfe.errors import InputError, OptionError, OracleError
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.objectives.convexity import negative_eigenvalue
from blockwolfe.optimize.objectives.function import Function, as_objective
from blockwolfe.optimize.objectives.least_squares import LeastSquares
from blockwolfe.optimize.objectives.logistic import Logistic
from blockwolfe.optimize.objectives.quadratic import Quadratic
from blockwolfe.optimize.objectives.squared_norm import SquaredNorm
from objective_zoo import N_ROWS, NAMES, N, gram, labels, make, thin_matrix

BLOCKS = [slice(0, N), slice(0, 1), slice(N - 1, N), slice(3, 11)]


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_the_derivative(name):
    f, rng = make(name), np.random.default_rng(0)
    for _ in range(5):
        x = rng.normal(size=N)
        g, h = f.gradient(x), 1e-5
        assert g.shape == (N,)
        steps = h * np.eye(N)
        found = [(f.value(x + e) - f.value(x - e)) / (2 * h) for e in steps]
        np.testing.assert_allclose(g, found, rtol=0, atol=1e-8 * (1 + abs(f.value(x))))


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_of_a_block_is_a_part_of_the_gradient(name):
    f, x = make(name), np.random.default_rng(1).normal(size=N)
    g = f.gradient(x)
    for block in BLOCKS:
        np.testing.assert_allclose(f.block_gradient(x, block), g[block], rtol=1e-13, atol=1e-14)


def test_values_are_those_of_the_formulas():
    rng = np.random.default_rng(2)
    x, b, c, A, Q = rng.normal(size=N), labels(), rng.normal(size=N), thin_matrix(), gram()
    assert LeastSquares(A, b, 0.25).value(x) == pytest.approx(
        0.125 * sum((A[i] @ x - b[i]) ** 2 for i in range(N_ROWS)), rel=1e-13
    )
    assert Quadratic(Q, c).value(x) == pytest.approx(
        0.5 * sum(Q[i, j] * x[i] * x[j] for i in range(N) for j in range(N)) + c @ x, rel=1e-13
    )
    assert Logistic(A, b, 0.5).value(x) == pytest.approx(
        0.5 * math.fsum(math.log(1 + math.exp(-b[i] * (A[i] @ x))) for i in range(N_ROWS)),
        rel=1e-13,
    )
    assert SquaredNorm(c).value(x) == pytest.approx(0.5 * math.fsum((x - c) ** 2), rel=1e-13)
    assert SquaredNorm().value(x) == pytest.approx(0.5 * math.fsum(x**2), rel=1e-13)


@pytest.mark.parametrize("name", ["least squares", "quadratic", "logistic"])
def test_sparse_is_dense(name):
    dense, sparse = make(name), make(f"{name}, sparse")
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=N)
        assert sparse.value(x) == pytest.approx(dense.value(x), rel=1e-13)
        scale = np.abs(dense.gradient(x)).max()
        np.testing.assert_allclose(
            sparse.gradient(x), dense.gradient(x), rtol=0, atol=1e-13 * scale
        )


def test_scaled_least_squares_is_the_lasso():
    """Stationarity at scikit-learn's solution: the gradient is -alpha sign(x) where x is not 0."""
    rng = np.random.default_rng(0)
    A, b, alpha = rng.normal(size=(40, 8)), rng.normal(size=40), 0.1
    x = Lasso(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(A, b).coef_
    g = LeastSquares(A, b, scale=1 / 40).gradient(x)
    assert 0 < np.count_nonzero(x) < 8
    np.testing.assert_allclose(g[x != 0], -alpha * np.sign(x[x != 0]), atol=1e-9)
    assert np.abs(g[x == 0]).max() < alpha


def test_large_margins_neither_overflow_nor_vanish():
    with np.errstate(all="raise", under="ignore"):
        f = Logistic([[1.0], [1.0]], [1, 1])
        assert f.value([1e4]) == 0.0
        assert f.value([-1e4]) == 2e4
        np.testing.assert_array_equal(f.gradient([-1e4]), [-2.0])
        np.testing.assert_array_equal(f.gradient([1e4]), [0.0])
        assert f.value([40.0]) == pytest.approx(2 * math.exp(-40.0), rel=1e-14)
        assert f.gradient([40.0])[0] == pytest.approx(-2 * math.exp(-40.0), rel=1e-14)


def test_inputs_are_neither_changed_nor_kept():
    A, b, x = thin_matrix(), labels(), np.ones(N)
    kept = A.copy(), b.copy()
    f = LeastSquares(A, b)
    before = f.value(x)
    follower = f.follow(x)
    follower.x[:] = 0.0
    b[:] = 5.0
    assert f.value(x) == before
    np.testing.assert_array_equal(x, 1.0)
    np.testing.assert_array_equal(A, kept[0])


def test_duplicate_entries_of_a_sparse_matrix_add_up_and_stay_there():
    A = sp.csc_matrix(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 1))
    assert LeastSquares(A, [0.0]).value([1.0]) == 4.5
    assert A.nnz == 2


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_integers_and_floats_of_single_precision_are_read(form):
    A = form(np.arange(6).reshape(3, 2))
    assert LeastSquares(A, np.zeros(3, dtype=int)).value([1, 1]) == 0.5 * (1 + 25 + 81)
    assert LeastSquares(A.astype(np.float32), [0, 0, 0]).gradient([1, 0]).dtype == np.float64


def test_a_rounded_asymmetry_is_halved():
    Q = gram()
    Q[2, 3] += 1e-16 * np.abs(Q).max()
    f, x = Quadratic(Q), np.random.default_rng(0).normal(size=N)
    np.testing.assert_array_equal(f.Q, f.Q.T)
    assert f.value(x) == pytest.approx(0.5 * x @ Q @ x, rel=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n", [30, 1050])
def test_a_quadratic_that_is_not_convex_is_refused(form, n):
    """By a factor where it is small, by Lanczos' method where it is large."""
    A = np.random.default_rng(0).normal(size=(n // 2, n)) / math.sqrt(n)
    good = A.T @ A  # half of its eigenvalues are zero, up to rounding
    Quadratic(form(0.5 * (good + good.T)))
    least = np.linalg.eigvalsh(good - 0.5 * np.eye(n))[0]
    with pytest.raises(InputError, match="not positive semidefinite") as caught:
        Quadratic(form(0.5 * (good + good.T) - 0.5 * np.eye(n)))
    told = float(str(caught.value).split("<= ")[1].split(",")[0])
    assert least - 1e-6 <= told < 0.9 * least  # a true bound, and nearly the eigenvalue


def test_zero_and_tiny_quadratics_are_convex():
    assert negative_eigenvalue(np.zeros((3, 3))) is None
    assert negative_eigenvalue(1e-200 * gram()) is None
    assert negative_eigenvalue(-1e-200 * np.eye(2)) == pytest.approx(-1e-200)
    assert negative_eigenvalue(sp.csr_array((1500, 1500))) is None


A2, B2 = [[1.0, 2.0], [3.0, 4.0]], [1.0, -1.0]
BAD = [
    (lambda: LeastSquares(1.0, B2), InputError, r"A has shape \(\)"),
    (lambda: LeastSquares([1.0], B2), InputError, r"A has shape \(1,\)"),
    (lambda: LeastSquares(np.zeros((0, 2)), []), InputError, "A is empty"),
    (lambda: LeastSquares(sp.csr_array((2, 0)), B2), InputError, "A is empty"),
    (lambda: LeastSquares([[1.0], [1.0, 2.0]], B2), InputError, "A is ragged"),
    (lambda: LeastSquares([[np.nan, 1.0], [1.0, np.inf]], B2), InputError, "A .* 2 entries"),
    (lambda: LeastSquares(sp.csr_array([[np.nan]]), [1.0]), InputError, "A .* 1 entry"),
    (lambda: LeastSquares([["a", "b"]], B2), InputError, "A holds str"),
    (lambda: LeastSquares([[None, 1.0]], B2), InputError, "A holds object"),
    (lambda: LeastSquares([[1j, 1.0]], B2), InputError, "A holds complex"),
    (lambda: LeastSquares(sp.csr_array([[1j]]), [1.0]), InputError, "A holds complex"),
    (lambda: LeastSquares(A2, [1.0]), InputError, r"b has shape \(1,\); expected \(2,\)"),
    (lambda: LeastSquares(A2, [[1.0], [1.0]]), InputError, r"b has shape \(2, 1\)"),
    (lambda: LeastSquares(A2, [1.0, np.inf]), InputError, "b .* 1 entry"),
    (lambda: LeastSquares(A2, sp.csr_array([[1.0, 2.0]])), InputError, "b is sparse"),
    (lambda: LeastSquares(A2, "ab"), InputError, "b holds str"),
    (lambda: LeastSquares(A2, B2, scale=0), OptionError, "scale=0"),
    (lambda: LeastSquares(A2, B2, scale=np.nan), OptionError, "scale=nan"),
    (lambda: LeastSquares(A2, B2, scale="1"), OptionError, "scale='1'"),
    (lambda: LeastSquares(A2, B2, scale=True), OptionError, "scale=True"),
    (lambda: Logistic(A2, [0, 1]), InputError, r"b\[0\] is 0; .* 2 \* b - 1"),
    (lambda: Logistic(A2, [1, np.nan]), InputError, "b .* 1 entry"),
    (lambda: Logistic(A2, [1, 1], scale=-1.0), OptionError, "scale=-1.0"),
    (lambda: Quadratic([[1.0, 2.0]]), InputError, r"Q has shape \(1, 2\)"),
    (lambda: Quadratic([[1.0, 2.0], [0.0, 9.0]]), InputError, "not symmetric.* up to 2"),
    (lambda: Quadratic(sp.csr_array([[1.0, 2.0], [0.0, 9.0]])), InputError, "not symmetric"),
    (lambda: Quadratic([[-1.0]]), InputError, "eigenvalue <= -1,"),
    (lambda: Quadratic(np.eye(2), [1.0]), InputError, r"c has shape \(1,\); expected \(2,\)"),
    (lambda: SquaredNorm([[1.0]]), InputError, r"center has shape \(1, 1\)"),
    (lambda: SquaredNorm([]), InputError, "center is empty"),
    (lambda: SquaredNorm([np.nan]), InputError, "center .* 1 entry"),
    (lambda: Function(None, abs), InputError, "value=None is not a function"),
    (lambda: Function(abs, 3), InputError, "gradient=3 is not a function"),
    (lambda: Function(abs, abs, block_gradient=3), InputError, "block_gradient=3"),
    (lambda: Function(abs, abs, size=0), OptionError, "size=0"),
    (lambda: Function(abs, abs, size=2.0), OptionError, "size=2.0"),
    (lambda: as_objective(None), InputError, r"no value\(x\) and no gradient\(x\)"),
    (lambda: as_objective(LeastSquares), InputError, "the class LeastSquares"),
    (lambda: make("least squares").value(np.zeros(N + 1)), InputError, rf"x .* expected \({N},\)"),
    (lambda: make("quadratic").gradient(np.full(N, np.nan)), InputError, "x .* NaN"),
    (lambda: make("logistic").follow(np.zeros((N, 1))), InputError, "x has shape"),
    (lambda: make("quadratic").block_gradient("x", slice(0, 1)), InputError, "x holds str"),
    (lambda: make("squared norm").value([[1.0]]), InputError, "x has shape"),
    (lambda: make("function").follow(["a"]), InputError, "x holds str"),
    (lambda: make("function with blocks").value(np.zeros(2)), InputError, "x has shape"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input_is_refused(case):
    act, kind, match = BAD[case]
    with pytest.raises(kind, match=match):
        act()


WRONG = [
    (lambda x: np.nan, np.ones_like, r"value\(x\) is nan at x = \[1\. 2\.\]"),
    (lambda x: np.inf, np.ones_like, r"value\(x\) is inf"),
    (lambda x: None, np.ones_like, r"value\(x\) returned None"),
    (lambda x: "1", np.ones_like, r"value\(x\) returned '1'"),
    (lambda x: x, np.ones_like, r"value\(x\) returned an array of shape \(2,\)"),
    (np.sum, lambda x: np.array([1.0, -np.inf]), r"gradient\(x\) has -inf in entry 1 at x"),
    (np.sum, lambda x: np.ones(3), r"gradient\(x\) returned shape \(3,\)"),
    (np.sum, lambda x: np.ones((2, 1)), r"gradient\(x\) returned shape \(2, 1\)"),
    (np.sum, lambda x: 1.0, r"gradient\(x\) returned shape \(\)"),
    (np.sum, lambda x: None, "entries of type object"),
    (np.sum, lambda x: [[1.0], [1.0, 2.0]], "no array"),
]


class Plain:
    """An object of the user's own, of no class of ours."""

    def __init__(self, value, gradient):
        self.value, self.gradient = value, gradient


class Derived(Objective):
    """An objective of the user's own, whose methods nobody checks."""

    def __init__(self, value, gradient):
        self._value, self._gradient = value, gradient

    def value(self, x):
        return self._value(x)

    def gradient(self, x):
        return self._gradient(x)


@pytest.mark.parametrize("kind", [Function, Plain, Derived])
@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_answers_of_own_functions_are_named(case, kind):
    value, gradient, match = WRONG[case]
    follower = as_objective(kind(value, gradient)).follow([1.0, 2.0])
    with pytest.raises(OracleError, match=match):
        [follower.value(), follower.gradient(slice(0, 1))]


def test_wrong_gradients_of_blocks_are_named():
    f = Function(np.sum, np.ones_like, block_gradient=lambda x, block: np.ones(5))
    for act in (f.follow(np.zeros(6)).gradient, lambda block: f.block_gradient(np.zeros(6), block)):
        with pytest.raises(OracleError, match=r"block_gradient\(x, block\) returned shape \(5,\)"):
            act(slice(1, 3))


def test_an_objects_own_block_gradient_and_size_are_used():
    class Own:
        size = 3

        def value(self, x):
            return 0.5 * x @ x

        def gradient(self, x):
            raise AssertionError("not asked for")

        def block_gradient(self, x, block):
            return x[block]

    f = as_objective(Own())
    assert f.size == 3
    assert f.has_block_gradient
    np.testing.assert_array_equal(f.follow([1.0, 2.0, 3.0]).gradient(slice(1, 3)), [2.0, 3.0])


def test_functions_that_write_to_x_do_no_harm():
    def value(x):
        x *= 2.0
        return float(x.sum())

    def gradient(x):
        x[:] = 1.0
        return x

    follower = Function(value, gradient).follow([1.0, 2.0])
    assert follower.value() == 6.0
    np.testing.assert_array_equal(follower.gradient(slice(0, 2)), 1.0)
    np.testing.assert_array_equal(follower.x, [1.0, 2.0])


@pytest.mark.parametrize("name", NAMES)
def test_names_are_short(name):
    assert repr(make(name)).isprintable()
    assert len(repr(make(name))) < 60
