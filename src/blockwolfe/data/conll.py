"""Chunking as in CoNLL-2000: the column format, the features, and the score."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from blockwolfe.data.fetch import unpacked
from blockwolfe.data.templates import CHUNK_TEMPLATE, Row, TemplateFeatures
from blockwolfe.errors import InputError

__all__ = ["ChunkFeatures", "ChunkScore", "chunk_f1", "read_columns"]

_BLANKS = re.compile(r"[ \t]+")


def read_columns(
    path_or_lines: str | os.PathLike[str] | Iterable[str], where: str = ""
) -> list[list[Row]]:
    """Sentences of a file in CoNLL columns: a row a token, blanks between, an empty line after.

    Takes a path (gzip or plain text) or the lines themselves. A line that has not as many
    columns as the first is an `InputError` that says which line; `where` is added to it.

    >>> read_columns(["He PRP B-NP", "ran VBD B-VP", "", "Why WRB B-ADVP"])
    [[('He', 'PRP', 'B-NP'), ('ran', 'VBD', 'B-VP')], [('Why', 'WRB', 'B-ADVP')]]
    """
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
                f"line {number}{where} is {shortened(content)!r} with {len(row)} columns; "
                f"expected {width}, "
                "as on the lines before."
            )
        sentences[-1].append(row)
    return [sentence for sentence in sentences if sentence]


def shortened(line: str) -> str:
    """At most 80 characters of a line, for an error about it."""
    return line if len(line) <= 80 else f"{line[:77]}..."


def text_lines(content: bytes, path: Path) -> list[str]:
    """The lines of UTF-8 text; an `InputError` names the line that is not."""
    content = content.removeprefix(codecs.BOM_UTF8)  # (what some editors begin a file with)
    try:
        # not splitlines(), which also breaks at characters that a word may contain
        return content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"line {number} of {path} is not UTF-8 text ({error.reason}).") from error


class ChunkFeatures(TemplateFeatures):
    """Words and parts of speech around a token, as indicator features in CSR matrices.

    Sentences are lists of ``(word, pos)`` rows; further columns are ignored. The features are
    `TemplateFeatures` of 19 templates: words (lower-cased) at -2..2 and their pairs around 0,
    parts of speech at -2..2 with their pairs and triples. Features seen fewer than `min_count`
    times in training are left out.

    >>> sentences = [[("The", "DT"), ("cat", "NN")], [("A", "DT"), ("cat", "NN")]]
    >>> features = ChunkFeatures(min_count=2).fit(sentences)
    >>> features.feature_names_[4:6], features.n_features_
    (['w[1]=<edge>', 'w[2]=<edge>'], 29)
    >>> features.transform(sentences)[0].sum(axis=1)
    array([16., 17.])
    """

    template = CHUNK_TEMPLATE
    _row = "(word, pos)"

    def __init__(self, min_count: int = 3) -> None:
        self.min_count = min_count


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
