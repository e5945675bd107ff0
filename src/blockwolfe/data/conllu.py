"""Dependency treebanks: the CoNLL-U format, the English Web Treebank, the attachment score."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.data.conll import text_lines
from blockwolfe.data.datasets import Dataset, PathLike
from blockwolfe.data.fetch import check_content, find_file, unpacked
from blockwolfe.errors import InputError, unknown_option

__all__ = [
    "Sentence",
    "iterate_conllu",
    "load_ud_ewt",
    "read_conllu",
    "unlabelled_attachment_score",
]

_EWT_SHA256 = {
    "train": "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
    "dev": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
    "test": "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
}


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
            rows += _word(content, len(rows) + 1, f"line {number}{where} is {content!r}")
        elif rows:
            yield _sentence(rows, f"the sentence that ends at line {number}{where}")
            rows = []
    if rows:
        yield _sentence(rows, f"the last sentence{where}")


def _word(content: str, expected: int, found: str) -> list[tuple[str, str, int]]:
    """Form, part of speech and head of a line; nothing for tokens that are not in the tree."""
    columns = content.split("\t")
    if len(columns) != 10:
        raise InputError(f"{found} with {len(columns)} columns; expected 10 with tabs between.")
    name, head = columns[0], columns[6]
    if "-" in name or "." in name:
        return []
    if name != str(expected):
        raise InputError(f"{found} with ID {name!r}; expected {expected}, the next word.")
    if not head.isdecimal():
        raise InputError(f"{found} with HEAD {head!r}; expected the ID of a word, or 0.")
    return [(columns[1], columns[3], int(head))]


def _sentence(rows: list[tuple[str, str, int]], name: str) -> Sentence:
    heads = np.array([row[2] for row in rows])
    if heads.max() > len(rows):
        at = int(np.argmax(heads > len(rows)))
        raise InputError(
            f"{name} has {len(rows)} words, but word {at + 1}, {rows[at][0]!r}, has HEAD "
            f"{heads[at]}."
        )
    return Sentence([row[:2] for row in rows], heads)


def load_ud_ewt(split: str = "train", data_home: PathLike | None = None) -> Dataset:
    """Universal Dependencies English Web Treebank: words with parts of speech, and their heads.

    split : "train" (12544 sentences), "dev" (2001) or "test" (2077).
    data_home : folder that holds ``ud_ewt/en_ewt-ud-train.conllu.gz`` and so on; by default the
        environment variable ``BLOCKWOLFE_DATA``, else a cache that is filled by download.

    X has lists of ``(form, upos)``; Y has the head of every word, 0 for the root. Snapshot of
    May 2025; N. Silveira et al. (2014), CC BY-SA 4.0.

    >>> load_ud_ewt("validation")
    Traceback (most recent call last):
      ...
    blockwolfe.errors.OptionError: split='validation' is not known; valid: 'train', 'dev', 'test'.
    """
    if split not in _EWT_SHA256:
        raise unknown_option("split", split, _EWT_SHA256)

    def read(path: Path) -> list[Sentence]:
        content = unpacked(path)
        check_content(hashlib.sha256(content).hexdigest(), _EWT_SHA256[split], path)
        return list(iterate_conllu(text_lines(content, path), f" of {path}"))

    name = f"en_ewt-ud-{split}.conllu"
    sentences = read(find_file("ud_ewt", f"{name}.gz", data_home, also=(name,), check=read))
    return Dataset(
        X=[sentence.tokens for sentence in sentences],
        Y=[sentence.heads for sentence in sentences],
        name=f"ud-ewt-{split}",
        description="English web texts with parts of speech and dependency trees.",
        label_names=(),
        feature_names=None,
        n_features=None,
        units=("sentences", "words"),
    )


def unlabelled_attachment_score(Y_true: Sequence[Any], Y_pred: Sequence[Any]) -> float:
    """Share of words, punctuation included, that have the right head.

    >>> unlabelled_attachment_score([[2, 0], [0]], [[0, 1], [0]])
    0.3333333333333333
    """
    if len(Y_true) != len(Y_pred) or not len(Y_true):
        raise InputError(
            f"Y_true has {len(Y_true)} sentences and Y_pred has {len(Y_pred)}; expected as many, "
            "and at least one."
        )
    for i, (true, predicted) in enumerate(zip(Y_true, Y_pred, strict=True)):
        if len(true) != len(predicted):
            raise InputError(
                f"Y_true[{i}] has {len(true)} heads and Y_pred[{i}] has {len(predicted)}; "
                "expected as many."
            )
    return float(np.mean(np.concatenate(Y_true) == np.concatenate(Y_pred)))
