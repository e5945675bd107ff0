"""Dependency treebanks in the CoNLL-U format."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from blockwolfe.base.words import counted
from blockwolfe.data.text import shortened, text_lines, unpacked
from blockwolfe.errors import InputError

__all__ = [
    "COLUMNS",
    "FORM",
    "HEAD",
    "UPOS",
    "Row",
    "Sentence",
    "column_of",
    "is_word",
    "iterate_conllu",
    "iterate_rows",
    "read_conllu",
    "with_column",
]

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FORM, UPOS, HEAD = (COLUMNS.index(name) for name in ("form", "upos", "head"))
Row = tuple[str, ...]

_NUMBER = re.compile("0|[1-9][0-9]{0,8}")


class Sentence(NamedTuple):
    """The words of a sentence with their parts of speech, and their heads (0 is the root).

    >>> Sentence([("Birds", "NOUN"), ("fly", "VERB")], np.array([2, 0])).heads
    array([2, 0])
    """

    tokens: list[tuple[str, str]]
    heads: np.ndarray


def read_conllu(path_or_lines: str | os.PathLike[str] | Iterable[str]) -> list[Sentence]:
    r"""All sentences of a CoNLL-U file (gzip or plain text), or of lines.

    >>> row = "{}\t{}\t_\t{}\t_\t_\t{}\t_\t_\t_".format
    >>> read_conllu([row(1, "Birds", "NOUN", 2), row(2, "fly", "VERB", 0), ""])[0].tokens
    [('Birds', 'NOUN'), ('fly', 'VERB')]
    """
    if not isinstance(path_or_lines, (str, os.PathLike)):
        return list(iterate_conllu(path_or_lines))
    path = Path(path_or_lines)
    return list(iterate_conllu(text_lines(unpacked(path), path), f" of {path}"))


def iterate_conllu(lines: Iterable[str], where: str = "") -> Iterator[Sentence]:
    r"""Sentences one by one as lines come, for example from ``sys.stdin``.

    Comments, multiword tokens (ID ``3-4``) and empty nodes (ID ``3.1``) are passed over. A
    malformed line is an `InputError` with its number and content; `where` is added to it.

    >>> list(iterate_conllu(["1\tHi"]))
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: line 1 is '1\tHi' with 2 columns; expected 10 with tabs between.
    """
    for end, rows in iterate_rows(lines, where, _check_head):
        yield _sentence(rows, f"the sentence that ends at line {end}{where}")


def iterate_rows(
    lines: Iterable[str], where: str = "", check: Callable[[Row, str], None] | None = None
) -> Iterator[tuple[int, list[Row]]]:
    """The line at which each sentence ends, and all ten columns of its words.

    `check` is called with each word and what errors call its line.
    """
    rows: list[Row] = []
    for number, line in enumerate(lines, start=1):
        content = line.rstrip("\r\n")
        if content.startswith("#"):
            continue
        if content.strip():
            found = f"line {number}{where} is {shortened(content)!r}"
            for row in _word(content, len(rows) + 1, found):
                if check is not None:
                    check(row, found)
                rows.append(row)
        elif rows:
            yield number, rows
            rows = []
    if rows:
        yield number, rows


def _word(content: str, expected: int, found: str) -> list[Row]:
    """The columns of a line; nothing for tokens that are not words of the sentence."""
    columns = tuple(content.split("\t"))
    if len(columns) != len(COLUMNS):
        raise InputError(f"{found} with {len(columns)} columns; expected 10 with tabs between.")
    name = columns[0]
    if "-" in name or "." in name:
        return []
    if name != str(expected):
        raise InputError(
            f"{found} with ID {shortened(name)!r}; expected {expected}, the next word."
        )
    return [columns]


def _check_head(row: Row, found: str) -> None:
    if _NUMBER.fullmatch(row[HEAD]) is None:
        raise InputError(
            f"{found} with HEAD {shortened(row[HEAD])!r}; expected the ID of a word, or 0."
        )


def _sentence(rows: list[Row], name: str) -> Sentence:
    heads = np.array([int(row[HEAD]) for row in rows])
    if heads.max() > len(rows):
        at = int(np.argmax(heads > len(rows)))
        raise InputError(
            f"{name} has {counted(len(rows), 'word')}, but word {at + 1}, "
            f"{shortened(rows[at][FORM])!r}, has HEAD {heads[at]}."
        )
    return Sentence([(row[FORM], row[UPOS]) for row in rows], heads)


def is_word(line: str) -> bool:
    """Whether a line is a word: not a comment, a multiword token or an empty node."""
    name = line.partition("\t")[0]
    return name.isascii() and name.isdecimal()


def column_of(line: str, column: int) -> str:
    """One column of a line; empty where it has fewer."""
    columns = line.rstrip("\r\n").split("\t")
    return columns[column] if len(columns) > column else ""


def with_column(line: str, column: int, value: str) -> str:
    """The line of a word with another value in a column; other lines as they are."""
    columns = line.rstrip("\r\n").split("\t")
    if is_word(line) and len(columns) > column:
        columns[column] = value
    return "\t".join(columns)
