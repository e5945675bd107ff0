"""The one block loop. Compiled for compiled tasks, interpreted (same source) for Python tasks.

A visit to block i (the mathematics, (2)-(4)), up to the constant <w, phi(x_i, y_i)>:

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
from blockwolfe.dual.stock import drop_idle
from blockwolfe.methods.bcfw.gap_tree import draw_block, renew_leaf
from blockwolfe.methods.bcfw.rules import FOUND, FROM_BATCH, FROM_ORACLE, IS_FULL, Target
from blockwolfe.methods.bcfw.stepping import take_step
from blockwolfe.methods.bcfw.targets import find_target, has_room, look_at
from blockwolfe.problem.certificate import ROUNDING

__all__ = ["visit_blocks"]


@jit
def _note_visit(rule: Any, block: Any, target: Any, ell: float, stock: Any, notes: Any) -> float:
    """Count the visit, renew the gap estimate after an oracle call; returns the block gap."""
    i, weight, counts = block.i, block.weight, notes.counts
    gap = weight * (target.height - block.score) - ell
    notes.last_visit[i] = counts.visits
    counts.visits += 1
    if target.row >= 0:
        stock.used_at[target.row] = notes.last_visit[i]
    if target.is_hit:
        counts.cache_hits += 1
    elif rule.source != FROM_BATCH:
        counts.oracle_calls += 1
        notes.gap[i] = max(gap, 0.0)
        if notes.tree.shape[0]:
            renew_leaf(notes.tree, i, notes.gap[i], rule.is_max_gap)
        terms = 1.0 + abs(target.height) + block.magnitude + target.loss
        if gap < -ROUNDING * weight * terms:
            counts.violations += 1
    return gap


@register_jitable
def _correct(
    rule: Any, i: Any, weight: Any, gap: Any, choose: Any, features: Any, oracles: Any, data: Any,
    scratch: Any, point: Any, notes: Any, work: Any,
) -> None:  # fmt: skip
    """Further steps between the best and the worst stored corner, while they are worth it."""
    stock = point.stock
    for _ in range(rule.n_corrections):
        block = look_at(rule, i, weight, False, features, oracles, data, point, work)
        row = block.best
        slope = weight * (stock.height[row] - stock.height[block.low])
        if slope <= rule.correction_share * gap:
            break
        again = Target(FOUND, row, 0, stock.loss[row], stock.height[row], True)
        take_step(rule, block, again, choose, features, data, scratch, point, notes, work)


@jit
def visit_blocks(
    draws: Any, begin: int, rule: Any, sizes: Any, choose: Any, features: Any, oracles: Any,
    data: Any, scratch: Any, point: Any, notes: Any, work: Any, batch: Any,
) -> int:  # fmt: skip
    """Make the visits draws[begin:]; stops early, before any change, where a block lacks room.

    Returns the position at which it stopped. `sizes` are, by block: its weight, and the most
    entries of the oracle's corners, of their parts, and of a corner that is stored.
    """
    weight, corner_size, part_size, code_size = sizes
    counts, n_blocks = notes.counts, weight.shape[0]
    is_scored = rule.source == FROM_ORACLE  # else the oracle may not be called
    for position in range(begin, draws.block.shape[0]):
        i = draws.block[position]
        if i < 0:
            i = draw_block(notes.tree, draws.uniform[position], n_blocks, rule.is_max_gap)
        counts.stopped_at = i
        if not has_room(rule, point, i, part_size[i], code_size[i]):
            return position
        block = look_at(rule, i, weight[i], is_scored, features, oracles, data, point, work)
        target, block = find_target(
            rule, block, position, corner_size, notes.gap[i], features, oracles, data, scratch,
            point, work, batch,
        )  # fmt: skip
        if target.outcome != FOUND:
            counts.is_full = target.outcome == IS_FULL
            return position
        gap = _note_visit(rule, block, target, point.ell[i], point.stock, notes)
        moves = take_step(rule, block, target, choose, features, data, scratch, point, notes, work)
        if moves and rule.n_corrections > 0:
            _correct(
                rule, i, weight[i], gap, choose, features, oracles, data, scratch, point, notes,
                work,
            )  # fmt: skip
        if rule.keeps_corners and not rule.keeps_idle:
            drop_idle(point.stock, i, counts.visits)
    return draws.block.shape[0]
