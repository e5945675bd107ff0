"""CoNLL-U files as sentences and heads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blockwolfe.data.formats.base import Examples, Format, Source, check_any
from blockwolfe.data.formats.conllu import (
    HEAD,
    column_of,
    is_word,
    iterate_conllu,
    with_column,
)

__all__ = ["Treebank", "file_lines", "file_with", "first_lines"]


class Treebank(Format):
    r"""CoNLL-U: words with parts of speech; outputs are the heads.

    >>> row = "{}\t{}\t_\t{}\t_\t_\t{}\t_\t_\t_".format
    >>> text = "\n".join([row(1, "Birds", "NOUN", 2), row(2, "fly", "VERB", 0), ""])
    >>> examples = Treebank().learn([Source("a.conllu", text.encode())])
    >>> examples.X, examples.Y[0].tolist()
    ([[('Birds', 'NOUN'), ('fly', 'VERB')]], [2, 0])
    """

    name = "conllu"
    output_name = "heads"

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """Read a file; where HEAD is ``_``, there are no outputs."""
        lines = source.lines()
        words = [(k, line) for k, line in enumerate(lines, 1) if is_word(line)]
        without = [k for k, line in words if column_of(line, HEAD) == "_"]
        has_heads = not without
        if labelled and without:
            raise source.wrong_line(without[0], lines[without[0] - 1], "a word with its HEAD")
        read = lines if has_heads else [with_column(line, HEAD, "0") for line in lines]
        sentences = list(iterate_conllu(read, f" of {source.name}"))
        check_any(sentences, source, "sentences")
        heads = [sentence.heads for sentence in sentences] if has_heads else None
        tokens = [sentence.tokens for sentence in sentences]
        return Examples(tokens, heads, file_lines(lines), source.places(first_lines(lines)))

    def write(self, examples: Examples, outputs: Any) -> Iterator[str]:
        """The file as it was, with predicted heads."""
        yield from file_with(examples.raw, HEAD, outputs)

    def words(self, examples: Examples) -> list[dict[str, Any]]:
        """The words."""
        return [{"tokens": [word for word, _ in sentence]} for sentence in examples.X]


def first_lines(lines: list[str]) -> list[int]:
    """Where each sentence begins."""
    return [k for k, line in enumerate(lines, 1) if line.partition("\t")[0] == "1"]


def file_lines(lines: list[str]) -> list[str]:
    """Without what follows the last end of a line."""
    return lines[:-1] if not lines[-1] else lines


def file_with(lines: list[str], column: int, outputs: Any) -> Iterator[str]:
    """A file with other values in one column of its words."""
    values = (str(value) for output in outputs for value in output)
    for line in lines:
        yield with_column(line, column, next(values)) if is_word(line) else line.rstrip("\r\n")
