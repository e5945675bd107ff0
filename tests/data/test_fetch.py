"""Finding files: the order of places, downloads, and what is said when there is nothing."""

from __future__ import annotations

import sys

import pooch
import pytest

from blockwolfe.data import find_file
from blockwolfe.data.datasets.fetch import _platform_cache, cache_folder
from blockwolfe.errors import DataNotFoundError
from files import TRAIN_URL, put


def test_order(cache, tmp_path, monkeypatch):
    for place in ("argument", "environment"):
        put(tmp_path / place, "ocr/letters.npz", b"")
    put(cache, "ocr/letters.npz", b"")
    assert find_file("ocr", "letters.npz") == cache / "ocr" / "letters.npz"
    monkeypatch.setenv("BLOCKWOLFE_DATA", str(tmp_path / "environment"))
    assert find_file("ocr", "letters.npz").parts[-3] == "environment"
    assert find_file("ocr", "letters.npz", tmp_path / "argument").parts[-3] == "argument"


def test_other_names(cache):
    put(cache, "ocr/letter.data", b"")
    also = ["letter.data.gz", "letter.data"]
    assert find_file("ocr", "letters.npz", also=also).name == "letter.data"
    put(cache, "ocr/letters.npz", b"")
    assert find_file("ocr", "letters.npz", also=also).name == "letters.npz"


@pytest.mark.parametrize("way", ["argument", "environment"])
def test_named_folder_is_not_downloaded_into(served, cache, tmp_path, monkeypatch, way):
    home = tmp_path / "mine"
    put(cache, "conll2000/train.txt.gz", b"")
    if way == "environment":
        monkeypatch.setenv("BLOCKWOLFE_DATA", str(home))
    with pytest.raises(DataNotFoundError) as caught:
        find_file("conll2000", "train.txt.gz", home if way == "argument" else None)
    message = str(caught.value)
    assert message.startswith(f"{home / 'conll2000' / 'train.txt.gz'} does not exist. ")
    assert f"Get train.txt.gz from {TRAIN_URL} and put it in the folder" in message
    assert "BLOCKWOLFE_DATA" in message
    assert served[1] == []


def test_cache_given_by_name_is_the_cache(served, cache):
    served[0][TRAIN_URL] = b"text"
    path = find_file("conll2000", "train.txt.gz", cache)
    assert path.read_bytes() == b"text"


def test_download_once(served, cache):
    served[0][TRAIN_URL] = b"text"
    paths = [find_file("conll2000", "train.txt.gz") for _ in range(2)]
    assert paths == [cache / "conll2000" / "train.txt.gz"] * 2
    assert served[1] == [TRAIN_URL]
    assert [path.name for path in paths[0].parent.iterdir()] == ["train.txt.gz"]


def test_offline(cache):
    with pytest.raises(DataNotFoundError) as caught:
        find_file("conll2000", "train.txt.gz")
    folder = cache / "conll2000"
    assert str(caught.value) == (
        f"{folder / 'train.txt.gz'} does not exist, and downloading {TRAIN_URL} failed "
        f"(ConnectionError: no route to host). Get train.txt.gz from {TRAIN_URL} and put it "
        f"in the folder {folder}, or set the environment variable BLOCKWOLFE_DATA to the "
        "folder that has conll2000/train.txt.gz."
    )
    assert list(folder.iterdir()) == []


def test_without_pooch(cache, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    for variable in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    with pytest.raises(DataNotFoundError, match=r"needs pooch: pip install 'blockwolfe\[data"):
        find_file("conll2000", "train.txt.gz")
    path = put(cache_folder(), "conll2000/train.txt.gz", b"")
    assert path.is_relative_to(tmp_path)
    assert find_file("conll2000", "train.txt.gz") == path


def test_unwritable_cache(cache):
    put(cache.parent, "blockwolfe", b"a file where the folder should be")
    with pytest.raises(DataNotFoundError, match=r"failed \((NotADirectory|FileExists)Error"):
        find_file("conll2000", "train.txt.gz")


def test_unknown_file(served, cache):
    with pytest.raises(DataNotFoundError, match=r"Get a.txt and put it in the folder .*mine"):
        find_file("mine", "a.txt")
    assert not served[1]


def test_same_cache_with_and_without_pooch(monkeypatch):
    assert _platform_cache() == pooch.os_cache("blockwolfe") == cache_folder()
