"""Scenes: reading the file, refusing wrong ones, and the real data."""

import numpy as np
import pytest

from blockwolfe import datasets
from blockwolfe.data.datasets import scene
from blockwolfe.errors import DataNotFoundError, InputError, OptionError


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A small file of the right form, accepted by its checksum."""
    rng = np.random.default_rng(0)
    arrays = {
        "X_train": rng.random((3, 294)).astype(np.float32),
        "y_train": rng.integers(2, size=(3, 6)).astype(np.uint8),
        "X_test": rng.random((2, 294)).astype(np.float32),
        "y_test": rng.integers(2, size=(2, 6)).astype(np.uint8),
    }
    (tmp_path / "scene").mkdir()
    np.savez(tmp_path / "scene" / "scene.npz", **arrays)
    monkeypatch.setattr(scene, "_SHA256", scene._Scenes(**arrays).digest())
    return tmp_path


def test_reads_both_splits(home, monkeypatch):
    train, test = (datasets.load_scene(split, home) for split in ("train", "test"))
    assert train.X.shape == (3, 294)
    assert test.Y.shape == (2, 6)
    assert train.X.dtype == np.float64
    assert repr(train) == (
        "Dataset('scene-train': 3 photographs, 18 labels on or off, 6 labels, 294 features)"
    )
    monkeypatch.setenv("BLOCKWOLFE_DATA", str(home))
    np.testing.assert_array_equal(datasets.load_scene().X, train.X)


def test_altered_and_truncated_files(home, monkeypatch):
    path = home / "scene" / "scene.npz"
    monkeypatch.setattr(scene, "_SHA256", "0" * 64)
    with pytest.raises(InputError, match=r"scene\.npz"):
        datasets.load_scene(data_home=home)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"scene.npz cannot be read .*truncated"):
        datasets.load_scene(data_home=home)


def test_absent(tmp_path, cache):
    with pytest.raises(DataNotFoundError, match=r"scene.npz does not exist.*data_home"):
        datasets.load_scene(data_home=tmp_path)
    with pytest.raises(DataNotFoundError, match="BLOCKWOLFE_DATA"):
        datasets.load_scene()
    with pytest.raises(OptionError, match="split='dev' is not known"):
        datasets.load_scene("dev")


def test_real_scenes(data_home):
    if not (data_home / "scene").is_dir():
        pytest.skip("no scenes")
    train, test = (datasets.load_scene(split, data_home) for split in ("train", "test"))
    assert train.X.shape == (1211, 294)
    assert test.X.shape == (1196, 294)
    # the numbers of photographs with each label in the publication's order
    on = train.Y.sum(axis=0) + test.Y.sum(axis=0)
    assert dict(zip(train.label_names, on.tolist(), strict=True)) == {
        "beach": 427, "sunset": 364, "fall foliage": 397, "field": 433, "mountain": 533, "urban": 431,
    }  # fmt: skip
    assert 0 <= train.X.min() <= train.X.max() <= 1
