"""A complete binary tree over the gap estimates: drawing a block and renewing one take log n.

Leaf of block i: tree[m + i], m the power of two at or above n. Every inner node is the sum
(to draw with probability g_i / sum g) or the maximum (to take the largest) of its children,
recomputed and not incremented, so that rounding never accumulates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit

__all__ = ["draw_block", "make_tree", "renew_leaf"]


def make_tree(gap: np.ndarray, is_max: bool) -> np.ndarray:
    """The tree over all estimates."""
    m = 1 << max(0, int(len(gap) - 1).bit_length())
    tree = np.zeros(2 * m)
    tree[m : m + len(gap)] = gap
    join = np.maximum if is_max else np.add
    while m > 1:
        tree[m // 2 : m] = join(tree[m : 2 * m : 2], tree[m + 1 : 2 * m : 2])
        m //= 2
    return tree


@jit
def renew_leaf(tree: Any, i: int, gap: float, is_max: bool) -> None:
    """Set the estimate of block i."""
    at = tree.shape[0] // 2 + i
    tree[at] = gap
    at //= 2
    while at >= 1:
        left, right = tree[2 * at], tree[2 * at + 1]
        tree[at] = max(left, right) if is_max else left + right
        at //= 2


@jit
def draw_block(tree: Any, uniform: float, n_blocks: int, is_max: bool) -> int:
    """The block at a uniform number in [0, 1), or that of the largest estimate.

    Where all estimates are zero they tell nothing, and the draw is uniform.
    """
    m = tree.shape[0] // 2
    if tree[1] <= 0.0:
        return min(int(uniform * n_blocks), n_blocks - 1)
    rest, at = uniform * tree[1], 1
    while at < m:
        left, right = tree[2 * at], tree[2 * at + 1]
        # (never to the leaves beyond the last block, whatever the estimates are: NaN goes left)
        goes_left = not left < right if is_max else (rest < left or not right > 0.0)
        if goes_left:
            at = 2 * at
        else:
            rest -= left
            at = 2 * at + 1
    return at - m
