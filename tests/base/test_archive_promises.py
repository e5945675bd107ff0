"""Archives: what was written or nothing, never code, and never half a file."""

import json
import os
import pickle

import numpy as np
import pytest

from blockwolfe.base.archive import Kind, read_archive, write_archive
from blockwolfe.errors import ModelFileError

KIND = Kind("blockwolfe-model", 2, "model")
ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.arange(4), "c": np.array(["x", "yy"])}


@pytest.fixture
def path(tmp_path):
    write_archive(tmp_path / "file.npz", KIND, {"n": 1}, ARRAYS)
    return tmp_path / "file.npz"


def rewritten(path, **changes):
    """The same file with other arrays (or header), and the digest that it had."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez(path, **arrays | changes)


def test_what_was_written_is_read(path):
    header, arrays = read_archive(path, KIND)
    assert header["n"] == 1
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_a_change_of_any_array_is_seen(path, name):
    array = ARRAYS[name].copy()
    array.flat[-1] = array.flat[0]
    rewritten(path, **{name: array})
    with pytest.raises(ModelFileError, match="altered"):
        read_archive(path, KIND)


def test_a_change_of_the_header_is_seen(path):
    header = {"format": "blockwolfe-model", "version": 2, "n": 2, "digest": ""}
    rewritten(path, header=np.array(json.dumps(header)))
    with pytest.raises(ModelFileError, match="altered"):
        read_archive(path, KIND)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"format": "blockwolfe-model", "version": 3}, "version"),
        ({"format": "other", "version": 1}, "not a blockwolfe model"),
        ({"format": "blockwolfe-path", "version": 1}, "not a model"),
    ],
)
def test_files_of_another_kind_are_named(path, header, words):
    rewritten(path, header=np.array(json.dumps(header)))
    with pytest.raises(ModelFileError, match=words):
        read_archive(path, KIND)


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("place", ["a", "header"])
def test_no_pickle_is_ever_opened(path, tmp_path, place):
    trap = tmp_path / "trap"
    rewritten(path, **{place: np.array([Bomb(trap)], dtype=object)})
    with pytest.raises(ModelFileError):
        read_archive(path, KIND)
    path.write_bytes(pickle.dumps(Bomb(trap)))
    with pytest.raises(ModelFileError):
        read_archive(path, KIND)
    assert not trap.exists()


def test_the_old_file_is_there_until_the_new_one_is_whole(path, monkeypatch):
    """It is never written into: a reader that has it open goes on reading it."""
    old, order = path.read_bytes(), []
    for name in ("fsync", "replace"):
        real = getattr(os, name)

        def watched(*args, name=name, real=real):
            order.append(name)
            assert path.read_bytes() == old
            return real(*args)

        monkeypatch.setattr(os, name, watched)
    with path.open("rb") as reader:
        write_archive(path, KIND, {"n": 2}, ARRAYS)
        assert reader.read() == old
    assert order[:2] == ["fsync", "replace"]
    assert read_archive(path, KIND)[0]["n"] == 2


def test_a_write_that_fails_leaves_the_old_file_and_no_other(path, tmp_path):
    old = path.read_bytes()

    class Unwritable:
        def __array__(self, dtype=None, copy=None):
            raise OSError("disk full")

    with pytest.raises(Exception, match="disk full"):
        write_archive(path, KIND, {}, {"a": ARRAYS["a"], "b": Unwritable()})
    assert path.read_bytes() == old
    assert [file.name for file in tmp_path.iterdir()] == ["file.npz"]
