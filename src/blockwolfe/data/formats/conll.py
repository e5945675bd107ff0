"""Columns of tokens, as in the shared tasks of CoNLL."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from blockwolfe.data.text import shortened, text_lines, unpacked
from blockwolfe.data.vectorizers.templates import Row
from blockwolfe.errors import InputError

__all__ = ["numbered_columns", "read_columns"]

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
        return numbered_columns(text_lines(unpacked(path), path), f" of {path}")[0]
    return numbered_columns(path_or_lines, where)[0]


def numbered_columns(lines: Iterable[str], where: str = "") -> tuple[list[list[Row]], list[int]]:
    """The same from lines, and the line on which each sentence begins; `where` is for errors."""
    sentences: list[list[Row]] = []
    starts: list[int] = []
    width, is_new = 0, True
    for number, line in enumerate(lines, start=1):
        content = line.strip(" \t\r\n")
        if not content:
            is_new = True
            continue
        row = tuple(_BLANKS.split(content))
        width = width or len(row)
        if len(row) != width:
            raise InputError(
                f"line {number}{where} is {shortened(content)!r} with {len(row)} columns; "
                f"expected {width}, "
                "as on the lines before."
            )
        if is_new:
            sentences.append([])
            starts.append(number)
            is_new = False
        sentences[-1].append(row)
    return sentences, starts
