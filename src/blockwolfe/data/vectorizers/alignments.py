"""Features of word pairs for word alignment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from blockwolfe.base.checks import check_integer
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.data.links import Links
from blockwolfe.data.vectorizers.spelling import spelling
from blockwolfe.data.vectorizers.word_pairs import DiceCounts, Translation, number_words, word_ids
from blockwolfe.errors import InputError

__all__ = ["AlignmentVectorizer"]

MOST_PAIRS = 10_000_000  # of common words that a model file may speak of
_LONG_ENOUGH = 4  # letters of a word whose spelling says something


class AlignmentVectorizer(TransformerMixin, BaseEstimator):
    """Sentence pairs to `Links`: every word pair is a candidate, with these features.

    * Dice coefficient, its root, its share of the best of its row and of its column, and that of
      the pairs before and after it on the diagonal;
    * distance of the relative positions, its root and its square;
    * spelling: same word, same long word, common prefix and edit distance of long words;
    * difference of log frequencies; both or only one of the words is punctuation;
    * an indicator for each of the `n_common` most frequent words of either side, and for each
      pair of them;
    * with `n_iterations` > 0, translation probabilities learned from the text alone (IBM Model 1,
      both directions, and their posteriors within the sentence pair).

    `fit` takes sentence pairs ``(source, target)`` of word lists, aligned or not: the more text,
    the better the counts. No alignment is used.

    >>> pairs = [(["the", "house"], ["la", "maison"]), (["the"], ["la"])]
    >>> (x,) = AlignmentVectorizer(n_common=1, n_iterations=0).fit(pairs).transform(pairs[:1])
    >>> x.shape, x.features.shape[0], x.features[[0], :2].toarray().tolist()
    ((2, 2), 4, [[1.0, 1.0]])
    """

    feature_names_: list[str]

    def __init__(self, n_common: int = 15, n_iterations: int = 5) -> None:
        self.n_common = n_common
        self.n_iterations = n_iterations

    def fit(self, X: Sequence[Any], y: Any = None) -> AlignmentVectorizer:
        """Count words, alone and together."""
        for name in ("n_common", "n_iterations"):
            check_integer(name, getattr(self, name), 0)
        _check_pairs(X)
        source, target = ([pair[side] for pair in X] for side in range(2))
        self._source, self._target = number_words(source), number_words(target)
        ids = (
            [word_ids(s, self._source) for s in source],
            [word_ids(t, self._target) for t in target],
        )
        sizes = len(self._source), len(self._target)
        self._dice = DiceCounts(*ids, *sizes)
        self._forward = self._backward = None
        if self.n_iterations:
            self._forward = Translation(*ids, *sizes, self.n_iterations)
            self._backward = Translation(*ids[::-1], *sizes[::-1], self.n_iterations)
        common = (
            [list(words)[k] for k in np.argsort(-n[:-1], kind="stable")[: self.n_common]]
            for words, n in (
                (self._source, self._dice.n_source),
                (self._target, self._dice.n_target),
            )
        )
        self._common = [_numbered(words) for words in common]
        return self._named()

    def _named(self) -> AlignmentVectorizer:
        self.feature_names_ = [*self._dense(["a"], ["b"]), *self._indicator_names()]
        return self

    def to_arrays(self) -> dict[str, Any]:
        """What was learned, for a file."""
        check_is_fitted(self, "feature_names_")
        learned = {"n_common": int(self.n_common), "n_iterations": int(self.n_iterations)}
        words = {"source": self._source, "target": self._target}
        words |= {"common_source": self._common[0], "common_target": self._common[1]}
        tables = {"dice": self._dice, "forward": self._forward, "backward": self._backward}
        return (
            learned
            | {name: np.array(list(known), dtype=str) for name, known in words.items()}
            | {name: None if t is None else t.to_arrays() for name, t in tables.items()}
        )

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> AlignmentVectorizer:
        """The other way, from a file that anybody may have written."""
        read = Reader(arrays, "counts")
        made = cls(read.integer("n_common"), read.integer("n_iterations"))
        made._source, made._target, *made._common = (
            _numbered(read.names(name).tolist())
            for name in ("source", "target", "common_source", "common_target")
        )
        if math.prod(map(len, made._common)) > MOST_PAIRS:
            raise Misfit(f"counts has more than {MOST_PAIRS} pairs of common words.")
        sizes = len(made._source), len(made._target)
        made._dice = DiceCounts.from_arrays(read.inside("dice"), *sizes)
        made._forward = made._backward = None
        if read.given("forward") is not None:
            made._forward = Translation.from_arrays(read.inside("forward"), *sizes)
            made._backward = Translation.from_arrays(read.inside("backward"), *sizes[::-1])
        return made._named()

    def transform(self, X: Sequence[Any]) -> list[Links]:
        """Candidate links of each sentence pair: all of them, row by row."""
        check_is_fitted(self, "feature_names_")
        _check_pairs(X)
        return [self._links(source, target) for source, target in X]

    def _links(self, source: Sequence[str], target: Sequence[str]) -> Links:
        columns = self._dense(source, target).values()
        dense = np.stack([column.ravel() for column in columns], axis=1)
        rows = sp.hstack([dense, self._indicators(source, target)], format="csr")
        return Links(sp.csr_array(rows), shape=(len(source), len(target)))

    def _dense(self, source: Sequence[str], target: Sequence[str]) -> dict[str, np.ndarray]:
        """Features by name, each (n_source, n_target)."""
        e, f = word_ids(source, self._source), word_ids(target, self._target)
        dice = self._dice.dice(e, f)
        named = {
            "dice": dice,
            "dice_root": np.sqrt(dice),
            "dice_of_row": dice / np.maximum(dice.max(axis=1, keepdims=True), 1e-12),
            "dice_of_column": dice / np.maximum(dice.max(axis=0, keepdims=True), 1e-12),
            "dice_before": _shifted(dice, 1),
            "dice_after": _shifted(dice, -1),
            **_position_features(len(source), len(target)),
            **_spelling_features(source, target),
        }
        log_e, log_f = np.log1p(self._dice.n_source[e]), np.log1p(self._dice.n_target[f])
        named["frequency"] = np.abs(np.subtract.outer(log_e, log_f)) / 5.0
        named["rare"] = np.minimum.outer(log_e, log_f) / 10.0
        if self._forward is not None and self._backward is not None:
            named |= _translation_features(self._forward, self._backward, e, f)
        return named

    def _indicators(self, source: Sequence[str], target: Sequence[str]) -> sp.csr_array:
        """One-hot: common source word, common target word, common pair."""
        n_s, n_t = (len(words) for words in self._common)
        e = np.array([self._common[0].get(word.lower(), -1) for word in source])
        f = np.array([self._common[1].get(word.lower(), -1) for word in target])
        row = np.arange(len(e) * len(f)).reshape(len(e), len(f))
        a, b = np.broadcast_arrays(e[:, None], f[None, :])
        cells = [
            (row[a >= 0], a[a >= 0]),
            (row[b >= 0], n_s + b[b >= 0]),
            (row[(a >= 0) & (b >= 0)], (n_s + n_t + a * n_t + b)[(a >= 0) & (b >= 0)]),
        ]
        rows, columns = (np.concatenate(part) for part in zip(*cells, strict=True))
        shape = (row.size, n_s + n_t + n_s * n_t)
        return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)

    def _indicator_names(self) -> list[str]:
        source, target = self._common
        pairs = [f"{s}|{t}" for s in source for t in target]
        return [*(f"source={s}" for s in source), *(f"target={t}" for t in target), *pairs]


def _numbered(words: list[str]) -> dict[str, int]:
    return {word: number for number, word in enumerate(words)}


def _shifted(values: np.ndarray, by: int) -> np.ndarray:
    """values[i - by, j - by], 0 outside."""
    moved = np.zeros_like(values)
    if by > 0:
        moved[by:, by:] = values[:-by, :-by]
    else:
        moved[:by, :by] = values[-by:, -by:]
    return moved


def _position_features(n_source: int, n_target: int) -> dict[str, np.ndarray]:
    source = (np.arange(n_source) + 0.5) / n_source
    target = (np.arange(n_target) + 0.5) / n_target
    distance = np.abs(np.subtract.outer(source, target))
    return {
        "distance": distance,
        "distance_root": np.sqrt(distance),
        "distance_square": distance**2,
    }


def _spelling_features(source: Sequence[str], target: Sequence[str]) -> dict[str, np.ndarray]:
    lower = [word.lower() for word in source], [word.lower() for word in target]
    prefix, edit = spelling(*lower)
    same = edit == 0
    is_long = np.logical_and.outer(*([len(w) >= _LONG_ENOUGH for w in side] for side in lower))
    is_mark = [[not any(map(str.isalnum, word)) for word in side] for side in lower]
    both, either = np.logical_and.outer(*is_mark), np.logical_xor.outer(*is_mark)
    named = {
        "same": same,
        "same_long": same & is_long,
        "prefix": prefix * is_long,
        "edit": np.where(is_long, 1.0 - edit, 0.0),
        "both_marks": both,
        "one_mark": either,
    }
    return {name: np.asarray(value, dtype=np.float64) for name, value in named.items()}


def _translation_features(
    forward: Translation, backward: Translation, e: np.ndarray, f: np.ndarray
) -> dict[str, np.ndarray]:
    there, back = forward.posterior(e, f), backward.posterior(f, e).T
    both = np.sqrt(there * back)
    return {
        "forward": there,
        "backward": back,
        "agreement": both,
        "agreement_before": _shifted(both, 1),
        "agreement_after": _shifted(both, -1),
        "probability": np.sqrt(forward.table(e, f) * backward.table(f, e).T),
    }


def _check_pairs(X: Sequence[Any]) -> None:
    if not hasattr(X, "__len__") or not len(X):
        raise InputError("X is empty; expected at least one pair (source, target) of word lists.")
    for i, pair in enumerate(X):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise InputError(f"X[{i}] is {pair!r}; expected a pair (source, target) of word lists.")
        for side, name in enumerate(("source", "target")):
            words = pair[side]
            is_words = not isinstance(words, str) and hasattr(words, "__len__")
            if not is_words or not len(words) or not all(isinstance(w, str) for w in words):
                raise InputError(
                    f"the {name} of X[{i}] is {words!r}; expected a list of at least one word."
                )
