"""Model files: round trips, and every way a file can be bad."""

import dataclasses
import io
import json
import zipfile

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.estimators import known
from blockwolfe.rules.sampling import Sampling
from blockwolfe.tasks.registry import known_tasks
from zoo import PlainTask, chain_data, multiclass_data, token_dicts


def chain_model(**task):
    X, Y = token_dicts()
    return bw.StructuredSVM(bw.tasks.Chain(**task), lam=0.1, tol=1e-2, random_state=0).fit(X, Y), X


MODELS = {
    "dicts": chain_model,
    "min_count": lambda: chain_model(
        min_count=2, task_loss=bw.tasks.Hamming(class_weight={"N": 2.0})
    ),
    "multiclass": lambda: (
        bw.StructuredSVM(lam=0.5, tol=0.1, method=bw.BCFW(bw.Cyclic())).fit(*multiclass_data()),
        multiclass_data()[0],
    ),
    "arrays": lambda: (
        bw.StructuredSVM(bw.tasks.Chain(3, task_loss=1 - np.eye(3)), lam=0.5, tol=0.1).fit(
            *chain_data()
        ),
        chain_data()[0],
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(tmp_path, name):
    svm, X = MODELS[name]()
    svm.save(tmp_path / "m.npz")
    back = bw.load(tmp_path / "m.npz")
    for mine, theirs in zip(svm.predict(X), back.predict(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(svm.coef_, back.coef_)
    assert back.lam_ == svm.lam_
    assert back.certificate_.gap == svm.certificate_.gap
    assert back.certificate_.relative_gap == svm.certificate_.relative_gap
    assert back.certificate_.exact is True
    np.testing.assert_array_equal(back.trace_["gap"], svm.trace_["gap"])
    assert repr(back.method) == repr(svm.method)
    assert list(tmp_path.iterdir()) == [tmp_path / "m.npz"]  # nothing temporary is left


def test_loaded_model_can_be_fitted_again(tmp_path):
    svm, X = chain_model()
    svm.save(tmp_path / "m.npz")
    back = bw.load(tmp_path / "m.npz").fit(X, token_dicts()[1])
    np.testing.assert_array_equal(back.coef_, svm.coef_)


def test_own_task_must_be_passed_again(tmp_path):
    X, Y = multiclass_data()
    task = PlainTask(bw.Problem(bw.tasks.Multiclass(), X, Y).task)
    svm = bw.StructuredSVM(task, lam=0.5, tol=0.1).fit(X, Y)
    svm.save(tmp_path / "m.npz")
    with pytest.raises(bw.InputError, match=r"task class PlainTask.*load\(path, task="):
        bw.load(tmp_path / "m.npz")
    assert bw.load(tmp_path / "m.npz", task=task).predict(X) == svm.predict(X)


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_truncated_file(tmp_path, keep):
    svm, _ = chain_model()
    svm.save(tmp_path / "m.npz")
    content = (tmp_path / "m.npz").read_bytes()
    cut = int(keep * len(content)) if isinstance(keep, float) else keep
    (tmp_path / "m.npz").write_bytes(content[:cut])
    with pytest.raises(bw.ModelFileError, match="truncated or altered"):
        bw.load(tmp_path / "m.npz")


def rewritten(path, change):
    """Change the header or an array of a model file, leaving the rest valid."""
    with np.load(path) as archive:
        content = dict(archive)
    header = json.loads(str(content["header"][()]))
    change(header, content)
    content["header"] = np.array(json.dumps(header))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **content)
    path.write_bytes(buffer.getvalue())


def test_altered_weights_and_altered_certificate(tmp_path):
    svm, _ = chain_model()
    for change in (
        lambda header, content: content["coef"].__setitem__(0, 99.0),
        lambda header, content: header["certificate"].update(gap=0.0),
    ):
        svm.save(tmp_path / "m.npz")
        rewritten(tmp_path / "m.npz", change)
        with pytest.raises(bw.ModelFileError, match="altered after it was written"):
            bw.load(tmp_path / "m.npz")


def test_every_flipped_byte_is_noticed_or_harmless(tmp_path):
    svm, _ = chain_model()
    svm.save(tmp_path / "m.npz")
    content = bytearray((tmp_path / "m.npz").read_bytes())
    n_noticed = 0
    for at in range(0, len(content), 3):
        changed = content.copy()
        changed[at] ^= 0x55
        (tmp_path / "m.npz").write_bytes(changed)
        try:
            back = bw.load(tmp_path / "m.npz")
        except bw.ModelFileError:
            n_noticed += 1
            continue
        np.testing.assert_array_equal(back.coef_, svm.coef_)  # a byte of the zip's own padding
        assert back.certificate_.gap == svm.certificate_.gap
    assert n_noticed > len(content) / 6


def test_file_of_a_newer_version(tmp_path):
    svm, _ = chain_model()
    svm.save(tmp_path / "m.npz")
    rewritten(tmp_path / "m.npz", lambda header, content: header.update(version=99))
    with pytest.raises(bw.ModelFileError, match=r"version 99.*Upgrade blockwolfe"):
        bw.load(tmp_path / "m.npz")


def test_other_files(tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    np.savez(tmp_path / "pickle.npz", header=np.array([{"a": 1}], dtype=object))
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("a.txt", "b")
    for name in ("text", "other", "pickle", "zip"):
        with pytest.raises(bw.ModelFileError):
            bw.load(tmp_path / f"{name}.npz")
    with pytest.raises(bw.ModelFileError, match="does not exist"):
        bw.load(tmp_path / "missing.npz")


def test_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    svm, X = chain_model()
    svm.save(tmp_path / "m.npz")
    before = (tmp_path / "m.npz").read_bytes()

    def full_disk(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(bw.InputError, match=r"cannot save to .*m.npz: No space left.*make room"):
        svm.save(tmp_path / "m.npz")
    assert (tmp_path / "m.npz").read_bytes() == before
    assert list(tmp_path.iterdir()) == [tmp_path / "m.npz"]


def test_saving_before_fitting_and_into_a_missing_folder(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        bw.StructuredSVM().save(tmp_path / "m.npz")
    svm, _ = chain_model()
    with pytest.raises(bw.InputError, match="folder .* does not exist"):
        svm.save(tmp_path / "no" / "m.npz")


def test_what_else_belongs_to_a_model(tmp_path):
    from blockwolfe.estimators.model_file import save

    svm, _ = chain_model()
    extra = {"a": 1, "inside": {"names": np.array(["x", "y"]), "b": [1, 2]}}
    save(svm, tmp_path / "m.npz", extra)
    back = bw.load(tmp_path / "m.npz").extra_
    assert back["a"] == 1
    assert back["inside"]["b"] == [1, 2]
    assert back["inside"]["names"].tolist() == ["x", "y"]
    svm.save(tmp_path / "m.npz")
    assert bw.load(tmp_path / "m.npz").extra_ == {}


def test_classes_of_the_same_name_are_not_taken_for_ours(tmp_path):
    class Multiclass(bw.tasks.Multiclass):
        def predict(self, X, w):
            return np.array(["mine"] * len(X))

    class Other(bw.tasks.Multiclass):
        """Another name."""

    X, Y = multiclass_data()
    for kind in (Multiclass, Other):
        svm = bw.StructuredSVM(kind(), lam=1.0, tol=0.1).fit(X, Y)
        svm.save(tmp_path / "m.npz")
        with pytest.raises(bw.InputError, match=f"task class {kind.__name__}"):
            bw.load(tmp_path / "m.npz")
        back = bw.load(tmp_path / "m.npz", task=svm.task_)
        np.testing.assert_array_equal(back.predict(X), svm.predict(X))


def test_names_of_columns_are_remembered(tmp_path):
    pd = pytest.importorskip("pandas")
    X, Y = multiclass_data()
    table = pd.DataFrame(X, columns=list("abcd"))
    bw.StructuredSVM(lam=1.0, tol=0.1).fit(table, Y).save(tmp_path / "m.npz")
    back = bw.load(tmp_path / "m.npz")
    back.predict(table)
    with pytest.raises(ValueError, match="feature names"):
        back.predict(table[list("dcba")])


@dataclasses.dataclass(frozen=True)
class Backwards(Sampling):
    """A sampling rule of a user's."""

    stride: int = 1

    def order(self, n_blocks, rng):
        return np.arange(n_blocks)[:: -self.stride]


class Renamed(bw.tasks.Multiclass):
    """A task of a user's that learns as one of ours."""


@dataclasses.dataclass
class Sign:
    """A task of a user's that learns nothing; labels are -1 and 1."""

    n_features: int = 4

    def features(self, x, y):
        return y * np.asarray(x, dtype=float)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w):
        return 1 if np.dot(w, x) >= 0 else -1

    def augmented_decode(self, x, y, w):
        return max((-1, 1), key=lambda h: self.loss(y, h) + h * np.dot(w, x))


def register(monkeypatch, kind):
    registered = known.known_classes() | {kind.__name__: kind}
    monkeypatch.setattr(known, "known_classes", lambda: registered)


def test_a_rule_is_saved_by_name_once_it_is_known(tmp_path, monkeypatch):
    svm = bw.StructuredSVM(lam=1.0, tol=0.1, method=bw.BCFW(Backwards(stride=1)))
    svm.fit(*multiclass_data())
    with pytest.raises(bw.InputError, match=r"Backwards.*cannot be saved"):
        svm.save(tmp_path / "m.npz")
    with monkeypatch.context() as registered:
        register(registered, Backwards)
        svm.save(tmp_path / "m.npz")
        assert bw.load(tmp_path / "m.npz").method == svm.method
    with pytest.raises(bw.ModelFileError, match=r"unknown object 'Backwards'.*register"):
        bw.load(tmp_path / "m.npz")


@pytest.mark.parametrize("kind", [Renamed, Sign])
@pytest.mark.parametrize("wrap", [lambda task: task, bw.tasks.SlackRescaling])
def test_a_task_is_saved_by_name_once_it_is_known(tmp_path, monkeypatch, kind, wrap):
    if kind is Sign:
        monkeypatch.setattr(Sign, "outputs", lambda self, x: [-1, 1], raising=False)
    X, Y = multiclass_data()
    svm = bw.StructuredSVM(wrap(kind()), lam=1.0, tol=0.1).fit(X, np.where(Y, 1, -1))
    svm.save(tmp_path / "m.npz")
    with pytest.raises(bw.InputError, match=rf"task class \w*\(?{kind.__name__}\b"):
        bw.load(tmp_path / "m.npz")
    register(monkeypatch, kind)
    svm.save(tmp_path / "m.npz")
    back = bw.load(tmp_path / "m.npz")
    assert repr(back.task_) == repr(svm.task_)
    np.testing.assert_array_equal(back.predict(X), svm.predict(X))


def test_every_task_of_ours_is_kept_whole():
    """A task whose class is forgotten in the list would be saved by its name alone."""
    named = [getattr(bw.tasks, name) for name in bw.tasks.__all__]
    bases = (bw.tasks.Task, bw.tasks.LabellingTask)
    tasks = [kind for kind in named if hasattr(kind, "augmented_decode") and kind not in bases]
    assert {kind.__name__ for kind in tasks} <= set(known_tasks())
