"""Sentence pairs and their word alignments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from blockwolfe.data.formats.alignment_lines import alignments_in, in_order
from blockwolfe.data.formats.base import Examples, Format, Source, check_any, joined, read_source
from blockwolfe.data.links import Alignment
from blockwolfe.data.vectorizers.alignments import AlignmentVectorizer
from blockwolfe.errors import InputError

__all__ = ["Alignments"]

_LINK = re.compile(r"([0-9]{1,18})([-?])([0-9]{1,18})")
_SHAPE = "'source words ||| target words ||| 0-0 1-2 2?1' (- is sure, ? is possible)"


class Alignments(Format):
    """A sentence pair a line, ``le chat ||| the cat ||| 0-0 1-1``, positions counted from 0.

    Or the three files of the shared tasks: STEM.wa (links), with STEM.e and STEM.f (sentences)
    beside it; STEM.e alone stands for the pairs without their links. Pairs without links are
    used in training all the same: words are counted in them.

    >>> pair = b"the cat ||| le chat ||| 0-0 1-1"
    >>> examples = Alignments().learn([Source("a.align", pair)])
    >>> examples.X[0].shape, examples.Y[0].sure.tolist()
    ((2, 2), [[0, 0], [1, 1]])
    """

    name = "alignments"
    learns = True
    output_name = "links"
    vectorizer: AlignmentVectorizer

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """Read a file."""
        loaded = _pairs(source)
        if labelled and loaded.Y is None:
            raise InputError(f"{source.name} has no links; expected {_SHAPE}, or a .wa file.")
        return self.prepare(loaded)

    def learn(self, sources: list[Source]) -> Examples:
        """Count words in all pairs; those with links are the examples."""
        return self.learn_from([_pairs(source) for source in sources])

    def learn_from(self, loaded: list[Examples]) -> Examples:
        """The same."""
        aligned = [some for some in loaded if some.Y]
        if not aligned:
            names = [name for some in loaded if some.places for name in some.places.names]
            where = ", ".join(names) or "the dataset"
            raise InputError(f"{where} has no links; expected {_SHAPE}, or a .wa file.")
        self.vectorizer = AlignmentVectorizer().fit([pair for some in loaded for pair in some.X])
        return self.prepare(joined(aligned))

    def prepare(self, loaded: Examples) -> Examples:
        """Features of word pairs."""
        return Examples(self.vectorizer.transform(loaded.X), loaded.Y, loaded.X, loaded.places)

    def write(self, examples: Examples, outputs: Any) -> Iterator[str]:
        """The links of a pair a line: ``0-0 1-2``."""
        for links in outputs:
            yield " ".join(f"{i}-{j}" for i, j in links)

    def words(self, examples: Examples) -> list[dict[str, Any]]:
        """The words of both sides."""
        return [{"source": source, "target": target} for source, target in examples.raw]

    def shown(self, examples: Examples) -> Any:
        """The words."""
        return examples.X if examples.raw is None else examples.raw

    @property
    def feature_names(self) -> Any:
        """Names of the features of links."""
        return self.vectorizer.feature_names_

    def packed(self) -> dict[str, Any]:
        """With the counts of words."""
        return super().packed() | {"counts": self.vectorizer.to_arrays()}

    def unpack(self, packed: dict[str, Any]) -> None:
        """The other way."""
        self.vectorizer = AlignmentVectorizer.from_arrays(packed["counts"])


def _pairs(source: Source) -> Examples:
    """Sentence pairs and, where there are any, links."""
    plain = source.name.removesuffix(".gz")
    if plain.endswith((".wa", ".e")):
        return _three_files(source, plain)
    X, Y, numbers = [], [], []
    for number, line in enumerate(source.lines(), start=1):
        if not line.strip():
            continue
        fields = [field.split() for field in line.split("|||")]
        links = [_LINK.fullmatch(link) for link in fields[2]] if len(fields) == 3 else []
        if len(fields) not in (2, 3) or not all(fields[:2]) or None in links:
            raise source.wrong_line(number, line, _SHAPE)
        X.append((fields[0], fields[1]))
        numbers.append(number)
        Y.append(_alignment(links, X[-1], source, number) if len(fields) == 3 else None)
        if (Y[0] is None) != (Y[-1] is None):
            raise source.wrong_line(number, line, "links in every line, or in none")
    check_any(X, source, "sentence pairs")
    return Examples(X, None if Y[0] is None else Y, places=source.places(numbers))


def _alignment(links: list[Any], pair: Any, source: Source, number: int) -> Alignment:
    for link in links:
        if int(link[1]) >= len(pair[0]) or int(link[3]) >= len(pair[1]):
            raise InputError(
                f"{source.places([number])[0]} has the link ({int(link[1])}, {int(link[3])}), but "
                f"the sentences have {len(pair[0])} and {len(pair[1])} words, counted from 0."
            )
    sure, possible = (
        np.array([(int(m[1]), int(m[3])) for m in links if m[2] == kind], dtype=np.int64)
        for kind in "-?"
    )
    return Alignment(sure.reshape(-1, 2), possible.reshape(-1, 2))


def _three_files(source: Source, plain: str) -> Examples:
    stem = plain.rpartition(".")[0]
    english, french = (_sentences(f"{stem}.{side}") for side in "ef")
    if len(english) != len(french):
        raise InputError(
            f"{stem}.e has {len(english)} lines and {stem}.f has {len(french)}; expected as many."
        )
    X = list(zip(english, french, strict=True))
    places = source.places(range(1, len(X) + 1), "sentence pair")
    if plain.endswith(".e"):
        return Examples(X, None, places=places)
    sizes = [(len(one), len(other)) for one, other in X]
    found = alignments_in(source.lines(), f" of {source.name}", sizes)
    return Examples(X, in_order(found, len(X), source.name), places=places)


def _sentences(path: str) -> list[list[str]]:
    source = read_source(path if Path(path).exists() else f"{path}.gz")
    lines = source.lines()
    while lines and not lines[-1].strip():
        lines.pop()
    for number, line in enumerate(lines, start=1):
        if not line.split():
            raise source.wrong_line(number, line, "the words of a sentence")
    return [line.split() for line in lines]
