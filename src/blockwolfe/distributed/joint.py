"""The joint step: how far to go along the directions of all shards at once.

Shard k has changed v by d_k and ell by e_k. With coefficients c in [0, 1] the dual is

    D(c) = D + <s, c> - <c, G c> / (2 lam)        s_k = e_k - <w, d_k>,   G_kl = <d_k, d_l>

a quadratic in as many variables as there are shards, maximised exactly: D never decreases, and is
at least that of averaging (all c equal to 1/K) and of adding (all c equal to 1).

Under bounds D is a piecewise quadratic of c. The quadratic of the present piece, in which
coordinates of w at a bound do not move, gives a direction, and an exact search along it the step;
again and again, while that gains.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blockwolfe.base.box_qp import maximize_on_box
from blockwolfe.base.inner import inner
from blockwolfe.dual.line_search import Box, step_along
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import within_bounds

__all__ = ["coupling", "joint_step", "moved"]

# Steps under bounds: each is exact along its direction, and few are needed.
MOST_STEPS = 20
# They end where a slope has fallen to this share of the first.
ENOUGH = 1e-6


def joint_step(
    blocks: Blocks, raw: np.ndarray, lam: float, changes: Sequence[np.ndarray], ells: np.ndarray
) -> tuple[np.ndarray, float]:
    """The coefficients: v changes by `changes`, and ell by `ells`, where they are all one.

    `raw` is v / lam as it was before. Besides, how much the changes have in common (`coupling`).
    """
    gram = _gram(changes)
    if blocks.is_bounded:
        return _bounded_joint_step(blocks, raw, lam, changes, ells), coupling(gram)
    slope = ells - np.array([inner(raw, change) for change in changes])
    return maximize_on_box(gram / lam, slope), coupling(gram)


def coupling(gram: np.ndarray) -> float:
    """|d_1 + ... + d_K|^2 / (|d_1|^2 + ... + |d_K|^2), of K changes: at most K.

    It is K where all are equal, one where none has anything to do with another, and one, too, where
    there are no changes.

    >>> coupling(np.ones((3, 3))), coupling(np.eye(3))
    (3.0, 1.0)
    """
    own = float(np.trace(gram))
    return float(gram.sum()) / own if own > 0.0 else 1.0


def moved(raw: np.ndarray, lam: float, changes: Sequence[np.ndarray], c: np.ndarray) -> np.ndarray:
    """What `raw` is after the step, summed in the order of shards."""
    raw = raw.copy()
    for change, coefficient in zip(changes, c, strict=True):
        raw += (coefficient / lam) * change
    return raw


def _gram(changes: Sequence[np.ndarray]) -> np.ndarray:
    gram = np.zeros((len(changes), len(changes)))
    for k, change in enumerate(changes):
        for other in range(k + 1):
            gram[k, other] = gram[other, k] = inner(change, changes[other])
    return gram


def _bounded_joint_step(
    blocks: Blocks, raw: np.ndarray, lam: float, changes: Sequence[np.ndarray], ells: np.ndarray
) -> np.ndarray:
    c, first = np.zeros(len(changes)), 0.0
    for _ in range(MOST_STEPS):
        w = within_bounds(blocks, raw)
        slopes = ells - np.array([inner(w, change) for change in changes])
        free = np.flatnonzero(raw == w)
        gram = _gram([change[free] for change in changes]) / lam
        # (in c + step: the box is that of c, and the quadratic about it)
        step = maximize_on_box(gram, slopes + gram @ c) - c
        slope = float(slopes @ step)
        first = max(first, slope)
        if not slope > ENOUGH * first:
            break
        move = moved(np.zeros_like(raw), lam, changes, step)
        gamma = step_along(Box(blocks.lower, blocks.upper, raw), move, slope / lam)
        c, raw = np.clip(c + gamma * step, 0.0, 1.0), raw + gamma * move
    return c
