"""Word alignments in the file format of the shared tasks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from blockwolfe.data.links import Alignment
from blockwolfe.data.text import shortened, text_lines, unpacked
from blockwolfe.errors import InputError

__all__ = ["alignments_in", "in_order", "read_alignments"]

_NUMBER = "([0-9]{1,18})[ \\t]+"
_LINE = re.compile(f"{3 * _NUMBER}([SP])")


def read_alignments(path_or_lines: str | os.PathLike[str] | Iterable[str]) -> dict[int, Alignment]:
    """Alignments by sentence number, from lines ``sentence source target S|P``, counted from 1.

    Takes a path (gzip or plain text) or the lines themselves. Positions of the result are
    counted from 0, sentence numbers are those of the file. A malformed line, or a link that is
    listed twice, is an `InputError` that says which line.

    >>> read_alignments(["0001 1 1 S", "0001 2 3 P"])[1].possible.tolist()
    [[1, 2]]
    """
    if isinstance(path_or_lines, (str, os.PathLike)):
        path = Path(path_or_lines)
        return alignments_in(text_lines(unpacked(path), path), f" of {path}")
    return alignments_in(path_or_lines)


def alignments_in(
    lines: Iterable[str], where: str = "", sizes: Sequence[tuple[int, int]] | None = None
) -> dict[int, Alignment]:
    """The same, from lines; `where` is added to the line's number in errors.

    `sizes`: how many words the two sides of each sentence pair have, beyond which no link may go.
    """
    found: dict[int, dict[tuple[int, int], str]] = {}
    for number, line in enumerate(lines, start=1):
        content = line.strip()
        if not content:
            continue
        match = _LINE.fullmatch(content)
        sentence, source, target = map(int, match.groups()[:3]) if match else (0, 0, 0)
        if match is None or min(sentence, source, target) < 1:
            raise InputError(
                f"line {number}{where} is {shortened(content)!r}; expected 'sentence source target "
                "S' or '... P' with positions counted from 1."
            )
        if sizes is not None:
            _check_inside(sizes, sentence, source, target, f"line {number}{where} is {content!r}")
        links = found.setdefault(sentence, {})
        if (source - 1, target - 1) in links:
            raise InputError(f"line {number}{where} is {content!r}: that link was listed before.")
        links[source - 1, target - 1] = match[4]
    return {sentence: _by_kind(links) for sentence, links in found.items()}


def _check_inside(
    sizes: Sequence[tuple[int, int]], sentence: int, source: int, target: int, found: str
) -> None:
    if sentence > len(sizes):
        raise InputError(f"{found}: it aligns sentence {sentence}, but there are {len(sizes)}.")
    n_source, n_target = sizes[sentence - 1]
    if source > n_source or target > n_target:
        raise InputError(
            f"{found}, but the sentences of pair {sentence} have {n_source} and {n_target} words."
        )


def in_order(found: dict[int, Alignment], n: int, name: str) -> list[Alignment]:
    """Alignments of sentences 1 to n; those that `name` does not list have no links."""
    if max(found, default=0) > n:
        raise InputError(f"{name} aligns sentence {max(found)}, but there are {n}.")
    return [found.get(i, Alignment([], [])) for i in range(1, n + 1)]


def _by_kind(links: dict[tuple[int, int], str]) -> Alignment:
    sure, possible = (
        np.array(sorted(link for link, kind in links.items() if kind == wanted), dtype=np.int64)
        for wanted in "SP"
    )
    return Alignment(sure.reshape(-1, 2), possible.reshape(-1, 2))
