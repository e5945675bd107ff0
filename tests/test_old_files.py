"""Files made by version 0.1.0 (files_0_1_0/make.py) are read, or refused with a remedy."""

import json
import re
import shutil

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.problem.evaluate import task_losses
from files_0_1_0 import make

EXPECTED = json.loads((make.FOLDER / "expected.json").read_text())


@pytest.mark.parametrize("name", make.MODELS)
def test_models_predict_what_they_predicted_then(name):
    (X, Y), _ = make.MODELS[name]()
    then, svm = EXPECTED["models"][name], bw.load(make.FOLDER / f"{name}.npz")
    assert make.plain(svm.predict(X)) == then["predicted"]
    # (0.1.0 called this the score; today it is the measure of the task)
    assert 1.0 - task_losses(svm.task_, Y, svm.predict(X)).mean() == then["score"]
    assert 0.0 <= svm.score(X, Y) <= 1.0
    assert svm.certificate_.gap == then["gap"]
    assert svm.lam_ == then["lam"]
    assert svm.trace_[-1].gap == then["gap"]


def options_of(task):
    """All but the loss, whose default was a share then."""
    options = task.get_params().items()
    is_kept = {name: not re.search("task_loss|normalize|^task$", name) for name, _ in options}
    return {name: repr(value) for name, value in options if is_kept[name]}


@pytest.mark.parametrize("name", make.MODELS)
def test_options_decode(name):
    _, asked = make.MODELS[name]()
    svm = bw.load(make.FOLDER / f"{name}.npz")
    assert repr(svm.method) == repr(asked.method)
    assert type(svm.task) is type(asked.task)
    assert options_of(svm.task) == options_of(asked.task)
    assert svm.tol == asked.tol
    assert repr(svm.bounds) == repr(asked.bounds)


@pytest.mark.parametrize("name", make.MODELS)
def test_models_saved_again_are_the_same(name, tmp_path):
    (X, _), _ = make.MODELS[name]()
    svm = bw.load(make.FOLDER / f"{name}.npz")
    svm.save(tmp_path / "again.npz")
    again = bw.load(tmp_path / "again.npz")
    assert make.plain(again.predict(X)) == EXPECTED["models"][name]["predicted"]
    assert repr(again.get_params(deep=False)) == repr(svm.get_params(deep=False))


def test_path():
    then, path = EXPECTED["path"], bw.load_path(make.FOLDER / "path.npz")
    X, _ = make.sequences()
    assert repr(path) == then["repr"]
    assert [path.gap(lam) for lam in then["lams"]] == then["gaps"]
    assert [make.plain(path.predict(X, lam)) for lam in then["lams"]] == then["predicted"]
    assert path.extra == {"note": "made by 0.1.0"}


def continued_or_refused(run, name, tmp_path):
    """What the run of an old checkpoint comes to; None where it was refused with a remedy."""
    file = tmp_path / "checkpoint.npz"
    shutil.copy(make.FOLDER / f"checkpoint-{name}.npz", file)
    before, refusal = file.read_bytes(), None
    try:
        return run(file)
    except (bw.ModelFileError, bw.InputError) as error:
        refusal = str(error)
    assert "version" in refusal
    assert "begin anew" in refusal
    assert file.read_bytes() == before  # (nothing is lost: the version before can go on)
    return None


@pytest.mark.parametrize("short", make.CHECKPOINT_METHODS)
def test_checkpoints(short, tmp_path):
    method = make.CHECKPOINT_METHODS[short]
    result = continued_or_refused(lambda file: make.run_solve(method, file), short, tmp_path)
    if result is not None:
        np.testing.assert_array_equal(result.w, EXPECTED["checkpoints"][short])


@pytest.mark.parametrize("short", make.CHECKPOINT_METHODS)
def test_checkpoints_of_paths(short, tmp_path):
    name, method = f"path-{short}", make.CHECKPOINT_METHODS[short]
    path = continued_or_refused(lambda file: make.run_path(method, file), name, tmp_path)
    if path is not None:
        assert [point.lam for point in path.breakpoints] == EXPECTED["checkpoints"][name]
