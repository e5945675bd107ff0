"""Stored corners as differences from one of their block, and sweeps over them.

A direction over the weights of stored corners sums to zero in every block, so that only
differences count:

    sum_y d_y z_y = sum_y d_y (z_y - z_ref)
    <theta, z_y> - <theta, z_ref> = <theta, z_y - z_ref>

Corners of one block agree in most of their parts. What is left is short, and the parts in which
all agree are neither scored nor added. No sweep calls an oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.look import Look, meet
from blockwolfe.dual.point import DualPoint
from blockwolfe.problem.blocks import Blocks

__all__ = ["Differences", "added", "differences", "restricted", "scored", "sweep_bytes"]

# Memory of an entry: part, value, slot, that slot among some of the members, and, where no part is
# shared, a distinct part twice.
ENTRY_BYTES = 4 + 8 + 4 + 4 + 2 * 4

# So many parts of a block are put in order: what that takes grows as their square.
FEW_PARTS = 256


class Differences(NamedTuple):
    """Members (some stored corners) of all blocks: block i has first[i]:first[i+1].

    Member k has entries begin[k]:end[k]; block i has distinct parts part_first[i]:...[i+1].
    """

    first: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    part: np.ndarray  # entry: its part,
    value: np.ndarray  # by how much the member has more of it than the reference,
    slot: np.ndarray  # and its number among the parts of the block
    part_first: np.ndarray
    distinct: np.ndarray


@jit
def _heaviest(first: np.ndarray, i: int, alpha: np.ndarray) -> int:
    found = first[i]
    for k in range(first[i] + 1, first[i + 1]):
        if alpha[k] > alpha[found]:
            found = k
    return found


@jit
def _subtract(
    first: np.ndarray, rows: np.ndarray, alpha: np.ndarray, lists: Any, values: np.ndarray,
    look: Look, begin: np.ndarray, part: np.ndarray, value: np.ndarray,
) -> int:  # fmt: skip
    """Entries of all members, less those of the heaviest of their block; how many there are.

    They are counted alone where there is no room for them.
    """
    listed, at, size = lists
    n_entries = 0
    for i in range(first.shape[0] - 1):
        reference = rows[_heaviest(first, i, alpha)]
        for k in range(first[i], first[i + 1]):
            begin[k] = n_entries
            row = rows[k]
            if row == reference:
                continue
            look.number[0] += 1
            n_met = meet(listed, values, at[reference], size[reference], -1.0, look, 0)
            n_met = meet(listed, values, at[row], size[row], 1.0, look, n_met)
            for s in range(n_met):
                p = look.met[s]
                if look.sum[p] != 0.0:
                    if part.shape[0]:
                        part[n_entries], value[n_entries] = p, look.sum[p]
                    n_entries += 1
    begin[rows.shape[0]] = n_entries
    return n_entries


@jit
def _sort(parts: np.ndarray) -> None:
    """In place, by insertion; more than a few are left as they are."""
    for s in range(1, parts.shape[0] if parts.shape[0] <= FEW_PARTS else 0):
        p, to = parts[s], s
        while to > 0 and parts[to - 1] > p:
            parts[to] = parts[to - 1]
            to -= 1
        parts[to] = p


@jit
def _number(made: Differences, look: Look) -> None:
    """The distinct parts of every block, and the number of each entry's among them.

    In order, where they are few: labels of one position follow each other, and are scored together.
    """
    n_parts = 0
    for i in range(made.first.shape[0] - 1):
        made.part_first[i] = n_parts
        look.number[0] += 1
        for k in range(made.first[i], made.first[i + 1]):
            for e in range(made.begin[k], made.end[k]):
                p = made.part[e]
                if look.seen[p] != look.number[0]:
                    look.seen[p], made.distinct[n_parts] = look.number[0], p
                    n_parts += 1
        _sort(made.distinct[made.part_first[i] : n_parts])
        for s in range(made.part_first[i], n_parts):
            look.sum[made.distinct[s]] = s - made.part_first[i]
        for k in range(made.first[i], made.first[i + 1]):
            for e in range(made.begin[k], made.end[k]):
                made.slot[e] = int(look.sum[made.part[e]])
    made.part_first[made.first.shape[0] - 1] = n_parts


def sweep_bytes(n_entries: int) -> int:
    """Memory of so many entries, and of the same `restricted` to some members beside them."""
    return ENTRY_BYTES * n_entries


def differences(
    point: DualPoint,
    lists: Any,
    rows: np.ndarray,
    first: np.ndarray,
    alpha: np.ndarray,
    may_take: Callable[[int], bool] = lambda n_bytes: True,
) -> Differences | None:
    """The corners in the given rows of the stock, first[i]:first[i+1] of block i.

    `lists` are the parts of all of them (`DualPoint.lists`), `alpha` their dual weights. Entries
    are counted first; None where `may_take` says no to the `sweep_bytes` of that many.
    """
    look, begin = point.work.look, np.zeros(len(rows) + 1, dtype=np.int64)
    args = (first, rows, alpha, lists, point.arrays.stock.value, look, begin)
    part, value = np.zeros(0, dtype=np.int32), np.zeros(0)
    n_entries = int(call(_subtract, "subtract", *args, part, value))
    if not may_take(sweep_bytes(n_entries)):
        return None
    part, value = np.zeros(n_entries, dtype=np.int32), np.zeros(n_entries)
    if n_entries:
        call(_subtract, "subtract", *args, part, value)
    none = np.zeros(0, dtype=np.int32)
    made = Differences(first, begin[:-1], begin[1:], part, value, none, first, none)
    return _numbered(made, n_entries, look)


def restricted(
    point: DualPoint, of: Differences, member: np.ndarray, first: np.ndarray
) -> Differences:
    """Some of the members, first[i]:first[i+1] of block i; entries are shared, not copied.

    (They stay differences from the same corner of their block, whether it is among them or not.)
    """
    made = of._replace(first=first, begin=of.begin[member], end=of.end[member])
    return _numbered(made, len(of.distinct), point.work.look)


def _numbered(made: Differences, most: int, look: Look) -> Differences:
    """With the distinct parts of its members, `most` at most."""
    slot, part_first = np.zeros_like(made.part), np.zeros_like(made.first)
    distinct = np.zeros(most, dtype=np.int32)
    made = made._replace(slot=slot, part_first=part_first, distinct=distinct)
    call(_number, "number", made, look)
    return made._replace(distinct=distinct[: part_first[-1]].copy())


# -- sweeps ---------------------------------------------------------------------------------------


@jit
def _gather(of: Differences, i: int, change: np.ndarray, delta: np.ndarray) -> int:
    """The sum of the block's members, each times its change; how many parts it has."""
    n_parts = of.part_first[i + 1] - of.part_first[i]
    for s in range(n_parts):
        delta[s] = 0.0
    for k in range(of.first[i], of.first[i + 1]):
        if change[k] != 0.0:
            for e in range(of.begin[k], of.end[k]):
                delta[of.slot[e]] += change[k] * of.value[e]
    return n_parts


