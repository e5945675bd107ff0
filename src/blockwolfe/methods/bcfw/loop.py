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

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.packed import Packed, unpack
from blockwolfe.base.rounding import ROUNDING
from blockwolfe.dual.point import Point
from blockwolfe.dual.stock import drop_idle
from blockwolfe.dual.work import Work
from blockwolfe.methods.bcfw.rules import (
    FOUND,
    FROM_BATCH,
    FROM_ORACLE,
    IS_FULL,
    LACKS_ROOM,
    Block,
    Rule,
    Target,
    ranked,
)
from blockwolfe.methods.bcfw.targets import find_target, has_room, look_at
from blockwolfe.methods.ledger import Notes
from blockwolfe.rules.gap_tree import draw_block, renew_leaf

__all__ = ["visit_blocks"]


@jit
def _note_visit(
    rule: Rule, block: Block, target: Target, ell: float, used_at: np.ndarray, notes: Notes
) -> tuple[float, bool]:
    """Count the visit, renew the gap estimate after an oracle call; returns the block gap.

    And whether the oracle's corner is below the mean by more than rounding of the scores as they
    are (which are sums themselves: see `_size_of_terms`).
    """
    i, weight, counts = block.i, block.weight, notes.counts
    gap, is_suspicious = weight * (target.height - block.score) - ell, False
    notes.last_visit[i] = counts.visits
    counts.visits += 1
    if target.row >= 0:
        used_at[target.row] = notes.last_visit[i]
    if target.is_hit:
        counts.cache_hits += 1
    elif rule.source != FROM_BATCH:
        counts.oracle_calls += 1
        notes.gap[i] = max(gap, 0.0)
        if notes.tree.shape[0]:
            renew_leaf(notes.tree, i, notes.gap[i], rule.is_max_gap)
        terms = abs(target.height) + block.magnitude + target.loss
        is_suspicious = gap < -ROUNDING * (weight * terms + ell)
    return gap, is_suspicious


@jit
def _size_of_terms(
    rule: Rule, block: Block, target: Target, w: np.ndarray, sizes: Any, work: Work
) -> float:
    """Sizes of the terms of which the scores of corner and mean are made, before they cancel."""
    column_norm, n_most = sizes
    if column_norm > 0.0:
        square, n = 0.0, rule.n_coefficients
        for j in range(w.shape[0] - 2 * n):
            square += w[j] * w[j]
        for j in range(w.shape[0] - 2 * n, w.shape[0] - n):
            square += w[j] * w[j + n]
        return float(target.loss + np.sqrt(square) * column_norm * 2 * n_most)
    total, code = target.loss, work.part if rule.form.n_labels else work.code
    for e in range(target.n_parts):
        value = 1.0 if rule.is_unit else work.value[e]
        total += abs(value * block.theta[code[e]])
    return total + block.magnitude


@jit(forceinline=True)
def _again(rule: Rule, block: Block, point: Point, part_size: int, gap: float) -> Target:
    """The best stored corner, for one step more; none where it is not worth it.

    Nor where the lag of the average may lack room for its parts: those of idle corners are not
    all in its list, and room was made for one corner.
    """
    row, stock, means = block.best, point.stock, point.means
    slope = block.weight * (stock.height[row] - stock.height[block.low])
    outcome = FOUND if slope > rule.correction_share * gap else LACKS_ROOM
    if rule.has_average and stock.weight[row] == 0.0:
        lacks_parts = means.capacity[block.i] - means.length[block.i] < part_size
        outcome = LACKS_ROOM if lacks_parts else outcome
    return Target(outcome, row, 0, stock.loss[row], stock.height[row], True)


@jit(is_rolled=True)
def visit_blocks(
    draws: Any, begin: int, take_step: Any, of_pass: Packed, of_blocks: Packed, of_run: Packed
) -> int:
    """Make the visits draws[begin:]; stops early, before any change, where a block lacks room.

    And after a step that has left something to do in `halt` (see `Blocks.halt`). Returns the
    position at which it stopped. Packed are the rule and the batch of a pass; by block, its
    weight, the most entries of the oracle's corners, of their parts, and of a corner that is
    stored, and `column_norm`, and the seam, with data and scratch; and apart from these, since
    they grow, the arrays of the run.
    """
    (
        weight, corner_size, part_size, code_size, column_norm,
        _, features, oracles, data, scratch, halt,
    ) = unpack(of_blocks)  # fmt: skip
    rule, batch = unpack(of_pass)
    point, notes, work = unpack(of_run)
    counts, stock, n_blocks, gap = notes.counts, point.stock, weight.shape[0], 0.0
    for position in range(begin, draws.block.shape[0]):
        i = draws.block[position]
        if i < 0:
            i = draw_block(notes.tree, draws.uniform[position], n_blocks, rule.is_max_gap)
        counts.stopped_at = i
        if not has_room(rule, point, i, part_size[i], code_size[i]):
            return position
        for turn in range(1 + rule.n_corrections):
            # (where the oracle need not be called, not every part is scored)
            is_scored = rule.source == FROM_ORACLE and turn == 0
            block = look_at(rule, i, weight[i], is_scored, features, data, point, work)
            if turn == 0:
                target, ranks = find_target(
                    rule, block, position, corner_size, notes.gap[i], features, oracles, data,
                    scratch, point, work, batch,
                )  # fmt: skip
                if target.outcome != FOUND:
                    counts.is_full = target.outcome == IS_FULL
                    return position
                block = ranked(block, ranks)
                ell = point.ell[i]
                gap, is_suspicious = _note_visit(rule, block, target, ell, stock.used_at, notes)
                if is_suspicious:
                    sizes_of_block = (column_norm[i] if column_norm.shape[0] else 0.0, part_size[i])
                    terms = _size_of_terms(rule, block, target, point.w, sizes_of_block, work)
                    counts.violations += gap < -ROUNDING * (weight[i] * terms + ell)
            else:
                target = _again(rule, block, point, part_size[i], gap)
            if target.outcome != FOUND or not take_step(block, target, of_pass, of_blocks, of_run):
                break
            if halt[0] > 0:
                break
        if rule.keeps_corners and not rule.keeps_idle:
            drop_idle(stock, i, counts.visits)
        if halt[0] > 0:
            return position + 1
    return draws.block.shape[0]
