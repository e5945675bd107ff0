"""Settings and small records in the form that compiled code reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import inlined
from blockwolfe.structures.label_codes import LabelCodes

__all__ = [
    "FOUND",
    "FROM_BATCH",
    "FROM_CACHE_OR_ORACLE",
    "FROM_ORACLE",
    "FROM_STOCK",
    "IS_FULL",
    "LACKS_ROOM",
    "Batch",
    "Block",
    "Rule",
    "Target",
    "ranked",
]

# Where the corner to move to comes from.
FROM_ORACLE, FROM_CACHE_OR_ORACLE, FROM_STOCK, FROM_BATCH = range(4)

# What came of looking for it: a corner; one larger than its room; one that the cap has no row for.
FOUND, LACKS_ROOM, IS_FULL = range(3)


class Rule(NamedTuple):
    """The settings of a method in the form that compiled code reads."""

    lam: float
    source: int
    is_forward: bool  # whether every step is a Frank-Wolfe step
    has_line_search: bool
    needs_gains: bool  # whether the step rule compares gains, not slopes
    keeps_corners: bool  # whether blocks store their corners
    keeps_idle: bool  # whether a corner of weight zero stays (the cache)
    has_average: bool
    max_corners: int  # per block
    hit_share: float  # F: hit when the stored corner has this share of the last block gap ...
    hit_floor: float  # ... and at least this, nu/n times the last total gap
    n_corrections: int  # further steps over stored corners in one visit
    correction_share: float  # ... while they have this share of the visit's gap
    is_max_gap: bool
    is_bounded: bool
    is_exact_search: bool
    is_identity: bool  # whether parts are the features themselves, so that their scores are w
    is_unit: bool  # whether every value of an oracle's corner is one
    form: LabelCodes  # of the oracle's corners, where they are labels ...
    keeps_labels: bool  # ... and are stored as such
    n_coefficients: int  # of a kernel: the last entries of w are those, and as many scores


class Batch(NamedTuple):
    """Corners found beforehand, one per draw: position t has size[t] entries from start[t] on."""

    start: np.ndarray
    size: np.ndarray
    code: np.ndarray
    value: np.ndarray
    loss: np.ndarray


class Block(NamedTuple):
    """A block as a visit finds it.

    `theta` are scores by part, `score` is <theta, mean> and `magnitude` the size of the terms it
    is made of. `best`, `top` and
    `low` are the rows of its highest corner, its highest and its lowest active one.
    """

    i: int
    weight: float
    theta: np.ndarray
    score: float
    magnitude: float
    best: int
    top: int
    low: int


class Target(NamedTuple):
    """The corner to move to: its row (-1: not stored), parts in `work`, loss and height."""

    outcome: int
    row: int
    n_parts: int
    loss: float
    height: float
    is_hit: bool


@inlined
def ranked(block: Any, ranks: Any) -> Any:
    """The block with its best, top and low row as they are now."""
    return Block(
        block.i,
        block.weight,
        block.theta,
        block.score,
        block.magnitude,
        ranks[0],
        ranks[1],
        ranks[2],
    )
