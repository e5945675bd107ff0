"""Blocks of the next visits, scored together: rows of features are then one matrix.

Where labels are many, a visit by itself reads all of w, and waits for it. So the blocks that come
next are scored at once, and the labels that a visit has moved are scored anew for those that are
still to come: to the bit what each would get by itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit

__all__ = ["Group", "Waiting", "forget", "keep_up", "make_group", "put_heights"]


class Waiting(NamedTuple):
    """How often each block is passed over: in a row, and from now on."""

    period: np.ndarray
    left: np.ndarray


class Group(NamedTuple):
    """Blocks in the order of their visits, `at[0]` the next of `at[1]`; with room for one, none."""

    block: np.ndarray
    at: np.ndarray
    scores: np.ndarray  # at the present w, end to end
    loss: np.ndarray  # of the labels of the block that is visited
    rows: Any  # of features (see `Simplex`)


def make_group(n_labels: int, together: int, rows: Any) -> Group:
    """For so many; `rows` have room for as many."""
    block, at = np.zeros(together, dtype=np.int64), np.zeros(2, dtype=np.int64)
    return Group(block, at, np.zeros(n_labels * together), np.zeros(n_labels), rows)


@jit(forceinline=True)
def forget(group: Group) -> None:
    """All scores: w may be another."""
    group.at[0], group.at[1] = 0, 0


@jit(forceinline=True)
def _has_next(group: Group, i: int) -> bool:
    """Whether block i is scored; those before it were drawn twice, and wait by now."""
    while group.at[0] < group.at[1] and group.block[group.at[0]] != i:
        group.at[0] += 1
    return bool(group.at[0] < group.at[1])


@jit(forceinline=True)
def _find(order: np.ndarray, waiting: Waiting, group: Group) -> None:
    """The blocks of an order that are visited next, as many as there is room for."""
    n = 0
    for i in order:
        if waiting.left[i] == 0:
            group.block[n] = i
            n += 1
            if n == group.block.shape[0]:
                break
    group.at[0], group.at[1] = 0, n


@jit(forceinline=True)
def put_heights(
    score: Any, simplex: Any, data: Any, w: Any, order: Any, waiting: Waiting, group: Group
) -> int:
    """Heights of all labels of the first block of an order: where they begin in `group.scores`."""
    i, n_labels = order[0], group.loss.shape[0]
    if group.block.shape[0] == 1:
        score(data, i, w, 1.0, group.scores)
        simplex.augment(data, i, group.loss, group.scores)
        return 0
    if not _has_next(group, i):
        _find(order, waiting, group)
        n = group.at[1]
        simplex.gather(data, group.block, n, group.rows)
        simplex.score(data, group.rows, (0, n), (0, n_labels), w, group.scores)
    begin = group.at[0] * n_labels
    group.at[0] += 1
    simplex.augment(data, i, group.loss, group.scores[begin : begin + n_labels])
    return begin


@jit(forceinline=True)
def keep_up(simplex: Any, data: Any, w: Any, part: Any, n_moved: int, group: Group) -> None:
    """Score the labels that have moved, for the blocks that are still to come."""
    at, n = group.at[0], group.at[1]
    for s in range(n_moved if at < n else 0):
        labels = part[s], part[s] + 1
        simplex.score(data, group.rows, (at, n), labels, w, group.scores)
