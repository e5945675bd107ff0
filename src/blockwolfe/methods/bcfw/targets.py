"""The first half of a visit: look at the block, and find the corner to move to.

What calls the task is inlined (plain Python where the loop is interpreted); the rest takes the
few arrays it needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import inlined, jit
from blockwolfe.base.look import Look
from blockwolfe.dual.growth import Means
from blockwolfe.dual.point import Point
from blockwolfe.dual.stock import Stock, find_corner, insert_corner, least_useful, remove_corner
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
from blockwolfe.structures.label_codes import meet_labels, total, unpack

__all__ = ["find_target", "has_room", "look_at"]


@jit(forceinline=True)
def has_room(rule: Rule, point: Point, i: int, part_size: int, code_size: int) -> bool:
    """Whether block i can take one more corner, in its parts and among its stored corners."""
    means, stock = point.means, point.stock
    lacks_parts = means.capacity[i] - means.length[i] < part_size
    lacks_entries = stock.code.shape[0] - stock.end[0] < code_size
    if (rule.has_average or not rule.keeps_corners) and lacks_parts:
        return False
    return not (rule.keeps_corners and (lacks_entries or stock.n_rows[i] >= stock.capacity[i]))


# -- looking at a block ---------------------------------------------------------------------------


@jit
def _meet_stored(rule: Rule, stock: Stock, i: int, look: Look) -> int:
    """The parts of the block's stored corners, each once, into `look.met`; how many.

    Of labels without transitions, whose scores are weights.
    """
    first, n_rows, code = stock.start[i], stock.n_rows[i], stock.code
    if rule.keeps_labels:
        begin = stock.begin[first : first + n_rows]
        return int(meet_labels(rule.form, code, begin, n_rows, stock.size[first], look))
    look.number[0] += 1
    number, seen, met = look.number[0], look.seen, look.met
    n_met = 0
    for row in range(first, first + n_rows):
        for e in range(np.uint64(stock.begin[row]), np.uint64(stock.begin[row] + stock.size[row])):
            p = np.uint64(code[e])
            if seen[p] != number:
                seen[p], met[n_met] = number, p
                n_met += 1
    return n_met


@jit(forceinline=True)
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
    rule: Rule, stock: Stock, i: int, theta: np.ndarray, w: np.ndarray
) -> tuple[float, float, int, int, int]:
    """Heights of block i's corners: <theta, mean>, its terms, and the rows that `Block` names."""
    height, weight, loss = stock.height, stock.weight, stock.loss
    code, value, begin, size = stock.code, stock.value, stock.begin, stock.size
    first, runs = stock.start[i], w[rule.form.runs :]
    best, top, low = first, -1, -1
    mean, magnitude = 0.0, 0.0
    for row in range(first, first + stock.n_rows[i]):
        if rule.keeps_labels:
            score = total(rule.form, code, begin[row], size[row], theta, runs)
        else:
            score = _score_list(code, value, begin[row], size[row], theta)
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
    """<theta, mean>, and the size of the terms it is made of; by four at a time (see `dot`)."""
    total, magnitude = 0.0, 0.0
    part, mean = means.part, means.mean
    begin, length = means.start[i], means.length[i]
    whole, end = np.uint64(begin + length - length % 4), np.uint64(begin + length)
    for s in range(np.uint64(begin), whole, np.uint64(4)):
        t, u, v = s + np.uint64(1), s + np.uint64(2), s + np.uint64(3)
        a, b = theta[np.uint64(part[s])] * mean[s], theta[np.uint64(part[t])] * mean[t]
        c, d = theta[np.uint64(part[u])] * mean[u], theta[np.uint64(part[v])] * mean[v]
        total += (a + b) + (c + d)
        magnitude += (abs(a) + abs(b)) + (abs(c) + abs(d))
    for s in range(whole, end):
        term = theta[np.uint64(part[s])] * mean[s]
        total += term
        magnitude += abs(term)
    return total, magnitude


@inlined
def look_at(
    rule: Any, i: Any, weight: Any, is_scored: Any, features: Any, data: Any, point: Any, work: Any
) -> Any:
    """Scores at w, of every part if `is_scored` and else of those in use, and what they say."""
    stock, means, w = point.stock, point.means, point.w
    theta = w if rule.is_identity else work.theta
    if is_scored and not rule.is_identity:
        features.score(data, i, w, 1.0, theta)
    elif rule.keeps_corners and not rule.is_identity:
        n_met = _meet_stored(rule, stock, i, work.look)
        features.peek(data, i, w, work.look.met, n_met, theta)
    elif not rule.is_identity:
        begin, length = means.start[i], means.length[i]
        features.peek(data, i, w, means.part[begin : begin + length], length, theta)
    best, top, low = -1, -1, -1
    if rule.keeps_corners:
        score, magnitude, best, top, low = _rank(rule, stock, i, theta, w)
    else:
        score, magnitude = _score_mean(means, i, theta)
    return Block(i, weight, theta, score, magnitude, best, top, low)


# -- the corner to move to ------------------------------------------------------------------------


