"""Directions of a block as sparse changes of its mean, and the moves along them.

With z the corner to move to, y_a the active corner to move from, and mean the block's point:

    FORWARD    z - mean         gamma_max = 1                         (Frank-Wolfe)
    PAIRWISE   z - y_a          gamma_max = alpha_a
    AWAY       mean - y_a       gamma_max = alpha_a / (1 - alpha_a)
"""

from __future__ import annotations

from typing import Any

from blockwolfe.base.compiled import jit

__all__ = [
    "AWAY",
    "FORWARD",
    "HEAVIEST",
    "PAIRWISE",
    "lay_direction",
    "longest_step",
    "move_block",
    "move_weights",
    "place_corner",
]

FORWARD, PAIRWISE, AWAY = 0, 1, 2

# A corner with nearly all the weight is not moved away from: mean - y_a would be rounding noise,
# to be multiplied by alpha_a / (1 - alpha_a).
HEAVIEST = 1.0 - 1e-4


@jit
def place_corner(part: Any, mean: Any, length: int, work: Any, size: int) -> int:
    """Slots of the corner in (work.part, work.value); parts new to the block are appended.

    `part` and `mean` are the block's room. Returns the new number of parts.
    `slot_of` is -1 everywhere before and after.
    """
    slot_of, corner_part, slot = work.slot_of, work.part, work.slot
    for s in range(length):
        slot_of[part[s]] = s
    for c in range(size):
        p = corner_part[c]
        if slot_of[p] < 0:
            slot_of[p] = length
            part[length] = p
            mean[length] = 0.0
            length += 1
        slot[c] = slot_of[p]
    for s in range(length):
        slot_of[part[s]] = -1
    return length


@jit
def _spread_corner(corner: Any, factor: float, dense: Any) -> None:
    slot, value, begin, size = corner
    if value.shape[0] == 0:
        for e in range(begin, begin + size):
            dense[slot[e]] += factor
    else:
        for e in range(begin, begin + size):
            dense[slot[e]] += factor * value[e]


@jit
def _collect_corner(corner: Any, part: Any, work: Any, found: int) -> int:
    """List the changed slots of a corner, and leave `dense` at zero there."""
    slot, _, begin, size = corner
    dense, delta = work.dense, work.delta
    for e in range(begin, begin + size):
        s = slot[e]
        if dense[s] != 0.0:
            work.moved_slot[found], work.moved_part[found] = s, part[s]
            delta[found] = dense[s]
            dense[s] = 0.0
            found += 1
    return found


@jit
def lay_direction(kind: int, to: Any, away: Any, part: Any, mean: Any, work: Any) -> int:
    """The direction as (moved_slot, moved_part, delta); returns how many slots it changes.

    `to` and `away` are (slot, value, begin, size). `dense` is zero before and after.
    """
    dense, delta = work.dense, work.delta
    if kind != AWAY:
        _spread_corner(to, 1.0, dense)
    if kind != FORWARD:
        _spread_corner(away, -1.0, dense)
    if kind == PAIRWISE:
        return _collect_corner(away, part, work, _collect_corner(to, part, work, 0))
    sign = -1.0 if kind == FORWARD else 1.0
    found = 0
    for s in range(part.shape[0]):
        change = dense[s] + sign * mean[s]
        dense[s] = 0.0
        if change != 0.0:
            work.moved_slot[found], work.moved_part[found] = s, part[s]
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
def move_weights(stock: Any, i: int, kind: int, rows: Any, gamma: float, is_drop: bool) -> None:
    """The dual weights after a step: exact zeros where a corner is dropped.

    `rows` is (row of the corner moved to, row of the corner moved from).
    """
    to, away = rows
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
    weight[away] = max(weight[away], 0.0)


@jit
def move_block(pool: Any, ells: Any, i: int, work: Any, size: int, move: Any) -> None:
    """A step of block i's mean and ell, and of their averaging lag.

    `ells` is (ell, lag_ell), `move` is (gamma, lagging, ell_change).
    """
    ell, lag_ell = ells
    gamma, lagging, ell_change = move
    start, moved_slot, delta = pool.start[i], work.moved_slot, work.delta
    for s in range(size):
        pool.mean[start + moved_slot[s]] += gamma * delta[s]
    ell[i] += gamma * ell_change
    if pool.lag_mean.shape[0]:  # no entries without averaging
        for s in range(size):
            pool.lag_mean[start + moved_slot[s]] += lagging * gamma * delta[s]
        lag_ell[i] += lagging * gamma * ell_change
