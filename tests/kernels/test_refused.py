"""What a task with a kernel refuses, before any work, and what to do instead."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.base import memory
from blockwolfe.errors import OutOfMemoryError
from kernel_twins import TWINS, made, multilabel_data
from zoo import chain_data, multiclass_data

tasks = bw.tasks
TABLE, CHAINS = multiclass_data(), chain_data()


@pytest.fixture
def no_work(monkeypatch):
    """No value of a kernel may be computed."""

    def computed(*_):
        raise AssertionError("a kernel was computed")

    monkeypatch.setattr("blockwolfe.kernels.kernel.FittedKernel.own_rows", computed)
    monkeypatch.setattr("blockwolfe.kernels.kernel.FittedKernel.compare", computed)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "rdf"}, "kernel='rdf' is not known.*'rbf'.*Or give a function"),
        ({"kernel": 3}, "kernel=3"),
        ({"kernel": ["rbf"]}, "kernel="),
        ({"kernel": "rbf", "gamma": "auto"}, "gamma='auto' is not known.*scale.*Or give a number"),
        ({"kernel": "rbf", "gamma": 0.0}, "gamma=0.0"),
        ({"kernel": "rbf", "gamma": -1}, "gamma=-1"),
        ({"kernel": "rbf", "gamma": np.nan}, "gamma=nan"),
        ({"kernel": "poly", "degree": -1}, "degree=-1 must be a finite number"),
        ({"kernel": "poly", "degree": "2"}, "degree='2'"),
        ({"kernel": "poly", "coef0": np.inf}, "coef0=inf must be a finite number"),
        ({"kernel": "rbf", "kernel_cache_mb": 0}, "kernel_cache_mb=0"),
        ({"kernel": "rbf", "kernel_cache_mb": "1GB"}, "kernel_cache_mb='1GB'"),
        ({"kernel": "rbf", "kernel_cache_mb": np.nan}, "kernel_cache_mb=nan"),
        ({"kernel_cache_mb": -5}, "kernel_cache_mb=-5"),
        ({"kernel": "rbf", "kernel_dtype": "float16"}, "kernel_dtype='float16' is not known"),
        ({"kernel": "rbf", "kernel_dtype": np.float32}, "kernel_dtype="),
        ({"kernel_dtype": None}, "kernel_dtype=None"),
    ],
)
@pytest.mark.parametrize("name", ["multiclass", "chain", "tree", "multilabel"])
def test_options(name, options, message, no_work):
    with pytest.raises(bw.OptionError, match=message):
        made(name, **options)


def test_options_that_do_not_go_together(no_work):
    with pytest.raises(bw.OptionError, match=r"emission=False.*use emission=True, or kernel=None"):
        bw.Problem(tasks.Chain(3, kernel="rbf", emission=False), *CHAINS)
    task = tasks.Multilabel(pairs="tree", pair_features="x", kernel="rbf")
    with pytest.raises(bw.OptionError, match=r"pair_features='x'.*use pair_features='constant'"):
        bw.Problem(task, *multilabel_data())
    with pytest.raises(bw.OptionError, match=r"decoder='exact'.*use decoder='approximate'"):
        bw.Problem(
            tasks.PairwiseGraph(decoder="exact", kernel="rbf"), *TWINS["pairwise-graph"][1]()
        )
    for other in (tasks.Segments, tasks.SpanningTree, tasks.Matching):
        with pytest.raises(TypeError, match="kernel"):
            other(kernel="rbf")


@pytest.mark.parametrize(
    "bounds", [(0.0, None), (None, 1.0), {"emission": (0, None)}, {"bias": (0, 1), "node": (0, 1)}]
)
def test_bounds_on_weights_that_are_never_formed(bounds):
    with pytest.raises(bw.OptionError, match=r"never formed.*'bias', .*'transition'"):
        made("chain", bounds=bounds, kernel="rbf")


def test_bounds_of_other_groups_are_taken():
    problem = made("chain", bounds={"transition": (0, None), "bias": (None, 1)}, kernel="rbf")
    assert problem.blocks.is_bounded
    size = problem.blocks.kernel.size
    assert np.isinf(problem.blocks.lower[-2 * size :]).all()
    assert np.isinf(problem.blocks.upper[-2 * size :]).all()


@pytest.mark.parametrize(
    "method", ["online_eg", "excessive_gap", "extragradient", "extragradient+entropy"]
)
@pytest.mark.parametrize("name", ["chain", "multiclass", "tree", "cut", "multilabel"])
def test_methods_that_need_another_oracle(name, method):
    with pytest.raises(bw.OptionError, match=r"needs the oracle .*no task has it with a kernel"):
        bw.solve(made(name, kernel="rbf"), 0.1, method)


@pytest.mark.parametrize("task", [tasks.Chain, tasks.Multiclass, tasks.Tree, tasks.Cut])
def test_the_oracles_of_a_task_are_those_of_its_training(task):
    assert task(kernel="rbf").oracles == ("maximize",)
    assert set(task().oracles) == set(task.oracles) > {"maximize"}


def test_room_for_too_few_rows():
    with pytest.raises(bw.OptionError, match=r"kernel_cache_mb has room for 4 rows .* least 5"):
        made("chain", kernel="rbf", kernel_cache_mb=4.5 * 8 * 24 / 2**20).blocks
    problem = made("chain", kernel="rbf", kernel_cache_mb=6 * 8 * 24 / 2**20)
    with pytest.raises(bw.OptionError, match=r"needs all rows .* raise kernel_cache_mb"):
        bw.solve(problem, 0.1, "ssg", max_passes=1)


def test_a_kernel_matrix_larger_than_memory(monkeypatch):
    problem = made("chain", kernel="rbf")
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda: 100)
    with pytest.raises(OutOfMemoryError, match=r"24 rows of the kernel matrix.*kernel_cache_mb"):
        _ = problem.blocks


# -- functions of the user's own ---------------------------------------------------------------------


def with_nan(A, B):
    values = A @ B.T
    values[0, -1] = np.nan
    return values


def of_wrong_shape(A, B):
    return (A @ B.T)[:, 1:]


def asymmetric(A, B):
    return A @ np.triu(np.ones((A.shape[1], A.shape[1]))) @ B.T


def indefinite(A, B):
    return -(A @ B.T)


def test_what_a_function_returns():
    with pytest.raises(bw.InputError, match="kernel=with_nan is nan between .* finite values"):
        made("multiclass", kernel=with_nan)
    with pytest.raises(bw.InputError, match="kernel=of_wrong_shape returned an array of .*shape"):
        made("multiclass", kernel=of_wrong_shape)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [(asymmetric, "is not symmetric: between"), (indefinite, "not positive semidefinite")],
)
def test_what_is_no_kernel(kernel, message):
    with pytest.warns(bw.KernelWarning, match=message):
        made("multiclass", kernel=kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made("multiclass", kernel="rbf")


# -- inputs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite(bad):
    X, Y = [x.copy() for x in CHAINS[0]], CHAINS[1]
    X[2][1, 0] = bad
    with pytest.raises(bw.InputError, match=r"X\[2\] has .* at position 1, feature 0"):
        bw.Problem(tasks.Chain(3, kernel="rbf"), X, Y)


def test_training_inputs():
    X, y = TABLE
    with pytest.raises(bw.InputError, match="12 positions in all and 4 columns"):
        bw.Problem(tasks.Multiclass(kernel="precomputed"), X, y)
    with pytest.raises(bw.InputError, match="sparse; expected a dense array"):
        bw.Problem(tasks.Multiclass(kernel="precomputed"), sp.csr_array(X @ X.T), y)
    with pytest.raises(bw.InputError, match="list of objects.*Give a function"):
        bw.Problem(tasks.Chain(kernel="rbf"), [["a", "b"], ["c"]], [[0, 1], [1]])
    with pytest.raises(bw.InputError):
        bw.Problem(tasks.Chain(kernel="rbf"), [], [])


@pytest.mark.parametrize("name", ["multiclass", "chain"])
def test_other_columns_than_in_training(name):
    X, Y = TWINS[name][1]()
    svm = bw.StructuredSVM(TWINS[name][0](kernel="rbf"), lam=0.2, tol=0.2).fit(X, Y)
    wider = [np.hstack([x, x]) for x in X] if name == "chain" else np.hstack([X, X])
    with pytest.raises(bw.InputError, match="X has 8 features, but kernel='rbf' is expecting 4"):
        svm.predict(wider)
    with pytest.raises(bw.InputError, match="w has 3 entries"):
        svm.task_.predict(X, np.zeros(3))
    with pytest.raises(bw.OptionError, match="has no feature vectors.*kernel=None"):
        svm.task_.features(X[0], Y[0])


# -- tasks around a task -----------------------------------------------------------------------------


def test_check_task_says_what_a_kernel_has_not():
    task = tasks.Chain(3, kernel="rbf")
    with pytest.raises(bw.BlockwolfeError, match="kernel"):
        bw.check_task(task, *CHAINS)


@pytest.mark.parametrize(
    "wrap", [tasks.SlackRescaling, lambda task: tasks.Approximate(task, tasks.Beam(2))]
)
def test_tasks_around_a_task_with_a_kernel(wrap, no_work):
    message = "takes no task with a kernel, and Chain has kernel='rbf'; use kernel=None"
    with pytest.raises(bw.OptionError, match=message):
        bw.Problem(wrap(tasks.Chain(3, kernel="rbf")), *CHAINS)
