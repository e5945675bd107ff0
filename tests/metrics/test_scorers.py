"""Measures by name in scikit-learn's tools, and what the score of each task is."""

import contextlib
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import blockwolfe as bw
from blockwolfe.metrics.scorers import as_scorer, measure

TAGS = ["O", "B-NP", "I-NP"]


def tagged(n=24, seed=0, n_tags=3):
    """Sequences of unequal length whose features say most of the tag."""
    rng = np.random.default_rng(seed)
    Y = [rng.integers(0, n_tags, rng.integers(1, 6)) for _ in range(n)]
    X = [np.eye(n_tags)[y] + 0.8 * rng.normal(size=(len(y), n_tags)) for y in Y]
    return X, [[TAGS[k] for k in y] for y in Y]


def chain(**options):
    return bw.StructuredSVM(bw.tasks.Chain(), lam=0.1, tol=0.05, random_state=0, **options)


def test_every_name_can_be_asked_for():
    names = bw.metrics.scorer_names()
    assert len(set(names)) == len(names)
    for name in names:
        made = bw.metrics.scorer(name)
        assert pickle.loads(pickle.dumps(made)) == made
        assert as_scorer(name) == made


@pytest.mark.parametrize(
    "name", ["score", "accuracy", "exact_match", "f1_macro", "chunk_f1", "chunk_f1_iob2"]
)
def test_names_in_cross_val_score(name):
    X, Y = tagged()
    cv = KFold(3)
    scores = cross_val_score(
        chain(), X, Y, cv=cv, scoring=bw.metrics.scorer(name), error_score="raise"
    )
    for (train, test), score in zip(cv.split(X), scores, strict=True):
        svm = chain().fit([X[i] for i in train], [Y[i] for i in train])
        truth, found = [Y[i] for i in test], svm.predict([X[i] for i in test])
        asked = "accuracy" if name == "score" else name
        assert score == measure(asked, truth, found)


def test_options_of_a_measure_and_a_grid_search():
    X, Y = tagged()
    search = GridSearchCV(
        chain(), {"lam": [10.0, 0.1]}, cv=2, scoring=bw.metrics.scorer("chunk_f1", scheme="IOB2")
    ).fit(X, Y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"]) > 0


def test_label_sets_in_all_their_forms_and_in_a_pipeline():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    table = (X[:, :2] > 0).astype(int)
    sets = [{"ab"[k] for k in np.flatnonzero(row)} for row in table]
    task = bw.tasks.Multilabel(labels=["a", "b"])
    model = make_pipeline(StandardScaler(), bw.StructuredSVM(task, lam=0.1, tol=0.05)).fit(X, sets)
    table_hat = model.predict(X)
    for Y in (table, sets):
        assert bw.metrics.scorer("exact_match")(model, X, Y) == np.mean(
            (table_hat == table).all(axis=1)
        )
        assert bw.metrics.scorer("score")(model, X, Y) == np.mean(table_hat == table)
    with pytest.raises(bw.InputError, match="is a set; .*exact_match and label_report"):
        bw.metrics.scorer("accuracy")(model, X, table)


def test_scorers_take_weights_of_examples():
    X, Y = tagged()
    svm = chain().fit(X, Y)
    weight = np.arange(len(X))
    for name in ("score", "accuracy", "chunk_f1"):
        asked = "accuracy" if name == "score" else name
        expected = measure(asked, Y, svm.predict(X), sample_weight=weight)
        assert bw.metrics.scorer(name)(svm, X, Y, sample_weight=weight) == expected
        assert expected != measure(asked, Y, svm.predict(X))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: bw.metrics.scorer("f2"), "scoring='f2' is not known; valid: 'score', 'accuracy'"),
        (lambda: bw.metrics.scorer("accuracy", scheme="IOB2"), "scheme is no option of scorer\\('accuracy'\\)"),
        (lambda: bw.metrics.scorer("chunk_f1_iobes", scheme="BIO"), "scheme is no option"),
        (lambda: bw.metrics.scorer("score", scheme="BIO"), "it has: none"),
        (lambda: as_scorer(3), "scoring=3 is not known.*function of \\(estimator, X, y\\)"),
    ],
)  # fmt: skip
def test_bad_names_and_options(ask, message):
    with pytest.raises(bw.OptionError, match=message):
        ask()


