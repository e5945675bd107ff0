"""The cache of corners: when a stored corner may stand in for an oracle call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blockwolfe.base.checks import check_flag, check_integer, check_share
from blockwolfe.dual.growth import entry_bytes, stock_bytes
from blockwolfe.errors import OptionError
from blockwolfe.problem.blocks import Blocks

__all__ = ["Cache", "check_cache_cap"]


@dataclass(frozen=True)
class Cache:
    """Keep the oracle's corners, and move to a stored one where that is good enough.

    A visit is a *hit*, and saves the oracle call, when the gap towards the best stored corner
    is at least ``max(F g_i, nu/n g)``, where g_i is the block's gap at its last oracle call
    and g the last certified total gap. Corners of weight zero that no visit has chosen for ten
    passes are dropped at the next certificate.

    Parameters
    ----------
    F, nu : the hit rule. Smaller values save more calls and make smaller steps.
    max_corners : most corners stored per block, at least 2; the lowest idle one is evicted.
        Active corners are never evicted: a run whose active set needs more ends as CACHE_FULL.
    max_bytes : most memory for stored corners; the longest unused idle ones are evicted.
    multi_plane : instead of the hit rule, alternate a pass of oracle calls with passes over
        stored corners alone, for as long as these gain more dual for their work.

    >>> Cache(max_corners=50).F
    0.25
    """

    F: float = 0.25
    nu: float = 0.01
    max_corners: int | None = None
    max_bytes: int | None = None
    multi_plane: bool = False

    def __post_init__(self) -> None:
        check_share("F", self.F)
        check_share("nu", self.nu)
        check_integer("max_corners", self.max_corners, 2, or_none=True)
        check_integer("max_bytes", self.max_bytes, 1, or_none=True)
        check_flag("multi_plane", self.multi_plane)


def check_cache_cap(cache: Cache | None, blocks: Blocks) -> None:
    """Refuse, before any work, a cap that not even one corner beside the true one can respect."""
    if cache is None or cache.max_bytes is None:
        return
    n_blocks = len(blocks)
    n_entries = int(np.diff(blocks.true_codes.start).sum() + blocks.corner_size.max())
    needed = stock_bytes(n_blocks, 2 * n_blocks, n_entries, entry_bytes(blocks.is_unit))
    if cache.max_bytes < needed:
        raise OptionError(
            f"max_bytes={cache.max_bytes} is too small for the active sets: the true outputs and "
            f"one corner more need {needed} bytes; give several times that, or None."
        )
