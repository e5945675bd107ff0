"""Spaces of choices that are 0 or 1: cuts, sets of items, links.

Some choices may be fixed. What remains is a smaller problem of the same kind, decoded as it is:
no large number stands for what must be.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from blockwolfe.structures import augmenting_paths, cut, matching, subset
from blockwolfe.structures.space import Nothing, Space, best_score

__all__ = ["CutSpace", "LinkSpace", "SubsetSpace"]

FREE = -1


class _BinarySpace(Space):
    """`fixed` (n,) has 0 or 1 where a choice is fixed, `FREE` elsewhere; none is by default."""

    def __init__(self, n: int, fixed: np.ndarray | None) -> None:
        self.fixed = np.full(n, FREE) if fixed is None else fixed

    def split(self, choices: Any, i: int) -> tuple[Space, Space]:
        """As in the base class."""
        if self.fixed[i] != FREE:
            return self, Nothing()
        return self._with(i, choices[i]), self._with(i, 1 - choices[i])

    def _with(self, i: int, value: int) -> Space:
        other = copy.copy(self)
        other.fixed = self.fixed.copy()
        other.fixed[i] = value
        return other


class _PairSpace(_BinarySpace):
    """`unary` (n,), and `pairwise` (m,) between the two ends of each edge (m, 2)."""

    values: tuple[int, int]  # what an end that is 0, or 1, makes of its edges for the other end
    maximize: Any

    def __init__(
        self,
        unary: np.ndarray,
        pairwise: np.ndarray,
        ends: np.ndarray,
        fixed: np.ndarray | None = None,
    ) -> None:
        super().__init__(len(unary), fixed)
        self.unary, self.pairwise, self.ends = unary, pairwise, ends

    def best(self) -> np.ndarray:
        """Found by the structure itself."""
        is_free = self.fixed == FREE
        value = np.where(is_free, 0, np.take(self.values, np.maximum(self.fixed, 0)))
        unary = self.unary.copy()
        np.add.at(unary, self.ends[:, 0], self.pairwise * value[self.ends[:, 1]])
        np.add.at(unary, self.ends[:, 1], self.pairwise * value[self.ends[:, 0]])
        is_kept = is_free[self.ends].all(axis=1)
        ends = (np.cumsum(is_free) - 1)[self.ends[is_kept]]
        choices = self.fixed.copy()
        choices[is_free] = type(self).maximize(unary[is_free], self.pairwise[is_kept], ends)
        return choices


class CutSpace(_PairSpace):
    """Labels 0 and 1 of nodes, `pairwise` >= 0 lost on every edge whose ends differ.

    >>> CutSpace(np.array([2.0, -1.0]), np.array([1.5]), np.array([[0, 1]])).rivals([1, 1])
    array([0. , 0.5])
    """

    values = (-1, 1)
    maximize = staticmethod(cut.maximize)

    def score(self, choices: Any) -> float:
        """Score of an output."""
        differs = choices[self.ends[:, 0]] != choices[self.ends[:, 1]]
        return float(self.unary @ choices - self.pairwise @ differs)


class SubsetSpace(_PairSpace):
    """Sets of items, `pairwise` of any sign gained where both ends of a pair are in the set.

    >>> space = SubsetSpace(np.array([1.0, -0.5]), np.array([1.0]), np.array([[0, 1]]))
    >>> space.rivals(space.best())
    array([0., 1.])
    """

    values = (0, 1)
    maximize = staticmethod(subset.maximize)

    def score(self, choices: Any) -> float:
        """Score of an output."""
        return subset.score(self.unary, self.pairwise, self.ends, choices)


class LinkSpace(_BinarySpace):
    """Sets of links for `scores` (links,) as in `matching`, every node within its capacity.

    `ends` (links, 2): source and target of each; `capacity`: of all sources, then of all targets.

    >>> space = LinkSpace(np.array([3.0, 2.0]), np.array([[0, 0], [1, 0]]), np.ones(3, int), 2)
    >>> space.best(), space.rivals([1, 0])
    (array([1, 0]), array([2., 2.]))
    """

    def __init__(
        self,
        scores: np.ndarray,
        ends: np.ndarray,
        capacity: np.ndarray,
        n_source: int,
        fixed: np.ndarray | None = None,
    ) -> None:
        super().__init__(len(scores), fixed)
        self.scores, self.ends, self.capacity, self.n_source = scores, ends, capacity, n_source

    def best(self) -> np.ndarray | None:
        """Found by the structure itself."""
        is_on, n_source = self.fixed == 1, self.n_source
        nodes = (self.ends[is_on] + [0, n_source]).ravel()
        spare = self.capacity - np.bincount(nodes, minlength=len(self.capacity))
        if spare.min(initial=0) < 0:
            return None
        scores = np.where(self.fixed == FREE, self.scores, -np.inf)
        n_target, n_links = len(spare) - n_source, len(scores)
        n_ints, n_floats = augmenting_paths.n_scratch(n_source, n_target, n_links)
        chosen, ints = np.zeros(n_links, dtype=np.int64), np.zeros(n_ints, dtype=np.int64)
        room = (chosen, ints, np.zeros(n_floats))
        n = matching.maximize_into(scores, self.ends, spare, n_source, *room)
        is_on[chosen[:n]] = True
        return is_on.astype(np.int64)

    def score(self, choices: Any) -> float:
        """Score of an output."""
        return float(self.scores @ choices)

    def nearest(self, best: Any) -> tuple[int, float]:
        """As in the base class; links that are too bad to be the one are not tried.

        With a link that is not in the best output, the rest scores no more than that output.
        """
        is_on, top = np.asarray(best) == 1, self.score(best)
        bound = np.where(is_on, top, top + np.minimum(self.scores, 0.0))
        bound[self.fixed != FREE] = -np.inf
        nearest, rival = 0, -np.inf
        for i in np.argsort(-bound, kind="stable").tolist():
            if bound[i] <= rival:
                break
            score = best_score(self.split(best, i)[1])
            if score > rival:
                nearest, rival = i, score
        return nearest, rival