@pytest.mark.parametrize("cv", [3, LeaveOneOut()])
def test_cross_val_predict_on_sequences(cv):
    X, Y = tagged(8)
    found = cross_val_predict(chain(), X, Y, cv=cv)
    assert found.shape == (8,)
    assert [len(y) for y in found] == [len(y) for y in Y]
    folds = KFold(3) if cv == 3 else cv
    for train, test in folds.split(X):
        svm = chain().fit([X[i] for i in train], [Y[i] for i in train])
        for i, y in zip(test, svm.predict([X[i] for i in test]), strict=True):
            np.testing.assert_array_equal(found[i], y)
    assert 0 < bw.metrics.token_accuracy(Y, found) <= 1


def test_predictions_are_lists_to_all_others():
    X, Y = tagged(6)
    found = chain().fit(X, Y).predict(X)
    plain = list(found)
    assert isinstance(found, list)
    assert np.concatenate(found).tolist() == [tag for y in plain for tag in y]
    even = type(found)(np.array([k, k]) for k in range(3))
    assert np.concatenate([even, even]).shape == (6, 2)
    assert np.asarray(even).shape == (3, 2)
    assert np.stack(even, axis=1).shape == (2, 3)
    assert np.mean(even) == 1.0
    assert np.array_equal(even, list(even))
    assert type(pickle.loads(pickle.dumps(found))) is type(found)
    segments = type(found)([[(0, 2, "a")], [(0, 1, "b")]])  # numpy would make strings of all
    assert np.concatenate([segments, segments]).tolist() == [*segments, *segments]
    with pytest.raises(ValueError, match="dimensions"):
        np.concatenate([found, plain], axis=1)


class OwnTask:
    """Sequences of two labels, in Python, without a measure."""

    n_features = 2

    def features(self, x, y):
        return np.array([sum(x[np.array(y) == k]) for k in (0, 1)], dtype=float)

    def loss(self, y, y_hat):
        return 10.0 * float(tuple(y) != tuple(y_hat))

    def outputs(self, x):
        return [(a, b) for a in (0, 1) for b in (0, 1)]

    def decode(self, x, w):
        return max(self.outputs(x), key=lambda y: float(w @ self.features(x, y)))

    def augmented_decode(self, x, y, w):
        return max(self.outputs(x), key=lambda h: self.loss(y, h) + float(w @ self.features(x, h)))


class MeasuredTask(OwnTask):
    """With one."""

    def measure(self, Y, Y_hat):
        return np.mean(
            [a == b for y, z in zip(Y, Y_hat, strict=True) for a, b in zip(y, z, strict=True)]
        )


class BrokenTask(OwnTask):
    def measure(self, Y, Y_hat, sample_weight=None):
        return "good"


def own_data():
    rng = np.random.default_rng(0)
    X = list(rng.normal(size=(20, 2)))
    return X, [[int(v + 0.7 * rng.normal() > 0) for v in x] for x in X]


def test_score_of_a_task_of_ones_own():
    X, Y = own_data()
    svm = bw.StructuredSVM(OwnTask(), lam=1.0, tol=0.1).fit(X, Y)
    Y_hat = svm.predict(X)  # tuples, where Y has lists
    right = [tuple(y) == tuple(z) for y, z in zip(Y, Y_hat, strict=True)]
    assert 0 < svm.score(X, Y) == np.mean(right) < 1
    weight = np.arange(20)
    assert svm.score(X, Y, weight) == pytest.approx(np.average(right, weights=weight))
    svm = bw.StructuredSVM(MeasuredTask(), lam=1.0, tol=0.1).fit(X, Y)
    assert svm.score(X, Y) == np.mean(np.array(Y) == np.array(svm.predict(X))) > np.mean(right)
    with pytest.raises(
        bw.OptionError, match="measure of MeasuredTask takes none; give it an argument"
    ):
        svm.score(X, Y, weight)
    svm.task_ = BrokenTask()
    with pytest.raises(bw.OptionError, match="measure of BrokenTask returned 'good'; expected"):
        svm.score(X, Y)


