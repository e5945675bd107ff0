"""Dependency treebanks in the CoNLL-U format."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from blockwolfe.data.text import shortened, text_lines, unpacked
from blockwolfe.errors import InputError

__all__ = ["Sentence", "iterate_conllu", "read_conllu"]

_HEAD = re.compile("0|[1-9][0-9]{0,8}")


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
    rows: list[tuple[str, str, int]] = []
    for number, line in enumerate(lines, start=1):
        content = line.rstrip("\r\n")
        if content.startswith("#"):
            continue
        if content.strip():
            found = f"line {number}{where} is {shortened(content)!r}"
            rows += _word(content, len(rows) + 1, found)
        elif rows:
            yield _sentence(rows, f"the sentence that ends at line {number}{where}")
            rows = []
    if rows:
        yield _sentence(rows, f"the sentence that ends at line {number}{where}")


def _word(content: str, expected: int, found: str) -> list[tuple[str, str, int]]:
    """Form, part of speech and head of a line; nothing for tokens that are not in the tree."""
    columns = content.split("\t")
    if len(columns) != 10:
        raise InputError(f"{found} with {len(columns)} columns; expected 10 with tabs between.")
    name, head = columns[0], columns[6]
    if "-" in name or "." in name:
        return []
    if name != str(expected):
        raise InputError(
            f"{found} with ID {shortened(name)!r}; expected {expected}, the next word."
        )
    if _HEAD.fullmatch(head) is None:
        raise InputError(f"{found} with HEAD {shortened(head)!r}; expected the ID of a word, or 0.")
    return [(columns[1], columns[3], int(head))]


def _sentence(rows: list[tuple[str, str, int]], name: str) -> Sentence:
    heads = np.array([row[2] for row in rows])
    if heads.max() > len(rows):
        at = int(np.argmax(heads > len(rows)))
        raise InputError(
            f"{name} has {len(rows)} words, but word {at + 1}, {shortened(rows[at][0])!r}, has "
            f"HEAD {heads[at]}."
        )
    return Sentence([row[:2] for row in rows], heads)
