"""0/1 programs as a task: enumeration, agreement with other tasks, bad programs and outputs."""

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.tasks import Program, ProgramInput
from zoo import enumerated_optimum, enumerated_primal

MOST_TWO = {"A": [[1, 1, 1]], "b": [2]}


def knapsacks(n=6, m=5, p=3, seed=0, is_sparse=False):
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=p)
    X, Y = [], []
    for _ in range(n):
        features = rng.normal(size=(m, p))
        A = np.stack([rng.integers(1, 5, size=m), np.arange(m) % 2]).astype(float)
        x = ProgramInput(
            sp.csr_array(features) if is_sparse else features,
            sp.csr_array(A) if is_sparse else A,
            [7.0, 1.0],
        )
        noisy = features @ taste + 0.5 * rng.normal(size=m)
        Y.append(bw.structures.program.maximize(noisy, A, [7.0, 1.0]))
        X.append(x)
    return X, Y


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("loss", ["hamming", bw.tasks.Hamming(False, {1: 3.0}), [[0, 1], [2, 0]]])
def test_check_task(is_sparse, loss):
    X, Y = knapsacks(n=3, is_sparse=is_sparse)
    assert bw.check_task(Program(task_loss=loss), X, Y, n_weights=3).n_enumerated == 3


@pytest.mark.parametrize("method", ["bcfw", "fw", "auto", "bcfw+gap+pairwise+cache"])
def test_primal_by_enumeration_and_certificates(method):
    problem = bw.Problem(Program(), *knapsacks())
    result = bw.solve(problem, 0.5, method, tol=5e-2, random_state=0)
    assert result.is_certified
    c = result.certificate
    assert c.exact
    assert c.dual <= c.primal
    assert c.primal == pytest.approx(enumerated_primal(problem, result.w, 0.5), abs=1e-9)


def test_optimum_of_a_tiny_problem():
    problem = bw.Problem(Program(), *knapsacks(n=3, m=4, p=2))
    best, _ = enumerated_optimum(problem, 0.5)
    result = bw.solve(problem, 0.5, "bcfw+pairwise+cache", tol=1e-4, random_state=0)
    assert result.is_certified
    assert result.certificate.dual <= best + 1e-7
    assert best <= result.certificate.primal + 1e-7


def with_large_score(size, is_forced, n=3, m=5):
    """Knapsacks with one more variable, of score `size`, that every output has (or may have)."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(n):
        features = rng.normal(size=(m, 3))
        features[0] = [size, 0.0, 0.0]
        A = np.stack([np.arange(m) == 0, (np.arange(m) > 0) * rng.integers(1, 5, size=m)])
        X.append(ProgramInput(features, A.astype(float), [1.0, 6.0], [is_forced, -np.inf]))
        Y.append(np.arange(m) % 3 == 0)
    return bw.Problem(Program(), X, [y.astype(int) for y in Y])


@pytest.mark.parametrize("is_forced", [True, False])
@pytest.mark.parametrize("size", [1.0, 1e9, 1e11])
def test_large_scores_hide_nothing(size, is_forced):
    """HiGHS stops at a share of the largest score: what that leaves is in the certificate."""
    problem = with_large_score(size, is_forced)
    for seed in range(2):
        result = bw.solve(
            problem, 0.1, "bcfw+pairwise+cache", tol=1e-3, max_passes=10, random_state=seed
        )
        c, true = result.certificate, enumerated_primal(problem, result.w, 0.1)
        assert c.valid
        assert c.primal >= true - c.resolution
        assert c.primal <= true + c.slack + c.resolution
        assert c.gap == c.primal - c.dual
        if size == 1.0:
            assert c.exact


def test_bounds_are_above_every_output_and_close():
    X, Y = knapsacks(n=3)
    task = bw.Problem(Program(), X, Y).task
    for seed, (x, y) in enumerate(zip(X, Y, strict=True)):
        w = np.random.default_rng(seed).normal(size=3)
        z, upper = task.augmented_decode_bound(x, y, w)
        heights = [task.loss(y, h) + w @ task.features(x, h) for h in task.outputs(x)]
        assert 0.0 <= upper - max(heights) <= 1e-11
        assert task.loss(y, z) + w @ task.features(x, z) == pytest.approx(max(heights))


def test_one_of_m_is_multiclass():
    """Exactly one variable on, features of a label in its own columns: the multiclass problem."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(5, 2)), np.array([0, 1, 2, 0, 1])
    X = [ProgramInput(np.kron(np.eye(3), row), np.ones((1, 3)), [1], [1]) for row in rows]
    Y = np.eye(3, dtype=int)[labels]
    mine = bw.solve(
        bw.Problem(Program(task_loss=bw.tasks.Hamming(False)), X, list(Y)), 1.0, tol=1e-2
    )
    # a wrong label is a miss and a false alarm: loss 2
    task = bw.tasks.Multiclass(3, task_loss=2 * (1 - np.eye(3)), bias=False)
    theirs = bw.solve(bw.Problem(task, rows, labels), 1.0, tol=1e-2)
    assert mine.certificate.dual <= theirs.certificate.primal
    assert theirs.certificate.dual <= mine.certificate.primal
    assert np.abs(mine.w.reshape(3, 2).T.ravel() - theirs.w).max() <= 2 * np.sqrt(2 * 1e-2)


