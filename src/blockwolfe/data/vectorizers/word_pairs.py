"""How strongly words of two languages go together, from aligned sentences without any links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.compiled import jit
from blockwolfe.base.ragged import offsets
from blockwolfe.base.schema import Reader, check_rows

__all__ = ["DiceCounts", "Translation", "number_words", "word_ids"]

Vocabulary = dict[str, int]


def number_words(sentences: Sequence[Sequence[str]]) -> Vocabulary:
    """Words, lower-cased, by first appearance."""
    words = dict.fromkeys(word.lower() for sentence in sentences for word in sentence)
    return {word: number for number, word in enumerate(words)}


def word_ids(sentence: Sequence[str], vocabulary: Vocabulary) -> np.ndarray:
    """Numbers of words; unknown words have the number after the last."""
    unknown = len(vocabulary)
    return np.array([vocabulary.get(word.lower(), unknown) for word in sentence], dtype=np.int64)


class _Pairs(NamedTuple):
    """Word pairs seen together: rows of a CSR matrix whose columns are sorted."""

    indptr: np.ndarray
    indices: np.ndarray


def _pairs_in(read: Reader, n_rows: int, n_columns: int) -> _Pairs:
    """Pairs from a file, within so many rows and columns."""
    indices = read.array("indices", np.int64, (None,), least=0, most=n_columns - 1)
    indptr = read.array("indptr", np.int64, (n_rows + 1,), least=0, most=len(indices))
    check_rows(np.diff(indptr) >= 0, "indptr falls")
    return _Pairs(indptr, indices)


@jit
def _places(pairs: Any, source: Any, target: Any, out: Any) -> None:
    """out[j * n_source + i]: number of the pair (source[i], target[j]), or -1; by bisection."""
    n_source = source.shape[0]
    for i in range(n_source):
        begin, end = pairs.indptr[source[i]], pairs.indptr[source[i] + 1]
        for j in range(target.shape[0]):
            low, high = begin, end
            while low < high:
                middle = (low + high) // 2
                if pairs.indices[middle] < target[j]:
                    low = middle + 1
                else:
                    high = middle
            is_found = low < end and pairs.indices[low] == target[j]
            out[j * n_source + i] = low if is_found else -1


def _look_up(pairs: _Pairs, values: np.ndarray, source: Any, target: Any) -> np.ndarray:
    """Values of word pairs, a row per source word; 0 for pairs never seen together."""
    place = np.empty(len(source) * len(target), dtype=np.int64)
    _places(pairs, source, target, place)
    found = np.where(place >= 0, values[place], 0.0) if len(values) else np.zeros(len(place))
    return np.ascontiguousarray(found.reshape(len(target), len(source)).T)


def _presence(ids: Sequence[np.ndarray], n_words: int) -> sp.csr_array:
    """Sentences x words, one where the word occurs."""
    distinct = [np.unique(row) for row in ids]
    indptr = offsets([len(row) for row in distinct])
    indices = np.concatenate(distinct)
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(ids), n_words))


def _together(source: Any, target: Any) -> tuple[_Pairs, np.ndarray]:
    """Pairs of words that occur in a sentence pair, and in how many."""
    counts = sp.csr_array(source.T @ target)
    counts.sort_indices()
    pairs = _Pairs(counts.indptr.astype(np.int64), counts.indices.astype(np.int64))
    return pairs, counts.data


class DiceCounts:
    """Dice coefficient 2 n(e, f) / (n(e) + n(f)), n counting sentence pairs.

    Word numbers are below `n_source` and `n_target`; these two numbers are unknown words.

    >>> counts = DiceCounts([np.array([0, 1]), np.array([0])], [np.array([0]), np.array([1])], 2, 2)
    >>> counts.dice(np.array([0, 1]), np.array([0])).round(2).tolist()
    [[0.67], [1.0]]
    """

    def __init__(
        self,
        source: Sequence[np.ndarray],
        target: Sequence[np.ndarray],
        n_source: int,
        n_target: int,
    ) -> None:
        left, right = _presence(source, n_source + 1), _presence(target, n_target + 1)
        self.n_source = np.asarray(left.sum(axis=0)).ravel()
        self.n_target = np.asarray(right.sum(axis=0)).ravel()
        self._pairs, self._counts = _together(left, right)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """For a file."""
        seen = {"n_source": self.n_source, "n_target": self.n_target, "counts": self._counts}
        return seen | self._pairs._asdict()

    @classmethod
    def from_arrays(cls, read: Reader, n_source: int, n_target: int) -> DiceCounts:
        """The other way, from a file that anybody may have written."""
        made = cls.__new__(cls)
        made.n_source = read.array("n_source", np.float64, (n_source + 1,), least=0.0)
        made.n_target = read.array("n_target", np.float64, (n_target + 1,), least=0.0)
        made._pairs = _pairs_in(read, n_source + 1, n_target + 1)
        n_pairs = len(made._pairs.indices)
        made._counts = read.array("counts", np.float64, (n_pairs,), least=0.0)
        return made

    def dice(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """A row per source word, a column per target word."""
        together = _look_up(self._pairs, self._counts, source, target)
        total = np.add.outer(self.n_source[source], self.n_target[target])
        return np.asarray(2.0 * together / np.maximum(total, 1.0))


@jit
def _share_out(place: Any, begin: Any, probability: Any, count: Any) -> None:
    """Divide each target word among the source words that it may come from."""
    for run in range(begin.shape[0] - 1):
        total = 0.0
        for e in range(begin[run], begin[run + 1]):
            total += probability[place[e]]
        for e in range(begin[run], begin[run + 1]):
            count[place[e]] += probability[place[e]] / total


class Translation:
    """Probabilities t(target word | source word) by expectation maximisation (IBM Model 1).

    Every target word comes from one word of the source sentence, or from none; which one is
    unknown, and all are equally likely beforehand. Sentence pairs of more than `longest` words on
    a side are left out: they would cost most of the time and tell little.

    >>> ids = [np.array([0, 1]), np.array([0])]
    >>> t = Translation(ids, ids, 2, 2, n_iterations=20).table(np.array([0, 1]), np.array([0, 1]))
    >>> t.round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    longest = 80

    def __init__(
        self,
        source: Sequence[np.ndarray],
        target: Sequence[np.ndarray],
        n_source: int,
        n_target: int,
        n_iterations: int = 5,
    ) -> None:
        self._none = n_source + 1  # (n_source itself is the unknown word)
        both = zip(source, target, strict=True)
        kept = [(a, b) for a, b in both if max(len(a), len(b)) <= self.longest]
        left = [np.append(a, self._none) for a, _ in kept]
        right = [b for _, b in kept]
        if not kept:  # nothing to learn from: all probabilities are 0
            left = right = [np.zeros(0, dtype=np.int64)]
        self._pairs, _ = _together(_presence(left, n_source + 2), _presence(right, n_target + 1))
        n_pairs = len(self._pairs.indices)
        owner = np.repeat(np.arange(n_source + 2), np.diff(self._pairs.indptr))
        place, begin = self._runs(left, right)
        self._probability = np.ones(n_pairs)
        for _ in range(n_iterations):
            count = np.zeros(n_pairs)
            _share_out(place, begin, self._probability, count)
            total = np.bincount(owner, weights=count, minlength=n_source + 2)
            self._probability = count / total[owner]

    def to_arrays(self) -> dict[str, Any]:
        """For a file."""
        return {"none": self._none, "probability": self._probability, **self._pairs._asdict()}

    @classmethod
    def from_arrays(cls, read: Reader, n_source: int, n_target: int) -> Translation:
        """The other way, from a file that anybody may have written."""
        made = cls.__new__(cls)
        made._none = read.integer("none", n_source + 1, n_source + 1)
        made._pairs = _pairs_in(read, n_source + 2, n_target + 1)
        n_pairs = len(made._pairs.indices)
        made._probability = read.array("probability", np.float64, (n_pairs,), least=0.0)
        return made

    def _runs(self, left: list[np.ndarray], right: list[np.ndarray]) -> Any:
        """Pairs of every target word with all its source words, word after word."""
        runs = np.concatenate([np.full(len(b), len(a)) for a, b in zip(left, right, strict=True)])
        begin = offsets(runs)
        place, at = np.empty(begin[-1], dtype=np.int32), 0
        for a, b in zip(left, right, strict=True):
            _places(self._pairs, a, b, place[at : at + len(a) * len(b)])
            at += len(a) * len(b)
        return place, begin

    def table(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """A row per source word, a column per target word; 0 where never seen together."""
        return _look_up(self._pairs, self._probability, source, target)

    def posterior(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Probability that target word j comes from source word i of this very sentence."""
        t = self.table(np.append(source, self._none), target)
        return np.asarray(t[:-1] / np.maximum(t.sum(axis=0), 1e-12))
