"""Visits that add to a sum: one oracle call, one sparse change, one block at a time.

With y_j the output that the oracle finds at visit j = 1, 2, ..., and c_j = n weight_i, kept are

    total = sum_j c_j psi_j(y_j)          late = sum_j j c_j psi_j(y_j)

and never w itself: w is a multiple of the first, and averages of iterates follow from both,
since sum_{j <= k} total_j = (k + 1) total_k - late_k. So a visit changes only what psi touches,
however long w is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.packed import Packed, unpack
from blockwolfe.dual.work import Work
from blockwolfe.tasks.base import Corners

__all__ = ["Counted", "Pull", "Sums", "add_visits", "sum_of_totals"]


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
    """Of every block: its true output, n weight_i, and how many entries a code of it has."""

    truth: Corners
    pull: np.ndarray
    room: np.ndarray


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
def _difference(truth: Corners, i: int, value: np.ndarray, n_found: int, work: Work) -> int:
    """The true output minus the one in `work`, as `work.direction`; how many entries it has.

    Entry by entry: outputs are listed in one order, and most of two outputs is the same. What is
    left may name a part twice, which sums do not mind.
    """
    part, delta, begin = work.direction.part, work.direction.delta, truth.start[i]
    n_true, is_unit, n = truth.start[i + 1] - begin, value.shape[0] == 0, 0
    n_both = min(n_true, n_found)
    for s in range(np.uint64(n_both)):
        found = 1.0 if is_unit else value[s]
        mine, is_same = truth.value[begin + s], truth.part[begin + s] == work.part[s]
        if not (is_same and mine == found):
            part[n], delta[n] = truth.part[begin + s], mine
            part[n + 1], delta[n + 1] = work.part[s], -found
            n += 2
    for s in range(n_both, n_true):
        part[n], delta[n] = truth.part[begin + s], truth.value[begin + s]
        n += 1
    for s in range(n_both, n_found):
        part[n], delta[n] = work.part[s], -1.0 if is_unit else -value[s]
        n += 1
    return n


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

    It stops at a block whose oracle gives more than it may.
    """
    pull, counted, seam, is_unit, data, scratch, total, late, work, made = unpack(packed)
    add, oracles, is_bounded = seam.features.add, seam.oracles, pull.lower.shape[0] > 0
    part, delta = work.direction.part, work.direction.delta
    value = work.value[:0] if is_unit else work.value
    for position in range(span[0], span[1]):
        i, k = order[position], n_before + position - span[0]
        seam.features.score(data, i, total, _scale(pull, k), work.theta)
        size, _, _ = oracles.maximize(data, i, work.theta, scratch, work.code, work.value)
        if size > counted.room[i]:
            return
        n_parts = size  # (where outputs are not coded, `work.part` is `work.code`)
        if seam.is_coded:
            n_parts = oracles.unpack(data, i, work.code, size, work.part)
        moved = _difference(counted.truth, i, value, n_parts, work)
        if is_bounded:
            _shrink(k / (k + 1.0), total)
            share = pull.factor * counted.pull[i] / (k + 1.0)
            add(data, i, part, delta, moved, share, total)
            _clip(pull, total)
            _add_times(k + 1.0, total, late)
        elif moved > 0:
            add(data, i, part, delta, moved, counted.pull[i], total)
            if late.shape[0]:
                add(data, i, part, delta, moved, (k + 1.0) * counted.pull[i], late)
        made[0] += 1


def sum_of_totals(sums: Sums, n_visits: int) -> np.ndarray:
    """The totals after each of so many visits, added up.

    >>> one, two = np.array([1.0, 0.0]), np.array([0.0, 3.0])  # added at visits 1 and 2
    >>> sum_of_totals(Sums(one + two, 1 * one + 2 * two), 2)
    array([2., 3.])
    """
    return np.asarray((n_visits + 1.0) * sums.total - sums.late)
