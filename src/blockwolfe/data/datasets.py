"""The datasets of the papers, with the splits and features that the papers use."""

from __future__ import annotations

import hashlib
import io
import os
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.data.conll import ChunkFeatures, read_columns
from blockwolfe.data.fetch import check_content, find_file, unpacked
from blockwolfe.data.templates import Row
from blockwolfe.errors import InputError, unknown_option

__all__ = ["Dataset", "load_conll2000", "load_ocr"]

PathLike = str | os.PathLike[str]

_SPLITS = ("train", "test")
_OCR_SHA256 = "821aa4dcd6f2a85a9b1de9d3e94c45c457b8fe8cf565ddc8c53d2c06cf5e80bb"
_CONLL_SHA256 = {
    "train": "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",
    "test": "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",
}
# id, letter, next_id, word_id, position, fold, 16 x 8 pixels
_LETTER = re.compile(rb"\d+\s([a-z])\s(-?\d+)\s\d+\s\d+\s(\d)((?:\s[01]){128})\s*")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Examples, their outputs, and what labels and features are called.

    X : one entry per example, in a form that the tasks take.
    Y : one output per example.
    name, description : a short name, and one sentence.
    label_names : the labels, or what the labels 0, 1, ... stand for.
    feature_names, n_features : of the columns of X; None where X has no columns.

    >>> Dataset([np.zeros((2, 3))], [np.array([0, 1])], "toy", "Zeros.", ("a", "b"), None, 3)
    Dataset('toy': 1 sequences, 2 positions, 2 labels, 3 features)
    """

    X: Any
    Y: Any
    name: str
    description: str
    label_names: tuple[str, ...]
    feature_names: Sequence[str] | None
    n_features: int | None
    units: tuple[str, str] = ("sequences", "positions")  # what an example is, and what it has

    def __repr__(self) -> str:
        features = "raw tokens" if self.n_features is None else f"{self.n_features} features"
        return (
            f"Dataset({self.name!r}: {len(self.X)} {self.units[0]}, "
            f"{sum(map(len, self.Y))} {self.units[1]}, "
            f"{len(self.label_names)} labels, {features})"
        )


def check_split(split: str) -> None:
    """An `OptionError` unless `split` is one of the two.

    >>> check_split("test")
    """
    if split not in _SPLITS:
        raise unknown_option("split", split, _SPLITS)


def load_ocr(
    subset: str = "small", split: str = "train", data_home: PathLike | None = None
) -> Dataset:
    """Handwritten words, one letter a position: 16 x 8 pixels of 0 and 1, labels 0..25.

    subset : "small" trains on fold 0 (626 words) and tests on folds 1..9 (6251 words);
        "large" is the other way round.
    split : "train" or "test".
    data_home : folder that holds ``ocr/letters.npz`` or ``ocr/letter.data.gz``; by default
        the environment variable ``BLOCKWOLFE_DATA``, else a cache that is filled by download.

    Data of R. Kassel (1995) as selected by Taskar, Guestrin and Koller (2003).

    >>> load_ocr("medium")
    Traceback (most recent call last):
      ...
    blockwolfe.errors.OptionError: subset='medium' is not known; valid: 'small', 'large'.
    """
    if subset not in ("small", "large"):
        raise unknown_option("subset", subset, ("small", "large"))
    check_split(split)
    also = ("letter.data.gz", "letter.data")
    path = find_file("ocr", "letters.npz", data_home, also=also, check=_read_letters)
    letters = _read_letters(path)
    is_fold_0 = (subset == "small") == (split == "train")
    words = np.flatnonzero((letters.fold == 0) == is_fold_0)
    labels = letters.labels.astype(np.int64)
    where = [slice(letters.offsets[word], letters.offsets[word + 1]) for word in words]
    return Dataset(
        X=[letters.images[letter] for letter in where],
        Y=[labels[letter] for letter in where],
        name=f"ocr-{subset}-{split}",
        description="Handwritten words without their first letter; 16 x 8 pixels a letter.",
        label_names=tuple(string.ascii_lowercase),
        feature_names=[f"p_{row}_{column}" for row in range(16) for column in range(8)],
        n_features=128,
    )


class _Letters(NamedTuple):
    images: np.ndarray
    labels: np.ndarray
    fold: np.ndarray
    offsets: np.ndarray

    def digest(self) -> str:
        """sha256 of the arrays, in this order, as bytes in C order and little endian."""
        types = ("u1", "u1", "u1", "<i4")
        joined = b"".join(a.astype(kind).tobytes() for a, kind in zip(self, types, strict=True))
        return hashlib.sha256(joined).hexdigest()


def _read_letters(path: Path) -> _Letters:
    if path.suffix == ".npz":
        letters = _letters_of_npz(path)
    else:
        letters = _letters_of_text(unpacked(path), path)
    check_content(letters.digest(), _OCR_SHA256, path)
    return letters


def _letters_of_npz(path: Path) -> _Letters:
    content = io.BytesIO(path.read_bytes())
    try:
        with np.load(content, allow_pickle=False) as arrays:
            return _Letters(*(np.asarray(arrays[name]) for name in _Letters._fields))
    except Exception as error:  # a damaged zip file raises almost anything
        raise InputError(f"{path} cannot be read ({error}): it is truncated or altered.") from error


def _letters_of_text(content: bytes, path: Path) -> _Letters:
    """Taskar's ``letter.data``: a word is a run of lines up to one with next_id -1."""
    pixels: list[bytes] = []
    labels: list[int] = []
    fold, offsets = [], [0]
    for number, line in enumerate(content.splitlines(), start=1):
        match = _LETTER.fullmatch(line)
        if match is None:
            raise InputError(
                f"line {number} of {path} is {line[:60]!r}; expected id, letter, next_id, "
                "word_id, position, fold and 128 pixels of 0 or 1, with tabs between."
            )
        letter, next_id, in_fold, picture = match.groups()
        if len(labels) == offsets[-1]:
            fold.append(int(in_fold))
        labels.append(letter[0] - ord("a"))
        pixels.append(picture[1::2])
        if next_id == b"-1":
            offsets.append(len(labels))
    if offsets[-1] != len(labels):
        raise InputError(f"{path} ends within a word, after line {len(labels)}: it is truncated.")
    images = np.frombuffer(b"".join(pixels), dtype=np.uint8).reshape(-1, 128) - np.uint8(ord("0"))
    return _Letters(images, np.array(labels, np.uint8), np.array(fold, np.uint8), np.array(offsets))


