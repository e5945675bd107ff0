"""Visits that add to a sum: one oracle call, one sparse change, one block at a time.

With y_j the output that the oracle finds at visit j = 1, 2, ..., and c_j = n weight_i, kept are

    total = sum_j c_j psi_j(y_j)          late = sum_j j c_j psi_j(y_j)

and never w itself: w is a multiple of the first, and averages of iterates follow from both,
since sum_{j <= k} total_j = (k + 1) total_k - late_k. So a visit changes only what psi touches,
however long w is. Where w is long, what `late` gets is written down first (`log`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.packed import Packed, unpack
from blockwolfe.base.prefetch import Ahead, fetch_block, fetch_span
from blockwolfe.methods.subgradient.log import is_full, note_step
from blockwolfe.problem.blocks import Blocks
from blockwolfe.structures.label_codes import LabelCodes, subtract
from blockwolfe.tasks.base import Codes

__all__ = ["Counted", "Pull", "Room", "Sums", "add_visits", "sum_of_totals"]


class Sums(NamedTuple):
    """What visits add to."""

    total: np.ndarray
    late: np.ndarray  # no entries without averaging


class Pull(NamedTuple):
    """How w follows from the total after k visits: factor / k, or factor, times it.

    Under bounds `total` is w itself, which is then shrunk, moved and clipped at every visit, at a
    cost that grows with its length; and `late` is the sum of j w_j.
    """

    factor: float
    is_shrinking: bool
    lower: np.ndarray  # no entries without bounds
    upper: np.ndarray


class Counted(NamedTuple):
    """Of every block: its true output, n weight_i, how many entries a code of it has, features."""

    truth: Codes
    pull: np.ndarray
    room: np.ndarray
    ahead: Ahead


class Room(NamedTuple):
    """Arrays that a visit writes to."""

    theta: np.ndarray  # scores by part
    code: np.ndarray  # the output of an oracle call: its code,
    value: np.ndarray  # and its values (not read where all are one)
    where: np.ndarray  # of labels, the positions that differ
    part: np.ndarray  # what the two differ in
    delta: np.ndarray

    @classmethod
    def of(cls, blocks: Blocks) -> Room:
        """For any block."""
        sizes = (blocks.corner_size, blocks.part_size, np.diff(blocks.true_codes.start))
        n_entries = max(blocks.n_parts, *(int(size.max()) for size in sizes))
        theta, code = np.zeros(blocks.n_parts), np.zeros(n_entries, dtype=np.int32)
        part, delta = np.zeros(2 * n_entries, dtype=np.int32), np.zeros(2 * n_entries)
        return cls(theta, code, np.zeros(n_entries), np.zeros_like(code), part, delta)


@jit
def _shrink(share: float, w: np.ndarray) -> None:
    for j in range(w.shape[0]):
        w[j] *= share


@jit
def _clip(pull: Pull, w: np.ndarray) -> None:
    for j in range(w.shape[0]):
        w[j] = min(max(w[j], pull.lower[j]), pull.upper[j])


@jit
def _add_times(factor: float, w: np.ndarray, late: np.ndarray) -> None:
    for j in range(late.shape[0]):
        late[j] += factor * w[j]


@jit
def _difference(true: Any, found: Any, sizes: Any, room: Room) -> int:
    """One output minus another, as (room.part, room.delta); how many entries it has.

    Each is a pair of parts and values (no values mean ones). Entry by entry: outputs are listed in
    one order, and most of two outputs is the same. What is left may name a part twice, which sums
    do not mind.
    """
    (mine, my_value), (other, its_value), part, delta = true, found, room.part, room.delta
    is_unit, (n_true, n_found), n = its_value.shape[0] == 0, sizes, 0
    n_both = min(n_true, n_found)
    for s in range(np.uint64(n_both)):
        a, b = (1.0, 1.0) if is_unit else (my_value[s], its_value[s])
        if mine[s] != other[s] or a != b:
            part[n], delta[n] = mine[s], a
            part[n + 1], delta[n + 1] = other[s], -b
            n += 2
    for s in range(n_both, n_true):
        part[n], delta[n] = mine[s], 1.0 if is_unit else my_value[s]
        n += 1
    for s in range(n_both, n_found):
        part[n], delta[n] = other[s], -1.0 if is_unit else -its_value[s]
        n += 1
    return n


@jit
def _moved(form: LabelCodes, truth: Codes, i: int, value: Any, size: int, room: Room) -> int:
    """The true output of block i minus the one in (room.code, value); how many entries it has."""
    begin, end = truth.start[i], truth.start[i + 1]
    if form.n_labels:
        out = room.where, room.part, room.delta
        return int(subtract(form, truth.code, begin, room.code, size, out))
    mine = truth.code[begin:end], truth.value[begin:end]
    return int(_difference(mine, (room.code, value), (end - begin, size), room))


@jit(inline="always")
def _fetch_next(order: np.ndarray, position: int, counted: Counted) -> None:
    """Begin to fetch what the next visit reads first: features, and the true output.

    The processor would do so by itself while an oracle call ends, but not beyond a branch that it
    guesses wrong, as it does where outputs are compared.
    """
    if position + 1 < order.shape[0]:
        i, truth = order[position + 1], counted.truth
        fetch_block(counted.ahead, i)
        fetch_span(truth.code, truth.start[i], truth.start[i + 1])


@jit
def _scale(pull: Pull, k: int) -> float:
    """The w of k visits, over the total."""
    if pull.lower.shape[0]:
        return 1.0
    if pull.is_shrinking:
        return pull.factor / k if k > 0 else 0.0
    return pull.factor


@jit
def add_visits(order: np.ndarray, span: Any, n_before: int, packed: Packed) -> None:
    """Make the visits span[0]:span[1] of an order, after `n_before` others; `made[0]` counts them.

    It stops at a block whose oracle gives more than it may, and where a log has no room for a step.
    """
    pull, counted, seam, form, is_unit, data, scratch, total, late, log, room, made = unpack(packed)
    add, oracles, is_bounded = seam.add, seam.oracles, pull.lower.shape[0] > 0
    part, delta, value = room.part, room.delta, room.value[:0] if is_unit else room.value
    is_averaged, is_logged = late.shape[0] > 0, log.moved.shape[0] > 0
    for position in range(span[0], span[1]):
        i, k = order[position], n_before + position - span[0]
        if is_logged and is_full(log, part.shape[0]):
            return
        seam.score(data, i, total, _scale(pull, k), room.theta)
        _fetch_next(order, position, counted)
        size, _, _ = oracles.maximize(data, i, room.theta, scratch, room.code, room.value)
        if size > counted.room[i]:
            return
        moved = _moved(form, counted.truth, i, value, size, room)
        if is_bounded:
            _shrink(k / (k + 1.0), total)
            share = pull.factor * counted.pull[i] / (k + 1.0)
            add(data, i, part, delta, moved, share, total)
            _clip(pull, total)
            _add_times(k + 1.0, total, late)
        elif moved > 0:
            add(data, i, part, delta, moved, counted.pull[i], total)
            if is_logged:
                note_step(log, i, (k + 1.0) * counted.pull[i], part, delta, moved)
            elif is_averaged:
                add(data, i, part, delta, moved, (k + 1.0) * counted.pull[i], late)
        made[0] += 1


def sum_of_totals(sums: Sums, n_visits: int) -> np.ndarray:
    """The totals after each of so many visits, added up.

    >>> one, two = np.array([1.0, 0.0]), np.array([0.0, 3.0])  # added at visits 1 and 2
    >>> sum_of_totals(Sums(one + two, 1 * one + 2 * two), 2)
    array([2., 3.])
    """
    return np.asarray((n_visits + 1.0) * sums.total - sums.late)
