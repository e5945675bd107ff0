"""Kernels in scikit-learn's searches, in cross-validation over lambda, and in early stopping."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import blockwolfe as bw
from kernel_twins import made
from zoo import chain_data, multiclass_data

OPTIONS = {"lam": 0.1, "tol": 0.1, "random_state": 0}


def rings(n=80, seed=0):
    """Two labels that no straight line parts: by how far from the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (np.linalg.norm(X, axis=1) > 1.1).astype(int)


def test_a_grid_search_over_gamma():
    X, y = rings()
    svm = bw.StructuredSVM(bw.tasks.Multiclass(kernel="rbf"), **OPTIONS)
    search = GridSearchCV(svm, {"task__gamma": [1e-4, 1.0], "lam": [0.01]}, cv=3).fit(X, y)
    assert search.best_params_["task__gamma"] == 1.0
    assert search.best_score_ > 0.85
    assert search.best_estimator_.task_.kernel_.gamma == 1.0
    linear = cross_val_score(bw.StructuredSVM(**OPTIONS), X, y, cv=3).mean()
    assert linear < 0.75


def test_lambdas_by_cross_validation():
    X, Y = chain_data(n=12)
    options = {"lams": [1.0, 0.1], "cv": 3, "tol": 0.1, "random_state": 0}
    task = bw.tasks.Chain(3, kernel="rbf", gamma=0.5)
    search = bw.StructuredSVMCV(task, **options).fit(X, Y)
    assert search.lam_ in (1.0, 0.1)
    assert search.n_support_ > 0
    folds = [bw.StructuredSVM(task, lam=lam, tol=0.1, random_state=0) for lam in (1.0, 0.1)]
    assert search.predict(X) is not None
    direct = folds[search.lam_ == 0.1].fit(X, Y)
    apart = abs(direct.certificate_.primal - search.certificate_.primal)
    assert apart <= max(direct.certificate_.gap, search.certificate_.gap)


def test_held_out_loss_is_that_of_the_model():
    X, Y = chain_data(n=14)
    train, test = (X[:9], Y[:9]), (X[9:], Y[9:])
    task = bw.tasks.Chain(3, kernel="rbf", task_loss="normalized_hamming")
    svm = bw.StructuredSVM(task, **OPTIONS).fit(*train, held_out=test)
    pairs = zip(test[1], svm.predict(test[0]), strict=True)
    losses = [svm.task_.loss(y, found) for y, found in pairs]
    assert svm.trace_[-1].held_out_loss == pytest.approx(np.mean(losses), abs=1e-9)


def test_early_stopping_returns_the_model_that_was_best_on_held_out_data():
    X, y = multiclass_data(n=60)
    task = bw.tasks.Multiclass(kernel="rbf", gamma=0.5)
    svm = bw.StructuredSVM(
        task, lam=1e-3, tol=1e-6, random_state=0, early_stopping=True, n_iter_no_change=3
    )
    svm.fit(X[:40], y[:40], held_out=(X[40:], y[40:]))
    wrong = np.mean(svm.predict(X[40:]) != y[40:])
    assert wrong == pytest.approx(np.nanmin(svm.trace_["held_out_loss"]), abs=1e-9)
    assert svm.result_.status is bw.Status.EARLY_STOPPED
    drawn = clone(svm).fit(X, y)
    assert drawn.task_.kernel_.n <= 54  # a tenth was not trained on


def test_a_fit_goes_on_from_the_state_of_another():
    X, Y = chain_data()
    task = bw.tasks.Chain(3, kernel="rbf")
    first = bw.StructuredSVM(task, lam=0.1, tol=0.2, random_state=0).fit(X, Y)
    second = bw.StructuredSVM(task, lam=0.1, tol=0.01, random_state=0)
    second.fit(X, Y, start=first.result_.last_state)
    assert second.trace_[0].dual >= first.certificate_.dual - 1e-9
    other = made("chain", kernel="rbf", gamma=0.77)
    with pytest.raises(bw.InputError, match="does not belong to this problem.*other .*kernel"):
        bw.certify(other, first.result_.last_state, 0.1)
