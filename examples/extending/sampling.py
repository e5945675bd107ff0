"""A sampling rule: blocks are drawn with probability proportional to their squared gap estimates.

Import this file, and "bcfw+squared" is a method.
"""

from dataclasses import dataclass

import numpy as np

import blockwolfe as bw


@bw.register
@dataclass(frozen=True)
class SquaredGaps(bw.Sampling):
    name = "squared"
    words = "sampling by squared gaps"
    needs_gaps = True  # `order_by_gaps` is asked as soon as every block has a gap estimate
    is_random = True

    refresh_every: int = 10  # passes between full passes, which renew all estimates

    def order(self, n_blocks, rng):
        """The first pass: nothing to go by yet."""
        return rng.permutation(n_blocks)

    def order_by_gaps(self, gap, rng):
        """The blocks of one pass."""
        chance = np.maximum(gap, 0.0) ** 2
        if not chance.any():
            return rng.permutation(len(gap))
        return rng.choice(len(gap), size=len(gap), p=chance / chance.sum())
