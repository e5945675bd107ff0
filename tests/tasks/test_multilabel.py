"""Sets of labels: against enumeration, direct formulas, and other tasks; inputs of every form."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.structures import subset
from blockwolfe.tasks.label_pairs import chow_liu
from zoo import enumerated_optimum, enumerated_primal

LAMS = {"lam": 0.05, "tol": 1e-3, "method": "bcfw+pairwise", "random_state": 0}


def data(n=12, n_features=3, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    Y = (X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n, n_labels)) > 0.3) * 1
    Y[0], Y[1] = 0, 1
    return X, Y


TASKS = {
    "independent": bw.tasks.Multilabel,
    "tree": lambda: bw.tasks.Multilabel("tree"),
    "full": lambda: bw.tasks.Multilabel("full"),
    "some": lambda: bw.tasks.Multilabel([(0, 1), (3, 1), (0, 3)], bias=False),
    "forest": lambda: bw.tasks.Multilabel([(2, 0)]),
    "attractive": lambda: bw.tasks.Multilabel("full", attractive=True),
    "pairs-by-x": lambda: bw.tasks.Multilabel("full", pair_features="x"),
    "tree-by-x": lambda: bw.tasks.Multilabel("tree", pair_features="x", bias=False),
    "weighted": lambda: bw.tasks.Multilabel(
        "full", task_loss=bw.tasks.Hamming(normalize=False, class_weight={0: 3.0, 2: 0.5})
    ),
    "costs": lambda: bw.tasks.Multilabel("tree", task_loss=[[0, 1], [4, 0]]),
}
METHODS = ["bcfw", "fw", "auto", "bcfw+gap+pairwise+cache"]


@pytest.mark.parametrize("name", TASKS)
def test_check_task(name):
    X, Y = data(n=6)
    for given in (X, sp.csr_array(X)):
        report = bw.check_task(TASKS[name](), given, Y)
        assert report.n_enumerated == len(Y)


@pytest.mark.parametrize("name", TASKS)
def test_primal_by_enumeration_and_certificates(name):
    X, Y = data(n=8)
    problem = bw.Problem(TASKS[name](), X, Y)
    for method in METHODS:
        result = bw.solve(problem, 0.1, method, tol=1e-2, max_passes=3000, random_state=0)
        assert result.is_certified, method
        c = result.certificate
        assert c.dual <= c.primal
        assert c.primal == pytest.approx(enumerated_primal(problem, result.w, 0.1), abs=1e-9)


@pytest.mark.parametrize("name", ["independent", "tree", "full", "attractive", "pairs-by-x"])
def test_optimum_of_a_tiny_problem(name):
    X, Y = data(n=4, n_features=1, n_labels=3)
    problem = bw.Problem(TASKS[name](), np.abs(X), Y)
    bounds = (problem.blocks.lower, problem.blocks.upper) if problem.blocks.is_bounded else None
    best, _ = enumerated_optimum(problem, 0.1, bounds)
    result = bw.solve(problem, 0.1, tol=1e-5, max_passes=20000, random_state=0)
    assert result.is_certified
    assert result.certificate.dual <= best + 1e-6
    assert best <= result.certificate.primal + 1e-6


def test_features_by_hand():
    X, Y = data()
    task = bw.Problem(bw.tasks.Multilabel("full"), X, Y).task
    x, y = X[3], np.array([1, 0, 1, 1])
    of_labels = np.outer([*x, 1.0], y).ravel()
    pairs = [y[a] * y[b] for a in range(4) for b in range(a + 1, 4)]
    np.testing.assert_allclose(task.features(x, y), [*of_labels, *pairs])
    task = bw.Problem(bw.tasks.Multilabel([(1, 3)], pair_features="x"), X, Y).task
    np.testing.assert_allclose(task.features(x, y)[-4:], 0.0)
    np.testing.assert_allclose(task.features(x, [0, 1, 0, 1])[-4:], [*x, 1.0])


def test_every_oracle_agrees_where_all_apply():
    """A tree is also a task for branch and bound; no pairs are also a tree of weight zero."""
    X, Y = data(n=40, n_labels=6)
    tree = bw.Problem(bw.tasks.Multilabel("tree"), X, Y).task
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = rng.normal(size=tree.n_features)
        scores = np.hstack([X, np.ones((40, 1))]) @ w[: 4 * 6].reshape(4, 6)
        for row, y in zip(scores, tree.predict(X, w), strict=True):
            other = subset.maximize(row, w[24:], tree.pairs_)
            np.testing.assert_array_equal(y, other)
        w[24:] = 0.0
        np.testing.assert_array_equal(tree.predict(X, w), scores > 0)


def test_squared_lengths_are_those_of_the_general_formula():
    from blockwolfe.tasks import part_functions

    X, Y = data()
    for pair_features in ("constant", "x"):
        problem = bw.Problem(bw.tasks.Multilabel("full", pair_features=pair_features), X, Y)
        made = problem.task.compiled(X, Y)
        rng = np.random.default_rng(0)
        for i in range(5):
            part = rng.permutation(10)[:6].astype(np.int32)
            delta = rng.normal(size=6)
            args = (made.data, i, part, delta, 6, made.make_scratch())
            expected = part_functions.sqnorm(*args)
            assert made.features.sqnorm(*args) == pytest.approx(expected)


@pytest.mark.parametrize(("loss", "expected"), [
    ("hamming", 3.0),
    ("normalized_hamming", 3 / 4),
    (bw.tasks.Hamming(class_weight={0: 5.0, 1: 9.0}), 7.0),
    ([[0, 2], [10, 0]], 14.0),
])  # fmt: skip
def test_losses_by_hand(loss, expected):
    X, Y = data()
    task = bw.Problem(bw.tasks.Multilabel(task_loss=loss), X, Y).task
    truth, guess = [1, 0, 1, 0], [0, 1, 1, 1]
    assert task.loss(truth, guess) == pytest.approx(expected)
    assert task.loss(truth, truth) == 0.0


def test_balanced_weights():
    X, Y = data(n=40)
    task = bw.Problem(bw.tasks.Multilabel(task_loss=bw.tasks.Hamming(False, "balanced")), X, Y).task
    on = Y.sum(axis=0)
    for label in range(4):
        truth = np.eye(4, dtype=int)[label]
        assert task.loss(truth, np.zeros(4)) == pytest.approx((40 - on[label]) / on[label])


def test_attractive_weights_are_not_negative():
    X, Y = data(n=40)
    free = bw.StructuredSVM(bw.tasks.Multilabel("full"), **LAMS).fit(X, Y)
    bound = bw.StructuredSVM(bw.tasks.Multilabel("full", attractive=True), **LAMS).fit(X, Y)
    pair = free.task_.groups["pair"]
    assert (free.coef_[pair] < -1e-3).any()
    assert (bound.coef_[pair] >= 0).all()
    assert bound.certificate_.primal >= free.certificate_.dual
    with pytest.raises(bw.InputError, match="X has negative entries"):
        bw.Problem(bw.tasks.Multilabel("full", pair_features="x", attractive=True), X, Y)


def test_chow_liu_tree():
    rng = np.random.default_rng(0)
    first = rng.random(500) < 0.5
    flip = lambda z, p: z ^ (rng.random(500) < p)  # noqa: E731
    second = flip(first, 0.1)
    Y = np.stack([flip(second, 0.1), first, second, flip(first, 0.2)], axis=1) * 1
    assert chow_liu(Y).tolist() == [[0, 2], [1, 2], [1, 3]]
    assert chow_liu(Y[:, :1]).shape == (0, 2)
    assert len(chow_liu(np.zeros((5, 4), dtype=int))) == 3  # no information: any tree


def test_local_search_gives_estimates():
    X, Y = data(n=30, n_labels=6)
    svm = bw.StructuredSVM(bw.tasks.Multilabel("full", search="local"), lam=0.1, tol=1e-2)
    with pytest.warns(bw.NotCertifiedWarning, match="not exact"):
        svm.fit(X, Y)
    assert svm.result_.status is bw.Status.INEXACT_ORACLE
    assert not svm.certificate_.exact
    exact = bw.StructuredSVM(bw.tasks.Multilabel("full"), lam=0.1, tol=1e-2).fit(X, Y)
    assert abs(svm.score(X, Y) - exact.score(X, Y)) < 0.05
    tree = bw.tasks.Multilabel("tree", search="local")  # max-sum is exact all the same
    assert bw.StructuredSVM(tree, lam=0.1, tol=1e-2).fit(X, Y).certificate_.exact


def test_many_labels():
    X, Y = data(n=30, n_labels=30)
    with pytest.raises(bw.OptionError, match=r"joins 30 labels in cycles.*search='local'"):
        bw.Problem(bw.tasks.Multilabel("full"), X, Y)
    tree = bw.StructuredSVM(bw.tasks.Multilabel("tree"), lam=1.0, tol=1e-2).fit(X, Y)
    assert tree.certificate_.exact


def test_inputs_of_every_form():
    X, Y = data(n=20)
    names = np.array(["air", "sea", "sky", "sun"])
    sets = [set(names[row == 1].tolist()) for row in Y]
    expected = None
    frame = pd.DataFrame(X, columns=list("pqr"), index=range(5, 25))
    forms = [
        (X, Y, None),
        (sp.csr_array(X), sp.csr_array(Y), None),
        (X.tolist(), Y.tolist(), None),
        (frame, pd.DataFrame(Y, columns=names), names),
        (X, sets, None),
        (X, [sorted(y) for y in sets], None),
        (X, pd.Series(sets), None),
        (X, Y.astype(bool), names),
    ]
    for x, y, labels in forms:
        task = bw.tasks.Multilabel("full", labels=labels)
        svm = bw.StructuredSVM(task, **LAMS).fit(x, y)
        guess = svm.predict(x)
        assert guess.shape == Y.shape
        assert guess.dtype == np.int64
        expected = svm.coef_ if expected is None else expected
        np.testing.assert_allclose(svm.coef_, expected)
        assert svm.score(x, y) == pytest.approx(1 - np.mean(guess != Y))
    assert svm.task_.label_sets(Y) == sets
    assert svm.n_features_in_ == 3
    fitted = bw.StructuredSVM(bw.tasks.Multilabel(), **LAMS).fit(frame, Y)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["q", "p", "r"]])
    bw.check_task(bw.tasks.Multilabel("tree"), X, sets)
    bw.check_task(bw.tasks.Multilabel("tree"), sp.csr_array(X), sp.csr_array(Y))


def test_one_label_is_a_binary_classifier():
    X, Y = data(n=30, n_labels=1)
    svm = bw.StructuredSVM(bw.tasks.Multilabel("full"), lam=0.1, tol=1e-6).fit(X, Y)
    assert svm.certificate_.exact
    assert svm.predict(X).shape == (30, 1)


@pytest.mark.parametrize(("X", "Y", "options", "words"), [
    (None, [[0, 2], [0, 1]], {}, r"Y\[0\]\[1\] is 2; expected an \(n, L\) array of 0 and 1"),
    (None, [[0, 1], [1]], {}, "rows of unequal length"),
    (None, [0, 1], {}, r"Y has shape \(2,\)"),
    (None, [{"a"}, 3], {}, r"Y\[1\] is 3, but other entries are sets"),
    (None, [{"a"}, {1}], {}, "mixes strings"),
    (None, [set(), set()], {}, "empty sets only"),
    (None, [{"a"}, {"b"}], {"labels": ["a"]}, r"Y\[1\] has the label 'b'"),
    (None, [[0, 1], [1, 0]], {"labels": ["a"]}, "Y has 2 columns and there are 1 labels"),
    (None, [[0, 1], [1, 0]], {"labels": ["a", "a"]}, "repeated"),
    (None, [[0, 1], [1, 0]], {"pairs": "ring"}, "pairs='ring' is not known"),
    (None, [[0, 1], [1, 0]], {"pairs": [(0, 5)]}, "pairs has the label 5"),
    (None, [[0, 1], [1, 0]], {"pairs": [(0, 0)]}, "two different labels"),
    (None, [[0, 1], [1, 0]], {"pairs": [(0, 1), (1, 0)]}, "twice"),
    (None, [[0, 1], [1, 0]], {"pairs": None}, "pairs=None; expected 'independent', 'tree', 'full'"),
    (None, [[0, 1], [1, 0]], {"bias": "no"}, "bias='no' must be True or False"),
    (None, [[0, 1], [1, 0]], {"attractive": 1}, "attractive=1 must be True or False"),
    (None, [[0, 1], [1, 0]], {"labels": ["a", 1]}, "all strings or all integers"),
    (None, [[0, 1], [1, 0]], {"labels": []}, "at least one label"),
    (None, [{1, None}, {1}], {}, "Y has the label None"),
    (None, [{("a", "b")}, {("c", "d")}], {}, "Y has the label"),
    (None, [[0, 1], [1, 0]], {"pair_features": "y"}, "pair_features='y' is not known"),
    (None, [[0, 1], [1, 0]], {"search": "fast"}, "search='fast' is not known"),
    (None, [[0, 1], [1, 0]], {"task_loss": "zero_one"}, "not a sum over labels"),
    (None, [[0, 1], [1, 0]], {"task_loss": bw.tasks.Hamming(class_weight={7: 1})}, "label 7"),
    ([[np.nan], [1.0]], [[0, 1], [1, 0]], {}, "NaN"),
])  # fmt: skip
def test_bad_input(X, Y, options, words):
    with pytest.raises(ValueError, match=words):
        bw.Problem(bw.tasks.Multilabel(**options), [[0.0], [1.0]] if X is None else X, Y)


def test_width_is_checked_at_prediction():
    X, Y = data()
    svm = bw.StructuredSVM(bw.tasks.Multilabel(), **LAMS).fit(X, Y)
    with pytest.raises(bw.InputError, match="X has 2 features, but the model has 3"):
        svm.predict(X[:, :2])
    with pytest.raises(bw.InputError, match="Y has 12 examples and Y_hat has 3"):
        svm.task_.losses(Y, Y[:3])


@pytest.mark.parametrize("name", ["independent", "tree", "full", "some"])
def test_saved_and_loaded(name, tmp_path):
    X, Y = data(n=30)
    svm = bw.StructuredSVM(TASKS[name](), **LAMS).fit(X, Y)
    svm.save(tmp_path / "m.npz")
    back = bw.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(back.predict(X), svm.predict(X))
    assert back.score(X, Y) == svm.score(X, Y)
    np.testing.assert_array_equal(back.fit(X, Y).coef_, svm.coef_)


def test_two_threads_give_the_same_certificate():
    X, Y = data(n=60, n_labels=6)
    problem = bw.Problem(bw.tasks.Multilabel("full"), X, Y)
    result = bw.solve(problem, 0.05, tol=1e-2, random_state=0)
    alone, shared = (bw.certify(problem, result.state, 0.05, n_jobs=n) for n in (1, 2))
    assert alone.gap == shared.gap
    np.testing.assert_array_equal(alone.block_gaps, shared.block_gaps)


def test_pair_weights_as_a_matrix():
    X, Y = data(n=30)
    svm = bw.StructuredSVM(bw.tasks.Multilabel([(0, 2), (1, 3)]), **LAMS).fit(X, Y)
    table = svm.task_.pair_weights(svm.coef_)
    assert table[0, 2] == table[2, 0] == svm.coef_[-2]
    assert table[3, 1] == svm.coef_[-1]
    assert np.isnan(table[0, 1])


def test_attractive_pairs_of_many_labels_are_exact():
    """By min-cut, beyond what branch and bound is offered for; on few labels they agree."""
    X, Y = data(n=20, n_labels=40)
    problem = bw.Problem(bw.tasks.Multilabel("full", attractive=True), X, Y)
    assert problem.task.oracle_ == "cut"
    result = bw.solve(problem, 0.1, tol=0.05, random_state=0)
    assert result.is_certified
    X, Y = data(n_labels=8)
    attractive = bw.Problem(bw.tasks.Multilabel("full", attractive=True), X, Y).task
    free = bw.Problem(bw.tasks.Multilabel("full"), X, Y).task
    rng = np.random.default_rng(0)
    for _ in range(50):
        w = rng.normal(size=free.n_features)
        w[free.groups["pair"]] = np.abs(w[free.groups["pair"]]) * rng.choice([0.0, 0.3, 1.0])
        np.testing.assert_array_equal(attractive.predict(X, w), free.predict(X, w))
    with pytest.raises(bw.InputError, match="negative pair weight"):
        attractive.predict(X, -np.ones(free.n_features))


def test_a_primal_beyond_the_bounds_is_not_made_up():
    """A cut at repelling pairs is no maximum; what it gave lay below the true primal."""
    X, Y = data()
    problem = bw.Problem(bw.tasks.Multilabel("full", attractive=True), X, Y)
    assert problem.task.oracle_ == "cut"
    w = np.full(problem.n_features, 0.7)
    w[problem.task.groups["pair"]] = -1.0
    with pytest.raises(bw.InputError, match=r"is -1, but Multilabel .* within its bounds"):
        problem.primal(w, 0.1)
