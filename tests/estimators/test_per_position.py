"""A transformer of rows on every position: the same as stacking, transforming, splitting by hand."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import blockwolfe as bw
from blockwolfe.errors import InputError, OptionError
from blockwolfe.tasks import Chain, Masked

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(length, 3)) for length in (2, 5, 1, 4)]
Z = [RNG.normal(size=(length, 3)) for length in (3, 1)]
Y = [RNG.integers(2, size=len(x)) for x in X]

TRANSFORMERS = [
    Nystroem(gamma=0.5, n_components=6, random_state=0),
    RBFSampler(gamma=0.5, n_components=5, random_state=0),
    PolynomialCountSketch(n_components=7, random_state=0),
    StandardScaler(),
    make_pipeline(StandardScaler(), Nystroem(n_components=4, random_state=1)),
]


def by_hand(transformer, train, X):
    fitted = clone(transformer).fit(np.concatenate(train))
    return [fitted.transform(x) for x in X]


def assert_same(found, expected, rtol=1e-10):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda t: type(t).__name__)
def test_it_is_the_transformer_of_all_positions(transformer):
    per_position = bw.PerPosition(transformer)
    assert per_position.fit(X) is per_position
    assert_same(per_position.transform(Z), by_hand(transformer, X, Z))
    assert_same(clone(per_position).fit_transform(X, Y), by_hand(transformer, X, X))
    assert_same(pickle.loads(pickle.dumps(per_position)).transform(Z), by_hand(transformer, X, Z))
    assert per_position.n_features_in_ == 3
    assert per_position.transformer is transformer
    names = per_position.get_feature_names_out()
    np.testing.assert_array_equal(names, per_position.transformer_.get_feature_names_out())


def test_single_precision_is_kept():
    X32 = [x.astype(np.float32) for x in X]
    found = bw.PerPosition(TRANSFORMERS[0]).fit_transform(X32)
    assert {x.dtype for x in found} == {np.dtype(np.float32)}
    assert_same(found, by_hand(TRANSFORMERS[0], X32, X32), rtol=1e-4)
    sparse = bw.PerPosition(MaxAbsScaler()).fit_transform([sp.csr_array(x) for x in X32])
    assert {x.dtype for x in sparse} == {np.dtype(np.float32)}
    mixed = bw.PerPosition(StandardScaler()).fit_transform([X32[0], *X[1:]])
    assert {x.dtype for x in mixed} == {np.dtype(np.float64)}


def test_sparse_sequences_stay_sparse():
    found = bw.PerPosition(MaxAbsScaler()).fit_transform([sp.csr_array(x) for x in X])
    assert all(isinstance(x, sp.csr_array) for x in found)
    assert_same([x.toarray() for x in found], by_hand(MaxAbsScaler(), X, X))


def test_masks_are_kept():
    allowed = np.array([[True, False], [True, True]])
    found = bw.PerPosition(StandardScaler()).fit_transform([Masked(X[0], allowed), *X[1:]])
    assert isinstance(found[0], Masked)
    assert found[0].allowed is allowed
    assert_same([found[0].features, *found[1:]], by_hand(StandardScaler(), X, X))


def test_other_containers():
    objects = np.empty(len(X), dtype=object)
    objects[:] = X
    cube = RNG.normal(size=(3, 2, 4))
    assert_same(
        bw.PerPosition(StandardScaler()).fit_transform(objects), by_hand(StandardScaler(), X, X)
    )
    assert_same(
        bw.PerPosition(StandardScaler()).fit_transform(cube), by_hand(StandardScaler(), cube, cube)
    )


def test_frames_that_a_transformer_makes_are_taken_as_arrays():
    pytest.importorskip("pandas")
    with sklearn.config_context(transform_output="pandas"):
        found = bw.PerPosition(StandardScaler()).fit_transform(X)
        assert isinstance(found, list)
    assert_same(found, by_hand(StandardScaler(), X, X))


def test_a_transformer_may_take_missing_values():
    spoilt = [x.copy() for x in X]
    spoilt[1][0, 0] = np.nan
    assert_same(
        bw.PerPosition(SimpleImputer()).fit_transform(spoilt),
        by_hand(SimpleImputer(), spoilt, spoilt),
    )


def test_labels_go_to_transformers_that_need_them():
    select = SelectKBest(k=1)
    chosen = bw.PerPosition(select).fit(X, Y)
    by_itself = clone(select).fit(np.concatenate(X), np.concatenate(Y))
    np.testing.assert_array_equal(chosen.transformer_.get_support(), by_itself.get_support())
    np.testing.assert_allclose(chosen.transformer_.scores_, by_itself.scores_)
    assert_same(bw.PerPosition(select).fit_transform(X, Y), [by_itself.transform(x) for x in X])
    needy = LinearDiscriminantAnalysis()
    with pytest.raises(InputError, match=r"X\[0\] has 2 positions and y\[0\] has 1 labels"):
        bw.PerPosition(needy).fit(X, [Y[0][:1], *Y[1:]])
    with pytest.raises(InputError, match="X has 4 examples and y has 3"):
        bw.PerPosition(needy).fit(X, Y[:3])
    bw.PerPosition(StandardScaler()).fit(X, ["anything"] * 4)  # (has no use for outputs)


def test_in_a_pipeline():
    data = bw.datasets.digit_strings(n_strings=30)
    model = make_pipeline(
        bw.PerPosition(Nystroem(gamma=0.01, n_components=20, random_state=0)),
        bw.StructuredSVM(Chain(), lam=0.1, tol=0.1, random_state=0),
    )
    found = clone(model).fit(data.X, data.Y).predict(data.X[:5])
    rows = by_hand(Nystroem(gamma=0.01, n_components=20, random_state=0), data.X, data.X)
    svm = bw.StructuredSVM(Chain(), lam=0.1, tol=0.1, random_state=0).fit(rows, data.Y)
    for one, other in zip(found, svm.predict(rows[:5]), strict=True):
        np.testing.assert_array_equal(one, other)
    grid = {"perposition__transformer__gamma": [1e-6, 0.01]}
    search = GridSearchCV(model, grid, cv=2).fit(data.X, data.Y)
    assert search.best_params_ == {"perposition__transformer__gamma": 0.01}
    again = pickle.loads(pickle.dumps(search.best_estimator_)).predict(data.X[:5])
    for one, other in zip(again, search.predict(data.X[:5]), strict=True):
        np.testing.assert_array_equal(one, other)


class Bare:
    """No estimator of scikit-learn, no names, no `fit_transform`."""

    def fit(self, rows):
        self.largest = abs(rows).max()
        return self

    def transform(self, rows):
        return rows / self.largest


def test_a_plain_class_with_fit_and_transform_will_do():
    given = Bare()
    per_position = bw.PerPosition(given)
    assert_same(per_position.fit_transform(X, Y), [x / abs(np.concatenate(X)).max() for x in X])
    assert not hasattr(given, "largest")
    assert not hasattr(per_position, "get_feature_names_out")


class Shortening(Bare):
    def transform(self, rows):
        return rows[1:]


@pytest.mark.parametrize(
    ("transformer", "message"),
    [
        (None, r"transformer=None has no fit\(\)"),
        (StandardScaler, "transformer=StandardScaler is a class"),
        (bw.StructuredSVM(), r"has no transform\(\)"),
        ("scale", r"transformer='scale' has no fit\(\); expected a transformer of scikit-learn"),
        (Shortening(), r"of shape \(11, 3\) out of 12 positions; expected a row for each"),
    ],
)
def test_what_is_no_transformer_is_refused(transformer, message):
    with pytest.raises(OptionError, match=message):
        bw.PerPosition(transformer).fit_transform(X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "X is empty"),
        (np.zeros((0, 2, 3)), "X is empty"),
        (3, "X is a int; expected a list"),
        ("abc", "X is a str"),
        (np.zeros((4, 3)), r"X\[0\] has shape \(3,\)"),
        (sp.eye_array(3, format="csr"), "X is one sparse matrix; expected a list of sequences"),
        ([X[0], X[1][:, :2]], r"X\[1\] has 2 features and X\[0\] has 3"),
        ([X[0], X[1][:0]], r"X\[1\] is empty"),
        ([X[0].astype(str)], r"X\[0\] has shape \(2, 3\) and type <U"),
        ([[{"word": "the"}]], r"X\[0\] has shape"),
        ([None], r"X\[0\] is a NoneType"),
    ],
)
def test_bad_inputs_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        bw.PerPosition(StandardScaler()).fit(given)
    with pytest.raises(InputError, match=message):
        bw.PerPosition(StandardScaler()).fit(X).transform(given)


def test_another_width_and_no_fit_are_refused():
    with pytest.raises(
        InputError, match="X has 2 features, but PerPosition is expecting 3 features"
    ):
        bw.PerPosition(StandardScaler()).fit(X).transform([x[:, :2] for x in Z])
    with pytest.raises(NotFittedError):
        bw.PerPosition(StandardScaler()).transform(X)
    with pytest.raises(NotFittedError):
        bw.PerPosition(StandardScaler()).get_feature_names_out()


def test_a_failed_fit_leaves_the_last_one():
    per_position = bw.PerPosition(StandardScaler()).fit(X)
    with pytest.raises(InputError):
        per_position.fit([])
    assert_same(per_position.transform(Z), by_hand(StandardScaler(), X, Z))
