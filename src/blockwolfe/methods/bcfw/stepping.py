"""The second half of a visit: choose a direction, search along it, move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import typeof, types

from blockwolfe.base.compiled import Piece, inlined, jit
from blockwolfe.base.look import Look, meet
from blockwolfe.base.packed import Packed, unpack
from blockwolfe.dual.directions import (
    append_parts,
    meet_mean,
    meet_pair,
    meet_row,
    move_mean,
    take_direction,
)
from blockwolfe.dual.growth import Means
from blockwolfe.dual.line_search import bounded_step, clip_weights, free_step
from blockwolfe.dual.stock import Stock
from blockwolfe.methods.bcfw.rules import FOUND, Block, Rule, Target
from blockwolfe.rules.steps import LOCAL, Choices
from blockwolfe.rules.weights import AWAY, FORWARD, HEAVIEST, PAIRWISE, longest_step, move_weights
from blockwolfe.structures.label_codes import NOT_LABELS, LabelCodes

__all__ = ["step_piece"]


@jit
def _meet_own(rule: Rule, means: Means, i: int, look: Look) -> int:
    """Meet the block's own list of parts first, where it has one: numbers are then places in it.

    With its mean, to be taken from the corner moved to; or, where it has only its lag, with zero.
    """
    look.number[0] += 1
    begin, length = means.start[i], means.length[i]
    if not rule.keeps_corners:
        return int(meet(means.part, means.mean, begin, length, -1.0, look, 0))
    if rule.has_average:
        return int(meet(means.part, means.lag, begin, length, 0.0, look, 0))
    return 0


@jit
def _meet_rows(
    form: LabelCodes, kind: int, stock: Stock, i: int, to: int, low: int, look: Look, n_met: int
) -> int:
    """Meet the stored corners of a direction: `to` and `low` are rows."""
    if kind != AWAY:
        n_met = meet_row(form, stock, to, 1.0, look, n_met)
    if kind != FORWARD:
        n_met = meet_row(form, stock, low, -1.0, look, n_met)
    if kind != PAIRWISE:
        sign = -1.0 if kind == FORWARD else 1.0
        n_met = meet_mean(form, stock, i, sign, look, n_met)
    return n_met


@inlined
def _lay(rule: Any, block: Any, kind: Any, row: Any, n_parts: Any, point: Any, work: Any) -> Any:
    """A direction into `work`; how many parts it changes."""
    i, stock, look = block.i, point.stock, work.look
    form = rule.form if rule.keeps_labels else NOT_LABELS
    if row >= 0 and kind == PAIRWISE and not rule.has_average:
        return take_direction(look, meet_pair(form, stock, row, block.low, look), work.direction)
    n_met = _meet_own(rule, point.means, i, look)
    if row >= 0:
        n_met = _meet_rows(form, kind, stock, i, row, block.low, look, n_met)
    else:
        part = work.part if rule.form.n_labels else work.code
        value = stock.value[:0] if rule.is_unit else work.value
        n_met = meet(part, value, 0, n_parts, 1.0, look, n_met)
    if rule.has_average or not rule.keeps_corners:
        append_parts(point.means, i, look.met, n_met)
    return take_direction(look, n_met, work.direction)


@inlined
def _length_of(
    rule: Any, block: Any, kind: Any, row: Any, n_parts: Any, features: Any, data: Any,
    scratch: Any, point: Any, work: Any,
) -> Any:  # fmt: skip
    """Lay out a direction; how many parts it changes, and |d|^2."""
    size = _lay(rule, block, kind, row, n_parts, point, work)
    direction = work.direction
    sqnorm = features.sqnorm(data, block.i, direction.part, direction.delta, size, scratch)
    return size, block.weight * block.weight * sqnorm


@jit(forceinline=True)
def _slopes(block: Block, stock: Stock, row: int, ell: float) -> tuple[float, float, float, float]:
    """Slopes of FORWARD, PAIRWISE, AWAY and LOCAL."""
    height, low = stock.height, block.low
    forward = block.weight * (height[row] - block.score) - ell
    pairwise = block.weight * (height[row] - height[low])
    local = block.weight * (height[block.top] - height[low])
    return forward, pairwise, pairwise - forward, local


@inlined
def _fill_gains(
    rule: Any, block: Any, row: Any, slopes: Any, features: Any, data: Any, scratch: Any,
    point: Any, work: Any,
) -> None:  # fmt: skip
    """(4): what exact steps gain along FORWARD, PAIRWISE and AWAY."""
    alpha_away = point.stock.weight[block.low]
    for kind in range(3):
        slope = slopes[kind]
        _, sqnorm = _length_of(rule, block, kind, row, 0, features, data, scratch, point, work)
        gamma = free_step(rule.lam, slope, sqnorm, longest_step(kind, alpha_away))
        work.gain[kind] = gamma * slope - gamma * gamma * sqnorm / (2.0 * rule.lam)


@inlined
def _choose(
    rule: Any, block: Any, target: Any, choose: Any, features: Any, data: Any, scratch: Any,
    point: Any, work: Any,
) -> Any:  # fmt: skip
    """Kind of the step, the row it moves to, and its slope."""
    kind, row = FORWARD, target.row
    slope = block.weight * (target.height - block.score) - point.ell[block.i]
    if row >= 0 and not rule.is_forward:
        slopes = _slopes(block, point.stock, row, point.ell[block.i])
        if rule.needs_gains:
            _fill_gains(rule, block, row, slopes, features, data, scratch, point, work)
        alpha_away, gain = point.stock.weight[block.low], work.gain
        kind = choose(
            Choices(
                slopes[0], slopes[1], slopes[2], slopes[3], alpha_away, gain[0], gain[1], gain[2]
            )
        )
        has_away = alpha_away < HEAVIEST  # (else nothing is left to move to)
        if kind < FORWARD or kind > LOCAL or (kind == AWAY and not has_away):
            kind = FORWARD
        slope = slopes[kind]
        if kind == LOCAL:
            kind, row = PAIRWISE, block.top
    return kind, row, slope


@jit(forceinline=True)
def _ell_change(kind: int, weight: float, ell: float, loss: float, loss_away: float) -> float:
    """Change of ell_i along a direction."""
    forward, pairwise = weight * loss - ell, weight * (loss - loss_away)
    away = ell - weight * loss_away
    return forward if kind == FORWARD else (pairwise if kind == PAIRWISE else away)


@jit
def _move_point(
    rule: Rule, i: int, change: Any, size: int, ells: Any, means: Means, stock: Stock, counts: Any,
    direction: Any,
) -> None:  # fmt: skip
    """The dual side of a step: one call, so that no interruption can split it."""
    kind, row, low, gamma, is_drop, ell_change = change
    ell, lag_ell = ells
    visit = counts.visits - 1.0
    lagging = 0.5 * visit * (visit + 1.0)
    ell[i] += gamma * ell_change
    if not rule.keeps_corners:
        move_mean(means.mean, means.start[i], direction, size, gamma)
    if rule.has_average:
        lag_ell[i] += lagging * gamma * ell_change
        move_mean(means.lag, means.start[i], direction, size, lagging * gamma)
    if row >= 0:
        first = stock.start[i]
        rows = (first, first + stock.n_rows[i])
        move_weights(stock.weight, rows, kind, row, low, gamma, is_drop)
        counts.drops += is_drop and kind != FORWARD
    counts.steps += 1


@jit(is_rolled=True)
def take_step(
    block: Block, target: Target, of_pass: Packed, of_blocks: Packed, of_run: Packed
) -> bool:
    """Move the block; False where no direction has a positive slope."""
    rule, _ = unpack(of_pass)
    _, _, _, _, _, choose, features, _, data, scratch, _ = unpack(of_blocks)
    point, notes, work = unpack(of_run)
    i, weight, stock, low = block.i, block.weight, point.stock, block.low
    kind, row, slope = _choose(rule, block, target, choose, features, data, scratch, point, work)
    if slope > 0.0:
        loss = stock.loss[row] if row >= 0 else target.loss
        alpha_away = stock.weight[low] if kind != FORWARD else 1.0
        loss_away = stock.loss[low] if kind != FORWARD else 0.0
        size, sqnorm = _length_of(
            rule, block, kind, row, target.n_parts, features, data, scratch, point, work
        )
        part, delta = work.direction.part, work.direction.delta
        gamma_max = longest_step(kind, alpha_away)
        gamma = free_step(rule.lam, slope, sqnorm, gamma_max)
        if not rule.has_line_search:
            n_blocks = notes.gap.shape[0]
            gamma = min(gamma_max, 2.0 * n_blocks / (notes.counts.visits - 1.0 + 2.0 * n_blocks))
        n_moved, length = 0, 1.0
        if rule.is_bounded:
            # (where the step is known, what is spread is the step: with a kernel it may be noted)
            is_searched = rule.is_exact_search and rule.has_line_search
            moved = (part, delta, size, -(1.0 if is_searched else gamma) * weight / rule.lam)
            n_moved = features.spread(data, i, moved, work.image, work.coordinate, work.move)
            if is_searched:
                scaled = slope / rule.lam
                gamma = bounded_step(
                    point.box, work.coordinate, work.move, n_moved, scaled, gamma_max
                )
                length = gamma
        ell_change = _ell_change(kind, weight, point.ell[i], loss, loss_away)
        change = (kind, row, low, gamma, gamma >= gamma_max, ell_change)
        ells = (point.ell, point.lag_ell)
        _move_point(rule, i, change, size, ells, point.means, stock, notes.counts, work.direction)
        if rule.is_bounded:
            clip_weights(point.box, work.coordinate, work.move, n_moved, length, point.w)
        else:
            features.add(data, i, part, delta, size, -gamma * weight / rule.lam, point.w)
        notes.longest[i] = max(notes.longest[i], sqnorm)
    return slope > 0.0


def step_piece(*packed: Packed) -> Any:
    """`take_step` for records of such types: the loop is compiled without it, both at once."""
    if packed[0].kind is None:
        return take_step.py_func
    return Piece(take_step, types.boolean(_BLOCK, _TARGET, *map(typeof, packed)))


_BLOCK = typeof(Block(0, 0.0, np.zeros(1), 0.0, 0.0, 0, 0, 0))
_TARGET = typeof(Target(FOUND, 0, 0, 0.0, 0.0, False))
