"""The first half of a visit: look at the block, and find the corner to move to."""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable

from blockwolfe.base.compiled import jit
from blockwolfe.dual.corners import find_corner, insert_corner, least_useful, remove_corner
from blockwolfe.dual.directions import place_corner
from blockwolfe.methods.bcfw.rules import (
    FROM_BATCH,
    FROM_CACHE_OR_ORACLE,
    FROM_STORE,
    Block,
    Target,
)
from blockwolfe.problem.certificate import dot, gather, unpack_corner

__all__ = ["find_target", "has_room", "look_at"]


@jit
def has_room(pool: Any, stock: Any, i: int, bound: int, keeps_corners: bool) -> bool:
    """Whether block i can take one more corner, in its parts and among its stored corners."""
    if pool.capacity[i] - pool.length[i] < bound:
        return False
    if not keeps_corners:
        return True
    is_full = stock.n_rows[i] >= stock.capacity[i]
    return not is_full and stock.slot.shape[0] - stock.end[0] >= bound


@jit
def _copy_from_batch(batch: Any, position: int, code: Any, value: Any) -> tuple[int, float]:
    begin, size = batch.start[position], batch.size[position]
    for e in range(size):
        code[e] = batch.code[begin + e]
    for e in range(size if batch.value.shape[0] else 0):
        value[e] = batch.value[begin + e]
    return size, batch.loss[position]


@jit
def _score_corner(work: Any, size: int) -> float:
    """<theta, z> of the corner in (work.slot, work.value)."""
    slot, value, theta = work.slot, work.value, work.slot_theta
    total = 0.0
    for e in range(size):
        total += value[e] * theta[slot[e]]
    return total


@jit
def _store_corner(
    stock: Any, i: int, work: Any, found: Any, max_corners: int, ranks: Any
) -> tuple[int, Any]:
    """The row of the oracle's corner, old or new, and where the ranked rows are now.

    At the cap the lowest idle corner makes room; -1 where all are active.
    """
    size, loss, height = found
    corner = (work.slot, work.value, size)
    row = find_corner(stock, i, corner, loss)
    if row >= 0:
        return row, ranks
    if stock.n_rows[i] >= max_corners:
        idle = least_useful(stock, i)
        if idle < 0:
            return -1, ranks
        last = stock.start[i] + stock.n_rows[i] - 1  # it takes the place of the evicted row
        remove_corner(stock, i, idle)
        best, top, low = ranks
        ranks = (
            idle if best == last else best,
            idle if top == last else top,
            idle if low == last else low,
        )
    return insert_corner(stock, i, corner, loss, height), ranks


@jit
def _is_hit(rule: Any, block: Any, height: float, ell: float, gap: float) -> bool:
    """The hit rule of the cache; passes over stored corners alone hit always."""
    if rule.source != FROM_CACHE_OR_ORACLE:
        return bool(rule.source == FROM_STORE)
    stored_gap = block.weight * (height - block.score) - ell
    threshold = max(rule.hit_share * gap, rule.hit_floor)
    return threshold > 0.0 and stored_gap >= threshold  # (zero would let rounding noise pass)


@register_jitable
def look_at(i: Any, is_scored: Any, seam: Any, data: Any, run: Any, work: Any) -> Any:
    """Scores of the block's parts at w, into work.slot_theta; `is_scored`: of all parts."""
    pool = run.pool
    start, length = pool.start[i], pool.length[i]
    end = start + pool.capacity[i]
    part, mean = pool.part[start:end], pool.mean[start:end]
    theta = run.w if seam.is_identity else work.theta
    if not seam.is_identity:
        if is_scored:
            seam.features.score(data, i, run.w, theta)
        else:
            seam.features.peek(data, i, run.w, part, length, theta)
    gather(theta, part, length, work.slot_theta)
    return Block(i, run.weight[i], part, mean, length, dot(work.slot_theta, mean, 0, length))


@register_jitable
def find_target(
    rule: Any,
    block: Any,
    ranks: Any,
    position: Any,
    seam: Any,
    data: Any,
    scratch: Any,
    run: Any,
    work: Any,
    batch: Any,
) -> Any:
    """The corner to move to, the number of parts with it, and where the ranked rows are now.

    Size -1 where the corner is larger than its room, -2 where the cap leaves no row for it.
    """
    i, stock, length, best = block.i, run.stock, block.length, ranks[0]
    if rule.keeps_corners and _is_hit(rule, block, stock.height[best], run.ell[i], run.gap[i]):
        return Target(best, 0, stock.loss[best], stock.height[best], True), length, ranks
    room = int(run.bound[i])
    if rule.source == FROM_BATCH:
        size, loss = _copy_from_batch(batch, position, work.code, work.value)
    else:
        theta = run.w if seam.is_identity else work.theta
        if rule.source == FROM_CACHE_OR_ORACLE and not seam.is_identity:
            seam.features.score(data, i, run.w, theta)
        size, loss, _ = seam.oracles.maximize(data, i, theta, scratch, work.code, work.value)
    if size > room:
        return Target(-1, -1, 0.0, 0.0, False), length, ranks
    size = unpack_corner(seam, data, i, work, size)
    grown = place_corner(block.part, block.mean, length, work, size)
    if grown > length:
        _read_new_parts(rule, block, grown, seam, data, run, work)
        run.pool.length[i] = grown
    height = loss + _score_corner(work, size)
    row = -1
    if rule.keeps_corners:
        found = (size, loss, height)
        row, ranks = _store_corner(stock, i, work, found, rule.max_corners, ranks)
        if row < 0:
            return Target(-1, -2, 0.0, 0.0, False), grown, ranks
    return Target(row, size, loss, height, False), grown, ranks


@register_jitable
def _read_new_parts(
    rule: Any, block: Any, grown: Any, seam: Any, data: Any, run: Any, work: Any
) -> None:
    """Scores of the parts that a corner has brought."""
    i, length = block.i, block.length
    part, theta = block.part[length:], run.w if seam.is_identity else work.theta
    if rule.source == FROM_BATCH and not seam.is_identity:
        seam.features.peek(data, i, run.w, part, grown - length, theta)
    gather(theta, part, grown - length, work.slot_theta[length:])
