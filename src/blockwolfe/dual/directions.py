"""Directions of a block as sparse changes of its mean, and the moves along them.

With z the corner to move to, y_a the active corner to move from, and mean the block's point:

    FORWARD    z - mean         gamma_max = 1                         (Frank-Wolfe)
    PAIRWISE   z - y_a          gamma_max = alpha_a
    AWAY       mean - y_a       gamma_max = alpha_a / (1 - alpha_a)

A block that stores its corners keeps no mean: it is the sum of their parts, each times its weight.
A corner is handed around as (part, value, at, size): entries at ... at + size - 1 of two arrays,
the second empty where every value is one.
"""

from __future__ import annotations

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.look import Look, meet
from blockwolfe.dual.growth import Means
from blockwolfe.dual.stock import Stock
from blockwolfe.dual.work import Direction, Work
from blockwolfe.structures.label_codes import LabelCodes, difference, meet_code

__all__ = [
    "append_parts",
    "lay_mean",
    "meet_mean",
    "meet_pair",
    "meet_row",
    "move_mean",
    "take_direction",
]


@jit
def meet_row(
    form: LabelCodes, stock: Stock, row: int, factor: float, look: Look, n_met: int
) -> int:
    """Add factor times a stored corner, of labels or (where there are none) of parts."""
    begin, size = stock.begin[row], stock.size[row]
    if form.n_labels:
        return int(meet_code(form, stock.code, begin, size, factor, look, n_met))
    return int(meet(stock.code, stock.value, begin, size, factor, look, n_met))


@jit
def meet_mean(form: LabelCodes, stock: Stock, i: int, factor: float, look: Look, n_met: int) -> int:
    """Add factor times the mean of block i's corners."""
    for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
        alpha = stock.weight[row]
        if alpha > 0.0:
            n_met = meet_row(form, stock, row, factor * alpha, look, n_met)
    return n_met


@jit
def meet_pair(form: LabelCodes, stock: Stock, to: int, away: int, look: Look) -> int:
    """The difference of two stored corners, as a look of its own."""
    if form.n_labels:
        begin, size = stock.begin, stock.size[to]
        return int(difference(form, stock.code, begin[to], begin[away], size, look))
    look.number[0] += 1
    return int(meet_row(form, stock, away, -1.0, look, meet_row(form, stock, to, 1.0, look, 0)))


@jit
def take_direction(look: Look, n_met: int, direction: Direction) -> int:
    """What was met as a direction, without zeros; how many parts it moves."""
    met, total = look.met, look.sum
    part, slot, delta = direction
    found = 0
    for s in range(n_met):
        change = total[met[s]]
        if change != 0.0:
            slot[found], part[found], delta[found] = s, met[s], change
            found += 1
    return found


@jit
def append_parts(means: Means, i: int, met: np.ndarray, n_met: int) -> None:
    """Parts that a look has met beyond the block's own come after them, with a mean of zero."""
    start = means.start[i]
    for s in range(means.length[i], n_met):
        means.part[start + s] = met[s]
        if means.mean.shape[0]:
            means.mean[start + s] = 0.0
        if means.lag.shape[0]:
            means.lag[start + s] = 0.0
    means.length[i] = max(means.length[i], n_met)


@jit
def lay_mean(
    means: Means, i: int, part: np.ndarray, value: np.ndarray, at: int, size: int, work: Work
) -> int:
    """The direction from the mean of block i to another one; how many parts it changes.

    The other has entries at ... at + size - 1 of `part` and `value`.
    """
    look = work.look
    look.number[0] += 1
    n_met = meet(means.part, means.mean, means.start[i], means.length[i], -1.0, look, 0)
    n_met = meet(part, value, at, size, 1.0, look, n_met)
    append_parts(means, i, look.met, n_met)
    return int(take_direction(look, n_met, work.direction))


@jit
def move_mean(mean: np.ndarray, start: int, direction: Direction, size: int, factor: float) -> None:
    """Add factor times a direction to a mean that begins at `start` (or to its averaging lag)."""
    slot, delta = direction.slot, direction.delta
    for s in range(size):
        mean[start + slot[s]] += factor * delta[s]
