"""scikit-learn's own callbacks on our estimators, where scikit-learn has them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import blockwolfe as bw
from zoo import chain_data, multiclass_data

skl = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")


class Recorder:
    def __init__(self, stop_at=None):
        self.told, self.scores, self.stop_at = [], [], stop_at

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, metadata=None):
        self.told.append(("begin", context.task_name, context.task_id))
        self.metadata = metadata

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.told.append(("end", context.task_name, context.task_id))
        self.scores.append(fitted_estimator.score(X, y))
        return context.task_name == "pass" and context.task_id == self.stop_at


def make(**options):
    return bw.StructuredSVM(
        bw.tasks.Chain(3),
        **{"lam": 0.1, "tol": 0.01, "random_state": 0, "method": "bcfw"} | options,
    )


def test_fit_and_every_pass_are_told():
    X, Y = chain_data(n=20)
    recorder = Recorder()
    svm = make().set_callbacks(recorder).fit(X, Y, sample_weight=np.ones(20))
    expected = ["setup", ("begin", "fit", 0)]
    for k in range(svm.n_iter_):
        expected += [("begin", "pass", k), ("end", "pass", k)]
    assert recorder.told == [*expected, ("end", "fit", 0), "teardown"]
    assert recorder.scores[-1] == svm.score(X, Y)
    assert list(recorder.metadata) == ["sample_weight"]
    np.testing.assert_array_equal(svm.coef_, make().fit(X, Y).coef_)  # watching changes nothing


def test_a_callback_may_stop_the_run():
    X, Y = chain_data(n=20)
    own = []
    svm = make(tol=1e-9, callbacks=own.append).set_callbacks(Recorder(stop_at=2)).fit(X, Y)
    assert svm.result_.status is bw.Status.STOPPED_BY_CALLBACK
    assert svm.n_iter_ == 3
    assert len(own) == 4  # our own callbacks hear all of it, the first row too


def test_callbacks_end_when_fit_fails():
    recorder = Recorder()
    svm = make(callbacks=lambda event: "nonsense").set_callbacks(recorder)
    with pytest.raises(bw.OptionError):
        svm.fit(*chain_data(n=20))
    assert recorder.told[-1] == "teardown"


def test_scores_bars_searches_and_clones():
    X, Y = multiclass_data(n=30)
    monitor = skl.ScoringMonitor(scoring="accuracy")
    svm = bw.StructuredSVM(lam=0.1, tol=0.01).set_callbacks(monitor).fit(X, Y)
    scores = [row["accuracy"] for row in monitor.get_logs().data if row["task_name"] == "pass"]
    assert len(scores) == svm.n_iter_
    assert clone(svm).fit(X, Y).n_iter_ > 0
    search = GridSearchCV(bw.StructuredSVM(tol=0.05), {"lam": [0.1, 1.0]}, cv=2)
    search.set_callbacks(skl.ProgressBar()).fit(X, Y)
    assert search.best_params_["lam"] in (0.1, 1.0)


def test_chosen_lambda_tells_of_the_final_fit():
    recorder = Recorder()
    svm = bw.StructuredSVMCV(lams=[1.0, 0.1], cv=2, tol=0.05, random_state=0)
    svm.set_callbacks(recorder).fit(*multiclass_data(n=30))
    assert recorder.told.count("setup") == recorder.told.count("teardown") == 1
    assert recorder.told[-2] == ("end", "fit", 0)
