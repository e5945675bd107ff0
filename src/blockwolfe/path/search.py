"""Which lambdas to score: coarse to fine, from large to small, and no further than it pays.

The search begins above the strength that is the default, where training is quick, and goes down by
a factor of four for as long as held-out data gains by it. If the first lambda was the best, it goes
up from there. Where a parabola through the best and its neighbours has its top nearer to a lambda
between them, by a factor of two from the best, that one is scored, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.errors import OptionError
from blockwolfe.path.scores import LambdaScores
from blockwolfe.problem.problem import check_lam

__all__ = ["Range", "search"]

FACTOR, FINE = 4.0, 2.0
# How far from the default strength a search may go, where no end is given.
FURTHEST = FACTOR**4
# Lambdas in a row that are no better than the best, after which no smaller one is tried.
MOST_WORSE = 2
# The top of a parabola through scores -a, 0, -b at the best lambda and its neighbours is
# (a - b) / (a + b) half steps away from the best: up to here it is nearer than a lambda between.
NEAR = 0.5
ROUNDING = 1e-9  # of quotients of lambdas


class Range(NamedTuple):
    """Where lambdas are looked for, and the one to begin with.

    >>> Range.of(0.5, None, 0.01)
    Range(lowest=0.01, highest=128.0, first=2.0)
    """

    lowest: float
    highest: float
    first: float

    @classmethod
    def of(cls, default: float, lam_max: Any, lam_min: Any, furthest: float = FURTHEST) -> Range:
        """From the ends that are given, and the default strength."""
        lowest = default / furthest if lam_min is None else check_lam(lam_min)
        highest = default * furthest if lam_max is None else check_lam(lam_max)
        check_range(lowest, highest)
        first = FACTOR * default if lam_max is None else highest
        return cls(lowest, highest, float(np.clip(first, lowest, highest)))

    def holds(self, lam: float) -> bool:
        """Whether lambda is between the ends."""
        return self.lowest * (1 - ROUNDING) <= lam <= self.highest * (1 + ROUNDING)

    def down(self) -> Iterator[float]:
        """From the first lambda to the lowest.

        >>> list(Range(0.5, 10.0, 4.0).down())
        [4.0, 1.0, 0.5]
        """
        lam = self.first
        while lam > self.lowest * (1 + ROUNDING):
            yield lam
            lam /= FACTOR
        yield self.lowest

    def up(self) -> Iterator[float]:
        """From the first lambda, without it, to the highest."""
        lam = self.first * FACTOR
        while lam < self.highest * (1 - ROUNDING):
            yield lam
            lam *= FACTOR
        if self.first < self.highest:
            yield self.highest


def check_range(lowest: float, highest: float) -> None:
    """Refuse a range without any lambda in it."""
    if not lowest < highest:
        raise OptionError(
            f"lam_min={lowest:g} is not below the largest lambda of interest, {highest:g}."
        )


def search(score: Callable[[float], Any], where: Range) -> LambdaScores:
    """Score lambdas of a range, as few as will do; `score(lam)` gives one score for each fold.

    >>> found = search(lambda lam: [1.0 - np.log(lam) ** 2], Range(0.001, 1000.0, first=16.0))
    >>> found.lams.tolist()
    [16.0, 4.0, 1.0, 0.25]
    """
    found: dict[float, np.ndarray] = {}
    for lam in where.down():
        found[lam] = np.asarray(score(lam), dtype=np.float64)
        if is_past(_ordered(found)):
            break
    for lam in where.up():
        if _ordered(found).best != max(found):
            break
        found[lam] = np.asarray(score(lam), dtype=np.float64)
    finer = _finer(_ordered(found))
    if finer is not None and where.holds(finer):
        found[finer] = np.asarray(score(finer), dtype=np.float64)
    return _ordered(found)


def _finer(scores: LambdaScores) -> float | None:
    """The lambda between the best and its better neighbour, where the best may well be there."""
    best, mean = int(np.argmax(scores.mean)), scores.mean
    if len(mean) == 1:
        return None
    other = best - 1 if best > 0 else best + 1
    if 0 < best < len(mean) - 1:
        above, below = mean[best] - mean[best - 1], mean[best] - mean[best + 1]
        if abs(above - below) <= NEAR * (above + below):
            return None
        other = best - 1 if above < below else best + 1
    step = float(scores.lams[other]) / scores.best
    # (the last step of a range may be short)
    return scores.best * float(np.sqrt(step)) if abs(np.log(step)) > np.log(FINE) else None


def is_past(scores: LambdaScores) -> bool:
    """Whether no smaller lambda is worth a try.

    That is so where the smallest is clearly worse than the best, and where it is not clearly better
    although scores had risen before: by more than a standard error of the difference, fold by fold.
    Where nothing has risen yet, two in a row that are no better are enough; but where all scores
    are equal the search is still far above the best lambda.

    >>> lams = np.array([4.0, 1.0, 0.25])
    >>> is_past(LambdaScores(lams[:2], np.array([[0.8, 0.7], [0.6, 0.61]])))
    False
    >>> is_past(LambdaScores(lams[:2], np.array([[0.8, 0.7], [0.6, 0.52]])))
    True
    >>> is_past(LambdaScores(lams, np.array([[0.5, 0.8, 0.81], [0.4, 0.6, 0.6]])))
    True
    """
    n_after = len(scores.lams) - 1 - int(np.argmax(scores.mean))
    if not scores.lost.mean.any():
        return False
    *larger, smallest = scores.as_good
    has_risen, is_better = not all(larger), n_after == 0 and not any(larger)
    return bool(n_after >= MOST_WORSE or not smallest or (has_risen and not is_better))


def _ordered(found: dict[float, np.ndarray]) -> LambdaScores:
    """From the largest lambda down."""
    lams = sorted(found, reverse=True)
    return LambdaScores(np.array(lams), np.stack([found[lam] for lam in lams], axis=1))