@jit
def _score_members(of: Differences, i: int, theta: np.ndarray, score: np.ndarray) -> None:
    for k in range(of.first[i], of.first[i + 1]):
        total = 0.0
        for e in range(of.begin[k], of.end[k]):
            total += of.value[e] * theta[of.part[e]]
        score[k] = total


@jit
def _add_members(
    add: Any, data: Any, of: Any, change: Any, factor: Any, delta: Any, out: Any
) -> None:
    for i in range(factor.shape[0]):
        n_parts, begin = _gather(of, i, change, delta), of.part_first[i]
        if n_parts:
            add(data, i, of.distinct[begin : begin + n_parts], delta, n_parts, factor[i], out)


@jit
def _add_features(of: Any, change: Any, factor: Any, delta: Any, out: Any) -> None:
    """As `_add_members`, where parts are the features themselves."""
    for i in range(factor.shape[0]):
        n_parts, begin = _gather(of, i, change, delta), of.part_first[i]
        for s in range(n_parts):
            out[of.distinct[begin + s]] += factor[i] * delta[s]


@jit
def _peek_members(peek: Any, data: Any, of: Any, w: Any, theta: Any, score: Any) -> None:
    for i in range(of.first.shape[0] - 1):
        begin, end = of.part_first[i], of.part_first[i + 1]
        if end > begin:
            peek(data, i, w, of.distinct[begin:end], end - begin, theta)
        _score_members(of, i, theta, score)


@jit
def _score_features(of: Differences, w: np.ndarray, score: np.ndarray) -> None:
    """As `_peek_members`, where parts are the features themselves."""
    for i in range(of.first.shape[0] - 1):
        _score_members(of, i, w, score)


def added(point: DualPoint, of: Differences, change: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """sum_i factor_i F_i sum_y change_iy z_iy, for changes that sum to zero in every block."""
    blocks, out = point.blocks, np.zeros(point.blocks.n_features)
    args = (of, change, factor, point.work.direction.delta, out)
    if blocks.is_identity:  # (compiled for Python tasks, too: nothing of the task is called)
        call(_add_features, "add features", *args)
    else:
        call(_add_members, _kind(blocks), blocks.features.add, blocks.packed_data, *args)
    return out


def scored(point: DualPoint, of: Differences, w: np.ndarray) -> np.ndarray:
    """<F_i^T w, z_iy> of all members, up to a constant in every block."""
    blocks, score = point.blocks, np.zeros(len(of.begin))
    if blocks.is_identity:
        call(_score_features, "score features", of, w, score)
    else:
        args = (of, w, point.work.theta, score)
        call(_peek_members, _kind(blocks), blocks.features.peek, blocks.packed_data, *args)
    return score


def _kind(blocks: Blocks) -> Any:
    return blocks.kind and ("differences", blocks.kind)
