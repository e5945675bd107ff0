"""Whether oracles are called in batches, and of what size: decided once, before the first pass.

By the steps that compiled oracles are known to take, so that the same seed gives the same run; by
the time of the first few calls where an oracle is in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from blockwolfe.methods.base import Setup

if TYPE_CHECKING:
    from blockwolfe.methods.bcfw.settings import BCFW

__all__ = ["batch_size"]

# Work of one batch of parallel calls, in steps of the oracles: enough to pay for handing it out.
BATCH_STEPS = 2e7
# Compiled oracles of fewer steps are called one by one in their visits: a batch scores its blocks
# twice, which costs more than a second core gains.
EXPENSIVE_STEPS = 2e5
# A step, where only the time of a call is known.
STEP_SECONDS = 5e-10


def batch_size(method: BCFW, setup: Setup) -> int | None:
    """Blocks whose oracles are called together; None where visits call their own."""
    blocks, n_jobs = setup.blocks, setup.workers.n_jobs
    if method.batch_size is not None or n_jobs == 1 or method.has_hits:
        return method.batch_size
    steps = blocks.n_steps if blocks.is_compiled else setup.seconds_per_call / STEP_SECONDS
    if blocks.is_compiled and steps < EXPENSIVE_STEPS:
        return None
    n_calls = BATCH_STEPS / steps if steps > 0.0 else 1.0  # (NaN: not known)
    return int(np.clip(n_calls, 2 * n_jobs, len(blocks)))
