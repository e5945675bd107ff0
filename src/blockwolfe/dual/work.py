"""Scratch of one run for the algebra of a block, in the numbering of its parts.

Numba hands records to a function field by field: small records, each with what belongs together,
keep calls cheap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.problem.blocks import Blocks

__all__ = ["Direction", "Lists", "Look", "Work", "make_work", "meet", "roomier_work"]


class Look(NamedTuple):
    """Parts met one after another, numbered in the order met, and what was added up of each.

    `seen` holds the number of the look at which a part was last met, so that nothing has to be
    wiped between two looks.
    """

    number: np.ndarray  # (1,): of the present look
    seen: np.ndarray  # by part: number of the look that met it last
    met: np.ndarray  # parts in the order met
    sum: np.ndarray  # by part: what `meet` has added up, valid where seen at this look


class Lists(NamedTuple):
    """Parts of the stored corners of the block at work: of its k-th, `size[k]` from `at[k]` on."""

    part: np.ndarray  # where codes are not parts; else they lie where the codes are
    at: np.ndarray
    size: np.ndarray


class Direction(NamedTuple):
    """A sparse change of a block's mean: parts, their numbers in the look, and changes."""

    part: np.ndarray
    slot: np.ndarray
    delta: np.ndarray


class Work(NamedTuple):
    """Arrays that compiled code writes to between a look at a block and its move."""

    theta: np.ndarray  # scores by part
    code: np.ndarray  # the corner of an oracle call: its code,
    value: np.ndarray  # its values (not read where all are one),
    part: np.ndarray  # and its parts
    look: Look
    lists: Lists
    direction: Direction
    gain: np.ndarray  # (3,): of steps along FORWARD, PAIRWISE and AWAY
    image: np.ndarray  # under bounds, a direction of w; zero at rest
    coordinate: np.ndarray  # the same, sparse: coordinates
    move: np.ndarray  # and changes


def make_work(blocks: Blocks) -> Work:
    """Fresh scratch."""
    n_parts, n_bounded = blocks.n_parts, len(blocks.lower)
    n_entries = max(n_parts, int(blocks.corner_size.max()), int(blocks.part_size.max()))
    rows = np.zeros(0, dtype=np.int64)
    return Work(
        theta=np.zeros(0 if blocks.is_identity else n_parts),
        code=np.zeros(n_entries, dtype=np.int32),
        value=np.zeros(n_entries),
        part=np.zeros(n_entries, dtype=np.int32),
        look=Look(
            number=np.zeros(1, dtype=np.int64),
            seen=np.zeros(n_parts, dtype=np.int64),
            met=np.zeros(n_parts, dtype=np.int32),
            sum=np.zeros(n_parts),
        ),
        lists=Lists(np.zeros(0, dtype=np.int32), rows, rows.copy()),
        direction=Direction(
            part=np.zeros(n_parts, dtype=np.int32),
            slot=np.zeros(n_parts, dtype=np.int32),
            delta=np.zeros(n_parts),
        ),
        gain=np.zeros(3),
        image=np.zeros(n_bounded),
        coordinate=np.zeros(n_bounded, dtype=np.int64),
        move=np.zeros(n_bounded),
    )


def roomier_work(work: Work, blocks: Blocks, capacity: np.ndarray) -> Work:
    """With room for the lists of any block that stores `capacity` corners."""
    lists, n_rows = work.lists, int(capacity.max(initial=0))
    n_entries = int((capacity * blocks.part_size).max(initial=0)) if blocks.is_coded else 0
    if n_rows <= len(lists.at) and n_entries <= len(lists.part):
        return work
    rows = np.zeros(max(n_rows, len(lists.at)), dtype=np.int64)
    part = np.zeros(max(n_entries, len(lists.part)), dtype=np.int32)
    return work._replace(lists=Lists(part, rows, rows.copy()))


@jit
def meet(
    part: np.ndarray, value: np.ndarray, at: int, size: int, factor: float, look: Look, n_met: int
) -> int:
    """Add factor times a sparse vector to the sums of this look; how many parts it has met.

    The vector has entries at ... at + size - 1 of `part` and `value`; no values at all mean ones.
    """
    number, seen, met, total = look.number[0], look.seen, look.met, look.sum
    is_unit = value.shape[0] == 0
    for e in range(np.uint64(at), np.uint64(at + size)):
        p = np.uint64(part[e])
        change = factor if is_unit else factor * value[e]
        if seen[p] == number:
            total[p] += change
        else:
            seen[p], total[p], met[n_met] = number, change, p
            n_met += 1
    return n_met
