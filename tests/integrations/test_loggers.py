"""Callbacks for TensorBoard and MLflow: what they log is what the trace has."""

import gc
import pickle
import sys
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import blockwolfe as bw
from blockwolfe.integrations.logger import METRICS, Logger, metrics_of
from blockwolfe.results.trace import TraceRow
from zoo import chain_data, multiclass_data


def fit(callback, **options):
    X, Y = chain_data(n=20)
    options = {"lam": 0.1, "tol": 1e-3, "random_state": 0, "method": "bcfw+gap+pairwise"} | options
    svm = bw.StructuredSVM(bw.tasks.Chain(3), callbacks=[callback], **options)
    return svm.fit(X, Y, held_out=(X, Y))


def expected(trace, name, every=1):
    """Steps and values of a column that should have been logged."""
    rows = [row for row in trace if not np.isnan(row.gap) or row.passes % every == 0]
    values = [(row.passes, float(getattr(row, METRICS[name]))) for row in rows]
    return [(step, value) for step, value in values if np.isfinite(value)]


class Memory(Logger):
    def __init__(self, every=1):
        super().__init__(every)
        self.begun, self.written, self.ended = [], [], []

    def begin(self, options):
        self.begun.append(options)

    def write(self, metrics, step, is_full):
        self.written.append((step, metrics, is_full))

    def end(self, texts):
        self.ended.append(texts)


@pytest.mark.parametrize("every", [1, 7])
def test_rows_are_logged_in_their_turn(every):
    memory = Memory(every)
    svm = fit(memory)
    assert memory.begun == [{"lam": 0.1, "tol": 1e-3 * svm.certificate_.unit}]  # (the gap)
    for name in METRICS:
        got = [(step, metrics[name]) for step, metrics, _ in memory.written if name in metrics]
        assert got == expected(svm.trace_, name, every), name
    memory.log_result(svm.result_)
    step, metrics, _ = memory.written[-1]
    assert (step, metrics["gap/certified"]) == (svm.n_iter_, svm.certificate_.gap)
    assert memory.ended[0]["status"] == "CERTIFIED"


def test_what_is_not_certified_is_not_called_so():
    metrics = metrics_of(TraceRow(gap=0.5, exact=False))
    assert "gap/certified" not in metrics
    assert metrics["gap/not_certified"] == 0.5


@pytest.mark.parametrize("every", [0, 1.5, True])
def test_bad_options_are_refused(every, tmp_path):
    for make in (
        lambda: bw.MLflowCallback(every=every),
        lambda: bw.TensorBoardCallback(tmp_path, every=every),
    ):
        with pytest.raises(bw.OptionError, match="every="):
            make()


@pytest.mark.parametrize(("module", "make"), [
    ("tensorboard", lambda: bw.TensorBoardCallback("x")),
    ("mlflow", bw.MLflowCallback),
    ("pandas", lambda: bw.Trace([TraceRow()]).to_pandas()),
    ("polars", lambda: bw.Trace([TraceRow()]).to_polars()),
])  # fmt: skip
def test_a_missing_library_is_named_with_its_extra(monkeypatch, module, make):
    class Nobody:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == module:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Nobody(), *sys.meta_path])
    extra = "frames" if module in ("pandas", "polars") else module
    with pytest.raises(
        bw.MissingLibraryError, match=rf"{module} is needed: pip install 'blockwolfe\[{extra}\]'"
    ):
        make()


# -- TensorBoard -----------------------------------------------------------------------------


def scalars(folder):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(
        str(folder), size_guidance={"scalars": 0, "tensors": 0}
    ).Reload()
    tags = events.Tags()
    found = {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in tags["scalars"]}
    texts = {
        tag: events.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in tags["tensors"]
    }
    return found, texts


def test_tensorboard_reads_back_what_was_written(tmp_path):
    pytest.importorskip("tensorboard")
    callback = bw.TensorBoardCallback(tmp_path / "logs" / "run")
    svm = fit(callback, max_passes=1000)
    assert scalars(tmp_path / "logs" / "run")[0][
        "gap/certified"
    ]  # is there before the file is closed
    callback.log_result(svm.result_)
    found, texts = scalars(tmp_path / "logs" / "run")
    for name in (
        "objective/primal",
        "objective/dual",
        "gap/certified",
        "loss/held_out",
        "work/oracle_calls",
    ):
        wanted = expected(svm.trace_, name)
        assert [step for step, _ in found[name]][: len(wanted)] == [step for step, _ in wanted]
        np.testing.assert_allclose(
            [v for _, v in found[name]][: len(wanted)], [v for _, v in wanted], rtol=1e-6
        )
    assert texts["run/status"] == "CERTIFIED"
    assert texts["run/lam"] == "0.1"


def test_tensorboard_callbacks_can_be_cloned_and_shared(tmp_path):
    pytest.importorskip("tensorboard")
    callback = bw.TensorBoardCallback(tmp_path)
    svm = fit(callback)
    assert (
        pickle.loads(pickle.dumps(callback)).log_dir == callback.log_dir
    )  # while its file is open
    copy = clone(svm)
    assert copy.callbacks[0] is not callback
    X, Y = multiclass_data(n=30)
    search = GridSearchCV(
        bw.StructuredSVM(tol=0.05, callbacks=[callback]), {"lam": [0.1, 1.0]}, cv=2
    )
    search.fit(X, Y)
    assert len(list(tmp_path.glob("*tfevents*"))) == 1 + 2 * 2 + 1  # a file for each run


def test_tensorboard_files_are_closed_with_their_callbacks(tmp_path):
    pytest.importorskip("tensorboard")
    n_threads = threading.active_count()
    callback = bw.TensorBoardCallback(tmp_path)
    fit(callback)
    assert threading.active_count() == n_threads + 1  # the writer's
    del callback
    gc.collect()
    assert threading.active_count() == n_threads
    assert len(scalars(tmp_path)[0]["objective/dual"]) > 1


# -- MLflow ----------------------------------------------------------------------------------


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield mlflow
    while mlflow.active_run():
        mlflow.end_run()


def test_mlflow_reads_back_what_was_written(mlflow):
    with mlflow.start_run() as run:
        callback = bw.MLflowCallback(every=5)
        svm = fit(callback)
        callback.log_result(svm.result_)
        fit(bw.MLflowCallback(every=50), lam=0.2)  # another fit in the same run does not hurt
    client = mlflow.MlflowClient()
    for name in ("gap/certified", "objective/dual"):
        wanted = expected(svm.trace_, name, every=5)
        history = client.get_metric_history(run.info.run_id, name)
        got = [(metric.step, metric.value) for metric in history]
        assert set(wanted) <= set(got)
    data = client.get_run(run.info.run_id).data
    assert data.params == {"lam": "0.1", "tol": str(1e-3 * svm.certificate_.unit)}
    assert data.tags["blockwolfe.status"] == "CERTIFIED"


def test_mlflow_logs_to_a_run_by_its_name(mlflow):
    with mlflow.start_run() as run:
        pass
    fit(bw.MLflowCallback(run_id=run.info.run_id, every=100))
    assert mlflow.active_run() is None
    assert "gap/certified" in mlflow.MlflowClient().get_run(run.info.run_id).data.metrics
