"""The first half of a visit: look at the block, and find the corner to move to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from blockwolfe.base.compiled import jit
from blockwolfe.dual.growth import Means
from blockwolfe.dual.point import Point
from blockwolfe.dual.stock import Stock, find_corner, insert_corner, least_useful, remove_corner
from blockwolfe.dual.work import Work, begin_look
from blockwolfe.methods.bcfw.rules import (
    FOUND,
    FROM_BATCH,
    FROM_CACHE_OR_ORACLE,
    FROM_STOCK,
    IS_FULL,
    LACKS_ROOM,
    Batch,
    Block,
    Rule,
    Target,
)

__all__ = ["find_target", "has_room", "look_at"]


@jit
def has_room(rule: Rule, point: Point, i: int, part_size: int, code_size: int) -> bool:
    """Whether block i can take one more corner, in its parts and among its stored corners."""
    means, stock = point.means, point.stock
    needs_parts = rule.has_average or not rule.keeps_corners
    if needs_parts and means.capacity[i] - means.length[i] < part_size:
        return False
    if not rule.keeps_corners:
        return True
    is_full = stock.n_rows[i] >= stock.capacity[i]
    return not is_full and stock.code.shape[0] - stock.end[0] >= code_size


# -- looking at a block ---------------------------------------------------------------------------


@jit
def _point_at_codes(stock: Stock, i: int, work: Work) -> None:
    """Where codes are parts, the lists are the codes."""
    first = stock.start[i]
    for k in range(stock.n_rows[i]):
        work.list_at[k], work.list_size[k] = stock.begin[first + k], stock.size[first + k]


@register_jitable
def _lay_out(rule: Any, i: Any, oracles: Any, data: Any, stock: Any, work: Any) -> None:
    """The parts of the block's stored corners, at `work.list_at`."""
    if not rule.keeps_codes:
        _point_at_codes(stock, i, work)
        return
    first, at = stock.start[i], 0
    for k in range(stock.n_rows[i]):
        begin, size = stock.begin[first + k], stock.size[first + k]
        code = stock.code[begin : begin + size]
        n_parts = oracles.unpack(data, i, code, size, work.lists[at:])
        work.list_at[k], work.list_size[k] = at, n_parts
        at += n_parts


@jit
def _meet_corners(stock: Stock, i: int, lists: np.ndarray, work: Work) -> int:
    """The parts of all stored corners of block i, each once, into `work.met`; how many."""
    look, seen, met = begin_look(work), work.seen, work.met
    n_met = 0
    for k in range(stock.n_rows[i]):
        for e in range(work.list_at[k], work.list_at[k] + work.list_size[k]):
            p = lists[e]
            if seen[p] != look:
                seen[p], met[n_met] = look, p
                n_met += 1
    return n_met


@jit(inline="always")
def _score_list(
    part: np.ndarray, value: np.ndarray, at: int, size: int, theta: np.ndarray
) -> float:
    """<theta, z> of a corner. Unsigned indices need no test for < 0."""
    total = 0.0
    if value.shape[0] == 0:
        for e in range(np.uint64(at), np.uint64(at + size)):
            total += theta[np.uint64(part[e])]
    else:
        for e in range(at, at + size):
            total += value[e] * theta[part[e]]
    return total


@jit
def _rank(
    stock: Stock, i: int, lists: np.ndarray, work: Work, theta: np.ndarray
) -> tuple[float, float, int, int, int]:
    """Heights of block i's corners: <theta, mean>, its terms, and the rows that `Block` names."""
    first, count = stock.start[i], stock.n_rows[i]
    height, weight, loss, value = stock.height, stock.weight, stock.loss, stock.value
    at, size = work.list_at, work.list_size
    best, top, low = first, -1, -1
    mean, magnitude = 0.0, 0.0
    for k in range(count):
        row = first + k
        score = _score_list(lists, value, at[k], size[k], theta)
        height[row] = loss[row] + score
        if height[row] > height[best]:
            best = row
        if weight[row] > 0.0:
            mean += weight[row] * score
            magnitude += weight[row] * abs(score)
            if top < 0 or height[row] > height[top]:
                top = row
            if low < 0 or height[row] < height[low]:
                low = row
    return mean, magnitude, best, top, low


@jit
def _score_mean(means: Means, i: int, theta: np.ndarray) -> tuple[float, float]:
    """<theta, mean>, and the size of the terms it is made of."""
    total, magnitude = 0.0, 0.0
    part, mean = means.part, means.mean
    for s in range(means.start[i], means.start[i] + means.length[i]):
        term = theta[part[s]] * mean[s]
        total += term
        magnitude += abs(term)
    return total, magnitude


@register_jitable
def look_at(
    rule: Any, i: Any, weight: Any, is_scored: Any, features: Any, oracles: Any, data: Any,
    point: Any, work: Any,
) -> Any:  # fmt: skip
    """Scores at w, of every part if `is_scored` and else of those in use, and what they say."""
    stock, means, w = point.stock, point.means, point.w
    theta = w if rule.is_identity else work.theta
    lists = work.lists if rule.keeps_codes else stock.code
    if rule.keeps_corners:
        _lay_out(rule, i, oracles, data, stock, work)
    if not rule.is_identity:
        if is_scored:
            features.score(data, i, w, theta)
        elif rule.keeps_corners:
            n_met = _meet_corners(stock, i, lists, work)
            features.peek(data, i, w, work.met, n_met, theta)
        else:
            begin, length = means.start[i], means.length[i]
            features.peek(data, i, w, means.part[begin : begin + length], length, theta)
    if rule.keeps_corners:
        score, magnitude, best, top, low = _rank(stock, i, lists, work, theta)
        return Block(i, weight, theta, lists, score, magnitude, best, top, low)
    score, magnitude = _score_mean(means, i, theta)
    return Block(i, weight, theta, lists, score, magnitude, -1, -1, -1)


