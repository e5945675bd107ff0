"""Indicator features of candidate arcs, which tell the good ones.

The features are those of arc-factored parsing (McDonald et al. 2005): forms and parts of speech of
head and child, their neighbours' and those between them, with direction and distance. A feature
is known by a 64-bit hash of what it sees, so that the vocabulary is one array of integers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from blockwolfe.base.checks import check_integer
from blockwolfe.base.ragged import offsets, starts
from blockwolfe.base.schema import Reader, check_rows
from blockwolfe.data.arcs import Arcs
from blockwolfe.data.vectorizers.arc_features import (
    MOST_KEYS,
    build_table,
    write_features,
    write_keys,
)
from blockwolfe.errors import InputError, OptionError

__all__ = ["ArcTable", "ArcVectorizer", "padded", "true_arcs"]

_EDGE, _ROOT = "<edge>", "<root>"
_CHUNK = 100_000  # arcs whose features are made at a time
_NO_LIMIT = np.iinfo(np.int32).max


class ArcTable(NamedTuple):
    """Arcs of all sentences end to end, with their features as rows of a CSR matrix of ones."""

    indptr: np.ndarray
    indices: np.ndarray
    arcs: np.ndarray
    offset: np.ndarray
    n_words: np.ndarray


class _Words(NamedTuple):
    """Words of all sentences, each sentence as <edge> <root> word .. word <edge>."""

    form: np.ndarray  # hashes
    tag: np.ndarray
    tag_number: np.ndarray
    start: np.ndarray  # where the root of each sentence is
    n_words: np.ndarray


class ArcVectorizer(BaseEstimator):
    """Sentences of ``(form, tag)`` rows, or of dicts with "form" and "upos", to `Arcs`.

    The vocabulary is made of the features of the true arcs of training, those seen at least
    `min_count` times. With `prune`, an arc is a candidate only when it is no longer than the
    longest true arc of training between the same two tags in the same direction; arcs of the
    root and between neighbours always are, so that every sentence has a tree.

    >>> X, Y = [[("Birds", "NOUN"), ("fly", "VERB"), (".", "PUNCT")]], [[2, 0, 2]]
    >>> arcs = ArcVectorizer().fit(X, Y).transform(X)[0]
    >>> arcs.arcs.tolist()
    [[0, 1], [2, 1], [0, 2], [1, 2], [3, 2], [0, 3], [2, 3]]
    >>> arcs.features.sum(axis=1).astype(int).tolist()  # many of true arcs, few of others
    [2, 29, 30, 2, 1, 2, 29]
    """

    keys_: np.ndarray  # hashes of features, the most frequent first; column j is keys_[j]
    tags_: np.ndarray  # parts of speech seen in training, sorted
    reach_: np.ndarray  # longest true arc, (head tag, child tag, direction)

    def __init__(self, min_count: int = 1, prune: bool = True) -> None:
        self.min_count = min_count
        self.prune = prune

    def fit(self, X: Sequence[Any], Y: Sequence[Any]) -> ArcVectorizer:
        """Learn the vocabulary and which arcs are possible; Y has the heads of every sentence."""
        check_integer("min_count", self.min_count, 1)
        forms, tags = _columns(X)
        self.tags_ = np.unique(np.array([tag for row in tags for tag in row]))
        words = self._words(forms, tags)
        arcs, offset = true_arcs(Y, words.n_words)
        keys, size = _keys_of(words, arcs, offset)
        used = keys[np.arange(keys.shape[1]) < size[:, None]]
        found, count = np.unique(used, return_counts=True)
        is_kept = count >= self.min_count
        if not is_kept.any():
            raise OptionError(
                f"min_count={self.min_count}: no feature occurs that often; the most frequent one "
                f"occurs {count.max()} times."
            )
        self.keys_ = found[is_kept][np.argsort(-count[is_kept], kind="stable")]
        self.reach_ = self._longest(words, arcs, offset)
        return self._with_table()

    @classmethod
    def from_learned(
        cls, keys: np.ndarray, tags: np.ndarray, reach: np.ndarray, prune: bool
    ) -> ArcVectorizer:
        """A vectoriser with a known vocabulary, as read back from a model file.

        >>> made = ArcVectorizer().fit([[("Go", "VERB")]], [[0]])
        >>> again = ArcVectorizer.from_learned(made.keys_, made.tags_, made.reach_, True)
        >>> again.transform([[("Go", "VERB")]])[0].features.nnz
        29
        """
        made = cls(prune=prune)
        read = Reader({"keys": keys, "tags": tags, "reach": reach})
        made.keys_, made.tags_ = read.array("keys", np.uint64, (None,)), read.labels("tags")
        n_tags = len(tags)
        # (arcs of the root and between neighbours are candidates, so that there is a tree)
        made.reach_ = read.array("reach", np.int32, (n_tags + 1, n_tags + 1, 2), least=1)
        check_rows(reach[n_tags] == _NO_LIMIT, "reach has a limit for arcs of the root")
        return made._with_table()

    def transform(self, X: Sequence[Any]) -> list[Arcs]:
        """Candidate arcs of each sentence, with features in CSR matrices."""
        table = self.table(X)
        made = []
        for i, n in enumerate(table.n_words):
            a, b = table.offset[i], table.offset[i + 1]
            indptr = table.indptr[a : b + 1]
            indices = table.indices[indptr[0] : indptr[-1]]
            parts = (np.ones(len(indices)), indices, indptr - indptr[0])
            rows = sp.csr_array(parts, shape=(b - a, len(self.keys_)))
            made.append(Arcs(rows, table.arcs[a:b], int(n)))
        return made

    def table(self, X: Sequence[Any]) -> ArcTable:
        """The same for all sentences end to end: what a task works on."""
        check_is_fitted(self, "keys_")
        words = self._words(*_columns(X))
        listed = [self._candidates(words, i) for i in range(len(words.n_words))]
        n_arcs = np.array([len(arcs) for arcs in listed])
        offset = offsets(n_arcs)
        arcs = np.ascontiguousarray(np.concatenate(listed))
        place = np.repeat(words.start, n_arcs)
        # scratch of this call alone: compiled code lets other threads run
        hashed = (*self._table, np.zeros(MOST_KEYS, dtype=np.uint64))
        pieces, sizes = [], []
        for a in range(0, len(arcs), _CHUNK):
            some, where = arcs[a : a + _CHUNK], place[a : a + _CHUNK]
            indices = np.empty(len(some) * MOST_KEYS, dtype=np.int32)
            size = np.empty(len(some), dtype=np.int64)
            used = write_features(words.form, words.tag, where, some, hashed, indices, size)
            pieces.append(indices[:used].copy())
            sizes.append(size)
        indptr = offsets(np.concatenate(sizes))
        return ArcTable(indptr, np.concatenate(pieces), arcs, offset, words.n_words)

    def keys_of(
        self, X: Sequence[Any], arcs: np.ndarray, offset: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Hashes of what is seen on arcs (`offset`: where a sentence begins), and how many each."""
        return _keys_of(self._words(*_columns(X)), arcs, offset)

    def _with_table(self) -> ArcVectorizer:
        n_slots = 1 << max(4, int(2 * len(self.keys_)).bit_length())
        slots, column = np.zeros(n_slots, dtype=np.uint64), np.full(n_slots, -1, dtype=np.int32)
        build_table(self.keys_, slots, column)
        self._table = (slots, column)
        return self

    def _words(self, forms: list[list[str]], tags: list[list[str]]) -> _Words:
        """Hashes of all words, with the edge and the root around each sentence."""
        n_words = np.array([len(row) for row in forms], dtype=np.int64)
        start = starts(n_words + 3) + 1
        number = {tag: k for k, tag in enumerate(self.tags_.tolist())}
        seen: dict[str, int] = {}
        joined_forms = [s for row in forms for s in _around(map(str.lower, row))]
        joined_tags = [s for row in tags for s in _around(row)]
        return _Words(
            np.array([_hash(s, seen) for s in joined_forms], dtype=np.uint64),
            np.array([_hash(s, seen) for s in joined_tags], dtype=np.uint64),
            np.array([number.get(s, len(number)) for s in joined_tags], dtype=np.int64),
            start.astype(np.int64),
            n_words,
        )

    def _longest(self, words: _Words, arcs: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """reach_; the last row and column, of tags that are not known, set no limit."""
        n_tags = len(self.tags_)
        reach = np.ones((n_tags + 1, n_tags + 1, 2), dtype=np.int32)
        reach[n_tags], reach[:, n_tags] = _NO_LIMIT, _NO_LIMIT
        place = np.repeat(words.start, np.diff(offset))
        head, child = arcs[:, 0], arcs[:, 1]
        ends = words.tag_number[place + head], words.tag_number[place + child]
        np.maximum.at(reach, (*ends, (head < child).astype(int)), np.abs(head - child))
        reach[n_tags] = _NO_LIMIT
        return reach

    def _candidates(self, words: _Words, i: int) -> np.ndarray:
        """Arcs of sentence i, by child and then by head."""
        n, start = int(words.n_words[i]), int(words.start[i])
        child, head = np.meshgrid(np.arange(1, n + 1), np.arange(n + 1), indexing="ij")
        is_kept = child != head
        if self.prune:
            tag = words.tag_number[start : start + n + 1]  # (the root's is that of no known tag)
            limit = self.reach_[tag[head], tag[child], (head < child).astype(int)]
            is_kept &= np.abs(head - child) <= limit
        return np.stack([head[is_kept], child[is_kept]], axis=1).astype(np.int32)


def _hash(symbol: str, seen: dict[str, int]) -> int:
    """64 bits that stand for a string, on every machine and in every run."""
    if symbol not in seen:
        digest = hashlib.blake2b(symbol.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        seen[symbol] = int.from_bytes(digest, "little")
    return seen[symbol]


def _around(row: Iterable[str]) -> tuple[str, ...]:
    """The symbols of a sentence, with the edges and the root."""
    return (_EDGE, _ROOT, *row, _EDGE)


def padded(sentence: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Forms, lower-cased, and tags of one sentence as features see them.

    >>> padded([("Go", "VERB")])
    (('<edge>', '<root>', 'go', '<edge>'), ('<edge>', '<root>', 'VERB', '<edge>'))
    """
    (forms,), (tags,) = _columns([sentence])
    return _around(map(str.lower, forms)), _around(tags)


def true_arcs(Y: Sequence[Any], n_words: Any) -> tuple[np.ndarray, np.ndarray]:
    """Head and child of every word of all sentences, and where each sentence begins."""
    if len(Y) != len(n_words):
        raise InputError(f"X has {len(n_words)} sentences and Y has {len(Y)}.")
    for i, (heads, n) in enumerate(zip(Y, n_words, strict=True)):
        if len(heads) != n:
            raise InputError(f"X[{i}] has {n} words and Y[{i}] has {len(heads)} heads.")
        if np.min(heads) < 0 or np.max(heads) > n:
            raise InputError(f"Y[{i}] has a head outside 0..{n}.")
    child = [np.arange(1, n + 1) for n in n_words]
    arcs = np.stack([np.concatenate(Y), np.concatenate(child)], axis=1).astype(np.int32)
    return arcs, offsets(n_words)


def _keys_of(words: _Words, arcs: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of the features of arcs, a row each, and how many there are in each row."""
    place = np.repeat(words.start, np.diff(offset))
    keys = np.zeros((len(arcs), MOST_KEYS), dtype=np.uint64)
    size = np.zeros(len(arcs), dtype=np.int64)
    write_keys(words.form, words.tag, place, arcs, keys, size)
    return keys, size


def _columns(X: Sequence[Any]) -> tuple[list[list[str]], list[list[str]]]:
    """Forms and tags of all sentences, checked."""
    if not len(X):
        raise InputError("X is empty; expected at least one sentence.")
    forms, tags = [], []
    for i, sentence in enumerate(X):
        if isinstance(sentence, (str, Mapping)) or not hasattr(sentence, "__len__"):
            raise InputError(
                f"X[{i}] is a {type(sentence).__name__}; expected a list of words, each a row "
                "(form, tag) or a dict with 'form' and 'upos'."
            )
        if not len(sentence):
            raise InputError(f"X[{i}] is empty; every sentence needs at least one word.")
        rows = [_token(token, f"X[{i}][{t}]") for t, token in enumerate(sentence)]
        forms.append([row[0] for row in rows])
        tags.append([row[1] for row in rows])
    return forms, tags


def _token(token: Any, where: str) -> tuple[str, str]:
    pair: Any = None
    if isinstance(token, Mapping):
        pair = token.get("form"), token.get("upos")
    elif isinstance(token, (tuple, list)) and len(token) >= 2:
        pair = token[0], token[1]
    if pair is None or not all(isinstance(value, str) for value in pair):
        raise InputError(
            f"{where} is {token!r}; expected a row (form, tag) of strings, or a dict with 'form' "
            "and 'upos'."
        )
    return pair[0], pair[1]
