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

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.dual.growth import Means
from blockwolfe.dual.stock import Stock
from blockwolfe.dual.work import Work, meet

__all__ = [
    "AWAY",
    "FORWARD",
    "HEAVIEST",
    "PAIRWISE",
    "append_parts",
    "lay_direction",
    "longest_step",
    "meet_mean",
    "move_means",
    "move_weights",
]

FORWARD, PAIRWISE, AWAY = 0, 1, 2

# A corner with nearly all the weight is not moved away from: mean - y_a would be rounding noise,
# to be multiplied by alpha_a / (1 - alpha_a).
HEAVIEST = 1.0 - 1e-4


@jit
def meet_mean(stock: Stock, i: int, lists: np.ndarray, factor: float, work: Work, n: int) -> int:
    """Add factor times the mean of block i's corners; `lists` are their parts."""
    first = stock.start[i]
    for k in range(stock.n_rows[i]):
        alpha = stock.weight[first + k]
        if alpha > 0.0:
            at, size = work.list_at[k], work.list_size[k]
            n = meet(lists, stock.value, at, size, factor * alpha, work, n)
    return n


@jit
def lay_direction(
    kind: int, to: Any, away: Any, stock: Stock, i: int, lists: np.ndarray, work: Work, n: int
) -> int:
    """Meet the corners of a direction, after what has been met already; how many parts then."""
    if kind != AWAY:
        n = meet(to[0], to[1], to[2], to[3], 1.0, work, n)
    if kind != FORWARD:
        n = meet(away[0], away[1], away[2], away[3], -1.0, work, n)
    if kind != PAIRWISE:
        n = meet_mean(stock, i, lists, -1.0 if kind == FORWARD else 1.0, work, n)
    return n


@jit
def take_direction(work: Work, n_met: int) -> int:
    """What was met as (moved_slot, moved_part, delta), without zeros; how many parts move."""
    met, total, delta = work.met, work.sum, work.delta
    found = 0
    for s in range(n_met):
        change = total[met[s]]
        if change != 0.0:
            work.moved_slot[found], work.moved_part[found] = s, met[s]
            delta[found] = change
            found += 1
    return found


@jit
def longest_step(kind: int, alpha_away: float) -> float:
    """gamma_max. A block all of whose weight is on one corner has no away direction."""
    if kind == FORWARD:
        return 1.0
    if kind == PAIRWISE:
        return alpha_away
    return alpha_away / (1.0 - alpha_away) if alpha_away < HEAVIEST else 0.0


@jit
def move_weights(
    stock: Stock, i: int, kind: int, to: int, away: int, gamma: float, is_drop: bool
) -> None:
    """The dual weights after a step; exact zeros where a corner is dropped.

    `to` and `away` are the rows of the corners moved to and from.
    """
    weight = stock.weight
    if kind == PAIRWISE:
        weight[to] += gamma
        weight[away] -= gamma
    else:
        shrink = 1.0 - gamma if kind == FORWARD else 1.0 + gamma
        for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
            weight[row] *= shrink
        if kind == FORWARD:
            weight[to] += gamma
        else:
            weight[away] -= gamma
    if is_drop:
        if kind != FORWARD:
            weight[away] = 0.0
        else:
            for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
                weight[row] = 1.0 if row == to else 0.0
    if kind != FORWARD:
        weight[away] = max(weight[away], 0.0)


@jit
def append_parts(means: Means, i: int, work: Work, n_met: int) -> None:
    """Parts that a look has met beyond the block's own come after them, with a mean of zero."""
    start = means.start[i]
    for s in range(means.length[i], n_met):
        means.part[start + s] = work.met[s]
        if means.mean.shape[0]:
            means.mean[start + s] = 0.0
        if means.lag.shape[0]:
            means.lag[start + s] = 0.0
    means.length[i] = max(means.length[i], n_met)


@jit
def move_means(means: Means, i: int, work: Work, size: int, gamma: float, lagging: float) -> None:
    """A step of block i's mean, where it is kept, and of its averaging lag, where there is one."""
    start, moved_slot, delta = means.start[i], work.moved_slot, work.delta
    if means.mean.shape[0]:
        for s in range(size):
            means.mean[start + moved_slot[s]] += gamma * delta[s]
    if means.lag.shape[0]:
        for s in range(size):
            means.lag[start + moved_slot[s]] += lagging * gamma * delta[s]
