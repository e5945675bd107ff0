"""Visits that optimise a whole block: the exact maximum of the dual over its simplex.

The outputs of a block are its labels k, with feature columns of one length s, orthogonal. With
h_k = L_i(k) + <theta, z(k)> at the present w, the dual as a function of the block's weights is

    D(alpha) - D(old) = weight_i (<h, alpha - old> - c/2 |alpha - old|^2),   c = weight_i s^2 / lam

whose maximum over the simplex is the projection of old + h / c on it (Crammer and Singer, 2001).
Only labels with h_k + c old_k above the highest less c can have weight there. Of those that have
none yet at most `max_labels`, the highest, are let in: the maximum is then that over a face in
which the old point lies, and the highest label: the dual rises all the same.

Weights are kept as rows of the block's stored corners, of labels with a weight alone. A block that
a visit leaves where it is waits: the next time it is passed over once, then twice, and so on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.packed import Packed, unpack
from blockwolfe.base.rounding import UNITS
from blockwolfe.dual.stock import Stock, insert_corner, remove_corner
from blockwolfe.methods.whole_blocks.groups import (
    Group,
    Waiting,
    forget,
    keep_up,
    make_group,
    put_heights,
)
from blockwolfe.structures.choice import best_label, project

__all__ = ["WholeWork", "make_whole_work", "visit_whole_blocks"]


class WholeWork(NamedTuple):
    """Scratch of one thread, by label, and (`label`, `value`) of those that may get weight."""

    alpha: np.ndarray  # new weights; zero at rest
    label: np.ndarray
    value: np.ndarray
    one: np.ndarray  # (1,): a code
    lacking: np.ndarray  # (1,): rows that the block at which visits stopped has too few
    group: Group


def make_whole_work(n_labels: int, together: int, rows: Any) -> WholeWork:
    """Fresh scratch; `rows` is that of the task, for so many blocks together."""
    alpha, value = np.zeros((2, n_labels))
    label, one = np.zeros(n_labels, dtype=np.int32), np.zeros(1, dtype=np.int32)
    lacking, group = np.zeros(1, dtype=np.int64), make_group(n_labels, together, rows)
    return WholeWork(alpha, label, value, one, lacking, group)


@jit(forceinline=True)
def _look(stock: Stock, i: int, height: np.ndarray) -> tuple[float, float, float]:
    """The highest height, the mean, and the size of its terms."""
    mean, terms = 0.0, 0.0
    for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
        own = height[stock.code[stock.begin[row]]]
        stock.height[row] = own
        mean += stock.weight[row] * own
        terms += stock.weight[row] * abs(own)
    return height[best_label(height)], mean, terms


@jit(forceinline=True)
def _sift_down(value: np.ndarray, label: np.ndarray, size: int) -> None:
    """Bring the first of a heap, lowest value first, to where it belongs."""
    at, v, k = 0, value[0], label[0]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and value[child + 1] < value[child]:
            child += 1
        if value[child] >= v:
            break
        value[at], label[at] = value[child], label[child]
        at = child
    value[at], label[at] = v, k


@jit(forceinline=True)
def _push(value: np.ndarray, label: np.ndarray, size: int, v: float, k: int) -> None:
    """Add to a heap of so many."""
    at = size
    while at > 0 and value[(at - 1) // 2] > v:
        value[at], label[at] = value[(at - 1) // 2], label[(at - 1) // 2]
        at = (at - 1) // 2
    value[at], label[at] = v, k


@jit(forceinline=True)
def _find_candidates(height: np.ndarray, above: float, most: int, own: WholeWork) -> int:
    """Labels without a row that are higher than that, the `most` highest of them; how many."""
    n = 0
    for k in range(height.shape[0]):
        if height[k] > above and own.alpha[k] == 0.0:
            if n < most:
                _push(own.value, own.label, n, height[k], k)
                n += 1
            elif height[k] > own.value[0]:
                own.value[0], own.label[0] = height[k], k
                _sift_down(own.value, own.label, n)
    return n


@jit(forceinline=True)
def _maximize_block(
    stock: Stock,
    i: int,
    height: np.ndarray,
    top: float,
    curvature: float,
    most: int,
    own: WholeWork,
) -> int:
    """The new weights of all labels into `own.alpha`; of how many labels they may be."""
    first, n_rows = stock.start[i], stock.n_rows[i]
    for row in range(first, first + n_rows):
        k = stock.code[stock.begin[row]]
        own.alpha[k] = -1.0  # (has a row)
        top = max(top, height[k] + curvature * stock.weight[row])
    # (the highest at least: without curvature, or with less than rounding, the dual is linear)
    above = min(top - curvature, np.nextafter(top, -np.inf))
    n = _find_candidates(height, above, most, own)
    for c in range(n):
        own.value[c] -= top
    for row in range(first, first + n_rows):
        k = stock.code[stock.begin[row]]
        own.label[n], own.value[n] = k, height[k] + curvature * stock.weight[row] - top
        n += 1
    for c in range(n):
        own.value[c] = own.value[c] / curvature if curvature > 0.0 else 2.0 * np.sign(own.value[c])
    project(own.value[:n])
    for c in range(n):
        own.alpha[own.label[c]] = own.value[c]
    return n


@jit(forceinline=True)
def _count_new(stock: Stock, i: int, n: int, own: WholeWork) -> tuple[int, int]:
    """Labels that get a weight and have no row, and rows that lose theirs."""
    n_new, n_gone = 0, 0
    for c in range(n):
        n_new += own.value[c] > 0.0
    for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
        if own.alpha[stock.code[stock.begin[row]]] > 0.0:
            n_new -= 1
        else:
            n_gone += 1
    return n_new, n_gone


@jit(forceinline=True)
def _wipe(n: int, own: WholeWork) -> None:
    for c in range(n):
        own.alpha[own.label[c]] = 0.0


@jit(forceinline=True)
def _move_rows(stock: Stock, i: int, n: int, own: WholeWork, direction: Any) -> int:
    """The rows of block i to the new weights; the change by label, and how many have changed."""
    part, delta, moved, row = direction.part, direction.delta, 0, stock.start[i]
    for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
        k = stock.code[stock.begin[row]]
        if own.alpha[k] != stock.weight[row]:
            part[moved], delta[moved] = k, own.alpha[k] - stock.weight[row]
            moved += 1
        stock.weight[row], own.alpha[k] = own.alpha[k], 0.0
    row = stock.start[i]
    for c in range(n):
        k = own.label[c]
        if own.alpha[k] <= 0.0:
            continue
        part[moved], delta[moved] = k, own.alpha[k]
        moved += 1
        end = stock.start[i] + stock.n_rows[i]
        while row < end and stock.weight[row] > 0.0:
            row += 1
        if row == end:
            own.one[0] = k
            insert_corner(stock, i, own.one, stock.value, 1, own.group.loss[k])
        else:  # (a label without weight gives way)
            stock.code[stock.begin[row]], stock.loss[row] = k, own.group.loss[k]
        stock.weight[row], own.alpha[k] = own.alpha[k], 0.0
    return moved


@jit(forceinline=True)
def _drop_rows(stock: Stock, i: int, used_at: int) -> float:
    """Rows without a weight are gone; the loss of the others, by weight."""
    row, loss = stock.start[i], 0.0
    while row < stock.start[i] + stock.n_rows[i]:
        if stock.weight[row] == 0.0:
            remove_corner(stock, i, row)
        else:
            loss += stock.weight[row] * stock.loss[row]
            stock.used_at[row] = used_at
            row += 1
    return loss


@jit(forceinline=True)
def _square(delta: np.ndarray, size: int) -> float:
    total = 0.0
    for s in range(size):
        total += delta[s] * delta[s]
    return total


@jit(forceinline=True)
def _list_labels(stock: Stock, i: int, own: WholeWork) -> None:
    first = stock.start[i]
    for row in range(first, first + stock.n_rows[i]):
        own.label[row - first] = stock.code[stock.begin[row]]


@jit(forceinline=True)
def _look_at_rows(
    stock: Stock, i: int, theta: np.ndarray, own: WholeWork
) -> tuple[float, float, float]:
    """Heights of the block's own labels: the highest, the mean, and the size of its terms."""
    first, top, mean, terms = stock.start[i], -np.inf, 0.0, 0.0
    for row in range(first, first + stock.n_rows[i]):
        height = theta[own.label[row - first]] + stock.loss[row]
        own.value[row - first] = stock.height[row] = height
        top = max(top, height)
        mean += stock.weight[row] * height
        terms += stock.weight[row] * abs(height)
    return top, mean, terms


