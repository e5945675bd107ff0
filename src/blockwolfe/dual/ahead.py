"""Where to ask next along w: a longer w than the optimum of the stored corners may be a better one.

At s w the gap to the dual point is, as far as stored corners tell,

    sum_i weight_i max_y (L_i(y) - <s w, psi_i(y)> - mean of the same) + lam/2 (s - 1)^2 |w|^2

which is least at s = 1, if w is their optimum. But outputs that are not stored yet cost more than
stored ones. Where the last answers show that this excess falls with s, as it does where w has all
known outputs right, but few by their full margin, blocks are asked at a longer w: there fewer new
outputs are in the way, and fewer have to be found until a gap is reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockwolfe.dual.conjugate import Climb

__all__ = ["LONGEST", "Ahead", "at_length", "at_own", "look_ahead"]

# No length is more than this many times that of w: what answers told changes further on.
LONGEST = 4.0
N_HALVINGS = 20


class Ahead(NamedTuple):
    """A length of w, and what stored corners tell of it: the gap, those of blocks, and losses.

    Losses are those of the corners that the gaps of the blocks are of.
    """

    length: float
    gap: float
    gaps: np.ndarray
    loss: np.ndarray


def at_own(n_blocks: int) -> Ahead:
    """The weights of the dual point, where all that is stored is taken for its optimum."""
    return Ahead(1.0, 0.0, np.zeros(n_blocks), np.zeros(n_blocks))


def look_ahead(
    found: Climb, weight: np.ndarray, square: float, drift: float, most_gap: float
) -> Ahead:
    """The length at which gap and excess together are least, or where the gap is `most_gap`.

    `square` is lam |w|^2, `drift` how the excess of other outputs changes with the length.
    """
    ray = _Ray(found, weight, square)
    shortest, longest = 1.0, LONGEST
    for _ in range(N_HALVINGS if drift < 0.0 else 0):
        middle = 0.5 * (shortest + longest)
        gap, slope, _ = ray.at(middle)
        pays = gap <= most_gap and slope + drift <= 0.0
        shortest, longest = (middle, longest) if pays else (shortest, middle)
    return ray.known(shortest)


def at_length(found: Climb, weight: np.ndarray, square: float, length: float) -> Ahead:
    """What stored corners tell of this length."""
    return _Ray(found, weight, square).known(length)


class _Ray:
    """Stored corners along s w: heights above the mean of their block are level + s rise."""

    def __init__(self, found: Climb, weight: np.ndarray, square: float) -> None:
        self.weight, self.square, self.loss = weight, square, found.loss
        self._first = found.first
        self._block = np.repeat(np.arange(len(weight)), np.diff(found.first))
        self._level = self._above_mean(found, found.loss)
        self._rise = self._above_mean(found, found.height - found.loss)

    def _above_mean(self, found: Climb, value: np.ndarray) -> np.ndarray:
        mean = np.add.reduceat(found.alpha * value, self._first[:-1])
        return np.asarray(value - mean[self._block])

    def at(self, length: float) -> tuple[float, float, np.ndarray]:
        """The gap, its slope, and the highest corner of every block."""
        height = self._level + length * self._rise
        best = np.maximum.reduceat(height, self._first[:-1])
        highest = np.flatnonzero(~(height < best[self._block]))
        top = highest[np.searchsorted(highest, self._first[:-1])]
        bend = self.square * (length - 1.0)
        gap = float(self.weight @ best) + 0.5 * bend * (length - 1.0)
        return gap, float(self.weight @ self._rise[top]) + bend, top

    def known(self, length: float) -> Ahead:
        """All of it."""
        gap, _, top = self.at(length)
        gaps = self.weight * (self._level[top] + length * self._rise[top])
        return Ahead(length, gap, np.asarray(gaps), self.loss[top])
