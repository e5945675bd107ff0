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
from typing import Protocol

import numpy as np

from blockwolfe.base.box_qp import maximize_on_box
from blockwolfe.base.inner import Share, in_turn, inners, pieces
from blockwolfe.dual.line_search import Box, step_along
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import within_bounds

__all__ = ["Direction", "coupling", "joint_step", "moved"]

# Steps under bounds: each is exact along its direction, and few are needed.
MOST_STEPS = 20
# They end where a slope has fallen to this share of the first.
ENOUGH = 1e-6


class Direction(Protocol):
    """What a shard has changed, and what it knows of that."""

    @property
    def change(self) -> np.ndarray:
        """Of v."""

    @property
    def ell(self) -> float:
        """Of ell."""

    @property
    def slope(self) -> float:
        """Ell - <w, change>."""

    @property
    def square(self) -> float:
        """|change|^2."""


def joint_step(
    blocks: Blocks,
    raw: np.ndarray,
    lam: float,
    found: Sequence[Direction],
    share: Share = in_turn,
) -> tuple[np.ndarray, float]:
    """The coefficients of these directions, and how much they have in common (`coupling`).

    `raw` is v / lam, and what pulls it, as it was before.
    """
    gram = _gram([one.change for one in found], [one.square for one in found], share)
    slopes = np.array([one.slope for one in found])
    if blocks.is_bounded:
        return _bounded_joint_step(blocks, raw, lam, found, slopes), coupling(gram)
    return maximize_on_box(gram / lam, slopes), coupling(gram)


def coupling(gram: np.ndarray) -> float:
    """|d_1 + ... + d_K|^2 / (|d_1|^2 + ... + |d_K|^2), of K changes: at most K.

    It is K where all are equal, one where none has anything to do with another, and one, too, where
    there are no changes.

    >>> coupling(np.ones((3, 3))), coupling(np.eye(3))
    (3.0, 1.0)
    """
    own = float(np.trace(gram))
    return float(gram.sum()) / own if own > 0.0 else 1.0


def moved(
    raw: np.ndarray,
    lam: float,
    found: Sequence[Direction],
    c: np.ndarray,
    share: Share = in_turn,
) -> np.ndarray:
    """What `raw` is after the step, summed in the order of shards."""
    parts, after = list(pieces(len(raw))), np.empty_like(raw)

    def some(k: int, n: int) -> None:
        for part in parts[k::n]:
            piece = raw[part].copy()
            for one, coefficient in zip(found, c, strict=True):
                piece += (coefficient / lam) * one.change[part]
            after[part] = piece

    share(some)
    return after


def _gram(
    changes: Sequence[np.ndarray], squares: Sequence[float], share: Share = in_turn
) -> np.ndarray:
    gram = np.diag(np.array(squares, dtype=np.float64))
    below = [(k, other) for k in range(len(changes)) for other in range(k)]
    found = inners([(changes[k], changes[other]) for k, other in below], share)
    for (k, other), value in zip(below, found, strict=True):
        gram[k, other] = gram[other, k] = value
    return gram


def _bounded_joint_step(
    blocks: Blocks, raw: np.ndarray, lam: float, found: Sequence[Direction], slopes: np.ndarray
) -> np.ndarray:
    changes, ells = [one.change for one in found], np.array([one.ell for one in found])
    c, first, nowhere = np.zeros(len(found)), 0.0, np.zeros_like(raw)
    for _ in range(MOST_STEPS):
        free = np.flatnonzero(raw == within_bounds(blocks, raw))
        some = [change[free] for change in changes]
        gram = _gram(some, inners([(change, change) for change in some])) / lam
        # (in c + step: the box is that of c, and the quadratic about it)
        step = maximize_on_box(gram, slopes + gram @ c) - c
        slope = float(slopes @ step)
        first = max(first, slope)
        if not slope > ENOUGH * first:
            break
        move = moved(nowhere, lam, found, step)
        gamma = step_along(Box(blocks.lower, blocks.upper, raw), move, slope / lam)
        c, raw = np.clip(c + gamma * step, 0.0, 1.0), raw + gamma * move
        w = within_bounds(blocks, raw)
        slopes = ells - np.array(inners([(w, change) for change in changes]))
    return c