@jit(forceinline=True)
def _maximize_rows(
    stock: Stock, i: int, curvature: float, own: WholeWork, direction: Any
) -> tuple[int, int]:
    """Weights at the maximum over the block's own labels; how many changed, and were emptied."""
    first, n = stock.start[i], stock.n_rows[i]
    top, moved, n_gone = -np.inf, 0, 0
    for r in range(n):
        own.value[r] += curvature * stock.weight[first + r]
        top = max(top, own.value[r])
    for r in range(n):
        own.value[r] = (own.value[r] - top) / curvature
    project(own.value[:n])
    for r in range(n):
        change = own.value[r] - stock.weight[first + r]
        if change != 0.0:
            direction.part[moved], direction.delta[moved] = own.label[r], change
            moved += 1
        stock.weight[first + r] = own.value[r]
        n_gone += own.value[r] == 0.0
    return moved, n_gone


@jit(forceinline=True)
def _wait(waiting: Waiting, i: int, is_moved: bool, longest: int) -> None:
    period = 0 if is_moved else min(max(2 * waiting.period[i], 1), longest)
    waiting.period[i], waiting.left[i] = period, period


@jit(forceinline=True)
def _note(notes: Any, i: int, is_whole: bool, gap: float) -> None:
    """That block i was visited, and its gap where all labels were looked at."""
    counts = notes.counts
    notes.last_visit[i] = counts.visits
    counts.visits += 1
    if is_whole:
        counts.oracle_calls += 1
        notes.gap[i] = max(gap, 0.0)
    else:
        counts.cache_hits += 1