@jit(forceinline=True)
def _is_hit(rule: Rule, block: Block, height: float, ell: float, gap: float) -> bool:
    """The hit rule of the cache; passes over stored corners alone hit always."""
    stored_gap = block.weight * (height - block.score) - ell
    threshold = max(rule.hit_share * gap, rule.hit_floor)
    # (a threshold of zero would let rounding noise pass)
    is_near = rule.source == FROM_CACHE_OR_ORACLE and threshold > 0.0 and stored_gap >= threshold
    return is_near or rule.source == FROM_STOCK


@jit
def _copy_from_batch(
    batch: Batch, position: int, code: np.ndarray, value: np.ndarray
) -> tuple[int, float]:
    begin, size = batch.start[position], batch.size[position]
    for e in range(size):
        code[e] = batch.code[begin + e]
    for e in range(size if batch.value.shape[0] else 0):
        value[e] = batch.value[begin + e]
    return size, batch.loss[position]


@jit
def _make_way(stock: Stock, i: int, max_corners: int) -> int:
    """At the cap the lowest idle corner goes, and the last row takes its place.

    Returns the row that was given up, -1 where none had to be, -2 where all corners are active.
    """
    if stock.n_rows[i] < max_corners:
        return -1
    row = least_useful(stock, i)
    if row < 0:
        return -2
    remove_corner(stock, i, row)
    return row


@jit
def _keep(
    rule: Rule, block: Block, stock: Stock, corner: Any, loss: float
) -> tuple[int, int, int, int]:
    """The row of the oracle's corner, old or new (-1: no room), and the ranked rows as they are.

    `corner` is (code, value, size) as it is stored.
    """
    i, (code, value, size) = block.i, corner
    best, top, low = block.best, block.top, block.low
    row = find_corner(stock, i, code, value, size, loss)
    if row >= 0:
        return row, best, top, low
    moved, last = _make_way(stock, i, rule.max_corners), stock.start[i] + stock.n_rows[i]
    if moved == -2:
        return -1, best, top, low
    if moved >= 0:  # (the last row has taken its place)
        best, top = moved if best == last else best, moved if top == last else top
        low = moved if low == last else low
    return insert_corner(stock, i, code, value, size, loss), best, top, low


@jit
def _fill_ones(value: np.ndarray, size: int) -> None:
    for e in range(size):
        value[e] = 1.0


@inlined
def _ask(
    rule: Any, block: Any, position: Any, features: Any, oracles: Any, data: Any, scratch: Any,
    w: Any, work: Any, batch: Any,
) -> Any:  # fmt: skip
    """The corner of the oracle, or of a batch of its answers, into `work`; its size and loss."""
    if rule.source == FROM_BATCH:
        size, loss = _copy_from_batch(batch, position, work.code, work.value)
    else:
        if rule.source == FROM_CACHE_OR_ORACLE and not rule.is_identity:
            features.score(data, block.i, w, 1.0, block.theta)
        size, loss, _ = oracles.maximize(data, block.i, block.theta, scratch, work.code, work.value)
    return size, loss


@inlined
def _take_apart(
    rule: Any, block: Any, size: Any, features: Any, data: Any, w: Any, work: Any
) -> Any:
    """How many parts the corner in `work` has; they are scored, too, where they were not."""
    n_parts, is_coded = size, rule.form.n_labels > 0
    if is_coded:
        n_parts = unpack(rule.form, work.code, 0, size, work.part)
    if is_coded and rule.keeps_corners and not rule.keeps_labels:
        _fill_ones(work.value, n_parts)
    if rule.source == FROM_BATCH and not rule.is_identity:
        part = work.part if is_coded else work.code
        features.peek(data, block.i, w, part, n_parts, block.theta)
    return n_parts


@inlined
def find_target(
    rule: Any, block: Any, position: Any, corner_size: Any, gap: Any, features: Any, oracles: Any,
    data: Any, scratch: Any, point: Any, work: Any, batch: Any,
) -> Any:  # fmt: skip
    """The corner to move to, and the ranked rows of the block where they are now."""
    i, stock = block.i, point.stock
    row, n_parts, ranks = block.best, 0, (block.best, block.top, block.low)
    if rule.keeps_corners and _is_hit(rule, block, stock.height[row], point.ell[i], gap):
        target = Target(FOUND, row, n_parts, stock.loss[row], stock.height[row], True)
    else:
        room = int(corner_size[i])  # (a Python task raises it when it gives more)
        size, loss = _ask(
            rule, block, position, features, oracles, data, scratch, point.w, work, batch
        )
        outcome, height = LACKS_ROOM if size > room else FOUND, 0.0
        if outcome == FOUND:
            n_parts = _take_apart(rule, block, size, features, data, point.w, work)
            part = work.part if rule.form.n_labels else work.code
            value = stock.value[:0] if rule.is_unit else work.value
            height = loss + _score_list(part, value, 0, n_parts, block.theta)
            if rule.keeps_corners:
                code = work.code if rule.keeps_labels else part
                corner = (code, work.value, size if rule.keeps_labels else n_parts)
                row, best, top, low = _keep(rule, block, stock, corner, loss)
                ranks = (best, top, low)
                outcome = FOUND if row >= 0 else IS_FULL
                if row >= 0:
                    stock.height[row] = height
        target = Target(outcome, row, n_parts, loss, height, False)
    return target, ranks
