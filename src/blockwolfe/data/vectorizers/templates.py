"""Feature templates over columns of text, and the indicator features they make.

A template says what is seen from a token: items with commas between, each a column at a place
relative to the token.

    w[0]            the word (column 0), lower-cased
    w[-1],w[0]      the word before and this word, together
    p[1]            part of speech (column 1) of the next token
    c2[0]           column 2 as it is written
    w[0].suffix3    a form of it: raw, lower, shape (Xx, d.d), prefixN, suffixN (lower-cased)

Where columns have names, as in CoNLL-U, a name serves as well: ``lemma[0]``.

One template a line (or with ``;`` between); ``#`` begins a comment. A place outside the sentence
counts as one symbol of its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from blockwolfe.base.checks import check_integer
from blockwolfe.base.ragged import offsets
from blockwolfe.data.text import shortened
from blockwolfe.errors import InputError, OptionError

__all__ = ["CHUNK_TEMPLATE", "WORD_TEMPLATE", "TemplateFeatures", "parse_template"]

Row = tuple[str, ...]

# The templates of text chunking: words at -2..2 and pairs around 0; parts of speech with pairs and
# triples. Where there are no parts of speech, words alone.
WORD_TEMPLATE = "w[-2]; w[-1]; w[0]; w[1]; w[2]; w[-1],w[0]; w[0],w[1]"
CHUNK_TEMPLATE = f"""{WORD_TEMPLATE}
p[-2]; p[-1]; p[0]; p[1]; p[2]
p[-2],p[-1]; p[-1],p[0]; p[0],p[1]; p[1],p[2]
p[-2],p[-1],p[0]; p[-1],p[0],p[1]; p[0],p[1],p[2]"""

_EDGE = "<edge>"
_NAMES = {"w": 0, "p": 1}
_ITEM = re.compile(  # (three digits: places and columns beyond are mistakes, and cost memory)
    r"([a-z]+|c([0-9]{1,3}))\[([+-]?[0-9]{1,3})\](?:\.(raw|lower|shape|(?:prefix|suffix)[1-9]))?"
)
_PRIME, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


class Item(NamedTuple):
    """One column at one place, in one form."""

    name: str
    column: int
    offset: int
    form: str


def parse_template(text: str, names: Mapping[str, int] = _NAMES) -> list[tuple[Item, ...]]:
    """The templates of a text, each a tuple of items; `names` says which columns have which.

    >>> [[item.name for item in template] for template in parse_template("w[-1],w[0]; p[0]  # two")]
    [['w[-1]', 'w[0]'], ['p[0]']]
    >>> parse_template("w[0]; word")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.OptionError: template: 'word' is not an item; expected w[0], p[-1], c2[0], ...
    """
    lines = [line.partition("#")[0] for line in text.split("\n")]
    written = [part.strip() for line in lines for part in line.split(";") if part.strip()]
    if not written:
        raise OptionError("template is empty; expected for example 'w[-1]; w[0]; w[-1],w[0]'.")
    return [tuple(_item(item.strip(), names) for item in each.split(",")) for each in written]


def _item(text: str, names: Mapping[str, int]) -> Item:
    match = _ITEM.fullmatch(text)
    if match is None or (match[2] is None and match[1] not in names):
        raise OptionError(
            f"template: {text!r} is not an item; expected w[0], p[-1], c2[0], w[0].suffix3 and the "
            f"like{_others(names)}, with commas between items and ';' or new lines between "
            "templates."
        )
    name, number, offset, form = match.groups()
    column = names[name] if number is None else int(number)
    canonical = f"{name}[{int(offset)}]" + (f".{form}" if form else "")
    return Item(canonical, column, int(offset), form or ("lower" if name == "w" else "raw"))


def _others(names: Mapping[str, int]) -> str:
    others = ", ".join(name for name in names if name not in _NAMES)
    return f" (columns: {others})" if others else ""


def _shape(symbol: str) -> str:
    """Upper case X, lower case x, digits d, the rest as it is; runs of one kind count once."""
    kinds = [
        "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in symbol
    ]
    return "".join(c for i, c in enumerate(kinds) if i == 0 or c != kinds[i - 1])


def _form(name: str) -> Callable[[str], str]:
    if name.startswith(("prefix", "suffix")):
        n = int(name[6:])
        return (lambda s: s.lower()[:n]) if name[0] == "p" else (lambda s: s.lower()[-n:])
    plain: dict[str, Callable[[str], str]] = {"raw": str, "lower": str.lower, "shape": _shape}
    return plain[name]


class TemplateFeatures(TransformerMixin, BaseEstimator):
    """What templates see around a token, as indicator features in CSR matrices.

    Sentences are lists of rows, the columns of a token. Features seen fewer than `min_count`
    times in training are left out. Columns are grouped by template, and within one go by first
    appearance. A feature is known by a 64-bit hash of what it sees, so that the vocabulary is
    one array of integers.

    >>> sentences = [[("The", "DT"), ("cat", "NN")], [("A", "DT"), ("cat", "NN")]]
    >>> features = TemplateFeatures("w[0]; p[-1],p[0]").fit(sentences)
    >>> features.feature_names_
    ['w[0]=the', 'w[0]=cat', 'w[0]=a', 'p[-1]|p[0]=<edge>|DT', 'p[-1]|p[0]=DT|NN']
    >>> features.transform([[("the", "DT")]])[0].toarray()
    array([[1., 0., 0., 1., 0.]])
    """

    keys_: np.ndarray  # hashes of the features, in the order of columns
    sizes_: np.ndarray  # how many features each template has
    feature_names_: list[str]
    n_features_: int
    _row = "of columns"  # what a row is called in messages
    _names: Mapping[str, int] = _NAMES  # of columns

    def __init__(self, template: str = CHUNK_TEMPLATE, min_count: int = 1) -> None:
        self.template = template
        self.min_count = min_count

    def fit(self, X: Sequence[Sequence[Row]], y: Any = None) -> TemplateFeatures:
        """Number the features of the training sentences."""
        found = self.survey(X)
        return self.fit_to_all([found.counted], lambda wanted: [found.names(wanted[0])])

    def survey(self, X: Sequence[Sequence[Row]]) -> Sightings:
        """What there is to see in some of the training sentences."""
        check_integer("min_count", self.min_count, 1)
        return Sightings(self.parsed(), X, self._row)

    def fit_to_all(
        self,
        counted: Sequence[list[Counted]],
        names_of: Callable[[list[list[np.ndarray]]], Sequence[list[list[str]]]],
    ) -> TemplateFeatures:
        """Number the features of sentences in several places, as if they were end to end.

        `counted` is of the `Sightings` of each place. `names_of` gives their names of the features
        that are asked for: in each place only of those that no earlier one has.
        """
        wanted: list[list[np.ndarray]] = [[] for _ in counted]
        kept = []
        for places in zip(*counted, strict=True):
            keys = np.concatenate([some.keys for some in places])
            _, first, number = np.unique(keys, return_index=True, return_inverse=True)
            count = np.bincount(number, np.concatenate([some.n_times for some in places]))
            first = np.sort(first[count >= self.min_count])
            kept.append(keys[first])
            for k, (a, b) in enumerate(pairwise(offsets([len(some.keys) for some in places]))):
                wanted[k].append(first[(a <= first) & (first < b)] - a)
        found = zip(*names_of(wanted), strict=True)
        names = [name for places in found for some in places for name in some]
        return self.relearn(np.concatenate(kept), np.array([len(keys) for keys in kept]), names)

    def parsed(self) -> list[tuple[Item, ...]]:
        """The templates, each a tuple of items."""
        return parse_template(self.template, self._names)

    def relearn(
        self, keys: np.ndarray, sizes: np.ndarray, names: Sequence[str]
    ) -> TemplateFeatures:
        """Take a vocabulary as it was learned before, read back from a model file."""
        self.keys_, self.sizes_, self.feature_names_ = keys, sizes, list(names)
        self.n_features_ = len(keys)
        self._tables = []
        for end, size in zip(np.cumsum(sizes), sizes, strict=True):
            order = np.argsort(keys[end - size : end])
            # the last entry, larger than any key, is what keys that were not kept are sent to
            sorted_keys = np.append(keys[end - size : end][order], np.iinfo(np.uint64).max)
            number = np.append(order + (end - size), -1).astype(np.int32)
            self._tables.append((sorted_keys, number))
        return self

    def transform(self, X: Sequence[Sequence[Row]]) -> list[sp.csr_array]:
        """One CSR matrix per sentence, a row a token."""
        check_is_fitted(self, "n_features_")
        templates = self.parsed()
        seen = _Seen(templates, X, self._row)
        active = np.stack(
            [
                _look_up(seen.keys(template), *table)
                for template, table in zip(templates, self._tables, strict=True)
            ],
            axis=1,
        )
        is_active = active >= 0
        indices = active[is_active]
        start = offsets(is_active.sum(axis=1)).astype(np.int32)
        ones = np.ones(len(indices))
        made = []
        for a, b in pairwise(accumulate((len(sentence) for sentence in X), initial=0)):
            i, j = start[a], start[b]
            parts = (ones[i:j], indices[i:j], start[a : b + 1] - i)
            made.append(sp.csr_array(parts, shape=(b - a, self.n_features_)))
        return made


class Counted(NamedTuple):
    """The features that one template makes, by first appearance, and how often each occurs."""

    keys: np.ndarray
    n_times: np.ndarray


class Sightings:
    """What templates see in some sentences: for each of them its features.

    >>> found = TemplateFeatures("w[0]").survey([[("The", "DT"), ("cat", "NN")], [("the", "DT")]])
    >>> found.counted[0].n_times, found.names([np.array([1])])
    (array([2, 1]), [['w[0]=cat']])
    """

    def __init__(
        self, templates: list[tuple[Item, ...]], X: Sequence[Sequence[Row]], row: str
    ) -> None:
        self._templates, self._seen = templates, _Seen(templates, X, row)
        self._first: list[np.ndarray] = []  # tokens
        self.counted: list[Counted] = []
        for template in templates:
            keys, first, count = np.unique(
                self._seen.keys(template), return_index=True, return_counts=True
            )
            order = np.argsort(first)
            self._first.append(first[order])
            self.counted.append(Counted(keys[order], count[order]))

    def names(self, wanted: Sequence[np.ndarray]) -> list[list[str]]:
        """Of the features with these numbers, for each template."""
        of_templates = zip(self._templates, self._first, wanted, strict=True)
        return [self._seen.names(template, first[n]) for template, first, n in of_templates]


class _Seen:
    """The symbols of all sentences end to end, with room for the edges between them."""

    def __init__(
        self, templates: list[tuple[Item, ...]], X: Sequence[Sequence[Row]], row: str
    ) -> None:
        items = [item for template in templates for item in template]
        rows = list(_rows(X, 1 + max(item.column for item in items), row))
        pad = max(abs(item.offset) for item in items)
        length = [len(sentence) for sentence in X]
        self.centre = np.arange(sum(length)) + pad * np.repeat(np.arange(1, len(X) + 1), length)
        self.size = sum(length) + pad * (len(X) + 1)
        self.codes: dict[tuple[int, str], np.ndarray] = {}
        self.hashes: dict[tuple[int, str], np.ndarray] = {}
        self.symbols: dict[tuple[int, str], list[str]] = {}
        for column, form in dict.fromkeys((item.column, item.form) for item in items):
            self._add(column, form, [seen[column] for seen in rows])

    def _add(self, column: int, form: str, written: list[str]) -> None:
        change = _form(form)
        number: dict[str, int] = {}
        known: dict[str, int] = {}  # what was written to its number: forms are made once for each
        codes = []
        for text in written:
            if text not in known:
                known[text] = number.setdefault(change(text), len(number) + 1)
            codes.append(known[text])
        code = np.zeros(self.size, dtype=np.int64)
        code[self.centre] = codes
        self.codes[column, form] = code
        self.symbols[column, form] = [_EDGE, *number]
        # 0 stands for the edge, so that a word "<edge>" is not taken for it
        self.hashes[column, form] = np.array([0, *map(_hash, number)], dtype=np.uint64)[code]

    def keys(self, template: tuple[Item, ...]) -> np.ndarray:
        """One integer per token that stands for the symbols seen from it."""
        key = np.zeros(len(self.centre), dtype=np.uint64)
        for item in template:
            key = (key ^ self.hashes[item.column, item.form][self.centre + item.offset]) * _PRIME
            key ^= key >> _SHIFT
        return key

    def names(self, template: tuple[Item, ...], tokens: np.ndarray) -> list[str]:
        """What a template sees from some tokens, in words."""
        head = "|".join(item.name for item in template)
        parts = []
        for item in template:
            symbols = self.symbols[item.column, item.form]
            code = self.codes[item.column, item.form][self.centre[tokens] + item.offset]
            # for readers only, and in an array each takes as much as the longest
            parts.append([shortened(symbols[c]) for c in code])
        return [f"{head}={'|'.join(seen)}" for seen in zip(*parts, strict=True)]


def _hash(symbol: str) -> int:
    """64 bits that stand for a string, on every machine and in every run."""
    digest = hashlib.blake2b(symbol.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _look_up(key: np.ndarray, keys: np.ndarray, number: np.ndarray) -> np.ndarray:
    at = np.searchsorted(keys, key)
    return np.where(keys[at] == key, number[at], np.int32(-1))


def _rows(X: Sequence[Sequence[Row]], width: int, expected: str) -> Iterator[Row]:
    """All rows end to end, each of at least `width` columns."""
    for i, sentence in enumerate(X):
        if not len(sentence):
            raise InputError(f"X[{i}] is empty; every sequence needs at least one position.")
        for t, row in enumerate(sentence):
            if isinstance(row, str) or not hasattr(row, "__len__") or len(row) < width:
                raise InputError(
                    f"X[{i}][{t}] is {row!r}; expected a row {expected} with at least {width}."
                )
            if not all(isinstance(symbol, str) for symbol in row[:width]):
                raise InputError(f"X[{i}][{t}] is {row!r}; expected columns of strings.")
            yield row
