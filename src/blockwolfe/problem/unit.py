"""The unit that tolerances count in: the objective where training starts, at w = 0.

That is the mean of the largest losses: 1 for the zero-one loss and for shares of a length, the mean
length for losses that count positions. A tolerance of 0.01 is then a hundredth of the way, whatever
the loss.
"""

from __future__ import annotations

import numpy as np

from blockwolfe.base.inner import inner
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.doubts import is_foreign
from blockwolfe.problem.state import initial_state
from blockwolfe.problem.sweep import sweep

__all__ = ["objective_at_start"]

# Blocks that are looked at, evenly spaced, where there are more (a unit need not be exact): so
# many, and fewer where oracles are expensive; of a user's own the cost is not known.
MOST_BLOCKS, FEW_BLOCKS = 1000, 10
MOST_STEPS = 1e8
# Sums of shares that are 1 up to rounding are 1.
ROUNDING = 1e-9


def objective_at_start(blocks: Blocks) -> float:
    """The mean of the largest losses, of at most some blocks; 1 where there is no loss.

    >>> import blockwolfe as bw
    >>> X, Y = [[[0.0], [1.0]], [[1.0]]], [[0, 1], [1]]
    >>> chain = bw.Problem(bw.tasks.Chain(), X, Y)
    >>> objective_at_start(chain.blocks)
    1.5
    """
    some = _some_of(blocks)
    w = np.zeros(blocks.n_features)
    found = sweep(blocks, initial_state(blocks).store(), w, *blocks.own(), order=some)
    weight = blocks.weight[some]
    if not weight.sum() > 0.0:
        return 1.0
    unit = inner(weight, found.answers.loss + found.slack) / float(weight.sum())
    if not (np.isfinite(unit) and unit > 0.0) or abs(unit - 1.0) < ROUNDING:
        return 1.0
    return float(unit)


def _some_of(blocks: Blocks) -> np.ndarray:
    """Positions of blocks, evenly spaced."""
    most = FEW_BLOCKS
    if not is_foreign(blocks):
        most = int(np.clip(MOST_STEPS / blocks.n_steps, FEW_BLOCKS, MOST_BLOCKS))
    return np.unique(np.linspace(0, len(blocks) - 1, min(most, len(blocks))).astype(np.int64))
