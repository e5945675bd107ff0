"""The one block loop. Compiled for compiled tasks, interpreted (same source) for Python tasks.

A visit to block i, in the notation of SPEC (2)-(4), with z the oracle's corner and
delta = z - mean_i over the parts in use:

    gap     g_i   = weight_i (L_i(z) + <theta, delta>) - ell_i
    length  |d|^2 = weight_i^2 |F_i delta|^2
    step    gamma = clip(lam g_i / |d|^2, 0, 1)
    move    mean_i += gamma delta,   ell_i += gamma (weight_i L_i(z) - ell_i),
            w -= gamma weight_i / lam  F_i delta

Weighted averaging avg_k = 2/(k(k+1)) sum_{j<=k} j x_j is kept lazily as x_k - lag_k / W_k with
W_k = k(k+1)/2: a change of x at visit k adds W_{k-1} times that change to the lag, so that
averaging costs no more than the step itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from blockwolfe.compiled import jit
from blockwolfe.problem.certificate import ROUNDING, dot

__all__ = ["N_TALLIES", "ORACLE_CALLS", "STEPS", "VIOLATIONS", "VISITS", "Rule", "visit_blocks"]

# Entries of `run.tally`.
VISITS, STEPS, ORACLE_CALLS, VIOLATIONS, N_TALLIES = 0, 1, 2, 3, 4


class Rule(NamedTuple):
    """How far to step, in the form compiled code reads."""

    lam: float
    has_line_search: bool


@jit
def merge_corner(part: Any, mean: Any, corner: Any, size: int, slot_of: Any, delta: Any) -> int:
    """Delta = corner - mean over the block's parts; parts new to the block are appended.

    `part` and `mean` are the block's room, `corner` is (part, value, size). Returns the
    new number of parts. `slot_of` is -1 everywhere before and after.
    """
    corner_part, corner_value, corner_size = corner
    for s in range(size):
        slot_of[part[s]] = s
        delta[s] = -mean[s]
    for c in range(corner_size):
        p = corner_part[c]
        if slot_of[p] < 0:
            slot_of[p] = size
            part[size] = p
            mean[size] = 0.0
            delta[size] = 0.0
            size += 1
        delta[slot_of[p]] += corner_value[c]
    for s in range(size):
        slot_of[part[s]] = -1
    return size


@jit
def magnitude(theta: Any, mean: Any, delta: Any, length: int) -> float:
    """Size of the terms that <theta, corner - mean> is made of: what rounding is relative to."""
    total = 0.0
    for s in range(length):
        total += abs(theta[s]) * (abs(mean[s]) + abs(delta[s]))
    return total


@jit
def step_size(rule: Any, gap: float, sqnorm: float, n_blocks: int, visit: int) -> float:
    """(4), or the predefined 2n / (k + 2n) that needs no line search."""
    if not rule.has_line_search:
        return 2.0 * n_blocks / (visit + 2.0 * n_blocks)
    if sqnorm <= rule.lam * gap:
        return 1.0
    return rule.lam * gap / sqnorm


@jit
def move_block(point: Any, lag: Any, i: int, delta: Any, move: Any) -> None:
    """A step on block i and on its averaging lag; one call, so that no interruption can split it.

    `point` and `lag` are (mean, ell), `move` is (gamma, lagging, ell_change).
    """
    mean, ell = point
    lag_mean, lag_ell = lag
    gamma, lagging, ell_change = move
    for s in range(mean.shape[0]):
        mean[s] += gamma * delta[s]
    ell[i] += gamma * ell_change
    for s in range(lag_mean.shape[0]):  # no entries without averaging
        lag_mean[s] += lagging * gamma * delta[s]
    lag_ell[i] += lagging * gamma * ell_change


@jit
def visit_blocks(
    order: Any, begin: int, rule: Any, functions: Any, data: Any, run: Any, work: Any
) -> int:
    """Visit the blocks order[begin:]; stops early, before any change, where a block lacks room.

    Returns the position in `order` at which it stopped.
    """
    n_blocks, pool = run.weight.shape[0], run.pool
    for position in range(begin, order.shape[0]):
        i = order[position]
        start, bound = pool.start[i], run.bound[i]
        if pool.capacity[i] - pool.length[i] < bound:
            return position
        functions.score(data, i, run.w)
        size, loss = functions.maximize(data, i, run.w, work.part, work.value)
        if size > bound:
            return position
        end = start + pool.capacity[i]
        corner = (work.part, work.value, size)
        room, mean = pool.part[start:end], pool.mean[start:end]
        length = merge_corner(room, mean, corner, pool.length[i], work.slot_of, work.delta)
        pool.length[i] = length
        part, mean = room[:length], mean[:length]
        functions.read(data, i, run.w, part, length, work.theta)
        weight = run.weight[i]
        score = dot(work.theta, work.delta, 0, length)
        ell_change = weight * loss - run.ell[i]
        gap = weight * score + ell_change
        visit = run.tally[VISITS]
        run.tally[VISITS] += 1
        run.tally[ORACLE_CALLS] += 1
        run.last_visit[i] = visit
        run.gap[i] = max(gap, 0.0)
        if gap <= 0.0:
            terms = magnitude(work.theta, mean, work.delta, length)
            if gap < -ROUNDING * weight * (1.0 + loss + terms):
                run.tally[VIOLATIONS] += 1
            continue
        sqnorm = weight * weight * functions.sqnorm(data, i, part, work.delta, length)
        gamma = step_size(rule, gap, sqnorm, n_blocks, visit)
        lag_mean = pool.lag_mean[start : start + length]
        move = (gamma, 0.5 * visit * (visit + 1.0), ell_change)
        move_block((mean, run.ell), (lag_mean, run.lag_ell), i, work.delta, move)
        functions.add(data, i, part, work.delta, length, -gamma * weight / rule.lam, run.w)
        run.tally[STEPS] += 1
    return order.shape[0]
