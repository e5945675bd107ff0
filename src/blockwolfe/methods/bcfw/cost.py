"""What passes and sweeps cost, counted in steps (half a nanosecond each), not timed."""

from __future__ import annotations

from typing import NamedTuple

from blockwolfe.problem.blocks import Blocks

__all__ = ["Cost"]

# Steps of a visit to stored corners: as such, and for each part of each of them.
STEPS_PER_VISIT, STEPS_PER_PART = 2000.0, 50.0
# What a sweep over stored corners takes of a visit to each block, and steps for each weight.
SWEEP_SHARE, STEPS_PER_WEIGHT = 0.5, 16.0
# Steps of an oracle call in Python, of which nothing is known.
STEPS_IN_PYTHON = 2e6


class Cost(NamedTuple):
    """Of some blocks: how many, weights, parts of a true output, and steps of an oracle call.

    (Of true outputs: of a Python task others are known only as far as they were seen.)
    """

    n_blocks: int
    n_weights: int
    n_parts: float
    n_steps: float

    @classmethod
    def of(cls, blocks: Blocks) -> Cost:
        """As the blocks say."""
        n_parts = len(blocks.truth.part) / len(blocks)
        n_steps = blocks.n_steps if blocks.is_compiled else STEPS_IN_PYTHON
        return cls(len(blocks), blocks.n_features, n_parts, n_steps)

    def of_visit(self, n_stored: float) -> float:
        """A visit to a block with so many stored corners."""
        return STEPS_PER_VISIT + STEPS_PER_PART * self.n_parts * n_stored

    def of_passes(self, n_visits: int, n_calls: int, n_stored: float) -> float:
        """So many visits, and oracle calls among them."""
        return n_visits * self.of_visit(n_stored) + n_calls * self.n_steps

    def of_sweeps(self, n_sweeps: int, n_stored: float) -> float:
        """So many sweeps over all stored corners, with sums over w."""
        sweep = SWEEP_SHARE * self.of_visit(n_stored) * self.n_blocks
        return n_sweeps * (sweep + STEPS_PER_WEIGHT * self.n_weights)
