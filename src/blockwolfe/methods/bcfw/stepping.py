"""The second half of a visit: choose a direction, search along it, move."""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable

from blockwolfe.base.compiled import jit
from blockwolfe.dual.directions import (
    AWAY,
    FORWARD,
    HEAVIEST,
    PAIRWISE,
    lay_direction,
    longest_step,
    move_block,
    move_weights,
)
from blockwolfe.dual.line_search import bounded_step, clip_weights, free_step
from blockwolfe.methods.bcfw.rules import (
    AWAY_STEP,
    BEST_STEP,
    BLENDED_STEP,
    CORRECTIVE_STEP,
    DROPS,
    FW_STEP,
    PAIRWISE_STEP,
    STEPS,
    VISITS,
)

__all__ = ["take_step"]


@register_jitable
def _length_of(
    kind: Any, to: Any, away: Any, block: Any, seam: Any, data: Any, scratch: Any, work: Any
) -> Any:
    """Lay out a direction; how many parts it changes, and |d|^2."""
    part = block.part[: block.length]
    size = lay_direction(kind, to, away, part, block.mean, work)
    sqnorm = seam.features.sqnorm(data, block.i, work.moved_part, work.delta, size, scratch)
    return size, block.weight * block.weight * sqnorm


@jit
def _slopes(block: Any, stock: Any, row: int, low: int, ell: float) -> tuple[float, float, float]:
    """Slopes of FORWARD, PAIRWISE and AWAY."""
    forward = block.weight * (stock.height[row] - block.score) - ell
    pairwise = block.weight * (stock.height[row] - stock.height[low])
    return forward, pairwise, pairwise - forward


@jit
def _corner_at(stock: Any, row: int) -> Any:
    return stock.slot, stock.value, stock.begin[row], stock.size[row]


@register_jitable
def _best_kind(
    rule: Any,
    slopes: Any,
    to: Any,
    low: Any,
    block: Any,
    seam: Any,
    data: Any,
    scratch: Any,
    run: Any,
    work: Any,
) -> Any:
    """The kind of the largest gain (4); between equal ones FORWARD, PAIRWISE, AWAY."""
    away, alpha_away = _corner_at(run.stock, low), run.stock.weight[low]
    chosen, most = FORWARD, -1.0
    for kind in range(3):
        _, sqnorm = _length_of(kind, to, away, block, seam, data, scratch, work)
        gamma = free_step(rule.lam, slopes[kind], sqnorm, longest_step(kind, alpha_away))
        gain = gamma * slopes[kind] - gamma * gamma * sqnorm / (2.0 * rule.lam)
        if gain > most:
            chosen, most = kind, gain
    return chosen


@register_jitable
def _choose(
    rule: Any,
    block: Any,
    row: Any,
    ranks: Any,
    seam: Any,
    data: Any,
    scratch: Any,
    run: Any,
    work: Any,
) -> Any:
    """Kind of the step, the row it moves to, and its slope."""
    stock, ell = run.stock, run.ell[block.i]
    _, top, low = ranks
    slopes = _slopes(block, stock, row, low, ell)
    kind = FORWARD
    if rule.step in (PAIRWISE_STEP, CORRECTIVE_STEP):
        kind = PAIRWISE
    elif rule.step == AWAY_STEP:
        if slopes[2] > slopes[0] and stock.weight[low] < HEAVIEST:
            kind = AWAY
    elif rule.step == BLENDED_STEP:
        local = _slopes(block, stock, top, low, ell)[1]
        if local > 0.0 and local >= slopes[0]:
            return PAIRWISE, top, local
    elif rule.step == BEST_STEP:
        to = _corner_at(stock, row)
        kind = _best_kind(rule, slopes, to, low, block, seam, data, scratch, run, work)
    return kind, row, slopes[kind]


@jit
def _ell_change(kind: int, weight: float, ell: float, loss: float, loss_away: float) -> float:
    """Change of ell_i along a direction."""
    if kind == FORWARD:
        return weight * loss - ell
    return weight * (loss - loss_away) if kind == PAIRWISE else ell - weight * loss_away


@register_jitable
def take_step(
    rule: Any,
    block: Any,
    target: Any,
    ranks: Any,
    seam: Any,
    data: Any,
    scratch: Any,
    run: Any,
    work: Any,
) -> Any:
    """Move the block; False where no direction has a positive slope."""
    i, weight, stock, low = block.i, block.weight, run.stock, ranks[2]
    kind, row, loss = FORWARD, target.row, target.loss
    slope = weight * (target.height - block.score) - run.ell[i]
    to = (work.slot, work.value, 0, target.size)
    away, alpha_away, loss_away = to, 1.0, 0.0
    if row >= 0 and rule.step != FW_STEP:
        kind, row, slope = _choose(rule, block, row, ranks, seam, data, scratch, run, work)
        away, alpha_away, loss_away = _corner_at(stock, low), stock.weight[low], stock.loss[low]
    if row >= 0:
        to, loss = _corner_at(stock, row), stock.loss[row]
    if slope <= 0.0:
        return False
    size, sqnorm = _length_of(kind, to, away, block, seam, data, scratch, work)
    gamma_max = longest_step(kind, alpha_away)
    gamma = free_step(rule.lam, slope, sqnorm, gamma_max)
    if not rule.has_line_search:
        n_blocks = run.weight.shape[0]
        gamma = 2.0 * n_blocks / (run.tally[VISITS] - 1.0 + 2.0 * n_blocks)
    n_moved = 0
    if rule.is_bounded:
        moved = (work.moved_part, work.delta, size, -weight / rule.lam)
        n_moved = seam.features.spread(data, i, moved, work.image, work.coordinate, work.move)
        if rule.is_exact_search and rule.has_line_search:
            scaled = slope / rule.lam
            gamma = bounded_step(run.box, work.coordinate, work.move, n_moved, scaled, gamma_max)
    ell_change = _ell_change(kind, weight, run.ell[i], loss, loss_away)
    change = (kind, row, low, gamma, gamma >= gamma_max, ell_change)
    _move_point(i, change, size, run.pool, stock, (run.ell, run.lag_ell), run.tally, work)
    if rule.is_bounded:
        clip_weights(run.box, work.coordinate, work.move, n_moved, gamma, run.w)
    else:
        step = -gamma * weight / rule.lam
        seam.features.add(data, i, work.moved_part, work.delta, size, step, run.w)
    run.longest[i] = max(run.longest[i], sqnorm)
    return True


@jit
def _move_point(
    i: int, change: Any, size: int, pool: Any, stock: Any, ells: Any, tally: Any, work: Any
) -> None:
    """The dual side of a step: one call, so that no interruption can split it."""
    kind, row, low, gamma, is_drop, ell_change = change
    visit = tally[VISITS] - 1.0
    lagging = 0.5 * visit * (visit + 1.0)
    move_block(pool, ells, i, work, size, (gamma, lagging, ell_change))
    if row >= 0:
        move_weights(stock, i, kind, (row, low), gamma, is_drop)
        if is_drop and kind != FORWARD:
            tally[DROPS] += 1
    tally[STEPS] += 1
