"""Chunking as in CoNLL-2000: the column format, the features, and the score."""

from __future__ import annotations

import numbers
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from blockwolfe.data.fetch import unpacked
from blockwolfe.errors import InputError, OptionError

__all__ = ["ChunkFeatures", "ChunkScore", "chunk_f1", "read_columns"]

Row = tuple[str, ...]

_BLANKS = re.compile(r"[ \t]+")
_EDGE = "<edge>"
# The column of a token (0 word, 1 part of speech) and the positions, relative to it.
_TEMPLATES: tuple[tuple[int, tuple[int, ...]], ...] = (
    *((0, (at,)) for at in (-2, -1, 0, 1, 2)),
    *((0, (at, at + 1)) for at in (-1, 0)),
    *((1, (at,)) for at in (-2, -1, 0, 1, 2)),
    *((1, (at, at + 1)) for at in (-2, -1, 0, 1)),
    *((1, (at, at + 1, at + 2)) for at in (-2, -1, 0)),
)


def read_columns(path_or_lines: str | os.PathLike[str] | Iterable[str]) -> list[list[Row]]:
    """Sentences of a file in CoNLL columns: a row a token, blanks between, an empty line after.

    Takes a path (gzip or plain text) or the lines themselves. A line that has not as many
    columns as the first is an `InputError` that says which line.

    >>> read_columns(["He PRP B-NP", "ran VBD B-VP", "", "Why WRB B-ADVP"])
    [[('He', 'PRP', 'B-NP'), ('ran', 'VBD', 'B-VP')], [('Why', 'WRB', 'B-ADVP')]]
    """
    where = ""
    if isinstance(path_or_lines, (str, os.PathLike)):
        path = Path(path_or_lines)
        where, lines = f" of {path}", text_lines(unpacked(path), path)
    else:
        lines = list(path_or_lines)
    sentences: list[list[Row]] = [[]]
    width = 0
    for number, line in enumerate(lines, start=1):
        content = line.strip(" \t\r\n")
        if not content:
            sentences.append([])
            continue
        row = tuple(_BLANKS.split(content))
        width = width or len(row)
        if len(row) != width:
            raise InputError(
                f"line {number}{where} is {content!r} with {len(row)} columns; expected {width}, "
                "as on the lines before."
            )
        sentences[-1].append(row)
    return [sentence for sentence in sentences if sentence]


def text_lines(content: bytes, path: Path) -> list[str]:
    """The lines of UTF-8 text; an `InputError` names the line that is not."""
    try:
        # not splitlines(), which also breaks at characters that a word may contain
        return content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"line {number} of {path} is not UTF-8 text ({error.reason}).") from error