# -- the corner to move to ------------------------------------------------------------------------


@jit
def _is_hit(rule: Rule, block: Block, height: float, ell: float, gap: float) -> bool:
    """The hit rule of the cache; passes over stored corners alone hit always."""
    if rule.source != FROM_CACHE_OR_ORACLE:
        return bool(rule.source == FROM_STOCK)
    stored_gap = block.weight * (height - block.score) - ell
    threshold = max(rule.hit_share * gap, rule.hit_floor)
    return threshold > 0.0 and stored_gap >= threshold  # (zero would let rounding noise pass)


@jit
def _copy_from_batch(
    batch: Batch, position: int, code: np.ndarray, value: np.ndarray
) -> tuple[int, float]:
    begin, size = batch.start[position], batch.size[position]
    for e in range(size):
        code[e] = batch.code[begin + e]
        value[e] = batch.value[begin + e]
    return size, batch.loss[position]


@jit
def _append_list(rule: Rule, stock: Stock, i: int, row: int, work: Work, n_parts: int) -> None:
    """The parts of a new row, after those of the others."""
    k = row - stock.start[i]
    at = stock.begin[row]
    if rule.keeps_codes:
        at = 0
        for j in range(k):  # (not that of row k - 1 alone: rows may have changed places)
            at = max(at, work.list_at[j] + work.list_size[j])
        for e in range(n_parts):
            work.lists[at + e] = work.part[e]
    work.list_at[k], work.list_size[k] = at, n_parts


@jit
def _store_corner(
    rule: Rule, block: Block, stock: Stock, work: Work, size: int, n_parts: int, loss: float
) -> tuple[int, int]:
    """The row of the oracle's corner, old or new, and the row that has moved to make room for it.

    At the cap the lowest idle corner goes, and the last row takes its place; both are -1 where
    all corners are active.
    """
    i = block.i
    code = work.code if rule.keeps_codes or not rule.is_coded else work.part
    size = size if rule.keeps_codes or not rule.is_coded else n_parts
    row = find_corner(stock, i, code, work.value, size, loss)
    if row >= 0:
        return row, -2
    moved = -2
    if stock.n_rows[i] >= rule.max_corners:
        moved = least_useful(stock, i)
        if moved < 0:
            return -1, -1
        k, last = moved - stock.start[i], stock.n_rows[i] - 1
        work.list_at[k], work.list_size[k] = work.list_at[last], work.list_size[last]
        remove_corner(stock, i, moved)
    row = insert_corner(stock, i, code, work.value, size, loss)
    _append_list(rule, stock, i, row, work, n_parts)
    return row, moved


@jit
def _after_move(block: Block, stock: Stock, moved: int) -> Block:
    """The ranked rows, after the last row took the place of another."""
    last = stock.start[block.i] + stock.n_rows[block.i] - 1  # (where the new corner is)
    best = moved if block.best == last else block.best
    top = moved if block.top == last else block.top
    low = moved if block.low == last else block.low
    return Block(
        block.i, block.weight, block.theta, block.lists, block.score, block.magnitude,
        best, top, low,
    )  # fmt: skip


@register_jitable
def _ask(
    rule: Any, block: Any, position: Any, features: Any, oracles: Any, data: Any, scratch: Any,
    point: Any, work: Any, batch: Any,
) -> Any:  # fmt: skip
    """The corner of the oracle, or of a batch of its answers, into `work`; size and loss."""
    if rule.source == FROM_BATCH:
        return _copy_from_batch(batch, position, work.code, work.value)
    if rule.source == FROM_CACHE_OR_ORACLE and not rule.is_identity:
        features.score(data, block.i, point.w, work.theta)
    size, loss, _ = oracles.maximize(data, block.i, block.theta, scratch, work.code, work.value)
    return size, loss


@jit
def _fill_ones(value: np.ndarray, size: int) -> None:
    for e in range(size):
        value[e] = 1.0


@register_jitable
def find_target(
    rule: Any, block: Any, position: Any, corner_size: Any, gap: Any, features: Any, oracles: Any,
    data: Any, scratch: Any, point: Any, work: Any, batch: Any,
) -> Any:  # fmt: skip
    """The corner to move to, and the block with its ranked rows where they are now."""
    i, stock, best = block.i, point.stock, block.best
    if rule.keeps_corners and _is_hit(rule, block, stock.height[best], point.ell[i], gap):
        return Target(FOUND, best, 0, stock.loss[best], stock.height[best], True), block
    room = int(corner_size[i])  # (a Python task raises it when it gives more)
    size, loss = _ask(rule, block, position, features, oracles, data, scratch, point, work, batch)
    if size > room:
        return Target(LACKS_ROOM, -1, 0, 0.0, 0.0, False), block
    part, n_parts = work.code, size
    if rule.is_coded:
        n_parts = oracles.unpack(data, i, work.code, size, work.part)
        part = work.part
        if rule.keeps_corners and not rule.keeps_codes:
            _fill_ones(work.value, n_parts)
    if rule.source == FROM_BATCH and not rule.is_identity:
        features.peek(data, i, point.w, part, n_parts, work.theta)
    value = stock.value[:0] if rule.is_unit else work.value
    height = loss + _score_list(part, value, 0, n_parts, block.theta)
    row = -1
    if rule.keeps_corners:
        row, moved = _store_corner(rule, block, stock, work, size, n_parts, loss)
        if row < 0:
            return Target(IS_FULL, -1, 0, 0.0, 0.0, False), block
        if moved >= 0:
            block = _after_move(block, stock, moved)
        stock.height[row] = height
    return Target(FOUND, row, n_parts, loss, height, False), block
