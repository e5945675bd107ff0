"""`Segments`: features and loss by hand, the enumerated optimum, files, errors."""

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from zoo import enumerated_optimum, enumerated_primal

METHODS = ["bcfw", "fw", "auto", "bcfw+gap+pairwise+cache"]


def segment_data(n=5, longest=3, seed=0, n_positions=4):
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for i in range(n):
        length, at, y = 1 if i == 1 else n_positions, 0, []
        while at < length:
            end = min(length, at + int(rng.integers(1, longest + 1)))
            y.append((at, end, ["a", "b"][rng.integers(2)]))
            at = end
        labels = np.concatenate([[label == "a"] * (end - begin) for begin, end, label in y])
        X.append(labels[:, None] + 0.7 * rng.normal(size=(length, 2)))
        Y.append(y)
    return X, Y


def problem_of(**options):
    return bw.Problem(bw.tasks.Segments(3), *segment_data(**options))


def test_contract():
    assert bw.check_task(bw.tasks.Segments(3), *segment_data()).n_enumerated == 5


def test_features_by_hand():
    X, Y = segment_data()
    task = bw.Problem(bw.tasks.Segments(3, labels=["a", "b"]), X, Y).task
    x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    nodes = np.zeros((5, 2))  # two features and three lengths, by label
    nodes[:, 1] = [4.0, 6.0, 0.0, 1.0, 0.0]
    nodes[:, 0] = [5.0, 6.0, 1.0, 0.0, 0.0]
    edges = [0.0, 0.0, 1.0, 0.0]  # b, then a
    expected = np.concatenate([nodes.ravel(), edges])
    np.testing.assert_array_equal(task.features(x, [(0, 2, "b"), (2, 3, "a")]), expected)
    np.testing.assert_array_equal(
        task.features(sp.csr_array(x), [(0, 2, "b"), (2, 3, "a")]), expected
    )


def test_loss_counts_labels_and_begins():
    task = problem_of().task
    y = [(0, 2, "a"), (2, 4, "b")]
    assert task.loss(y, y) == 0.0
    assert task.loss(y, [(0, 2, "a"), (2, 3, "b"), (3, 4, "b")]) == 1.0
    assert task.loss(y, [(0, 2, "b"), (2, 4, "b")]) == 2.0
    assert task.loss(y, [(0, 1, "b"), (1, 4, "a")]) == 4.0
    assert task.loss([(0, 2, "new"), (2, 4, "b")], y) == 2.0


def test_primal_equals_enumeration():
    problem = problem_of()
    for seed in range(4):
        w = np.random.default_rng(seed).normal(size=problem.n_features)
        expected = enumerated_primal(problem, w, 0.3)
        assert problem.primal(w, 0.3) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_certified_optimum(method):
    problem, lam = problem_of(), 0.5
    optimum, _ = enumerated_optimum(problem, lam)
    result = bw.solve(problem, lam, method, tol=5e-3, max_passes=500, random_state=0)
    certificate = result.certificate
    assert certificate.exact
    assert certificate.dual - 1e-7 <= optimum <= certificate.primal + 1e-7
    assert method == "fw" or result.is_certified


def test_files_and_threads(tmp_path):
    X, Y = segment_data(n=12)
    svm = bw.StructuredSVM(bw.tasks.Segments(3), lam=0.3, tol=0.02, random_state=0).fit(X, Y)
    assert svm.score(X, Y) > 0.5
    svm.save(tmp_path / "model.npz")
    assert bw.load(tmp_path / "model.npz").predict(X) == svm.predict(X)
    problem = bw.Problem(bw.tasks.Segments(3), X, Y)
    alone, together = (bw.certify(problem, svm.result_.state, 0.3, n_jobs=n) for n in (1, 2))
    assert (alone.primal, alone.gap) == (together.primal, together.gap)


def test_the_longest_segment_is_learned():
    X, Y = segment_data()
    longest = max(end - begin for y in Y for begin, end, _ in y)
    assert bw.Problem(bw.tasks.Segments(), X, Y).task.longest_ == longest


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([(0, 2, "a")], "ends at 2, but X.0. has 4 positions"),
        ([(0, 2, "a"), (3, 4, "a")], "expected a segment that begins at 2"),
        ([(0, 4, "a")], "max_length is 3"),
        ([], "is empty"),
        (["a", "b"], "expected a list of segments"),
        ([(0, 0, "a"), (0, 4, "a")], "ends after that"),
        ([(0, 1.7, "a"), (1, 4, "a")], "expected a list of segments"),
    ],
)
def test_bad_outputs_are_refused(y, message):
    X, Y = segment_data()
    with pytest.raises(bw.InputError, match=message):
        bw.Problem(bw.tasks.Segments(3), X, [y, *Y[1:]]).blocks


def test_bad_options_are_refused():
    with pytest.raises(bw.OptionError, match="max_length=0"):
        bw.Problem(bw.tasks.Segments(0), *segment_data())
    problem = problem_of()
    with pytest.raises(bw.InputError, match="3 features, but the model has 2"):
        problem.task.predict([np.zeros((2, 3))], np.zeros(problem.n_features))
    with pytest.raises(
        bw.InputError, match=r"X\[0\] has .*\(positions, features\) array .*sparse"
    ) as e:
        bw.tasks.Segments().fit([[{"w": "a"}]], [[(0, 1, "a")]])
    assert "dicts" not in str(e.value)  # which it does not take


def test_a_label_that_is_not_known_is_named_with_its_place():
    X = [np.ones((2, 1))] * 3
    Y = [[(0, 2, "up")], [(0, 2, "up")], [(0, 1, "up"), (1, 2, "down")]]
    with pytest.raises(bw.InputError, match=r"^Y\[2\]\[1\] is 'down'"):
        bw.tasks.Segments(labels=["up"]).fit(X, Y)


@pytest.mark.parametrize("bad", [[(1, 2, "b")], [(0, 2, "a"), (1, 2, "b")]])
def test_no_loss_of_what_is_no_segmentation(bad):
    good = [(0, 1, "a"), (1, 2, "b")]
    task = bw.tasks.Segments().fit([np.ones((2, 1))], [good])
    with pytest.raises(bw.InputError, match=r"^Y_hat\[0\]\[\d\] covers"):
        task.loss(good, bad)
    with pytest.raises(bw.InputError, match=r"^Y\[0\]\[\d\] covers"):
        task.loss(bad, good)