class ChunkFeatures(TransformerMixin, BaseEstimator):
    """Words and parts of speech around a token, as indicator features in CSR matrices.

    Sentences are lists of ``(word, pos)`` rows; further columns are ignored. There are 19
    templates: words (lower-cased) at -2..2 and their pairs around 0, parts of speech at
    -2..2 with their pairs and triples; a position outside the sentence counts as one
    symbol of its own. Features seen fewer than `min_count` times in training are left
    out. Columns are grouped by template, and within one go by first appearance.

    >>> sentences = [[("The", "DT"), ("cat", "NN")], [("A", "DT"), ("cat", "NN")]]
    >>> features = ChunkFeatures(min_count=2).fit(sentences)
    >>> features.feature_names_[4:6], features.n_features_
    (['w[1]=<edge>', 'w[2]=<edge>'], 29)
    >>> features.transform(sentences)[0].sum(axis=1)
    array([16., 17.])
    """

    feature_names_: list[str]
    n_features_: int
    _symbols: list[dict[str, int]]
    _keys: list[np.ndarray]
    _numbers: list[np.ndarray]

    def __init__(self, min_count: int = 3) -> None:
        self.min_count = min_count

    def fit(self, X: Sequence[Sequence[Row]], y: Any = None) -> ChunkFeatures:
        """Number the features of the training sentences."""
        if not isinstance(self.min_count, numbers.Integral) or self.min_count < 1:
            raise OptionError(f"min_count={self.min_count!r} must be an integer >= 1.")
        symbols = [dict.fromkeys(column) for column in _columns(X)]
        self._symbols = [{s: i for i, s in enumerate(column, start=1)} for column in symbols]
        self._keys, self._numbers, self.feature_names_ = [], [], []
        for template, key in zip(_TEMPLATES, self._template_keys(X), strict=True):
            keys, first, count = np.unique(key, return_index=True, return_counts=True)
            is_kept = count >= self.min_count
            keys, order = keys[is_kept], np.argsort(first[is_kept])
            number = np.empty(len(order), dtype=np.int32)
            number[order] = np.arange(len(order)) + len(self.feature_names_)
            # the last entry, larger than any key, is what keys that were not kept are sent to
            self._keys.append(np.append(keys, np.iinfo(np.int64).max))
            self._numbers.append(np.append(number, np.int32(-1)))
            self.feature_names_ += self._names(template, keys[order])
        self.n_features_ = len(self.feature_names_)
        return self

    def transform(self, X: Sequence[Sequence[Row]]) -> list[sp.csr_array]:
        """One CSR matrix per sentence, a row a token."""
        check_is_fitted(self, "n_features_")
        active = np.stack(
            [
                _look_up(key, keys, number)
                for key, keys, number in zip(
                    self._template_keys(X), self._keys, self._numbers, strict=True
                )
            ],
            axis=1,
        )
        is_active = active >= 0
        indices = active[is_active]
        start = np.concatenate([[0], np.cumsum(is_active.sum(axis=1))]).astype(np.int32)
        ones = np.ones(len(indices))
        made = []
        for a, b in pairwise(accumulate((len(sentence) for sentence in X), initial=0)):
            i, j = start[a], start[b]
            parts = (ones[i:j], indices[i:j], start[a : b + 1] - i)
            made.append(sp.csr_array(parts, shape=(b - a, self.n_features_)))
        return made

    def _template_keys(self, X: Sequence[Sequence[Row]]) -> Iterator[np.ndarray]:
        """For each template, one integer per token that stands for the symbols it sees."""
        length = [len(sentence) for sentence in X]
        # two zeros (the edge) before, between and after the sentences
        centre = np.arange(sum(length)) + 2 * np.repeat(np.arange(1, len(length) + 1), length)
        padded = []
        for symbols, column in zip(self._symbols, _columns(X), strict=True):
            ids = np.zeros(sum(length) + 2 * len(length) + 2, dtype=np.int64)
            ids[centre] = [symbols.get(symbol, len(symbols) + 1) for symbol in column]
            padded.append(ids)
        for column_at, positions in _TEMPLATES:
            key = np.zeros(len(centre), dtype=np.int64)
            for position in positions:
                key = key * self._base(column_at) + padded[column_at][centre + position]
            yield key

    def _base(self, column: int) -> int:
        return len(self._symbols[column]) + 2

    def _names(self, template: tuple[int, tuple[int, ...]], keys: np.ndarray) -> list[str]:
        column, positions = template
        symbols, base = [_EDGE, *self._symbols[column]], self._base(column)
        powers = [base**power for power in reversed(range(len(positions)))]
        parts = [[symbols[at] for at in keys // power % base] for power in powers]
        head = "|".join(f"{'wp'[column]}[{position}]" for position in positions)
        return [f"{head}={'|'.join(seen)}" for seen in zip(*parts, strict=True)]


def _look_up(key: np.ndarray, keys: np.ndarray, number: np.ndarray) -> np.ndarray:
    at = np.searchsorted(keys, key)
    return np.where(keys[at] == key, number[at], np.int32(-1))


def _columns(X: Sequence[Sequence[Row]]) -> tuple[list[str], list[str]]:
    """All words, lower-cased, and all parts of speech, end to end."""
    words, tags = [], []
    for i, sentence in enumerate(X):
        if not len(sentence):
            raise InputError(f"X[{i}] is empty; every sequence needs at least one position.")
        for t, row in enumerate(sentence):
            if isinstance(row, str) or not hasattr(row, "__len__") or len(row) < 2:
                raise InputError(f"X[{i}][{t}] is {row!r}; expected a row (word, pos).")
            words.append(row[0].lower())
            tags.append(row[1])
    return words, tags


class ChunkScore(NamedTuple):
    """Precision, recall and F1 over whole chunks, as fractions.

    >>> ChunkScore(0.5, 1.0, 2 / 3).recall
    1.0
    """

    precision: float
    recall: float
    f1: float


def chunk_f1(Y_true: Sequence[Sequence[str]], Y_pred: Sequence[Sequence[str]]) -> ChunkScore:
    """Score of whole chunks, as conlleval counts: right means same start, end and type.

    Tags are ``O``, ``B-type`` and ``I-type``. An ``I-`` that continues no chunk of its
    type begins one, as in conlleval.

    >>> chunk_f1([["B-NP", "I-NP", "O", "B-VP"]], [["I-NP", "I-NP", "O", "O"]])
    ChunkScore(precision=1.0, recall=0.5, f1=0.6666666666666666)
    """
    if len(Y_true) != len(Y_pred):
        raise InputError(
            f"Y_true has {len(Y_true)} sequences and Y_pred has {len(Y_pred)}; expected as many."
        )
    n_true = n_predicted = n_right = 0
    for i, (true, predicted) in enumerate(zip(Y_true, Y_pred, strict=True)):
        if len(true) != len(predicted):
            raise InputError(
                f"Y_true[{i}] has {len(true)} tags and Y_pred[{i}] has {len(predicted)}; "
                "expected as many."
            )
        chunks, found = set(_chunks(true, f"Y_true[{i}]")), set(_chunks(predicted, f"Y_pred[{i}]"))
        n_true, n_predicted = n_true + len(chunks), n_predicted + len(found)
        n_right += len(chunks & found)
    return ChunkScore(
        n_right / n_predicted if n_predicted else 0.0,
        n_right / n_true if n_true else 0.0,
        2 * n_right / (n_true + n_predicted) if n_right else 0.0,
    )


def _chunks(tags: Sequence[str], where: str) -> Iterator[tuple[int, int, str]]:
    """Start, end (one past) and type of each chunk."""
    start, kind = 0, None
    for t, tag in enumerate(tags):
        if not isinstance(tag, str) or (tag != "O" and tag.partition("-")[0] not in ("B", "I")):
            raise InputError(f"{where}[{t}] is {tag!r}; expected 'O', 'B-...' or 'I-...'.")
        here = None if tag == "O" else tag.partition("-")[2]
        if here == kind and tag[0] != "B":
            continue
        if kind is not None:
            yield start, t, kind
        start, kind = t, here
    if kind is not None:
        yield start, len(tags), kind
