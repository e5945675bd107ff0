"""Precision, recall and F1, from how many are right, predicted and true."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence, Set
from typing import Any, NamedTuple

from blockwolfe.base.checks import check_weight

__all__ = ["Counts", "F1Score", "LabelScore", "count_sets", "share"]


def share(part: float, whole: float) -> float:
    """Part of a whole; NaN of nothing.

    >>> share(1, 4), share(0, 0)
    (0.25, nan)
    """
    return part / whole if whole else float("nan")


class F1Score(NamedTuple):
    """Precision, recall and F1 over whole chunks, segments or links; a share of nothing is 0.

    >>> F1Score(0.5, 1.0, 2 / 3).recall
    1.0
    """

    precision: float
    recall: float
    f1: float


class LabelScore(NamedTuple):
    """How well one label is found; a share of nothing is NaN.

    >>> LabelScore.of("a", right=1, predicted=2, true=1)
    LabelScore(label='a', precision=0.5, recall=1.0, f1=0.6666666666666666, support=1)
    """

    label: Any
    precision: float
    recall: float
    f1: float
    support: float

    @classmethod
    def of(cls, label: Any, right: float, predicted: float, true: float) -> LabelScore:
        """From how often it was predicted rightly, predicted at all, and true."""
        f1 = share(2 * right, predicted + true)
        return cls(label, share(right, predicted), share(right, true), f1, true)


class Counts(NamedTuple):
    """How many were predicted rightly, predicted at all, and true.

    >>> Counts(right=1, predicted=1, true=3).score()
    F1Score(precision=1.0, recall=0.3333333333333333, f1=0.5)
    """

    right: float
    predicted: float
    true: float

    def score(self) -> F1Score:
        """Precision, recall and F1; 0 of nothing."""
        shares = LabelScore.of(None, *self)[1:4]
        return F1Score(*(0.0 if math.isnan(value) else value for value in shares))


def count_sets(
    pairs: Sequence[tuple[Set[Any], Set[Any]]], sample_weight: Any = None, kind: Any = None
) -> dict[Hashable, Counts]:
    """Counts over pairs (true set, predicted set), for each kind of member by itself.

    `kind(member)` is what a member counts for; None: all count for one, called "".

    >>> count_sets([({"a", "b"}, {"a"})])
    {'': Counts(right=1, predicted=1, true=2)}
    """
    n = len(pairs)
    weight: Any = [1] * n if sample_weight is None else check_weight(sample_weight, n).tolist()
    found: dict[Hashable, list[float]] = {} if kind is not None else {"": [0, 0, 0]}
    for (truth, guess), each in zip(pairs, weight, strict=True):
        for at, members in enumerate((truth & guess, guess, truth)):
            times = {"": len(members)} if kind is None else Counter(map(kind, members))
            for name, number in times.items():
                found.setdefault(name, [0, 0, 0])[at] += each * number
    return {name: Counts(*values) for name, values in found.items()}
