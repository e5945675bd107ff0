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

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from blockwolfe.base.compiled import Piece, jit
from blockwolfe.base.packed import Packed, unpack
from blockwolfe.base.rounding import ROUNDING
from blockwolfe.dual.stock import drop_idle
from blockwolfe.dual.work import Work
from blockwolfe.methods.bcfw.rules import (
    FOUND,
    FROM_BATCH,
    IS_FULL,
    Batch,
    Block,
    Rule,
    Target,
)
from blockwolfe.methods.bcfw.stepping import take_step
from blockwolfe.methods.bcfw.targets import has_room, look_at
from blockwolfe.methods.ledger import Notes
from blockwolfe.rules.gap_tree import draw_block, renew_leaf

__all__ = ["PLAIN", "Halves", "visit_blocks"]


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


@jit(is_rolled=True)
def visit_blocks(
    draws: Any, begin: int, halves: Any, rule: Any, of_blocks: Packed, of_run: Packed, batch: Any
) -> int:
    """Make the visits draws[begin:]; stops early, before any change, where a block lacks room.

    And after a step that has left something to do in `halt` (see `Blocks.halt`). Returns the
    position at which it stopped. Packed are, by block, its weight, the most entries of the
    oracle's corners, of their parts, and of a corner that is stored, and `column_norm`; the seam,
    with data and scratch; and apart from these, since they grow, the arrays of the run.
    """
    weight, _, part_size, code_size, column_norm, _, _, _, _, _, halt = unpack(of_blocks)
    point, notes, work = unpack(of_run)
    look_at, take_step = halves
    counts, stock, n_blocks, gap = notes.counts, point.stock, weight.shape[0], 0.0
    for position in range(begin, draws.block.shape[0]):
        i = draws.block[position]
        if i < 0:
            i = draw_block(notes.tree, draws.uniform[position], n_blocks, rule.is_max_gap)
        counts.stopped_at = i
        if not has_room(rule, point, i, part_size[i], code_size[i]):
            return position
        gap = notes.gap[i]
        for turn in range(1 + rule.n_corrections):
            at = position if turn == 0 else -1
            block, target = look_at(rule, i, at, gap, of_blocks, of_run, batch)
            if turn == 0:
                if target.outcome != FOUND:
                    counts.is_full = target.outcome == IS_FULL
                    return position
                ell = point.ell[i]
                gap, is_suspicious = _note_visit(rule, block, target, ell, stock.used_at, notes)
                if is_suspicious:
                    sizes_of_block = (column_norm[i] if column_norm.shape[0] else 0.0, part_size[i])
                    terms = _size_of_terms(rule, block, target, point.w, sizes_of_block, work)
                    counts.violations += gap < -ROUNDING * (weight[i] * terms + ell)
            if target.outcome != FOUND or not take_step(rule, block, target, of_blocks, of_run):
                break
            if halt[0] > 0:
                break
        if rule.keeps_corners and not rule.keeps_idle:
            drop_idle(stock, i, counts.visits)
        if halt[0] > 0:
            return position + 1
    return draws.block.shape[0]


class Halves(NamedTuple):
    """The two halves of a visit, each compiled by itself."""

    look_at: Any
    take_step: Any

    @classmethod
    def of(cls, rule: Rule, of_blocks: Packed, of_run: Packed, batch: Batch) -> Halves:
        """Those for arguments of such types."""
        rules, runs, batches = typeof(rule), (typeof(of_blocks), typeof(of_run)), typeof(batch)
        block, target = typeof(_A_BLOCK), typeof(_A_TARGET)
        looked, i64 = types.Tuple((block, target)), types.int64
        return cls(
            Piece(look_at, looked(rules, i64, i64, types.float64, *runs, batches)),
            Piece(take_step, types.boolean(rules, block, target, *runs)),
        )


_A_BLOCK = Block(0, 0.0, np.zeros(1), 0.0, 0.0, 0, 0, 0)
_A_TARGET = Target(FOUND, 0, 0, 0.0, 0.0, False)
PLAIN = Halves(look_at.py_func, take_step.py_func)