def test_score_is_a_share_whatever_the_loss():
    X, Y = tagged()
    losses = ("hamming", bw.tasks.Hamming(normalize=False), 100.0 * (1 - np.eye(3)))
    for loss in losses:
        svm = bw.StructuredSVM(bw.tasks.Chain(task_loss=loss), lam=1.0, tol=1.0).fit(X, Y)
        truth, found = np.concatenate(Y), np.concatenate(svm.predict(X))
        assert svm.score(X, Y) == np.mean(truth == found)
        assert svm.score(X, [["NEW"] * len(y) for y in Y]) == 0.0
        each = np.arange(len(X))
        by_position = np.repeat(each, [len(y) for y in Y])
        expected = np.average(truth == found, weights=by_position)
        assert svm.score(X, Y, sample_weight=each) == pytest.approx(expected)


class Constant(BaseEstimator):
    """Not of this library, but with predictions: scorers take it too."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return [["O"] * len(x) for x in X]


def test_estimators_of_others():
    X, Y = tagged()
    expected = np.mean(np.concatenate(Y) == "O")
    assert bw.metrics.scorer("accuracy")(Constant(), X, Y) == expected


def test_lambda_is_chosen_by_the_measure_that_is_asked_for():
    X, Y = tagged(30)
    one = [(np.arange(10, 30), np.arange(10))]  # (of one fold the best is taken, and no other)
    options = {"lams": [30.0, 0.1], "cv": one, "eps": 0.05, "tol": 0.1, "random_state": 0}
    by_loss = bw.StructuredSVMCV(bw.tasks.Chain(), **options).fit(X, Y)
    named = bw.StructuredSVMCV(bw.tasks.Chain(), scoring="chunk_f1", **options).fit(X, Y)
    assert (named.scores_ != by_loss.scores_).any()

    def worst(svm, X, y):
        return -measure("chunk_f1", y, svm.predict(X))

    own = bw.StructuredSVMCV(bw.tasks.Chain(), scoring=worst, **options).fit(X, Y)
    np.testing.assert_allclose(own.scores_, -named.scores_)
    assert {named.lam_, own.lam_} == {30.0, 0.1}
    weight = np.arange(30) + 1.0
    accuracy = bw.StructuredSVMCV(bw.tasks.Chain(), scoring="accuracy", **options).fit(X, Y, weight)
    natural = bw.StructuredSVMCV(bw.tasks.Chain(), scoring="score", **options).fit(X, Y, weight)
    np.testing.assert_array_equal(accuracy.scores_, natural.scores_)


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("f2", "scoring='f2' is not known"),
        (lambda svm, X, y: None, "scoring returned None; expected a finite number"),
    ],
)
def test_bad_scoring(scoring, message):
    X, Y = tagged()
    svm = bw.StructuredSVMCV(bw.tasks.Chain(), scoring=scoring, lams=[1.0, 0.1], cv=2, eps=0.5)
    with pytest.raises(bw.OptionError, match=message):
        svm.fit(X, Y)


def test_scores_and_their_name_are_kept_with_the_model(tmp_path):
    from blockwolfe.path.scores import LambdaScores

    X, Y = tagged()
    svm = bw.StructuredSVMCV(
        bw.tasks.Chain(), scoring="chunk_f1", lams=[1.0, 0.1], cv=2, eps=0.5, tol=0.5
    )
    svm.fit(X, Y).save(tmp_path / "m.npz")
    kept = LambdaScores.of(bw.load(tmp_path / "m.npz"))
    assert kept.scoring == "chunk_f1"
    np.testing.assert_array_equal(kept.scores, svm.scores_)


OUTPUTS = {
    "integers": np.array([0, 1, 2]), "strings": np.array(["a", "B-X", "O"]),
    "sequences": [np.array(["B-X", "O"]), np.array(["O"])], "sets": [{"a"}, set()],
    "a table": np.array([[0, 1], [1, 0]]), "heads": [np.array([2, 0]), np.array([0])],
    "links": [np.array([[0, 1]]), np.zeros((0, 2), dtype=int)], "None": [None, None],
    "segments": [[(0, 2, "a")], [(0, 1, "b")]], "poses": [np.zeros((3, 2)), np.ones((3, 2))],
    "alignments": [bw.tasks.Alignment([(0, 0)]), bw.tasks.Alignment([])],
}  # fmt: skip


@pytest.mark.parametrize("name", bw.metrics.scorer_names()[1:])
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_outputs_that_a_measure_is_not_for_are_measured_or_refused(name, outputs):
    Y = OUTPUTS[outputs]
    with contextlib.suppress(bw.InputError):
        assert 0.0 <= measure(name, Y, Y) <= 1.0
