"""SVM-light rows, and those of SVM-hmm: ``label qid:3 1:0.5 7:1  # comment``."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.schema import Reader
from blockwolfe.data.formats.base import (
    Examples,
    Format,
    Source,
    Summary,
    check_any,
    check_length,
    joined,
    written,
)
from blockwolfe.data.text import shortened
from blockwolfe.errors import InputError

__all__ = ["LabelSetRows", "SVMLight"]

MOST_FEATURES = 2**31 - 1  # that a model file may speak of: indices have 32 bits

_ROW = (
    "label index:value ..., with indices from 1 to 2147483647 that increase and finite values "
    "(scikit-learn writes them with dump_svmlight_file(..., zero_based=False))"
)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")  # (as arrays hold them; int() also takes 1_000 and ٣)


class _Rows(NamedTuple):
    labels: list[list[str]]  # one a row, or a set
    group: list[str]  # qid of each row
    indptr: array[int]
    indices: array[int]
    values: array[float]
    lines: array[int]  # where each row is


class SVMLight(Format):
    r"""Rows of ``index:value``, indices from 1; for sequences, rows of one ``qid`` in a run.

    Labels that are all integers in training are integers. Features with an index above the
    largest of training are left out in prediction.

    >>> made = SVMLight()
    >>> examples = made.learn([Source("a.dat", b"1 qid:1 1:0.5\n2 qid:1 3:1\n1 qid:2 2:2\n")])
    >>> [x.shape for x in examples.X], [y.tolist() for y in examples.Y]
    ([(2, 3), (1, 3)], [[1, 2], [1]])
    """

    name = "svmlight"
    kept = ("n_features", "has_integers")
    n_features: int
    has_summaries = True
    has_integers: bool | None = None  # as labels; None where training has not told
    has_sets: ClassVar[bool] = False  # whether a row may have several labels, or none

    def learn(self, sources: list[Source]) -> Examples:
        """Read all files; the largest index is the number of features."""
        files = [_parsed(source, self.has_sets) for source in sources]
        self.agree([_told(file) for file in files])
        return joined([self._examples(f, s) for f, s in zip(files, sources, strict=True)])

    def summary(self, sources: list[Source]) -> Summary:
        """The number of features of some of the training files, and what labels are."""
        told = [_told(_parsed(source, self.has_sets)) for source in sources]
        return Summary((max(n for n, _ in told), all(are_integers for _, are_integers in told)))

    def agree(
        self, told: Sequence[tuple[int, bool]], names_of: Callable[[list[Any]], Any] | None = None
    ) -> None:
        """Take the largest number of features; labels are integers where all are."""
        self.n_features = max(n for n, _ in told)
        self.has_integers = all(are_integers for _, are_integers in told)

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """Read a file; there is always a label (0 where it is not known, by custom)."""
        rows = _parsed(source, self.has_sets)
        if labelled and self.has_integers:
            _check_integers(rows, source)
        return self._examples(rows, source)

    def unpack(self, packed: dict[str, Any]) -> None:
        """The number of features, and what labels are (which version 0.1.0 did not keep)."""
        read = Reader({"has_integers": None, **packed}, "input")
        self.n_features = read.integer("n_features", most=MOST_FEATURES)
        is_known = read.given("has_integers") is not None
        self.has_integers = read.flag("has_integers") if is_known else None

    def _examples(self, rows: _Rows, source: Source) -> Examples:
        parts = (np.array(rows.values), np.array(rows.indices, dtype=np.int32), rows.indptr)
        widest = max(self.n_features, max(rows.indices, default=0) + 1)
        matrix = sp.csr_array(parts, shape=(len(rows.labels), widest))[:, : self.n_features]
        labels = self._labels(rows.labels)
        if not self.is_sequence:
            return Examples(matrix, labels, places=source.places(rows.lines))
        if not rows.group[0]:
            raise InputError(
                f"{source.name} has no qid:...; sequences need one in every row: label qid:1 3:0.5."
            )
        starts = [i for i, (a, b) in enumerate(pairwise(rows.group), start=1) if a != b]
        spans = list(pairwise([0, *starts, len(rows.group)]))
        places = source.places([rows.lines[a] for a, _ in spans])
        X, Y = ([some[a:b] for a, b in spans] for some in (matrix, labels))
        return Examples(X, Y, places=places)

    def _labels(self, found: list[list[str]]) -> Any:
        return np.array(self._meant([label for row in found for label in row]))

    def _meant(self, labels: Sequence[str]) -> list[Any]:
        """Integers where training had them (or where all are, if nobody knows)."""
        are_integers = self.has_integers is not False and all(map(_is_integer, labels))
        return [int(label) for label in labels] if are_integers else list(labels)

    def write(self, examples: Examples, outputs: Any) -> Iterator[str]:
        """One label a line, as svm_hmm_classify does."""
        for output in outputs:
            yield from map(str, output if self.is_sequence else [written(output)])

    @property
    def feature_names(self) -> Sequence[int]:
        """The indices."""
        return range(1, self.n_features + 1)


class LabelSetRows(SVMLight):
    r"""Rows with any number of labels, ``1,4 2:0.5 7:1``; a row without labels begins with a pair.

    >>> examples = LabelSetRows(is_sequence=False).learn([Source("a.svm", b"1,4 1:1\n2:1\n")])
    >>> [sorted(y) for y in examples.Y]
    [[1, 4], []]
    """

    has_sets = True

    def _labels(self, found: list[list[str]]) -> Any:
        known = sorted({label for row in found for label in row})
        meaning = dict(zip(known, self._meant(known), strict=True))
        return [{meaning[label] for label in row} for row in found]


def _told(rows: _Rows) -> tuple[int, bool]:
    """The number of features, and whether all labels are integers."""
    are_integers = all(_is_integer(label) for labels in rows.labels for label in labels)
    return max(rows.indices, default=0) + 1, are_integers


def _is_integer(label: str) -> bool:
    return _INTEGER.fullmatch(label) is not None


def _check_integers(rows: _Rows, source: Source) -> None:
    for labels, number in zip(rows.labels, rows.lines, strict=True):
        for label in labels:
            if not _is_integer(label):
                raise InputError(
                    f"{source.places([number])[0]} has the label {shortened(label)!r}; expected "
                    "integers, as in training."
                )


def _parsed(source: Source, has_sets: bool) -> _Rows:
    rows = _Rows([], [], array("q", [0]), array("i"), array("d"), array("q"))
    for number, line in enumerate(source.lines(), start=1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        label, *pairs = ["", *fields] if has_sets and ":" in fields[0] else fields
        has_group = bool(pairs) and pairs[0].startswith("qid:")
        rows.group.append(pairs[0][4:] if has_group else "")
        if has_group != bool(rows.group[0]) or ":" in label:
            raise source.wrong_line(number, line.strip(), f"{_ROW}; qid:... in every row or none")
        labels = (label.split(",") if label else []) if has_sets else [label]
        if not all(labels):
            raise source.wrong_line(number, line.strip(), "labels with single commas between")
        check_length(labels, f"line {number} of {source.name}")
        rows.labels.append(labels)
        rows.lines.append(number)
        before = 0
        for pair in pairs[1:] if has_group else pairs:
            index, value = _pair(pair)
            if not before < index < 2**31 or not math.isfinite(value):
                raise source.wrong_line(number, line.strip(), f"{_ROW} (found {shortened(pair)!r})")
            rows.indices.append(index - 1)
            rows.values.append(value)
            before = index
        rows.indptr.append(len(rows.indices))
    check_any(rows.labels, source, "rows")
    return rows


def _pair(text: str) -> tuple[int, float]:
    """Index and value; index 0, which is never valid, where the text is no such pair."""
    index, _, value = text.partition(":")
    if not text.isascii() or "_" in text:  # (int and float take 1_000 and digits of any script)
        return 0, 0.0
    try:
        return int(index), float(value)
    except ValueError:
        return 0, 0.0
