"""Settings and small records in the form that compiled code reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# Entries of `run.tally`.
VISITS, STEPS, ORACLE_CALLS, VIOLATIONS, CACHE_HITS, DROPS, FULL_BLOCK, N_TALLIES = range(8)

# Step rules, as the loop knows them.
FW_STEP, PAIRWISE_STEP, AWAY_STEP, BEST_STEP, BLENDED_STEP, CORRECTIVE_STEP = range(6)

# Where the corner to move to comes from.
FROM_ORACLE, FROM_CACHE_OR_ORACLE, FROM_STORE, FROM_BATCH = range(4)


class Rule(NamedTuple):
    """The settings of a method in the form that compiled code reads."""

    lam: float
    step: int
    has_line_search: bool
    source: int
    keeps_corners: bool  # whether blocks store their corners
    keeps_idle: bool  # whether a corner of weight zero stays (the cache)
    max_corners: int  # per block
    hit_share: float  # F: hit when the stored corner has this share of the last block gap ...
    hit_floor: float  # ... and at least this, nu/n times the last total gap
    n_corrections: int  # further steps over stored corners in one visit
    correction_share: float  # ... while they have this share of the visit's gap
    is_max_gap: bool
    is_bounded: bool
    is_exact_search: bool


class Draws(NamedTuple):
    """Blocks to visit: given, or (-1) drawn from the gap estimates with a uniform number."""

    block: np.ndarray
    uniform: np.ndarray


class Batch(NamedTuple):
    """Corners found beforehand, one per draw: position t has size[t] entries from start[t] on."""

    start: np.ndarray
    size: np.ndarray
    code: np.ndarray
    value: np.ndarray
    loss: np.ndarray


class Block(NamedTuple):
    """A block as a visit finds it: its room, its point, and <theta, mean>."""

    i: int
    weight: float
    part: Any
    mean: Any
    length: int
    score: float


class Target(NamedTuple):
    """The corner to move to: its row (-1: not stored), size in `work`, loss and height."""

    row: int
    size: int
    loss: float
    height: float
    is_hit: bool
