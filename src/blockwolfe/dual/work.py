"""Scratch of one run for the algebra of a block, in the numbering of its parts.

Numba hands records to a function field by field: small records, each with what belongs together,
keep calls cheap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockwolfe.base.look import Look, make_look
from blockwolfe.problem.blocks import Blocks

__all__ = ["Direction", "Work", "make_work"]


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
    direction: Direction
    gain: np.ndarray  # (3,): of steps along FORWARD, PAIRWISE and AWAY
    image: np.ndarray  # under bounds, a direction of w; zero at rest
    coordinate: np.ndarray  # the same, sparse: coordinates
    move: np.ndarray  # and changes


def make_work(blocks: Blocks) -> Work:
    """Fresh scratch."""
    n_parts, n_bounded = blocks.n_parts, len(blocks.lower)
    n_entries = max(n_parts, int(blocks.corner_size.max()), int(blocks.part_size.max()))
    return Work(
        theta=np.zeros(0 if blocks.is_identity else n_parts),
        code=np.zeros(n_entries, dtype=np.int32),
        value=np.zeros(n_entries),
        part=np.zeros(n_entries, dtype=np.int32),
        look=make_look(n_parts),
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
