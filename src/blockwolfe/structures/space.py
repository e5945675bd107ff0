"""The outputs of one input as a space of choices: its best ones, and what decides between them.

An output is a list of *choices*: the label of a position, the head of a word, whether a link is
there. A space can be split at any choice of an output into those outputs that agree with it there
and those that do not. The second best output differs from the best somewhere, so it is the best of
the second half for one of the splits. Split there, both halves are spaces again, each with its best
output known, and the next best is the second best of one of them (Lawler 1972; with max-marginals,
which try all splits at once, Yanover and Weiss 2003).
"""

from __future__ import annotations

import heapq
import itertools
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Nothing", "Scored", "Space", "best_score", "margins", "n_best"]


class Scored(NamedTuple):
    """An output and its score.

    >>> output, score = Scored("a", 2.0)
    """

    output: Any
    score: float


class Space:
    """Base of spaces: a subclass has `best`, `score` and `split`; `rivals` where it can do better.

    >>> class Letters(Space):
    ...     def __init__(self, *letters): self.letters = letters
    ...     def best(self): return [max(self.letters)] if self.letters else None
    ...     def score(self, choices): return float(ord(choices[0]))
    ...     def split(self, choices, i):
    ...         return Letters(*choices), Letters(*(a for a in self.letters if a not in choices))
    >>> n_best(Letters("a", "c", "b"), 2)
    [Scored(output=['c'], score=99.0), Scored(output=['b'], score=98.0)]
    """

    def best(self) -> Any:
        """The choices of an output with the highest score; None where there is no output."""
        raise NotImplementedError

    def score(self, choices: Any) -> float:
        """Score of an output."""
        raise NotImplementedError

    def split(self, choices: Any, i: int) -> tuple[Space, Space]:
        """The outputs that agree with `choices` at choice i, and the others."""
        raise NotImplementedError

    def rivals(self, best: Any) -> np.ndarray:
        """For each choice of the best output, the best score without it; -inf where all have it."""
        return np.array([best_score(self.split(best, i)[1]) for i in range(len(best))])

    def nearest(self, best: Any) -> tuple[int, float]:
        """The choice with the highest of `rivals`, and that; (0, -inf) where there is none."""
        rivals = self.rivals(best)
        i = int(np.argmax(rivals)) if len(rivals) else 0
        return i, float(rivals[i]) if len(rivals) else -np.inf


class Nothing(Space):
    """No output at all.

    >>> Nothing().best()
    """

    def best(self) -> None:
        """There is none."""


def best_score(space: Space) -> float:
    """Score of the best output; -inf where there is none.

    >>> best_score(Nothing())
    -inf
    """
    best = space.best()
    return -np.inf if best is None else space.score(best)


def n_best(space: Space, k: int) -> list[Scored]:
    """The k best outputs (all, where there are fewer) and their scores, from the best down."""
    waiting: list[Any] = []
    number = itertools.count()

    def keep(part: Space, best: Any) -> None:
        i, score = part.nearest(best)
        if score > -np.inf:
            heapq.heappush(waiting, (-score, next(number), part, best, i))

    first = space.best()
    if first is None:
        return []
    found = [first]
    if k > 1:
        keep(space, first)
    while len(found) < k and waiting:
        *_, part, best, i = heapq.heappop(waiting)
        same, other = part.split(best, i)
        second = other.best()
        found.append(second)
        if len(found) < k:
            keep(same, best)
            keep(other, second)
    return [Scored(choices, space.score(choices)) for choices in found]


def margins(space: Space) -> np.ndarray:
    """How much worse the best output is that lacks each choice of the best one; inf: there is none.

    >>> class Coin(Space):
    ...     def best(self): return [1]
    ...     def score(self, choices): return 3.0
    ...     def rivals(self, best): return np.array([1.0])
    >>> margins(Coin())
    array([2.])
    """
    best = space.best()
    # (rounding may make a tie negative)
    return np.maximum(space.score(best) - space.rivals(best), 0.0)
