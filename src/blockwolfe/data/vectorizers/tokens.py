"""Token dicts, as sklearn-crfsuite users have them, to sparse rows over a fitted vocabulary."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction import DictVectorizer

from blockwolfe.base.checks import check_integer
from blockwolfe.base.ragged import offsets
from blockwolfe.errors import InputError, OptionError

__all__ = ["TokenVectorizer", "counted_names", "frequent_names"]


class TokenVectorizer(TransformerMixin, BaseEstimator):
    """Sequences of token dicts to a list of CSR matrices, one row a token.

    The conventions are those of sklearn-crfsuite: a string value makes the indicator
    ``"name:value"``, a number or bool the feature ``"name"`` with that value, a list of
    strings one indicator each, a nested dict the features ``"name:inner"``; a token may
    also be just a list of indicator names. Features seen fewer than ``min_count`` times
    in training are left out, and features not seen in training are ignored.

    >>> X = [[{"word": "the", "is_title": True}, {"word": "cat"}], [["word:the"]]]
    >>> rows = TokenVectorizer().fit(X).transform(X)
    >>> rows[0].toarray()
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """

    feature_names_: list[str]
    _vectorizer: Any

    def __init__(self, min_count: int = 1) -> None:
        self.min_count = min_count

    def fit(self, X: Sequence[Any], y: Any = None) -> TokenVectorizer:
        """Learn the vocabulary."""
        check_integer("min_count", self.min_count, 1)
        return self._take(frequent_names([counted_names(X)], self.min_count))

    def transform(self, X: Sequence[Any]) -> list[sp.csr_array]:
        """One CSR matrix per sequence."""
        rows = sp.csr_array(self._vectorizer.transform(_tokens(X)))
        return [rows[a:b] for a, b in pairwise(offsets([len(sequence) for sequence in X]))]

    @classmethod
    def from_names(cls, names: Iterable[str], min_count: int = 1) -> TokenVectorizer:
        """A vectoriser with a known vocabulary, as read back from a model file.

        >>> TokenVectorizer.from_names(["a", "b"]).transform([[["b"]]])[0].toarray()
        array([[0., 1.]])
        """
        return cls(min_count)._take(names)

    def _take(self, names: Iterable[str]) -> TokenVectorizer:
        self.feature_names_ = list(names)
        self._vectorizer = DictVectorizer(separator=":")
        self._vectorizer.feature_names_ = self.feature_names_
        self._vectorizer.vocabulary_ = {name: j for j, name in enumerate(self.feature_names_)}
        return self


def counted_names(X: Sequence[Any]) -> Counter[str]:
    """Names of features, with the number of tokens where each is not zero.

    >>> sorted(counted_names([[{"word": "the", "n": 0}, ["word:the"]]]).items())
    [('n', 0), ('word:the', 2)]
    """
    made = DictVectorizer(separator=":")
    rows = made.fit_transform(_tokens(X))
    count = np.bincount(rows.indices[rows.data != 0], minlength=rows.shape[1])
    return Counter(dict(zip(made.feature_names_, count.tolist(), strict=True)))


def frequent_names(counted: Iterable[Counter[str]], min_count: int) -> list[str]:
    """Names that occur `min_count` times in all places together, in alphabetical order.

    >>> frequent_names([Counter(a=1, b=1), Counter(a=1)], 2)
    ['a']
    """
    count: Counter[str] = Counter()
    for some in counted:
        count.update(some)  # (a sum of counters would forget what never is non-zero)
    # (with 1, a feature that is zero everywhere is a column all the same)
    names = sorted(name for name, n in count.items() if min_count == 1 or n >= min_count)
    if not names and min_count > 1:
        raise OptionError(
            f"min_count={min_count}: no feature occurs that often; the most frequent "
            f"one occurs {max(count.values(), default=0)} times."
        )
    return names


def _tokens(X: Sequence[Any]) -> Iterator[dict[str, Any]]:
    if not len(X):
        raise InputError("X is empty; expected at least one sequence of token dicts.")
    for i, sequence in enumerate(X):
        if isinstance(sequence, (str, Mapping)) or not hasattr(sequence, "__len__"):
            raise InputError(
                f"X[{i}] is a {type(sequence).__name__}; expected a list of token dicts."
            )
        if not len(sequence):
            raise InputError(f"X[{i}] is empty; every sequence needs at least one position.")
        for t, token in enumerate(sequence):
            yield _flat_token(token, f"X[{i}][{t}]")


def _flat_token(token: Any, where: str) -> dict[str, Any]:
    """Names to numbers: values and nesting folded into the names."""
    if isinstance(token, Mapping):
        flat: dict[str, Any] = {}
        for name, value in token.items():
            _fold(str(name), value, where, flat)
        return flat
    if isinstance(token, (list, tuple, set)) and all(isinstance(name, str) for name in token):
        return dict.fromkeys(token, 1.0)
    raise InputError(
        f"{where} is a {type(token).__name__}; expected a dict of features or a list of names."
    )


def _as_float(value: Any) -> float:
    """A number; one that is too large becomes infinite, which is refused with its place later."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _fold(name: str, value: Any, where: str, flat: dict[str, Any]) -> None:
    if isinstance(value, str):
        flat[f"{name}:{value}"] = 1.0
    elif isinstance(value, (numbers.Real, np.bool_)):
        flat[name] = _as_float(value)
    elif isinstance(value, Mapping):
        for inner, inner_value in value.items():
            _fold(f"{name}:{inner}", inner_value, where, flat)
    elif isinstance(value, (list, tuple, set)) and all(isinstance(v, str) for v in value):
        flat.update((f"{name}:{v}", 1.0) for v in value)
    else:
        raise InputError(
            f"{where}[{name!r}] is {value!r} of type {type(value).__name__}; expected a string, "
            "a number, a bool, a list of strings, or a dict of these."
        )
