"""Sentences as candidate arcs: the inputs of parsing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Arcs"]


@dataclass(frozen=True)
class Arcs:
    """One sentence as candidate arcs: a row of features for each, and the words that it joins.

    features : (n_arcs, n_features) array or sparse matrix.
    arcs : (n_arcs, 2) integers, head and child of each; words are 1..n_words, 0 is the root.
    n_words : how many words there are.

    >>> Arcs([[1.0], [0.0]], [[0, 1], [1, 2]], n_words=2).n_words
    2
    """

    features: Any
    arcs: Any
    n_words: int
