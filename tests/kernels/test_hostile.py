"""What a hostile reader of kernels tried: no certificate is false, and nothing breaks unexplained."""

import copy
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score

import blockwolfe as bw
from blockwolfe.errors import KernelWarning, OptionError
from blockwolfe.kernels.kernel import Kernel
from blockwolfe.report.displays.paths import PathDisplay
from blockwolfe.results.status import Status
from blockwolfe.tasks import Approximate, Beam, Chain, Multiclass

LAM = 0.01
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


def primal_of(problem, w, G, lam=LAM):
    """The objective of a multiclass problem with two labels 0 and 1, from the whole matrix G."""
    A, linear = problem.task.coefficients(w), w[: problem.task.n_linear]
    S, bias = G @ A, linear if len(linear) else np.zeros(2)
    scores, rows = S + bias, np.arange(len(S))
    true = scores[rows, Y][:, None]
    hinge = (scores - true + (np.arange(2) != Y[:, None])).max(axis=1)
    return 0.5 * lam * ((A * S).sum() + bias @ bias) + hinge.mean()


def test_threads_that_share_a_problem_do_not_mix_up_their_rows():
    """Rows come and go where not all are held, and changes wait for them: each run for its own."""
    task = Multiclass(kernel="rbf", gamma=1.0, kernel_cache_mb=10 * 60 * 8 / 2**20)
    problem, G = bw.Problem(task, X, Y), rbf_kernel(X, gamma=1.0)
    found = {}

    def run(seed):
        found[seed] = bw.solve(problem, LAM, tol=1e-4, random_state=seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for seed, result in found.items():
        alone = bw.solve(problem, LAM, tol=1e-4, random_state=seed)
        assert result.is_certified, seed
        assert result.certificate.primal == pytest.approx(primal_of(problem, result.w, G), abs=1e-9)
        np.testing.assert_allclose(result.w, alone.w, atol=1e-8)


def test_a_kernel_that_raises_leaves_nothing_to_the_next_run():
    """Changes that waited for rows were made in the next run, and those of both had no room."""
    raises = []

    def moody(A, B):
        if raises:
            raise MemoryError("not now")
        return rbf_kernel(A, B, gamma=1.0)

    task = Chain(kernel=moody, kernel_cache_mb=24 * 60 * 8 / 2**20)
    sequences, labels = np.split(X, 10), np.split(Y, 10)
    fresh, problem = (bw.Problem(task, sequences, labels) for _ in range(2))
    assert not problem.blocks.kernel.has_all_rows
    raises.append(True)
    with pytest.raises(MemoryError, match="not now"):
        bw.solve(problem, LAM, tol=1e-3, random_state=0)
    raises.clear()
    assert problem.blocks.halt[0] == 0
    found, expected = (bw.solve(each, LAM, tol=1e-3, random_state=0) for each in (problem, fresh))
    assert found.is_certified
    np.testing.assert_allclose(found.w, expected.w, atol=1e-8)


# -- rounding ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_a_kernel_of_distances_is_as_exact_far_from_the_origin(dtype, offset):
    """Distances were differences of squares: in single precision none was left of them."""
    moved = X + offset
    G = np.exp(-cdist(moved, moved, "sqeuclidean"))
    problem = bw.Problem(Multiclass(kernel="rbf", gamma=1.0, kernel_dtype=dtype), moved, Y)
    result = bw.solve(problem, LAM, tol=1e-3, random_state=0)
    assert result.is_certified
    off = abs(result.certificate.primal - primal_of(problem, result.w, G))
    assert off <= result.certificate.resolution + 1e-12
    near = moved + 0.1
    expected = np.exp(-cdist(near, moved, "sqeuclidean"))
    np.testing.assert_allclose(problem.task.kernel_.compare(near), expected, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_resolution_knows_of_distances_that_are_rounded(form):
    """Of clusters far from each other, centring helps little."""
    table = np.where(np.arange(60)[:, None] % 2, X + 1e6, X - 1e6)
    problem = bw.Problem(Multiclass(kernel="rbf", gamma=1.0), form(table), Y)
    result = bw.solve(problem, LAM, tol=1e-2, random_state=0)
    G = np.exp(-cdist(table, table, "sqeuclidean"))
    off = abs(result.certificate.primal - primal_of(problem, result.w, G))
    assert 1e-9 < off <= result.certificate.resolution


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine"])
def test_rows_in_single_precision_are_those_in_double_rounded(name):
    fitted = Kernel(name, gamma=0.5).fit(X + 100.0 * (name in ("rbf", "laplacian")))
    rows = fitted.own_rows([4, 2])
    np.testing.assert_array_equal(fitted.own_rows([4, 2], np.float32), rows.astype(np.float32))


# -- what is no kernel ---------------------------------------------------------------------------


def random_values(n):
    G = np.random.default_rng(1).normal(size=(n, n))
    return G + G.T


@pytest.mark.parametrize("method", ["auto", "cutting_plane", "fw"])
def test_what_is_no_kernel_is_never_certified(method):
    """At w = 0 the objective is 1; cutting planes were certified at 18."""
    with pytest.warns(KernelWarning, match="nothing is certified"):
        problem = bw.Problem(Multiclass(kernel="precomputed"), random_values(30), np.arange(30) % 3)
    result = bw.solve(problem, LAM, tol=1e-3, method=method, max_passes=100)
    assert not result.is_certified
    assert not result.certificate.exact
    assert not bw.certify(problem, result.state, LAM).exact


def test_a_negative_square_of_w_shows_what_a_sample_has_missed():
    """Of 400 positions at most 200 are looked at: here none of a pair that is no kernel."""
    G = np.eye(400)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for s in range(0, 400, 2):
            G[s, s + 1] = G[s + 1, s] = 1.5
            problem = bw.Problem(Multiclass(kernel="precomputed"), G, np.arange(400) % 2)
            if not seen:
                break
            seen.clear()
            G[s, s + 1] = G[s + 1, s] = 0.0
        assert not seen
    blocks = problem.blocks
    w = np.zeros(problem.n_features)
    w[problem.task.n_linear :][[s, s + 1]] = 1.0, -1.0
    w = problem.checked_w(w)
    assert blocks.inner(w, w) == pytest.approx(-1.0)
    assert not blocks.is_sound(w)
    assert blocks.is_sound(problem.checked_w(abs(w)))


def test_a_run_on_what_is_no_kernel_says_so():
    with pytest.warns(KernelWarning):
        problem = bw.Problem(Multiclass(kernel="precomputed"), -np.eye(60), Y)
    assert bw.solve(problem, LAM, tol=1e-3, max_passes=50).status is Status.INEXACT_ORACLE


# -- options, scikit-learn, files ------------------------------------------------------------------


def test_a_kernel_alone_is_a_model():
    """Without biases, as in `SVC` of a centred kernel: there are no linear weights at all."""
    task = Multiclass(kernel="rbf", gamma=1.0, bias=False)
    problem, G = bw.Problem(task, X, Y), rbf_kernel(X, gamma=1.0)
    result = bw.solve(problem, LAM, tol=1e-4)
    assert result.is_certified
    assert problem.task.n_linear == 0
    assert result.certificate.primal == pytest.approx(primal_of(problem, result.w, G), abs=1e-9)
    svm = bw.StructuredSVM(task, lam=LAM).fit(X, Y)
    scores = rbf_kernel(X, X, gamma=1.0) @ problem.task.coefficients(result.w)
    assert svm.score(X, Y) == pytest.approx((scores.argmax(axis=1) == Y).mean())


def test_scikit_learn_splits_both_sides_of_a_precomputed_kernel():
    G = rbf_kernel(X, gamma=1.0)
    svm = bw.StructuredSVM(Multiclass(kernel="precomputed"), lam=LAM, tol=1e-4)
    same = bw.StructuredSVM(Multiclass(kernel="rbf", gamma=1.0), lam=LAM, tol=1e-4)
    found = [cross_val_score(svm, G, Y, cv=3), cross_val_score(same, X, Y, cv=3)]
    np.testing.assert_allclose(*found, atol=0.06)
    assert not same.__sklearn_tags__().input_tags.pairwise


def test_a_precomputed_kernel_is_pruned_before_it_is_saved(tmp_path):
    G = rbf_kernel(X, gamma=1.0)
    svm = bw.StructuredSVM(Multiclass(kernel="precomputed"), lam=LAM).fit(G, Y)
    assert copy.deepcopy(svm).prune(0.1).n_support_ < svm.n_support_
    svm.save(tmp_path / "model")
    with pytest.raises(OptionError, match="prune the model before it is saved"):
        bw.load(tmp_path / "model").prune(0.1)


def test_tasks_around_others_refuse_kernels():
    task = Approximate(Chain(kernel="rbf"), Beam(2))
    with pytest.raises(OptionError, match="Approximate takes no task with a kernel"):
        bw.Problem(task, [X[:3], X[3:5]], [Y[:3], Y[3:5]])


def test_norms_of_a_path_are_those_of_w():
    """A linear kernel has the weights of no kernel, as coefficients."""
    displays = []
    for kernel in (None, "linear"):
        problem = bw.Problem(Multiclass(kernel=kernel), X[:20], Y[:20])
        path = bw.solve_path(problem, eps=0.02, lam_min=0.05)
        displays.append(PathDisplay.from_path(path, n_lams=5))
        lam = 2.0 * path.lam_max
        assert path.norm(lam) == pytest.approx(problem.blocks.norm(path.coef(lam)))
    np.testing.assert_allclose(displays[0].norm, displays[1].norm, rtol=0.1, atol=0.02)
