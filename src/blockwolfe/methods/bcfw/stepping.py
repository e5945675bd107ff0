"""The second half of a visit: choose a direction, search along it, move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from blockwolfe.base.compiled import jit
from blockwolfe.dual.directions import (
    FORWARD,
    PAIRWISE,
    append_parts,
    lay_direction,
    longest_step,
    move_means,
    move_weights,
    take_direction,
)
from blockwolfe.dual.line_search import bounded_step, clip_weights, free_step
from blockwolfe.dual.point import Point
from blockwolfe.dual.stock import Stock
from blockwolfe.dual.work import Work, begin_look, meet
from blockwolfe.methods.bcfw.rules import Block, Rule
from blockwolfe.methods.bcfw.steps import LOCAL, Choices

__all__ = ["take_step"]


@jit
def _stored(stock: Stock, i: int, row: int, lists: np.ndarray, work: Work) -> Any:
    """A stored corner as `directions` takes it."""
    k = row - stock.start[i]
    return lists, stock.value, work.list_at[k], work.list_size[k]


@jit
def _lay(rule: Rule, block: Block, kind: int, to: Any, away: Any, point: Point, work: Work) -> int:
    """A direction into `work`; how many parts it changes.

    The block's own list of parts, where it has one, is met first: numbers are then places in it.
    """
    i, means, n_met = block.i, point.means, 0
    begin_look(work)
    if not rule.keeps_corners:
        n_met = meet(means.part, means.mean, means.start[i], means.length[i], -1.0, work, 0)
    elif rule.has_average:
        n_met = meet(means.part, means.lag, means.start[i], means.length[i], 0.0, work, 0)
    n_met = lay_direction(kind, to, away, point.stock, i, block.lists, work, n_met)
    if rule.has_average or not rule.keeps_corners:
        append_parts(means, i, work, n_met)
    return take_direction(work, n_met)


@register_jitable
def _length_of(
    rule: Any, block: Any, kind: Any, to: Any, away: Any, features: Any, data: Any, scratch: Any,
    point: Any, work: Any,
) -> Any:  # fmt: skip
    """Lay out a direction; how many parts it changes, and |d|^2."""
    size = _lay(rule, block, kind, to, away, point, work)
    sqnorm = features.sqnorm(data, block.i, work.moved_part, work.delta, size, scratch)
    return size, block.weight * block.weight * sqnorm


@register_jitable
def _gains(
    rule: Any, block: Any, slopes: Any, to: Any, away: Any, alpha_away: Any, features: Any,
    data: Any, scratch: Any, point: Any, work: Any,
) -> Any:  # fmt: skip
    """(4): what exact steps gain along FORWARD, PAIRWISE and AWAY."""
    for kind in range(3):
        slope = slopes[kind]
        _, sqnorm = _length_of(rule, block, kind, to, away, features, data, scratch, point, work)
        gamma = free_step(rule.lam, slope, sqnorm, longest_step(kind, alpha_away))
        work.gain[kind] = gamma * slope - gamma * gamma * sqnorm / (2.0 * rule.lam)
    return work.gain[0], work.gain[1], work.gain[2]


@register_jitable
def _choices(
    rule: Any, block: Any, row: Any, features: Any, data: Any, scratch: Any, point: Any, work: Any
) -> Any:
    """What the step rule chooses from."""
    stock, i, low = point.stock, block.i, block.low
    forward = block.weight * (stock.height[row] - block.score) - point.ell[i]
    pairwise = block.weight * (stock.height[row] - stock.height[low])
    local = block.weight * (stock.height[block.top] - stock.height[low])
    alpha = stock.weight[low]
    gains = (0.0, 0.0, 0.0)
    if rule.needs_gains:
        to = _stored(stock, i, row, block.lists, work)
        away = _stored(stock, i, low, block.lists, work)
        gains = _gains(
            rule, block, (forward, pairwise, pairwise - forward), to, away, alpha, features, data,
            scratch, point, work,
        )  # fmt: skip
    return Choices(
        forward, pairwise, pairwise - forward, local, alpha, gains[0], gains[1], gains[2]
    )


@jit
def _slope_of(choices: Choices, kind: int) -> float:
    if kind == FORWARD:
        return choices.forward
    if kind == LOCAL:
        return choices.local
    return choices.pairwise if kind == PAIRWISE else choices.away


@jit
def _ell_change(kind: int, weight: float, ell: float, loss: float, loss_away: float) -> float:
    """Change of ell_i along a direction."""
    if kind == FORWARD:
        return weight * loss - ell
    return weight * (loss - loss_away) if kind == PAIRWISE else ell - weight * loss_away


@register_jitable
def take_step(
    rule: Any, block: Any, target: Any, choose: Any, features: Any, data: Any, scratch: Any,
    point: Any, notes: Any, work: Any,
) -> Any:  # fmt: skip
    """Move the block; False where no direction has a positive slope."""
    i, weight, stock, low = block.i, block.weight, point.stock, block.low
    kind, row, loss = FORWARD, target.row, target.loss
    slope = weight * (target.height - block.score) - point.ell[i]
    if row >= 0 and not rule.is_forward:
        choices = _choices(rule, block, row, features, data, scratch, point, work)
        kind = choose(choices)
        slope = _slope_of(choices, kind)
        if kind == LOCAL:
            kind, row = PAIRWISE, block.top
    if slope <= 0.0:
        return False
    value = stock.value[:0] if rule.is_unit else work.value
    part = work.part if rule.is_coded else work.code
    to = (part, value, 0, target.n_parts)
    away, alpha_away, loss_away = to, 1.0, 0.0
    if row >= 0:
        to, loss = _stored(stock, i, row, block.lists, work), stock.loss[row]
        away = to
    if kind != FORWARD:
        away = _stored(stock, i, low, block.lists, work)
        alpha_away, loss_away = stock.weight[low], stock.loss[low]
    size, sqnorm = _length_of(rule, block, kind, to, away, features, data, scratch, point, work)
    gamma_max = longest_step(kind, alpha_away)
    gamma = free_step(rule.lam, slope, sqnorm, gamma_max)
    if not rule.has_line_search:
        n_blocks = notes.gap.shape[0]
        gamma = 2.0 * n_blocks / (notes.counts.visits - 1.0 + 2.0 * n_blocks)
    n_moved = 0
    if rule.is_bounded:
        moved = (work.moved_part, work.delta, size, -weight / rule.lam)
        n_moved = features.spread(data, i, moved, work.image, work.coordinate, work.move)
        if rule.is_exact_search and rule.has_line_search:
            scaled = slope / rule.lam
            gamma = bounded_step(point.box, work.coordinate, work.move, n_moved, scaled, gamma_max)
    ell_change = _ell_change(kind, weight, point.ell[i], loss, loss_away)
    change = (kind, row, low, gamma, gamma >= gamma_max, ell_change)
    _move_point(rule, i, change, size, point, notes.counts, work)
    if rule.is_bounded:
        clip_weights(point.box, work.coordinate, work.move, n_moved, gamma, point.w)
    else:
        step = -gamma * weight / rule.lam
        features.add(data, i, work.moved_part, work.delta, size, step, point.w)
    notes.longest[i] = max(notes.longest[i], sqnorm)
    return True


@jit
def _move_point(
    rule: Rule, i: int, change: Any, size: int, point: Point, counts: Any, work: Work
) -> None:
    """The dual side of a step: one call, so that no interruption can split it."""
    kind, row, low, gamma, is_drop, ell_change = change
    visit = counts.visits - 1.0
    lagging = 0.5 * visit * (visit + 1.0)
    point.ell[i] += gamma * ell_change
    if rule.has_average:
        point.lag_ell[i] += lagging * gamma * ell_change
    if rule.has_average or not rule.keeps_corners:
        move_means(point.means, i, work, size, gamma, lagging)
    if row >= 0:
        move_weights(point.stock, i, kind, row, low, gamma, is_drop)
        if is_drop and kind != FORWARD:
            counts.drops += 1
    counts.steps += 1
