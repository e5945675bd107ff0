"""SVM-light rows, and those of SVM-hmm: ``label qid:3 1:0.5 7:1  # comment``."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.schema import Reader
from blockwolfe.data.formats.base import Examples, Format, Source, check_any, joined, written
from blockwolfe.errors import InputError

__all__ = ["LabelSetRows", "SVMLight"]

MOST_FEATURES = 2**31 - 1  # that a model file may speak of: indices have 32 bits

_ROW = (
    "label index:value ..., with indices from 1 to 2147483647 that increase (scikit-learn writes "
    "them with dump_svmlight_file(..., zero_based=False))"
)


class _Rows(NamedTuple):
    labels: list[str]
    group: list[str]  # qid of each row
    indptr: array[int]
    indices: array[int]
    values: array[float]


class SVMLight(Format):
    r"""Rows of ``index:value``, indices from 1; for sequences, rows of one ``qid`` in a run.

    Labels that are all integers are integers. Features with an index above the largest of
    training are left out in prediction.

    >>> made = SVMLight()
    >>> examples = made.learn([Source("a.dat", b"1 qid:1 1:0.5\n2 qid:1 3:1\n1 qid:2 2:2\n")])
    >>> [x.shape for x in examples.X], [y.tolist() for y in examples.Y]
    ([(2, 3), (1, 3)], [[1, 2], [1]])
    """

    name = "svmlight"
    kept = ("n_features",)
    n_features: int
    has_sets: ClassVar[bool] = False  # whether a row may have several labels, or none

    def learn(self, sources: list[Source]) -> Examples:
        """Read all files; the largest index is the number of features."""
        files = [_parsed(source, self.has_sets) for source in sources]
        self.n_features = max(max(file.indices, default=0) for file in files) + 1
        return joined([self._examples(f, s) for f, s in zip(files, sources, strict=True)])

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """Read a file; there is always a label (0 where it is not known, by custom)."""
        return self._examples(_parsed(source, self.has_sets), source)

    def unpack(self, packed: dict[str, Any]) -> None:
        """The number of features."""
        self.n_features = Reader(packed, "input").integer("n_features", most=MOST_FEATURES)

    def _examples(self, rows: _Rows, source: Source) -> Examples:
        parts = (np.array(rows.values), np.array(rows.indices, dtype=np.int32), rows.indptr)
        widest = max(self.n_features, max(rows.indices, default=0) + 1)
        matrix = sp.csr_array(parts, shape=(len(rows.labels), widest))[:, : self.n_features]
        labels = self._labels(rows.labels)
        if not self.is_sequence:
            return Examples(matrix, labels)
        if not rows.group[0]:
            raise InputError(
                f"{source.name} has no qid:...; sequences need one in every row: label qid:1 3:0.5."
            )
        group = np.array(rows.group)
        ends = [0, *(np.flatnonzero(group[1:] != group[:-1]) + 1), len(group)]
        spans = list(pairwise(ends))
        return Examples([matrix[a:b] for a, b in spans], [labels[a:b] for a, b in spans])

    def _labels(self, written: list[str]) -> Any:
        return _numbers(written)

    def write(self, examples: Examples, outputs: Any) -> Iterator[str]:
        """One label a line, as svm_hmm_classify does."""
        for output in outputs:
            yield from map(str, output if self.is_sequence else [written(output)])

    @property
    def feature_names(self) -> list[str]:
        """The indices."""
        return [str(j + 1) for j in range(self.n_features)]


class LabelSetRows(SVMLight):
    r"""Rows with any number of labels, ``1,4 2:0.5 7:1``; a row without labels begins with a pair.

    >>> examples = LabelSetRows(is_sequence=False).learn([Source("a.svm", b"1,4 1:1\n2:1\n")])
    >>> [sorted(y) for y in examples.Y]
    [[1, 4], []]
    """

    has_sets = True

    def _labels(self, written: list[str]) -> Any:
        sets = [row.split(",") if row else [] for row in written]
        known = sorted({label for row in sets for label in row})
        meaning = dict(zip(known, _numbers(known).tolist(), strict=True))
        return [{meaning[label] for label in row} for row in sets]


def _numbers(written: list[str]) -> np.ndarray:
    try:
        return np.array([int(label) for label in written])
    except ValueError:
        return np.array(written)


def _parsed(source: Source, has_sets: bool) -> _Rows:
    rows = _Rows([], [], array("q", [0]), array("i"), array("d"))
    for number, line in enumerate(source.lines(), start=1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        label, *pairs = ["", *fields] if has_sets and ":" in fields[0] else fields
        has_group = bool(pairs) and pairs[0].startswith("qid:")
        rows.group.append(pairs[0][4:] if has_group else "")
        if has_group != bool(rows.group[0]) or ":" in label:
            raise source.wrong_line(number, line.strip(), f"{_ROW}; qid:... in every row or none")
        rows.labels.append(label)
        before = 0
        for pair in pairs[1:] if has_group else pairs:
            index, value = _pair(pair)
            if not before < index < 2**31:
                raise source.wrong_line(number, line.strip(), f"{_ROW} (found {pair!r})")
            rows.indices.append(index - 1)
            rows.values.append(value)
            before = index
        rows.indptr.append(len(rows.indices))
    check_any(rows.labels, source, "rows")
    return rows


def _pair(text: str) -> tuple[int, float]:
    """Index and value; index 0, which is never valid, where the text is no such pair."""
    index, _, value = text.partition(":")
    try:
        return int(index), float(value)
    except ValueError:
        return 0, 0.0