@jit
def visit_whole_blocks(
    order: np.ndarray, span: Any, settings: Any, of_blocks: Packed, of_run: Packed
) -> int:
    """Make the visits span[0]:span[1] of an order; stops early, before any change, without room.

    Returns the position at which it stopped. `settings` are lambda; the position from which on
    visits are to the labels with weight alone; the most labels that one visit gives a weight, how
    often a block is passed over at most, and at which visit to stop.
    """
    weight, column_norm, score, simplex, data = unpack(of_blocks)
    point, notes, work, own, waiting = unpack(of_run)
    lam, n_whole, most, longest, last_visit = settings
    stock, counts, height, w = point.stock, notes.counts, own.group.scores, point.w
    part, delta = work.direction.part, work.direction.delta
    forget(own.group)
    for position in range(span[0], span[1]):
        i, is_whole = order[position], position < n_whole
        if counts.visits >= last_visit:
            return position
        if waiting.left[i] > 0:
            waiting.left[i] -= is_whole
            continue
        if not is_whole and stock.n_rows[i] == 1:
            continue
        length = weight[i] * column_norm[i]
        curvature = length * column_norm[i] / lam
        moved, n_gone = 0, 0
        if is_whole:
            order_left = order[position : min(span[1], n_whole)]
            begin = put_heights(score, simplex, data, w, order_left, waiting, own.group)
            height = own.group.scores[begin : begin + own.group.loss.shape[0]]
            top, mean, terms = _look(stock, i, height)
        else:
            _list_labels(stock, i, own)
            simplex.peek(data, i, w, own.label, stock.n_rows[i], work.theta)
            top, mean, terms = _look_at_rows(stock, i, work.theta, own)
        gap = weight[i] * (top - mean)
        is_moved = gap > UNITS * weight[i] * (abs(top) + terms)
        if is_moved and is_whole:
            n = _maximize_block(stock, i, height, top, curvature, most, own)
            n_new, n_gone = _count_new(stock, i, n, own)
            n_rows, n_entries = stock.n_rows[i] + n_new - n_gone, stock.end[0] + n_new - n_gone
            if n_rows > stock.capacity[i] or n_entries > stock.code.shape[0]:
                counts.stopped_at, own.lacking[0] = i, n_new
                _wipe(n, own)
                return position
            moved = _move_rows(stock, i, n, own, work.direction)
        elif is_moved:
            moved, n_gone = _maximize_rows(stock, i, curvature, own, work.direction)
        if moved:
            counts.drops += n_gone
            point.ell[i] = weight[i] * _drop_rows(stock, i, counts.visits)
            simplex.add(data, i, part, delta, moved, -weight[i] / lam, w)
            keep_up(simplex, data, w, part, moved, own.group)
            notes.longest[i] = max(notes.longest[i], length * length * _square(delta, moved))
            counts.steps += 1
        _note(notes, i, is_whole, gap)
        if is_whole:
            _wait(waiting, i, is_moved, longest)
    return span[1]
