"""Grids of lambdas, and the choice of lambda on held-out data."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold

import blockwolfe as bw
from blockwolfe.path.folds import Fold
from zoo import PROBLEMS, chain_data, enumerated_optimum, multiclass_data


@pytest.mark.parametrize("warm_start", ["primal", "dual", None])
def test_grid_is_certified_at_every_lambda(warm_start):
    problem = PROBLEMS["multiclass-dense"]()
    lams = [0.1, 1.0, 0.3]
    results = bw.solve_grid(problem, lams, warm_start, tol=1e-5, random_state=0)
    assert [result.lam for result in results] == lams
    for result in results:
        assert result.is_certified
        optimum, _ = enumerated_optimum(problem, result.lam)
        assert result.certificate.dual - 1e-7 <= optimum <= result.certificate.primal + 1e-7


def test_warm_starts_save_oracle_calls():
    problem = PROBLEMS["chain-dense"]()
    lams = np.geomspace(10.0, 0.01, 20)
    calls = {
        warm: sum(
            r.counts.oracle_calls + r.counts.certificate_calls
            for r in bw.solve_grid(problem, lams, warm, "bcfw+gap", tol=0.02, random_state=0)
        )
        for warm in ("primal", "dual", None)
    }
    assert calls["primal"] < calls[None]
    assert calls["dual"] < calls[None]


def test_interruption_keeps_the_results_so_far():
    def interrupt(event):
        if event.lam < 0.5:
            raise KeyboardInterrupt

    results = bw.solve_grid(
        PROBLEMS["chain-dense"](), [0.1, 0.2, 1.0], tol=1e-3, callbacks=interrupt
    )
    assert results[2].is_certified
    assert results[1].status is bw.Status.INTERRUPTED
    assert results[0] is None


@pytest.mark.parametrize(
    ("lams", "options", "message"),
    [
        ([], {}, "lams is empty"),
        (0.1, {}, "lams=0.1 must be a list"),
        ([0.1, -1], {}, "lam=-1 must be"),
        ([0.1], {"warm_start": "both"}, "warm_start='both' is not known"),
        ([0.1], {"start": 3}, "start and checkpoint belong to one lambda"),
    ],
)
def test_bad_grids(lams, options, message):
    with pytest.raises(bw.OptionError, match=message):
        bw.solve_grid(PROBLEMS["multiclass-dense"](), lams, **options)


@pytest.fixture(scope="module")
def digits():
    return bw.datasets.digit_strings(60, length=3)


def test_cv_chooses_trains_and_predicts(digits, tmp_path):
    svm = bw.StructuredSVMCV(
        bw.tasks.Chain(10), cv=3, n_lams=8, eps=0.1, tol=0.05, random_state=0
    ).fit(digits.X, digits.Y)
    assert svm.scores_.shape == (3, 8)
    mean = svm.scores_.mean(axis=0)
    (chosen,) = np.flatnonzero(svm.lams_ == svm.lam_)
    behind = svm.scores_[:, np.argmax(mean)] - svm.scores_[:, chosen]
    assert behind.mean() <= behind.std(ddof=1) / np.sqrt(3) + 1e-12  # (not clearly worse)
    assert mean[chosen] > np.median(mean)
    assert svm.best_score_ == mean[chosen]
    assert svm.certificate_.relative_gap <= 0.05
    assert svm.score(digits.X, digits.Y) > 0.9
    svm.save(tmp_path / "model.npz")
    again = bw.load(tmp_path / "model.npz")
    assert again.lam_ == svm.lam_
    np.testing.assert_array_equal(again.coef_, svm.coef_)
    # the scores are those of models trained on the folds, at a gap of eps
    worst, best = mean.min(), mean.max()
    assert worst < best


def test_cv_over_a_grid_and_given_splits(digits):
    splits = list(KFold(2).split(np.zeros(60)))
    options = {"lams": [0.01, 1.0, 100.0], "cv": splits, "eps": 0.05, "tol": 0.05}
    svm = bw.StructuredSVMCV(bw.tasks.Chain(10), random_state=0, **options)
    svm.fit(digits.X, digits.Y)
    np.testing.assert_array_equal(svm.lams_, [100.0, 1.0, 0.01])
    train, test = splits[0]
    problem = bw.Problem(
        bw.tasks.Chain(10), [digits.X[i] for i in train], [digits.Y[i] for i in train]
    )
    results = bw.solve_grid(problem, svm.lams_, tol=0.05, random_state=0)
    for k, result in enumerate(results):
        guess = problem.task.predict([digits.X[i] for i in test], result.w)
        right = np.concatenate([digits.Y[i] for i in test]) == np.concatenate(list(guess))
        assert svm.scores_[0, k] == pytest.approx(right.mean(), abs=1e-12)


def test_folds_in_parallel_are_the_same():
    X, Y = multiclass_data(n=30)
    options = {"cv": 3, "n_lams": 5, "eps": 0.1, "random_state": 0, "tol": 0.01}
    one, two = (
        bw.StructuredSVMCV(n_jobs=n, **options).fit(X, Y, sample_weight=np.arange(1, 31))
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_the_seed_of_folds_does_not_depend_on_threads():
    X, Y = multiclass_data(n=30)
    options = {"cv": 3, "n_lams": 5, "eps": 0.1, "tol": 0.01, "method": "bcfw"}
    one, two = (
        bw.StructuredSVMCV(n_jobs=n, random_state=np.random.default_rng(0), **options).fit(X, Y)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_folds_of_sparse_matrices_of_every_format():
    X, Y = multiclass_data(n=30)
    options = {"cv": 2, "lams": [0.1, 1.0], "random_state": 0}
    expected = bw.StructuredSVMCV(**options).fit(X, Y).scores_
    for kind in (sp.coo_matrix, sp.dia_array, sp.bsr_array, sp.csc_matrix, sp.dok_array):
        found = bw.StructuredSVMCV(**options).fit(kind(X), Y).scores_
        np.testing.assert_array_equal(found, expected)


def test_folds_as_masks(digits):
    first = np.arange(60) < 30
    options = {"lams": [1.0], "eps": 0.1, "tol": 0.1, "random_state": 0}
    numbers, masks = (
        bw.StructuredSVMCV(bw.tasks.Chain(10), cv=cv, **options).fit(digits.X, digits.Y)
        for cv in ([(np.arange(30), np.arange(30, 60))], [(first, ~first)])
    )
    np.testing.assert_array_equal(numbers.scores_, masks.scores_)


def test_one_standard_error_prefers_a_larger_lambda():
    svm = bw.StructuredSVMCV(one_standard_error=True)
    svm.lams_ = np.array([1.0, 0.1, 0.01])
    svm.scores_ = np.array([[0.1, 0.78, 0.80], [0.2, 0.86, 0.90]])
    assert svm._choose(1.0) == 1
    assert bw.StructuredSVMCV.set_params(svm, one_standard_error=False)._choose(1.0) == 2


def test_cv_is_an_estimator_like_others():
    svm = bw.StructuredSVMCV(bw.tasks.Chain(3), cv=4, eps=0.2)
    assert clone(svm).get_params()["eps"] == 0.2
    X, Y = chain_data(n=12)
    bounded = svm.set_params(bounds=(-1.0, 1.0), lam_max=10.0, lam_min=0.1, n_lams=4, cv=2, tol=0.1)
    fitted = bounded.fit(X, Y)
    assert np.abs(fitted.coef_).max() <= 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_lams": 0}, "n_lams=0"),
        ({"eps": -1.0}, "eps=-1.0"),
        ({"lam_min": 1e9}, "is not below the largest lambda"),
        ({"lams": []}, "lams is empty"),
        ({"one_standard_error": 1}, "one_standard_error=1"),
        ({"cv": GroupKFold(2)}, r"cv=GroupKFold.*'groups'.*splitter\.split\(X, y, groups\)"),
        ({"cv": [(range(12), [])]}, "the held-out part of fold 0 is empty"),
    ],
)
def test_bad_options_of_cv(options, message):
    X, Y = multiclass_data(n=12)
    with pytest.raises(bw.OptionError, match=message):
        bw.StructuredSVMCV(**options).fit(X, Y)


def test_a_temperature_is_kept_in_the_file_and_not_over_another_fit(tmp_path):
    digits = bw.datasets.digit_strings(30, length=3)
    svm = bw.StructuredSVMCV(bw.tasks.Chain(10), lams=[0.1], cv=2, random_state=0)
    svm.fit(digits.X, digits.Y).fit_temperature(digits.X[:5], digits.Y[:5])
    svm.save(tmp_path / "m.npz")
    assert bw.load(tmp_path / "m.npz").temperature_ == svm.temperature_
    assert not hasattr(svm.fit(digits.X[5:], digits.Y[5:]), "temperature_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": "x"}, "tol='x'"),
        ({"max_passes": -1}, "max_passes=-1"),
        ({"time_limit": -1}, "time_limit=-1"),
        ({"callbacks": 3}, "callbacks"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"cv": []}, "no folds"),
        ({"cv": [([0, 1], [99])]}, "99 is out of bounds"),
        ({"cv": [(0, 1)]}, "cv="),
        ({"lams": [1.0, 0.1], "n_lams": 7}, "lams and n_lams"),
        ({"lams": [1.0, 0.1], "lam_min": 5.0}, "lams and lam_min"),
    ],
)
def test_what_the_last_training_would_refuse_is_refused_before_the_first(
    options, message, monkeypatch
):
    monkeypatch.setattr(Fold, "score", None)
    with pytest.raises(bw.OptionError, match=message):
        bw.StructuredSVMCV(bw.tasks.Multiclass(), **options).fit(*multiclass_data())


@pytest.mark.parametrize("given", [{"held_out": 3}, {"start": 3}])
def test_what_is_handed_to_the_last_training_is_looked_at_first(given, monkeypatch):
    monkeypatch.setattr(Fold, "score", None)
    with pytest.raises(bw.BlockwolfeError, match=next(iter(given))):
        bw.StructuredSVMCV(bw.tasks.Multiclass()).fit(*multiclass_data(), **given)
