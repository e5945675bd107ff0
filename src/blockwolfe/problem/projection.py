"""The projection oracle on a block: the mean of its corners that is nearest to given scores.

    maximise  scale sum_y alpha(y) L_i(y) + <theta, z> - |z|^2 / 2,    z = sum_y alpha(y) z(y)

over all weights alpha on the outputs of block i. With the entropy of alpha in place of
-|z|^2 / 2 it is the expectation oracle (`expectation`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockwolfe.problem.blocks import Blocks

__all__ = ["Projection", "projection"]


class Projection(NamedTuple):
    """Of one block: the nearest mean of its corners, its loss, and what is known of its error."""

    part: np.ndarray
    mean: np.ndarray
    loss: float
    gap: float  # that the value is below the maximum, at most

    @property
    def error(self) -> float:
        """The mean is no farther than this from the exact one."""
        return float(np.sqrt(2.0 * self.gap))


def projection(blocks: Blocks, i: int, theta: np.ndarray, scale: float = 1.0) -> Projection:
    """Of block i at any scores of its parts; what compiled loops get from `blocks.project`.

    >>> import blockwolfe as bw
    >>> blocks = bw.Problem(bw.tasks.Multiclass(2), [[0.0], [1.0]], [0, 1]).blocks
    >>> found = projection(blocks, 0, np.array([0.4, 0.6]), scale=0.0)
    >>> found.part, found.mean.round(6), round(found.loss, 6), found.error
    (array([0, 1], dtype=int32), array([0.4, 0.6]), 0.6, 0.0)
    >>> projection(blocks, 0, np.array([0.4, 0.6]), scale=0.5).mean.round(6)
    array([0.15, 0.85])
    """
    scratch, most = blocks.projection_scratch(), int(blocks.parts_of[i])
    part, value = np.zeros(most, dtype=np.int32), np.zeros(most)
    theta = np.ascontiguousarray(theta, dtype=np.float64)
    asked = (blocks.packed_data, i, theta, float(scale), scratch, part, value)
    size, loss, gap = blocks.project(*asked)
    return Projection(part[:size], value[:size], float(loss), float(gap))
