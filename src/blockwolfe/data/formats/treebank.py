"""CoNLL-U files as sentences and heads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blockwolfe.data.formats.base import Examples, Format, Source, check_any
from blockwolfe.data.formats.conllu import iterate_conllu

__all__ = ["Treebank"]

_HEAD = 6  # column


class Treebank(Format):
    r"""CoNLL-U: words with parts of speech; outputs are the heads.

    >>> row = "{}\t{}\t_\t{}\t_\t_\t{}\t_\t_\t_".format
    >>> text = "\n".join([row(1, "Birds", "NOUN", 2), row(2, "fly", "VERB", 0), ""])
    >>> examples = Treebank().learn([Source("a.conllu", text.encode())])
    >>> examples.X, examples.Y[0].tolist()
    ([[('Birds', 'NOUN'), ('fly', 'VERB')]], [2, 0])
    """

    name = "conllu"

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """Read a file; where HEAD is ``_``, there are no outputs."""
        lines = source.lines()
        without = [k for k, line in enumerate(lines, 1) if _is_word(line) and _head(line) == "_"]
        has_heads = not without
        if labelled and without:
            raise source.wrong_line(without[0], lines[without[0] - 1], "a word with its HEAD")
        read = lines if has_heads else [_with_head(line, "0") for line in lines]
        sentences = list(iterate_conllu(read, f" of {source.name}"))
        check_any(sentences, source, "sentences")
        heads = [sentence.heads for sentence in sentences] if has_heads else None
        first = [k for k, line in enumerate(lines, 1) if line.partition("\t")[0] == "1"]
        tokens = [sentence.tokens for sentence in sentences]
        raw = lines[:-1] if not lines[-1] else lines  # (what follows the last end of a line)
        return Examples(tokens, heads, raw, source.places(first))

    def write(self, examples: Examples, outputs: Any) -> Iterator[str]:
        """The file as it was, with predicted heads."""
        heads = (str(head) for output in outputs for head in output)
        for line in examples.raw:
            yield _with_head(line, next(heads)) if _is_word(line) else line.rstrip("\r\n")


def _is_word(line: str) -> bool:
    name = line.partition("\t")[0]
    return name.isascii() and name.isdecimal()


def _head(line: str) -> str:
    columns = line.split("\t")
    return columns[_HEAD] if len(columns) > _HEAD else ""


def _with_head(line: str, head: str) -> str:
    columns = line.rstrip("\r\n").split("\t")
    if _is_word(line) and len(columns) > _HEAD:
        columns[_HEAD] = head
    return "\t".join(columns)
