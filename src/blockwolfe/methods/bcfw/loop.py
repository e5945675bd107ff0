"""The one block loop. Compiled for compiled tasks, interpreted (same source) for Python tasks.

A visit to block i, in the notation of the mathematics, (2)-(4), all up to the constant
<w, phi(x_i, y_i)>:

    height of a corner z    L_i(z) + <theta, z>
    gap                     g_i = weight_i (height(z*) - <theta, mean_i>) - ell_i
    direction               delta: a sparse change of mean_i (see `directions`)
    slope                   s = weight_i <theta, delta> + change of ell_i
    length                  |d|^2 = weight_i^2 |F_i delta|^2
    move                    mean_i += gamma delta,   w -= gamma weight_i / lam  F_i delta

The corner z* comes from the oracle, from the block's stored corners (a cache hit), or from a
batch of oracle calls made before. Which direction is taken is the step rule's choice.

Weighted averaging avg_k = 2/(k(k+1)) sum_{j<=k} j x_j is kept lazily as x_k - lag_k / W_k with
W_k = k(k+1)/2: a change of x at visit k adds W_{k-1} times that change to the lag, so that
averaging costs no more than the step itself.
"""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable

from blockwolfe.base.compiled import jit
from blockwolfe.dual.corners import drop_idle, rank_corners
from blockwolfe.methods.bcfw.gap_tree import draw_block, renew_leaf
from blockwolfe.methods.bcfw.rules import (
    CACHE_HITS,
    FROM_BATCH,
    FROM_ORACLE,
    FULL_BLOCK,
    FW_STEP,
    ORACLE_CALLS,
    VIOLATIONS,
    VISITS,
    Block,
    Target,
)
from blockwolfe.methods.bcfw.stepping import take_step
from blockwolfe.methods.bcfw.targets import find_target, has_room, look_at
from blockwolfe.problem.certificate import ROUNDING

__all__ = ["visit_blocks"]


@jit
def _magnitude(theta: Any, mean: Any, length: int) -> float:
    """Size of the terms that <theta, mean> is made of: what rounding is relative to."""
    total = 0.0
    for s in range(length):
        total += abs(theta[s] * mean[s])
    return total


@register_jitable
def _note_visit(rule: Any, block: Any, target: Any, run: Any, theta: Any) -> Any:
    """Count the visit, renew the gap estimate after an oracle call; returns the block gap."""
    i, weight, tally = block.i, block.weight, run.tally
    gap = weight * (target.height - block.score) - run.ell[i]
    run.last_visit[i] = tally[VISITS]
    tally[VISITS] += 1
    if target.row >= 0:
        run.stock.used_at[target.row] = run.last_visit[i]
    if target.is_hit:
        tally[CACHE_HITS] += 1
    elif rule.source != FROM_BATCH:
        tally[ORACLE_CALLS] += 1
        run.gap[i] = max(gap, 0.0)
        if run.tree.shape[0]:
            renew_leaf(run.tree, i, run.gap[i], rule.is_max_gap)
        if gap <= 0.0:
            terms = 1.0 + abs(target.height) + _magnitude(theta, block.mean, block.length)
            if gap < -ROUNDING * weight * (terms + target.loss):
                tally[VIOLATIONS] += 1
    return gap


@jit
def visit_blocks(
    draws: Any,
    begin: int,
    rule: Any,
    seam: Any,
    data: Any,
    scratch: Any,
    run: Any,
    work: Any,
    batch: Any,
) -> int:
    """Make the visits draws[begin:]; stops early, before any change, where a block lacks room.

    Returns the position at which it stopped.
    """
    stock, n_blocks = run.stock, run.weight.shape[0]
    is_scored = rule.source == FROM_ORACLE  # else the oracle may not be called
    # a Frank-Wolfe step to the oracle's corner looks at no other
    is_ranked = rule.keeps_corners and (rule.step != FW_STEP or not is_scored)
    for position in range(begin, draws.block.shape[0]):
        i = draws.block[position]
        if i < 0:
            i = draw_block(run.tree, draws.uniform[position], n_blocks, rule.is_max_gap)
        run.stopped_at[0] = i
        if not has_room(run.pool, stock, i, run.bound[i], rule.keeps_corners):
            return position
        block = look_at(i, is_scored, seam, data, run, work)
        ranks = rank_corners(stock, i, work.slot_theta) if is_ranked else (-1, -1, -1)
        target, length, ranks = find_target(
            rule, block, ranks, position, seam, data, scratch, run, work, batch
        )
        if target.size < 0:
            run.tally[FULL_BLOCK] = target.size == -2
            return position
        block = Block(i, block.weight, block.part, block.mean, length, block.score)
        gap = _note_visit(rule, block, target, run, work.slot_theta)
        moves = take_step(rule, block, target, ranks, seam, data, scratch, run, work)
        for _ in range(rule.n_corrections if moves else 0):
            block = look_at(i, False, seam, data, run, work)
            ranks = rank_corners(stock, i, work.slot_theta)
            row, low = ranks[0], ranks[2]
            slope = block.weight * (stock.height[row] - stock.height[low])
            if slope <= rule.correction_share * gap:
                break
            again = Target(row, 0, stock.loss[row], stock.height[row], True)
            take_step(rule, block, again, ranks, seam, data, scratch, run, work)
        if rule.keeps_corners and not rule.keeps_idle:
            drop_idle(stock, i, run.tally[VISITS])
    return draws.block.shape[0]
