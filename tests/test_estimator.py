"""The scikit-learn face: their own checks, searches, pipelines, and honest endings."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import blockwolfe as bw
from zoo import chain_data, multiclass_data, token_dicts

# Checks that cannot apply, each with its reason.
_WEIGHTS = (
    "asks for equal decision functions to 1e-7, but two certified solutions may differ by "
    "sqrt(2 gap / lam); the equivalence is tested within certificates in test_symmetries.py"
)
EXEMPTIONS = {
    "check_sample_weight_equivalence_on_dense_data": _WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": _WEIGHTS,
}


@pytest.mark.filterwarnings("ignore::blockwolfe.NotCertifiedWarning")
@parametrize_with_checks(
    [bw.StructuredSVM(bw.tasks.Multiclass(), tol=1e-2, max_passes=300)],
    expected_failed_checks=lambda estimator: EXEMPTIONS,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


def fitted(**options):
    X, Y = chain_data(n=20)
    return (
        bw.StructuredSVM(bw.tasks.Chain(3), **{"lam": 0.5, "tol": 1e-2} | options).fit(X, Y),
        X,
        Y,
    )


def test_fitted_attributes_belong_together():
    svm, X, Y = fitted()
    assert svm.certificate_ is svm.result_.certificate
    assert svm.coef_ is svm.result_.w
    assert svm.trace_[-1].gap == svm.certificate_.gap
    assert svm.certificate_.relative_gap <= 1e-2
    assert svm.lam_ == 0.5
    assert svm.n_features_in_ == 4
    assert svm.score(X, Y) == np.mean(np.concatenate(svm.predict(X)) == np.concatenate(Y))


@pytest.mark.filterwarnings("ignore::blockwolfe.NotCertifiedWarning")
def test_a_fit_goes_on_where_another_ended():
    svm, X, Y = fitted(tol=1e-3, max_passes=2, random_state=0)
    reached = svm.certificate_
    assert reached.relative_gap > 1e-3
    svm.set_params(max_passes=1000).fit(X, Y, start=svm.result_.last_state)
    assert svm.trace_[0].dual == pytest.approx(reached.dual, rel=1e-12)
    assert svm.certificate_.relative_gap <= 1e-3
    with pytest.raises(bw.InputError, match=r"start is a Result, .* pass result\.last_state"):
        svm.fit(X, Y, start=svm.result_)
    with pytest.raises(bw.InputError, match="start does not belong to this problem"):
        svm.fit(X[1:], Y[1:], start=svm.result_.last_state)


def interrupt(event):
    raise KeyboardInterrupt


@pytest.mark.filterwarnings("ignore::blockwolfe.NotCertifiedWarning")
def test_a_second_ctrl_c_in_a_row_ends_what_calls_the_fits(monkeypatch):
    X, Y = multiclass_data(n=20)
    monkeypatch.setattr(bw.StructuredSVM, "_interrupted_at", -np.inf)
    svm = bw.StructuredSVM(lam=0.1, callbacks=interrupt).fit(X, Y)
    assert svm.result_.status is bw.Status.INTERRUPTED  # and keeps its work
    monkeypatch.setattr(bw.StructuredSVM, "_interrupted_at", -np.inf)
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(svm, {"lam": [0.1, 1.0]}, cv=2).fit(X, Y)
    monkeypatch.setattr("blockwolfe.estimators.svm.AGAIN_SECONDS", 0.0)
    assert clone(svm).fit(X, Y).result_.status is bw.Status.INTERRUPTED


def test_c_is_one_over_lam_n():
    by_lam, X, Y = fitted(lam=0.5, random_state=0)
    by_c = bw.StructuredSVM(bw.tasks.Chain(3), C=1 / (0.5 * 20), tol=1e-2, random_state=0).fit(X, Y)
    np.testing.assert_allclose(by_c.coef_, by_lam.coef_, rtol=1e-12, atol=1e-15)
    neither = bw.StructuredSVM(bw.tasks.Chain(3), tol=0.2).fit(X, Y)
    assert neither.lam_ == pytest.approx(5 / 20)  # C = 0.2
    weighted = bw.StructuredSVM(bw.tasks.Chain(3), C=1.0, tol=0.2).fit(X, Y, sample_weight=[2] * 20)
    assert weighted.lam_ == pytest.approx(1 / 40)


def test_second_fit_equals_a_first_one():
    svm, X, Y = fitted(random_state=3)
    first = svm.coef_.copy()
    other = chain_data(n=9, seed=5)
    svm.fit(*other)
    svm.fit(X, Y)
    np.testing.assert_array_equal(svm.coef_, first)


def test_clone_and_nested_parameters():
    svm = bw.StructuredSVM(bw.tasks.Chain(3, transition=False), lam=1.0)
    copy = clone(svm)
    assert copy.get_params()["task__transition"] is False
    copy.set_params(task__transition=True, lam=2.0)
    assert copy.task.transition
    assert not svm.task.transition
    assert "Chain" in repr(copy)
    assert not hasattr(svm.task, "classes_")


def test_fit_leaves_the_given_task_alone():
    task = bw.tasks.Chain()
    bw.StructuredSVM(task, lam=0.5, tol=0.1).fit(*token_dicts())
    assert not hasattr(task, "classes_")


def test_grid_search_over_chains():
    X, Y = chain_data(n=20)
    search = GridSearchCV(
        bw.StructuredSVM(bw.tasks.Chain(3), tol=0.05),
        {"lam": [0.3, 3.0], "task__transition": [True, False]},
        cv=3,
    ).fit(X, Y)
    assert 0 <= search.best_score_ <= 1
    assert set(search.best_params_) == {"lam", "task__transition"}


def test_cross_validation_and_pipeline_for_multiclass():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    svm = bw.StructuredSVM(lam=0.05, tol=0.05)
    scores = cross_val_score(make_pipeline(StandardScaler(), svm), X, y, cv=3)
    assert scores.mean() > 0.8
    assert cross_val_score(svm, sp.csr_array(X / 16), y, cv=3).mean() > 0.8


def test_dense_sparse_and_index_types_agree():
    X, Y = multiclass_data(n=30)
    reference = bw.StructuredSVM(lam=0.5, tol=1e-2, random_state=0).fit(X, Y).coef_
    for index_type in (np.int32, np.int64):
        matrix = sp.csr_matrix(X)
        matrix.indices, matrix.indptr = (
            matrix.indices.astype(index_type),
            matrix.indptr.astype(index_type),
        )
        again = bw.StructuredSVM(lam=0.5, tol=1e-2, random_state=0).fit(matrix, Y).coef_
        np.testing.assert_array_equal(again, reference)
    lists = bw.StructuredSVM(lam=0.5, tol=1e-2, random_state=0).fit(X.tolist(), Y.tolist()).coef_
    np.testing.assert_array_equal(lists, reference)


def test_string_labels_and_unseen_features():
    X, Y = token_dicts()
    svm = bw.StructuredSVM(bw.tasks.Chain(min_count=1), lam=0.01, tol=1e-2).fit(X, Y)
    assert [list(p) for p in svm.predict(X)] == Y
    unseen = svm.predict([[{"never": "seen"}, {"w": "dog"}]])[0]
    assert unseen[1] == "N"


def test_unknown_true_label_counts_as_missed():
    X, Y = token_dicts()
    svm = bw.StructuredSVM(bw.tasks.Chain(), lam=0.01, tol=1e-2).fit(X, Y)
    assert svm.score(X[:1], [["D", "N", "NEW"]]) == pytest.approx(2 / 3)


def test_not_certified_is_a_warning_with_gap_and_remedy():
    X, Y = chain_data()
    with pytest.warns(bw.NotCertifiedWarning, match=r"max_passes .*gap .* tol .*Raise max_passes"):
        bw.StructuredSVM(bw.tasks.Chain(3), lam=1e-3, tol=1e-9, max_passes=2).fit(X, Y)


def test_verbose_prints_one_screen(capsys):
    fitted(verbose=1)
    shown = capsys.readouterr().out
    for word in ("certified", "optimum", "between", "lam", "passes"):
        assert word in shown
    assert len(shown.splitlines()) < 30


def test_held_out_loss_in_trace():
    X, Y = chain_data(n=20)
    svm = bw.StructuredSVM(bw.tasks.Chain(3), lam=0.5, tol=1e-2).fit(X, Y, held_out=(X, Y))
    losses = svm.task_.losses(Y, svm.predict(X))
    assert svm.trace_[-1].held_out_loss == pytest.approx(losses.mean())


def test_averaging_through_the_estimator():
    svm, _, _ = fitted(method=bw.BCFW(averaging=True))
    assert svm.certificate_.relative_gap <= 1e-2


def test_trace_to_pandas():
    svm, _, _ = fitted()
    frame = svm.trace_.to_pandas()
    assert list(frame.columns) == list(bw.Trace.columns)
    assert len(frame) == len(svm.trace_)


def test_decision_function_and_its_scorers():
    from sklearn.metrics import roc_auc_score

    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    svm = bw.StructuredSVM(lam=0.05, tol=0.05).fit(X, y)
    scores = svm.decision_function(X)
    np.testing.assert_array_equal(svm.classes_[scores.argmax(axis=1)], svm.predict(X))
    binary = bw.StructuredSVM(lam=0.05, tol=0.05).fit(X, y == 3)
    assert roc_auc_score(y == 3, binary.decision_function(X)) > 0.95
    assert not hasattr(bw.StructuredSVM(bw.tasks.Chain()), "decision_function")


def test_columns_of_a_data_frame_are_remembered():
    import pandas as pd

    X, Y = multiclass_data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    svm = bw.StructuredSVM(lam=0.5, tol=0.1).fit(frame, pd.Series(Y))
    assert list(svm.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        svm.predict(frame[list("badc")])


def test_pandas_labels_in_any_form():
    import pandas as pd

    X, Y = multiclass_data(n=30)
    names = np.array(["a", "b", "c"])[Y]
    svm = bw.StructuredSVM(lam=0.5, tol=0.05, random_state=0).fit(X, names)
    for form in (
        names.astype(object),
        pd.Series(names),
        list(names),
        pd.Series(names, dtype="string"),
    ):
        assert svm.score(X, form) == svm.score(X, names)
        again = bw.StructuredSVM(lam=0.5, tol=0.05, random_state=0).fit(X, form)
        np.testing.assert_array_equal(again.coef_, svm.coef_)
        assert again.score(X, names) == svm.score(X, names)


def test_shuffled_pandas_rows_stay_with_their_labels():
    import pandas as pd

    from zoo import PlainTask

    X, Y = multiclass_data(n=12)
    task = PlainTask(bw.Problem(bw.tasks.Multiclass(), X, Y).task)
    order = np.random.default_rng(0).permutation(12)
    series = pd.Series(Y).iloc[order]
    shuffled = bw.solve(bw.Problem(task, X[order], series), 0.5, tol=1e-2)
    plain = bw.solve(bw.Problem(task, X, Y), 0.5, tol=1e-2)
    assert abs(shuffled.certificate.primal - plain.certificate.primal) <= 1e-2
    bw.check_task(bw.tasks.Multiclass(), pd.DataFrame(X).iloc[order], series)


def chains_of_frames():
    pd = pytest.importorskip("pandas")
    data = bw.datasets.synthetic_chains(12, n_labels=3, n_features=4, random_state=0)
    return [pd.DataFrame(x, columns=list("abcd")) for x in data.X], data.Y


def as_graphs(frames):
    return [bw.tasks.Graph(x, [[t, t + 1] for t in range(len(x) - 1)]) for x in frames]


def as_masked(frames):
    return [bw.tasks.Masked(x, np.ones((len(x), 3), dtype=bool)) for x in frames]


@pytest.mark.parametrize(
    ("task", "made"),
    [
        (bw.tasks.Chain(), list),
        (bw.tasks.Chain(), as_masked),
        (bw.tasks.Tree(), as_graphs),
        (bw.tasks.Approximate(bw.tasks.Chain(), bw.tasks.Greedy()), list),
    ],
    ids=["Chain", "Masked", "Tree", "Approximate"],
)
def test_columns_of_a_data_frame_for_every_example_are_remembered(task, made, tmp_path):
    frames, Y = chains_of_frames()
    turned = [x[list("dcba")] for x in frames]
    with pytest.raises(bw.InputError, match=r"X\[1\].* has 'd' as column 0 and X\[0\].* has 'a'"):
        bw.StructuredSVM(task).fit(made([frames[0], *turned[1:]]), Y)
    svm = bw.StructuredSVM(task, lam=0.1, tol=0.1, random_state=0).fit(made(frames), Y)
    svm.save(tmp_path / "model.npz")
    for fitted in (svm, bw.load(tmp_path / "model.npz")):
        assert fitted.score(made(frames), Y) == svm.score(made(frames), Y)
        assert {w.feature for w in bw.largest_weights(fitted, 30)} >= set("abcd")
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.predict(made(turned))
        with pytest.raises(bw.InputError, match="as column 0"):
            fitted.predict(made([frames[0], turned[1]]))
    svm.fit(made([x.to_numpy() for x in frames]), Y)
    assert not hasattr(svm, "feature_names_in_")


def test_columns_of_frames_are_remembered_by_a_choice_of_lambda():
    """And the models of its folds, which know no names, say nothing about them."""
    frames, Y = chains_of_frames()
    svm = bw.StructuredSVMCV(bw.tasks.Chain(), lams=[1.0, 0.1], cv=2, tol=0.1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert svm.fit(frames, Y).feature_names_in_.tolist() == list("abcd")


def test_per_position_remembers_columns():
    frames, _ = chains_of_frames()
    scaled = bw.PerPosition(StandardScaler()).fit(frames)
    with pytest.raises(ValueError, match="feature names should match"):
        scaled.transform([x[list("dcba")] for x in frames])


def test_options_of_a_task_that_is_left_out_can_be_searched():
    X, y = multiclass_data(30)
    search = GridSearchCV(
        bw.StructuredSVM(tol=0.1, lam=0.1), {"task__bias": [True, False]}, cv=2, error_score="raise"
    )
    assert search.fit(X, y).best_estimator_.task.bias in (True, False)
    with pytest.raises(ValueError, match="Invalid parameter 'bais'"):
        bw.StructuredSVM().set_params(task__bais=True)
