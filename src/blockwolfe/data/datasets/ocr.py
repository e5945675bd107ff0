"""Handwritten words (R. Kassel 1995), with the folds of the papers."""

from __future__ import annotations

import hashlib
import io
import re
import string
from pathlib import Path
from typing import NamedTuple

import numpy as np

from blockwolfe.data.datasets.dataset import Dataset, PathLike, check_split
from blockwolfe.data.datasets.fetch import check_content, find_file
from blockwolfe.data.text import unpacked
from blockwolfe.errors import InputError, unknown_option

__all__ = ["load_ocr"]

_SHA256 = "821aa4dcd6f2a85a9b1de9d3e94c45c457b8fe8cf565ddc8c53d2c06cf5e80bb"
# id, letter, next_id, word_id, position, fold, 16 x 8 pixels
_LETTER = re.compile(rb"\d+\s([a-z])\s(-?\d+)\s\d+\s\d+\s(\d)((?:\s[01]){128})\s*")


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
    check_content(letters.digest(), _SHA256, path)
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
