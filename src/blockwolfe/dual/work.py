"""Scratch of one run for the algebra of a block, in the numbering of its parts.

A *look* meets parts one after another and numbers them in the order met. `seen` holds the number of
the look at which a part was last met, so that nothing has to be wiped between two looks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.problem.blocks import Blocks

__all__ = ["Work", "begin_look", "make_work", "meet", "roomier_work"]


class Work(NamedTuple):
    """Arrays that compiled code writes to between a look at a block and its move."""

    theta: np.ndarray  # scores by part
    code: np.ndarray  # the corner of an oracle call: its code,
    value: np.ndarray  # its values (not read where all are one),
    part: np.ndarray  # and its parts
    lists: np.ndarray  # parts of the block's stored corners, where codes are not parts
    list_at: np.ndarray  # of the block's k-th stored corner: where its parts begin,
    list_size: np.ndarray  # and how many it has
    look: np.ndarray  # (1,): number of the present look
    seen: np.ndarray  # by part: number of the look that met it last
    met: np.ndarray  # parts in the order met
    sum: np.ndarray  # by part: what `meet` has added up, valid where seen at this look
    moved_part: np.ndarray  # a direction, sparse: parts,
    moved_slot: np.ndarray  # their numbers in the look,
    delta: np.ndarray  # and changes
    gain: np.ndarray  # (3,): of steps along FORWARD, PAIRWISE and AWAY
    image: np.ndarray  # under bounds, a direction of w; zero at rest
    coordinate: np.ndarray  # the same, sparse: coordinates
    move: np.ndarray  # and changes


def make_work(blocks: Blocks) -> Work:
    """Fresh scratch."""
    n_parts, n_bounded = blocks.n_parts, len(blocks.lower)
    n_code = max(n_parts, int(blocks.corner_size.max()))
    return Work(
        theta=np.zeros(0 if blocks.is_identity else n_parts),
        code=np.zeros(n_code, dtype=blocks.code_type),
        value=np.zeros(n_code),
        part=np.zeros(int(blocks.part_size.max()), dtype=np.int32),
        lists=np.zeros(0, dtype=np.int32),
        list_at=np.zeros(0, dtype=np.int64),
        list_size=np.zeros(0, dtype=np.int64),
        look=np.zeros(1, dtype=np.int64),
        seen=np.zeros(n_parts, dtype=np.int64),
        met=np.zeros(n_parts, dtype=np.int32),
        sum=np.zeros(n_parts),
        moved_part=np.zeros(n_parts, dtype=np.int32),
        moved_slot=np.zeros(n_parts, dtype=np.int32),
        delta=np.zeros(n_parts),
        gain=np.zeros(3),
        image=np.zeros(n_bounded),
        coordinate=np.zeros(n_bounded, dtype=np.int64),
        move=np.zeros(n_bounded),
    )


def roomier_work(work: Work, blocks: Blocks, capacity: np.ndarray) -> Work:
    """With room for the lists of any block that stores `capacity` corners."""
    n_rows = int(capacity.max(initial=0))
    n_entries = int((capacity * blocks.part_size).max(initial=0)) if blocks.is_coded else 0
    if n_rows <= len(work.list_at) and n_entries <= len(work.lists):
        return work
    rows = np.zeros(max(n_rows, len(work.list_at)), dtype=np.int64)
    lists = np.zeros(max(n_entries, len(work.lists)), dtype=np.int32)
    return work._replace(lists=lists, list_at=rows, list_size=rows.copy())


@jit(inline="always")
def begin_look(work: Work) -> int:
    """Nothing is met yet; returns the number of the look."""
    work.look[0] += 1
    return int(work.look[0])


@jit
def meet(
    part: np.ndarray, value: np.ndarray, at: int, size: int, factor: float, work: Work, n_met: int
) -> int:
    """Add factor times a sparse vector to the sums of this look; how many parts it has met.

    The vector has entries at ... at + size - 1 of `part` and `value`; no values at all mean ones.
    """
    look, seen, met, total = work.look[0], work.seen, work.met, work.sum
    is_unit = value.shape[0] == 0
    for e in range(at, at + size):
        p = part[e]
        change = factor if is_unit else factor * value[e]
        if seen[p] == look:
            total[p] += change
        else:
            seen[p], total[p], met[n_met] = look, change, p
            n_met += 1
    return n_met