def test_features_and_loss_by_hand():
    x = ProgramInput([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]], **MOST_TWO)
    task = bw.Problem(Program(task_loss=[[0, 1], [5, 0]]), [x], [[1, 1, 0]]).task
    np.testing.assert_array_equal(task.features(x, [0, 1, 1]), [2.0, 4.0])
    assert task.loss([1, 1, 0], [0, 1, 1]) == 6.0


def test_saved_and_loaded(tmp_path):
    X, Y = knapsacks()
    svm = bw.StructuredSVM(Program(), lam=0.2, tol=0.1, random_state=0).fit(X, Y)
    svm.save(tmp_path / "m.npz")
    back = bw.load(tmp_path / "m.npz")
    for mine, theirs in zip(svm.predict(X), back.predict(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert back.score(X, Y) == svm.score(X, Y)


def test_two_processes_give_the_same_certificate():
    problem = bw.Problem(Program(), *knapsacks())
    result = bw.solve(problem, 0.2, tol=0.1, random_state=0)
    alone, shared = (bw.certify(problem, result.state, 0.2, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(alone.block_gaps, shared.block_gaps)


def test_infeasible_program_is_named():
    X, Y = knapsacks()
    svm = bw.StructuredSVM(Program(), lam=0.2, tol=0.1, random_state=0).fit(X, Y)
    never = ProgramInput(X[0].features, np.ones((1, 5)), [7.0], [6.0])
    with pytest.raises(bw.InputError, match=r"X\[1\]: the program is infeasible"):
        svm.predict([X[0], never])


def test_violated_truth_is_named():
    X, Y = knapsacks()
    Y[2] = np.ones(5, dtype=int)
    with pytest.raises(
        bw.InputError, match=r"Y\[2\] violates row 0 of X\[2\]: A z is .* \[-inf, 7\]"
    ):
        bw.Problem(Program(), X, Y)
    equal = ProgramInput(np.eye(3), [[1, 1, 1]], [2], [2])
    with pytest.raises(
        bw.InputError, match=r"Y\[0\] violates row 0 of X\[0\]: A z is 1, .* \[2, 2\]"
    ):
        bw.Problem(Program(), [equal], [[1, 0, 0]])


@pytest.mark.parametrize(("arguments", "words"), [
    ({"features": [1.0, 2.0]}, r"features has shape \(2,\)"),
    ({"features": [[1.0], [np.inf]]}, "features has NaN or infinite"),
    ({"features": [[1.0], [2.0, 3.0]]}, "features has rows of unequal length"),
    ({"features": [[1.0], [2.0]], "A": [[1, 1, 1]], "b": [1]}, "A has 3 columns and features has 2"),
    ({"features": [[1.0], [2.0]], "A": [[1, 1]], "b": [1, 2]}, r"b has shape \(2,\)"),
    ({"features": [[1.0], [2.0]], "A": [[1, 1]], "b": [np.nan]}, "none of them NaN"),
    ({"features": [[1.0], [2.0]], "A": [[1, 1]], "b": [1], "lower": [2]}, "is above b"),
])  # fmt: skip
def test_bad_programs(arguments, words):
    with pytest.raises(bw.InputError, match=words):
        ProgramInput(**arguments)


@pytest.mark.parametrize(("X", "Y", "words"), [
    ([np.eye(3)], [[0, 1, 0]], r"X\[0\] is a ndarray; Program takes"),
    ([ProgramInput(np.eye(3))], [[0, 1]], r"Y\[0\] has shape \(2,\)"),
    ([ProgramInput(np.eye(3))], [[0, 1, 2]], r"expected a 0 or 1 for each of the 3 variables"),
    ([ProgramInput(np.eye(3)), ProgramInput(np.eye(2))], [[0, 1, 1], [0, 1]], r"X\[1\] has 2 features"),
])  # fmt: skip
def test_bad_input(X, Y, words):
    with pytest.raises(bw.InputError, match=words):
        bw.Problem(Program(), X, Y)
    with pytest.raises(bw.OptionError, match="zero_one"):
        bw.Problem(Program(task_loss="zero_one"), X, Y)
