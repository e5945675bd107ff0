"""Which lambdas a choice looks at, and which it takes."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

import blockwolfe as bw
from blockwolfe.path.scores import LambdaScores
from blockwolfe.path.search import FURTHEST, Range, is_past, search
from zoo import multiclass_data

WHERE = Range.of(1.0, None, None)  # begins at 4


def bump(at, width=1.0):
    """Scores of three folds with their best at one lambda."""
    noise = np.array([-0.01, 0.0, 0.01])
    return lambda lam: 1.0 - (np.log(lam / at) / width) ** 2 + noise


@pytest.mark.parametrize("at", [0.02, 0.11, 0.5, 0.9, 1.3, 4.0, 7.0, 30.0, 200.0])
def test_the_best_is_found_within_a_factor_wherever_it_is(at):
    found = search(bump(at), WHERE)
    grid = np.geomspace(WHERE.lowest, WHERE.highest, 17)  # by factors of two
    by_force = grid[np.argmax([bump(at)(lam).mean() for lam in grid])]
    assert found.best == pytest.approx(by_force)
    assert (np.diff(found.lams) < 0).all()


def test_it_ends_where_scores_are_past_their_best():
    asked = []

    def score(lam):
        asked.append(lam)
        return bump(1.0)(lam)

    search(score, WHERE)
    assert asked == [4.0, 1.0, 0.25]  # the first that is worse is the last


@pytest.mark.parametrize(("at", "finer"), [(1.35, []), (1.5, [2.0]), (0.74, []), (0.67, [0.5])])
def test_a_finer_one_is_scored_where_the_best_is_nearer_to_it(at, finer):
    """By a parabola through three scores, which these are: sqrt(2) is as far from 1 as from 2."""
    coarse = [16.0, 4.0, 1.0, 0.25, 0.0625]
    found = search(bump(at, width=3.0), Range(0.01, 100.0, first=16.0))
    assert sorted(set(found.lams) - set(coarse)) == finer
    assert found.best == (finer or [1.0])[0]


def test_one_that_is_worse_within_its_error_is_not_the_end_where_nothing_has_risen():
    scores, lams = np.array([[0.77, 0.8, 0.7], [0.72, 0.7, 0.78]]), np.array([4.0, 1.0, 0.25, 0.06])
    assert not is_past(LambdaScores(lams[:2], scores[:, :2]))
    assert not is_past(LambdaScores(lams[:3], scores))
    assert is_past(LambdaScores(lams, np.c_[scores, scores[:, -1]]))
    scores[:, 0] = 0.5
    assert not is_past(LambdaScores(lams[:2], scores[:, :2]))
    assert is_past(LambdaScores(lams[:3], scores))


def test_no_more_is_asked_of_a_plateau_than_one_lambda_and_one_between():
    asked = []

    def score(lam):
        asked.append(lam)
        return [min(lam, 1.0) ** -0.001, min(lam, 1.0) ** 0.001] / np.sqrt(max(lam, 1.0))

    assert search(score, WHERE).as_good.tolist() == [False, True, True, True]
    assert asked == [4.0, 1.0, 0.25, 0.5]


@pytest.mark.parametrize(("times", "chosen"), [(1.0, 1.0), (0.3, 0.25), (20.0, 1.0)])
def test_the_choice_is_the_nearest_to_the_default_that_is_not_clearly_worse(
    monkeypatch, times, chosen
):
    """Scores of two folds: 4 loses more than its error, 1 less; lambdas in defaults of 1/n."""
    rows = {4.0: [0.70, 0.90], 1.0: [0.80, 0.97], 0.25: [0.82, 0.96]}
    X, y = data()
    lams = {lam / (times * len(y)): lam for lam in rows}
    monkeypatch.setattr("blockwolfe.path.folds.Fold.score", lambda self, lam: rows[lams[lam]].pop())
    svm = bw.StructuredSVMCV(lams=list(lams), cv=2, random_state=0).fit(X, y)
    assert lams[svm.lam_] == chosen


def test_equal_scores_are_no_end_before_the_range_is():
    found = search(lambda lam: [0.5, 0.5], WHERE)
    assert found.best == found.lams[0]
    assert found.lams[-1] == 1.0 / FURTHEST


def test_ends_that_are_given_are_kept_to():
    for at in (1e-6, 1e6):
        found = search(bump(at), Range.of(1.0, 10.0, 0.3))
        assert found.lams.max() == 10.0
        assert found.lams.min() >= 0.3
    assert search(bump(1e-6), Range.of(1.0, 10.0, 0.3)).best == 0.3
    assert search(bump(1e6), Range.of(1.0, None, 0.3)).best == FURTHEST


def test_no_lambda_is_scored_twice():
    """The last step of a range may be one of the finer ones."""
    for at in (0.3, 0.6, 0.9, 1.5):
        asked = []

        def score(lam, at=at, asked=asked):
            asked.append(lam)
            return bump(at)(lam)

        search(score, Range.of(1.0, 4.0, 0.5))
        assert len(asked) == len(set(np.round(asked, 12)))


def test_one_fold_is_enough():
    assert search(lambda lam: [-abs(np.log(lam))], WHERE).best == 1.0


# -- the estimator ---------------------------------------------------------------------------


def data(n=60, n_features=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, (X[:, :3].sum(axis=1) + 1.5 * rng.normal(size=n) > 0.0).astype(int)


def test_the_choice_is_that_of_all_lambdas(monkeypatch):
    monkeypatch.setattr("blockwolfe.path.cv.FOLD_TOL", 1e-3)
    X, y = data(200, 60)
    options = {"cv": list(KFold(3).split(X)), "random_state": 0}
    svm = bw.StructuredSVMCV(**options).fit(X, y)
    every = 4.0 / 200 * 2.0 ** np.arange(-3.0, 6.0)
    forced = bw.StructuredSVMCV(lams=every, **options).fit(X, y)
    assert 0.5 <= svm.lam_ / forced.lam_ <= 2.0
    assert len(svm.lams_) < len(every)
    assert svm.best_score_ == pytest.approx(forced.best_score_, abs=0.02)
    assert 0.0 <= svm.scores_.min() <= svm.scores_.max() <= 1.0


def test_scores_are_of_folds_and_of_the_lambda_that_is_returned():
    X, y = data()
    folds = list(KFold(3).split(X))
    svm = bw.StructuredSVMCV(cv=folds, random_state=0).fit(X, y)
    chosen = int(np.flatnonzero(svm.lams_ == svm.lam_)[0])
    assert svm.best_score_ == svm.scores_[:, chosen].mean()
    assert svm.best_score_ >= svm.scores_.mean(axis=0).max() - 0.05
    for (train, test), score in zip(folds, svm.scores_[:, chosen], strict=True):
        alone = bw.StructuredSVM(lam=svm.lam_, tol=1e-4).fit(X[train], y[train])
        assert score == pytest.approx(alone.score(X[test], y[test]), abs=0.1)


def test_a_number_of_lambdas_is_a_grid_around_the_default():
    X, y = data()
    svm = bw.StructuredSVMCV(n_lams=4, cv=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(svm.lams_ * 60, np.geomspace(20.0, 1 / 20.0, 4))
    ends = bw.StructuredSVMCV(n_lams=3, lam_max=1.0, lam_min=0.01, cv=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(ends.lams_, [1.0, 0.1, 0.01])


@pytest.mark.parametrize("options", [{}, {"n_lams": 3}])
def test_folds_at_the_same_time_are_the_same(options):
    X, y = data()
    one, two = (
        bw.StructuredSVMCV(n_jobs=n, random_state=np.random.default_rng(0), **options).fit(X, y)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.lams_, two.lams_)
    assert one.lam_ == two.lam_


def test_sample_weights_count_in_scores():
    X, y = data()
    twice = np.r_[np.arange(60), np.arange(60)]
    folds = list(KFold(2).split(X))
    doubled = [(np.r_[train, train + 60], np.r_[test, test + 60]) for train, test in folds]
    options = {"lams": [0.1], "eps": 1e-4, "random_state": 0}
    weighted = bw.StructuredSVMCV(cv=folds, **options).fit(X, y, sample_weight=np.full(60, 2.0))
    listed = bw.StructuredSVMCV(cv=doubled, **options).fit(X[twice], y[twice])
    np.testing.assert_allclose(weighted.scores_, listed.scores_, atol=0.04)
    assert weighted.lam_ == listed.lam_


def test_steps_are_told():
    X, y = multiclass_data(n=30)
    told = []
    svm = bw.StructuredSVMCV(cv=2, random_state=0)
    svm._on_step = told.append
    svm.fit(X, y)
    assert len(told) == len(svm.lams_)
    assert told[0].startswith(f"lam {4.0 / 30:.4g}: score")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lam_min": 1.0, "lam_max": 0.5}, "lam_min=1 is not below"),
        ({"lam_min": 1e9}, "is not below the largest lambda"),
        ({"lam_max": 0.0}, "lam=0.0 must be"),
        ({"n_lams": 3, "lam_min": 1e9}, "is not below the largest lambda"),
        ({"n_lams": 2.5}, "n_lams=2.5 must be an integer >= 2, or None"),
        ({"cv": 1}, "cv=1 must be from 2"),
        ({"tol": -1.0}, "tol=-1.0"),
    ],
)
def test_bad_options(options, message):
    X, y = multiclass_data(n=12)
    with pytest.raises(bw.OptionError, match=message):
        bw.StructuredSVMCV(**{"cv": 2, **options}).fit(X, y)
