"""Loading: reading files, refusing wrong ones, and the real data."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from blockwolfe import datasets
from blockwolfe.data.datasets import conll2000, ocr
from blockwolfe.errors import DataNotFoundError, InputError, OptionError
from files import TRAIN_URL, put

CHUNKS = {
    "train": "The DT B-NP\ncat NN I-NP\nran VBD B-VP\n\nWhy WRB B-ADVP\n\n",
    "test": "1 LS I-LST\n. . O\n\nThe DT B-NP\n\n",
}
LETTERS_URL = "https://ai.stanford.edu/~btaskar/ocr/letter.data.gz"


def letter_lines(words, ending="\t\n"):
    """`letter.data` for a list of (word, fold, pictures)."""
    lines, number = [], 0
    for word_id, (word, fold, pictures) in enumerate(words, start=1):
        for t, (letter, picture) in enumerate(zip(word, pictures, strict=True), start=1):
            number += 1
            next_id = number + 1 if t < len(word) else -1
            cells = [number, letter, next_id, word_id, t, fold, *picture]
            lines.append("\t".join(map(str, cells)) + ending)
    return lines


@pytest.fixture
def words():
    rng = np.random.default_rng(0)
    folds = {"bcd": 0, "z": 1, "ab": 0, "mnop": 9}
    return [(word, fold, rng.integers(2, size=(len(word), 128))) for word, fold in folds.items()]


@pytest.fixture
def accepted(words, monkeypatch):
    """Make the checksum that of the fake words."""
    pictures = np.concatenate([pictures for *_, pictures in words]).astype(np.uint8)
    labels = np.array([ord(letter) - ord("a") for word, *_ in words for letter in word], np.uint8)
    fold = np.array([fold for _, fold, _ in words], np.uint8)
    offsets = np.cumsum([0] + [len(word) for word, *_ in words])
    letters = ocr._Letters(pictures, labels, fold, offsets)
    monkeypatch.setattr(ocr, "_SHA256", letters.digest())
    return letters


def check_fake_words(home=None):
    small = datasets.load_ocr("small", "train", home)
    assert [y.tolist() for y in small.Y] == [[1, 2, 3], [0, 1]]
    others = datasets.load_ocr("small", "test", home)
    assert [y.tolist() for y in others.Y] == [[25], [12, 13, 14, 15]]
    for first, second in (("train", "test"), ("test", "train")):
        a, b = datasets.load_ocr("small", first, home), datasets.load_ocr("large", second, home)
        assert all(np.array_equal(x, z) for x, z in zip(a.X, b.X, strict=True))
    return small, others


class TestLetters:
    @pytest.mark.parametrize("ending", ["\t\n", "\n", "\r\n"])
    @pytest.mark.parametrize("pack", [gzip.compress, bytes])
    def test_text(self, words, accepted, tmp_path, pack, ending):
        text = "".join(letter_lines(words, ending)).encode()
        put(tmp_path, "ocr/letter.data.gz", pack(text))
        small, others = check_fake_words(tmp_path)
        for dataset, at in ((small, (0, 2)), (others, (1, 3))):
            for x, i in zip(dataset.X, at, strict=True):
                assert x.dtype == np.uint8
                np.testing.assert_array_equal(x, words[i][2])

    def test_npz(self, accepted, tmp_path):
        (tmp_path / "ocr").mkdir()
        np.savez_compressed(tmp_path / "ocr" / "letters.npz", **accepted._asdict())
        check_fake_words(tmp_path)

    def test_download(self, words, accepted, served, cache):
        served[0][LETTERS_URL] = gzip.compress("".join(letter_lines(words)).encode())
        check_fake_words()
        assert served[1] == [LETTERS_URL]
        assert (cache / "ocr" / "letter.data.gz").is_file()

    @pytest.mark.parametrize("content", [b"<html>Please log in</html>", b"", b"\x1f\x8bnot gzip"])
    def test_wrong_download_is_not_kept(self, accepted, served, cache, content):
        served[0][LETTERS_URL] = content
        with pytest.raises(DataNotFoundError, match=r"gave something else than letter.data.gz"):
            datasets.load_ocr()
        assert list((cache / "ocr").iterdir()) == []

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda lines: lines[:-1], r"letter.data.gz ends within a word, after line 9"),
            (lambda lines: lines[:6], r"letter.data.gz does not hold the published data"),
            (lambda lines: [*lines[:4], lines[4][:50]], r"line 5 of .*letter.data.gz is b'5\\ta"),
            (lambda lines: ["1\tB" + lines[0][3:], *lines[1:]], r"line 1 of .* is b'1\\tB\\t2"),
            (lambda lines: [lines[0][:-3] + "2\n", *lines[1:]], r"line 1 of .*expected id, letter"),
            (lambda lines: ["id\tletter\n", *lines], r"line 1 of .* is b'id\\tletter'"),
            (lambda lines: [*lines[4:], *lines[:4]], r"published data: its content has sha256"),
        ],
    )
    def test_altered_text(self, words, accepted, tmp_path, change, message):
        lines = change(letter_lines(words))
        put(tmp_path, "ocr/letter.data.gz", gzip.compress("".join(lines).encode()))
        with pytest.raises(InputError, match=message):
            datasets.load_ocr(data_home=tmp_path)

    def test_altered_npz(self, accepted, tmp_path):
        (tmp_path / "ocr").mkdir()
        path = tmp_path / "ocr" / "letters.npz"
        for name in accepted._fields:
            changed = {**accepted._asdict(), name: getattr(accepted, name).copy()}
            changed[name].flat[-1] ^= 1
            np.savez(path, **changed)
            with pytest.raises(InputError, match=r"letters.npz does not hold the published data"):
                datasets.load_ocr(data_home=tmp_path)
        np.savez(path, images=accepted.images)
        with pytest.raises(InputError, match=r"letters.npz cannot be read \('?labels is not a"):
            datasets.load_ocr(data_home=tmp_path)
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(InputError, match=r"letters.npz cannot be read .*: it is truncated"):
            datasets.load_ocr(data_home=tmp_path)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"subset": "tiny"}, "subset='tiny' is not known; valid: 'small', 'large'"),
            ({"split": "dev"}, "split='dev' is not known; valid: 'train', 'test'"),
        ],
    )
    def test_bad_options(self, options, message):
        with pytest.raises(OptionError, match=message):
            datasets.load_ocr(**options)

    def test_missing(self, tmp_path):
        with pytest.raises(DataNotFoundError) as caught:
            datasets.load_ocr(data_home=tmp_path)
        assert str(tmp_path / "ocr" / "letters.npz") in str(caught.value)
        assert f"Get letter.data.gz from {LETTERS_URL}" in str(caught.value)


@pytest.fixture
def chunks(monkeypatch):
    """Make the checksums those of the fake sentences."""
    sums = {split: hashlib.sha256(text.encode()).hexdigest() for split, text in CHUNKS.items()}
    monkeypatch.setattr(conll2000, "_SHA256", sums)


class TestChunks:
    def test_tokens(self, chunks, tmp_path):
        put(tmp_path, "conll2000/train.txt.gz", gzip.compress(CHUNKS["train"].encode()))
        put(tmp_path, "conll2000/test.txt", CHUNKS["test"].encode())
        train = datasets.load_conll2000("train", tmp_path, features=False)
        assert train.X == [[("The", "DT"), ("cat", "NN"), ("ran", "VBD")], [("Why", "WRB")]]
        assert [y.tolist() for y in train.Y] == [["B-NP", "I-NP", "B-VP"], ["B-ADVP"]]
        assert train.label_names == ("B-NP", "I-NP", "B-VP", "B-ADVP")
        assert (train.feature_names, train.n_features) == (None, None)
        assert repr(train) == (
            "Dataset('conll2000-train': 2 sequences, 4 positions, 4 labels, raw tokens)"
        )
        test = datasets.load_conll2000("test", tmp_path, features=False)
        assert test.X == [[("1", "LS"), (".", ".")], [("The", "DT")]]
        assert test.label_names == (*train.label_names, "I-LST", "O")

    def test_download(self, chunks, served, cache):
        for split, text in CHUNKS.items():
            served[0][TRAIN_URL.replace("train", split)] = gzip.compress(text.encode())
        assert len(datasets.load_conll2000("test").X) == 2
        assert len(datasets.load_conll2000("train").X) == 2
        assert len(served[1]) == 2

    def test_wrong_checksum(self, chunks, served, cache):
        changed = CHUNKS["train"].replace("cat", "dog")
        served[0][TRAIN_URL] = gzip.compress(changed.encode())
        with pytest.raises(DataNotFoundError, match=r"gave something else than train.txt.gz"):
            datasets.load_conll2000()
        assert list((cache / "conll2000").iterdir()) == []
        put(cache, "conll2000/train.txt.gz", served[0][TRAIN_URL])
        with pytest.raises(InputError, match=r"train.txt.gz does not hold the published data"):
            datasets.load_conll2000()

    def test_truncated(self, chunks, tmp_path):
        put(tmp_path, "conll2000/train.txt.gz", gzip.compress(CHUNKS["train"].encode())[:-9])
        with pytest.raises(InputError, match=r"train.txt.gz cannot be unpacked .*truncated"):
            datasets.load_conll2000(data_home=tmp_path)

    def test_bad_split(self):
        with pytest.raises(OptionError, match="split='dev' is not known; valid: 'train', 'test'"):
            datasets.load_conll2000("dev")


def test_dataset_is_frozen():
    dataset = datasets.digit_strings(2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        dataset.X = []


class TestRealLetters:
    @pytest.mark.parametrize(
        ("subset", "split", "n_words"),
        [
            ("small", "train", 626),
            ("small", "test", 6251),
            ("large", "train", 6251),
            ("large", "test", 626),
        ],
    )
    def test_splits(self, data_home, subset, split, n_words):
        letters = datasets.load_ocr(subset, split, data_home)
        assert len(letters.X) == len(letters.Y) == n_words
        assert all(x.shape == (len(y), 128) for x, y in zip(letters.X, letters.Y, strict=True))
        assert letters.X[0].base is not None
        assert letters.Y[0].dtype == np.int64
        assert set(np.concatenate(letters.X).ravel()) == {0, 1}
        assert repr(letters).startswith(f"Dataset('ocr-{subset}-{split}': {n_words:,} sequences, ")

    def test_same_from_text(self, data_home, tmp_path):
        path = data_home / "ocr" / "letters.npz"
        if not path.is_file():
            pytest.skip("no letters.npz")
        with np.load(path) as arrays:
            images, labels, offsets, fold = (
                arrays[name] for name in ("images", "labels", "offsets", "fold")
            )
        words = [
            ("".join(chr(ord("a") + k) for k in labels[a:b]), fold[i], images[a:b])
            for i, (a, b) in enumerate(pairwise(offsets))
        ]
        put(tmp_path, "ocr/letter.data.gz", "".join(letter_lines(words)).encode())
        known = datasets.load_ocr("large", "train", data_home)
        again = datasets.load_ocr("large", "train", tmp_path)
        pairs = zip(known.X + known.Y, again.X + again.Y, strict=True)
        assert all(np.array_equal(a, b) for a, b in pairs)


class TestRealChunks:
    @pytest.mark.parametrize("split", ["train", "test"])
    def test_features_agree(self, data_home, split):
        path = data_home / "conll2000" / "features.npz"
        if not path.is_file():
            pytest.skip("no features.npz")
        known = np.load(path)
        loaded = datasets.load_conll2000(split, data_home)
        offset = np.cumsum(known["n_features"]) - known["n_features"]
        index = known[f"X_{split}"].astype(np.int64)
        is_active = index > 0
        X = sp.vstack(loaded.X, format="csr")
        assert X.shape == (len(index), 74658)
        np.testing.assert_array_equal(X.indices, (index + offset - 1)[is_active])
        np.testing.assert_array_equal(np.diff(X.indptr), is_active.sum(axis=1))
        assert (X.data == 1).all()
        assert all(x.shape[0] == len(y) for x, y in zip(loaded.X, loaded.Y, strict=True))
        ends = np.cumsum([len(y) for y in loaded.Y])
        np.testing.assert_array_equal([0, *ends], known[f"offsets_{split}"])
        expected = known["label_names"][known[f"y_{split}"]]
        np.testing.assert_array_equal(np.concatenate(loaded.Y), expected)
        n_labels = {"train": 22, "test": 23}[split]
        assert loaded.label_names == tuple(known["label_names"][:n_labels])
        assert loaded.n_features == len(loaded.feature_names) == 74658
        heads = [name.partition("=")[0] for name in loaded.feature_names]
        assert heads == np.repeat(known["template_names"], known["n_features"]).tolist()

    def test_tokens(self, data_home):
        loaded = datasets.load_conll2000("train", data_home, features=False)
        assert len(loaded.X) == 8936
        assert loaded.X[0][:2] == [("Confidence", "NN"), ("in", "IN")]
        assert sum(map(len, loaded.X)) == 211727
