"""A share of the way back: from where a dual point has come to, towards where it was.

After steps have taken all blocks from x to x', the point (1 - share) x' + share x is a mixture of
both: means are blended, and of stored corners there is the union, with weights in that proportion.
The average over visits stays as it was: what changes between two visits is no iterate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.look import meet
from blockwolfe.dual.directions import append_parts, move_mean, take_direction
from blockwolfe.dual.growth import Means
from blockwolfe.dual.point import DualPoint
from blockwolfe.dual.stock import Stock, find_corner, insert_corner
from blockwolfe.dual.work import Work
from blockwolfe.problem.state import Store

__all__ = ["Whereabouts", "go_back", "whereabouts"]


class Whereabouts(NamedTuple):
    """Where a dual point was; codes and lists of parts are shared, as they only ever grow."""

    ell: np.ndarray
    means: Means
    stock: Stock


def whereabouts(point: DualPoint) -> Whereabouts:
    """Where a dual point is: copies of what steps change in place."""
    means, stock = point.arrays.means, point.arrays.stock
    rows = ("n_rows", "weight", "loss", "begin", "size")
    return Whereabouts(
        point.arrays.ell.copy(),
        means._replace(length=means.length.copy(), mean=means.mean.copy()),
        stock._replace(**{name: getattr(stock, name).copy() for name in rows}),
    )


@jit
def _mix(share: float, before: Stock, done: np.ndarray, stock: Stock) -> bool:
    """Add `share` of the weights of other corners, from row done[1] of block done[0] on.

    False where the next one lacks room, before any change to it.
    """
    while done[0] < stock.start.shape[0]:
        i = done[0]
        while done[1] < before.n_rows[i]:
            other = before.start[i] + done[1]
            if before.weight[other] > 0.0:
                begin, size, loss = before.begin[other], before.size[other], before.loss[other]
                code, value = before.code[begin : begin + size], before.value[begin : begin + size]
                row = find_corner(stock, i, code, value, size, loss)
                if row < 0:
                    n_free = stock.code.shape[0] - stock.end[0]
                    if stock.n_rows[i] >= stock.capacity[i] or n_free < size:
                        return False
                    row = insert_corner(stock, i, code, value, size, loss)
                stock.weight[row] += share * before.weight[other]
            done[1] += 1
        done[0], done[1] = i + 1, 0
    return True


@jit
def _lag_behind(
    factor: float, now: Store, before: Store, means: Means, lag_ell: np.ndarray, work: Work
) -> None:
    """Add factor times the way back to the lag of the average (see `loop`)."""
    look = work.look
    for i in range(lag_ell.shape[0]):
        look.number[0] += 1
        n_met = meet(means.part, means.lag, means.start[i], means.length[i], 0.0, look, 0)
        n_met = meet(now.part, now.mean, now.start[i], now.length[i], -1.0, look, n_met)
        n_met = meet(before.part, before.mean, before.start[i], before.length[i], 1.0, look, n_met)
        append_parts(means, i, look.met, n_met)
        size = take_direction(look, n_met, work.direction)
        move_mean(means.lag, means.start[i], work.direction, size, factor)
        lag_ell[i] += factor * (before.ell[i] - now.ell[i])


def go_back(
    point: DualPoint,
    before: Whereabouts,
    share: float,
    n_visits: int,
    max_bytes: int | None = None,
) -> None:
    """Go back by a share of the way to where the point was; w is left to the caller.

    `n_visits` is how many the average is over, `max_bytes` what stored corners may take.
    """
    share = float(share)
    if point.has_average:
        lagging = 0.5 * n_visits * (n_visits + 1.0)
        now, there, arrays = point.store(), _store(point, before), point.arrays
        args = (share * lagging, now, there, arrays.means, arrays.lag_ell, point.work)
        call(_lag_behind, "lag behind", *args)
    if not point.keeps_corners:
        point.blend(share, _store(point, before))
        return
    weight, ell = point.arrays.stock.weight, point.arrays.ell
    weight *= 1.0 - share
    ell += share * (before.ell - ell)
    done = np.zeros(2, dtype=np.int64)
    while not call(_mix, "mix", share, before.stock, done, point.arrays.stock):
        point.make_room(max_bytes)


def _store(point: DualPoint, before: Whereabouts) -> Store:
    """The block means as they were there."""
    here, means = point.arrays, before.means
    if not point.keeps_corners:
        return Store(means.start, means.length, means.part, means.mean, before.ell)
    try:
        point.arrays = here._replace(ell=before.ell, stock=before.stock)
        return point.store()
    finally:
        point.arrays = here
