"""How many rounds a pass has: what joining costs, beside what visits cost."""

from __future__ import annotations

import numpy as np

from blockwolfe.problem.blocks import Blocks

__all__ = ["rounds_by_work"]

# What a round takes besides visits, in steps of half a nanosecond: in all, and for each number of
# the vectors of the length of w that a shard goes through (those of the joint step come on top).
ROUND_STEPS, STEPS_PER_NUMBER, VECTORS = 1e6, 2.0, 10
# An oracle in Python, of which nothing is known.
SLOW_STEPS = 2e6
# Share of a pass that goes into joining, and the most rounds: more have gained little.
SHARE, MOST_ROUNDS = 0.2, 8


def rounds_by_work(blocks: Blocks, n_shards: int) -> int:
    """Rounds in a pass that spend about `SHARE` of their time on joining what shards have done.

    By counted steps (see `TaskBlocks.n_steps`), not by the clock: the same seed gives the same run,
    with any engine.
    """
    a_call = blocks.n_steps if blocks.is_compiled else SLOW_STEPS
    of_shard = a_call * len(blocks) / n_shards
    of_vectors = STEPS_PER_NUMBER * blocks.n_features * (VECTORS + n_shards * (n_shards + 5) / 2)
    return int(np.clip(SHARE * of_shard / (ROUND_STEPS + of_vectors), 1, MOST_ROUNDS))
