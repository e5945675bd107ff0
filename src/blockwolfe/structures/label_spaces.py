"""Spaces of labellings: single labels, sequences and forests, by forward-backward and its like.

A label that a position may not have has the score -inf. Scores are divided by the temperature T
for P(y) = exp(score(y) / T) / Z.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from blockwolfe.structures import (
    chain,
    chain_beliefs,
    higher_chain,
    higher_chain_beliefs,
    tree,
    tree_marginals,
)
from blockwolfe.structures.space import Space

__all__ = ["ChainSpace", "ChoiceSpace", "HigherChainSpace", "TreeSpace"]


class _LabelSpace(Space):
    """`unary` (n, K), and `others`: the scores of pairs, and whatever else the structure takes."""

    maximize: Any
    score_of: Any
    beliefs: Any

    def __init__(self, unary: np.ndarray, *others: Any) -> None:
        self.unary, self.others = unary, others

    def best(self) -> np.ndarray | None:
        """Found by the structure itself."""
        labels: np.ndarray = type(self).maximize(self.unary, *self.others)
        return labels if self.score(labels) > -np.inf else None

    def score(self, choices: Any) -> float:
        """Score of an output."""
        return float(type(self).score_of(self.unary, *self.others, choices))

    def split(self, choices: Any, i: int) -> tuple[Space, Space]:
        """As in the base class."""
        same, other, label = self.unary.copy(), self.unary.copy(), choices[i]
        same[i] = other[i, label] = -np.inf
        same[i, label] = self.unary[i, label]
        return type(self)(same, *self.others), type(self)(other, *self.others)

    def rivals(self, best: Any) -> np.ndarray:
        """By max-marginals."""
        table = type(self).beliefs(self.unary, *self.others)
        table[np.arange(len(best)), best] = -np.inf
        return np.asarray(table.max(axis=1))

    def _sums(self, temperature: float) -> np.ndarray:
        pairs, rest = self.others[:1], self.others[1:]
        scores = [array / temperature for array in (self.unary, *pairs)]
        return np.asarray(type(self).beliefs(*scores, *rest, is_sum=True))

    def marginals(self, temperature: float) -> np.ndarray:
        """Probability of every label at every position (n, K)."""
        sums = self._sums(temperature)
        return np.exp(sums - logsumexp(sums, axis=1, keepdims=True))

    def log_partition(self, temperature: float) -> float:
        """Logarithm of Z."""
        return float(logsumexp(self._sums(temperature)[0]))


def _best_each(unary: np.ndarray) -> np.ndarray:
    return np.asarray(unary.argmax(axis=1))


def _score_each(unary: np.ndarray, labels: Any) -> float:
    return float(unary[np.arange(len(labels)), labels].sum())


def _beliefs_each(unary: np.ndarray, is_sum: bool = False) -> np.ndarray:
    each = logsumexp(unary, axis=1) if is_sum else unary.max(axis=1)
    return np.asarray(unary + (each.sum() - each)[:, None])


class ChoiceSpace(_LabelSpace):
    """Labels that know nothing of each other, for `unary` (n, K); a single one with n = 1.

    >>> ChoiceSpace(np.array([[1.0, 4.0, 2.0]])).rivals([1])
    array([2.])
    """

    maximize = staticmethod(_best_each)
    score_of = staticmethod(_score_each)
    beliefs = staticmethod(_beliefs_each)


class ChainSpace(_LabelSpace):
    """Label sequences for `unary` (T, K) and `transition` (K, K).

    >>> from blockwolfe.structures.space import n_best
    >>> space = ChainSpace(np.array([[1.0, 0.25], [0.0, 0.5]]), np.eye(2))
    >>> [(labels.tolist(), score) for labels, score in n_best(space, 2)]
    [([0, 0], 2.0), ([1, 1], 1.75)]
    """

    maximize = staticmethod(chain.maximize)
    score_of = staticmethod(chain.score)
    beliefs = staticmethod(chain_beliefs.beliefs)


class HigherChainSpace(_LabelSpace):
    """Label sequences for `unary` (T, K) and `tables` of transitions by order (see `higher_chain`).

    >>> triples = np.zeros((2, 2, 2))
    >>> triples[0, 1, 1] = 3.0
    >>> HigherChainSpace(np.zeros((3, 2)), {2: triples}).rivals([0, 1, 1])
    array([0., 0., 0.])
    """

    maximize = staticmethod(higher_chain.maximize)
    score_of = staticmethod(higher_chain.score)
    beliefs = staticmethod(higher_chain_beliefs.beliefs)

    def _sums(self, temperature: float) -> np.ndarray:
        tables = {order: table / temperature for order, table in self.others[0].items()}
        return higher_chain_beliefs.beliefs(self.unary / temperature, tables, is_sum=True)


class TreeSpace(_LabelSpace):
    """Labels of nodes for `unary` (n, K), `pairwise` (m, K, K) and `edges` (m, 2): a forest.

    >>> space = TreeSpace(np.zeros((2, 2)), np.log([[[1.0, 2.0], [3.0, 4.0]]]), np.array([[0, 1]]))
    >>> space.marginals(1.0).round(3)
    array([[0.3, 0.7],
           [0.4, 0.6]])
    """

    maximize = staticmethod(tree.maximize)
    score_of = staticmethod(tree.score)
    beliefs = staticmethod(tree_marginals.beliefs)