def load_conll2000(
    split: str = "train", data_home: PathLike | None = None, features: bool = True
) -> Dataset:
    """Text chunking of CoNLL-2000: Wall Street Journal sentences, labels such as ``"B-NP"``.

    split : "train" (8936 sentences) or "test" (2012 sentences).
    data_home : folder that holds ``conll2000/train.txt.gz`` and ``conll2000/test.txt.gz``; by
        default the environment variable ``BLOCKWOLFE_DATA``, else a cache that is filled by
        download.
    features : True gives CSR matrices with the 74658 columns of `ChunkFeatures`, numbered on
        the train split; False gives lists of ``(word, pos)``.

    `label_names` has the 22 tags of the train split by first appearance. The test split has
    one more, ``"I-LST"``, which no model trained on the train split can predict.

    >>> load_conll2000("dev")
    Traceback (most recent call last):
      ...
    blockwolfe.errors.OptionError: split='dev' is not known; valid: 'train', 'test'.
    """
    check_split(split)
    train = _read_chunks("train", data_home)
    sentences = train if split == "train" else _read_chunks(split, data_home)
    tokens = [[(row[0], row[1]) for row in sentence] for sentence in sentences]
    tags = [row[2] for row in chain.from_iterable(train)]
    flat = tags if split == "train" else [row[2] for row in chain.from_iterable(sentences)]
    ends = np.cumsum([len(sentence) for sentence in sentences])
    recipe = ChunkFeatures().fit(train) if features else None
    return Dataset(
        X=recipe.transform(sentences) if recipe else tokens,
        Y=np.split(np.array(flat), ends[:-1]),
        name=f"conll2000-{split}",
        description="Wall Street Journal sentences with words, parts of speech and chunk tags.",
        label_names=tuple(dict.fromkeys(chain(tags, flat))),
        feature_names=recipe.feature_names_ if recipe else None,
        n_features=recipe.n_features_ if recipe else None,
    )


def _read_chunks(split: str, data_home: PathLike | None) -> list[list[Row]]:
    def read(path: Path) -> list[list[Row]]:
        content = unpacked(path)
        check_content(hashlib.sha256(content).hexdigest(), _CONLL_SHA256[split], path)
        return read_columns(content.decode("ascii").split("\n"))

    also = (f"{split}.txt",)
    return read(find_file("conll2000", f"{split}.txt.gz", data_home, also=also, check=read))
