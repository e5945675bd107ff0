"""Weights of the corners of a block, and how steps move them.

Every point of a block is a mean of its corners: a FORWARD step moves weight from all of them to
one, an AWAY step from one to all others, a PAIRWISE step from one to another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit

__all__ = ["AWAY", "FORWARD", "HEAVIEST", "PAIRWISE", "longest_step", "move_weights"]

FORWARD, PAIRWISE, AWAY = 0, 1, 2

# A corner with nearly all the weight is not moved away from: mean - y_a would be rounding noise,
# to be multiplied by alpha_a / (1 - alpha_a).
HEAVIEST = 1.0 - 1e-4


@jit(inline="always")
def longest_step(kind: int, alpha_away: float) -> float:
    """gamma_max. A block all of whose weight is on one corner has no away direction."""
    if kind == FORWARD:
        return 1.0
    if kind == PAIRWISE:
        return alpha_away
    return alpha_away / (1.0 - alpha_away) if alpha_away < HEAVIEST else 0.0


@jit
def move_weights(
    weight: np.ndarray, rows: Any, kind: int, to: int, away: int, gamma: float, is_drop: bool
) -> None:
    """The dual weights after a step; exact zeros where a corner is dropped.

    `rows` are the first row of the block and the one after its last; `to` and `away` are those of
    the corners moved to and from.
    """
    if kind == PAIRWISE:
        weight[to] += gamma
        weight[away] -= gamma
    else:
        shrink = 1.0 - gamma if kind == FORWARD else 1.0 + gamma
        for row in range(rows[0], rows[1]):
            weight[row] *= shrink
        if kind == FORWARD:
            weight[to] += gamma
        else:
            weight[away] -= gamma
    if is_drop:
        if kind != FORWARD:
            weight[away] = 0.0
        else:
            for row in range(rows[0], rows[1]):
                weight[row] = 1.0 if row == to else 0.0
    if kind != FORWARD:
        weight[away] = max(weight[away], 0.0)
