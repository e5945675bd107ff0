"""Where the rows of a kernel do not all fit into memory: which blocks a pass visits.

Steps on a block need the rows of its nodes. Drawn from all blocks, most visits would find theirs
given up for others, and rows cost more than all else. So a pass stays with the blocks of the
largest gap estimates, as many as have their rows held together, and visits each of them several
times. Their estimates fall, and the next pass goes to others.
"""

from __future__ import annotations

import numpy as np

__all__ = ["order_in_working_set"]

# Share of the rows held that a working set may need: the others stay for the next one.
SHARE = 0.8


def order_in_working_set(
    gap: np.ndarray, n_nodes: np.ndarray, n_rows: int, rng: np.random.Generator
) -> np.ndarray:
    """As many visits as there are blocks, all to the working set: a permutation after another.

    >>> gap, n_nodes, rng = np.array([1.0, 5.0, 0.0, 3.0]), np.full(4, 2), np.random.default_rng(0)
    >>> sorted(order_in_working_set(gap, n_nodes, 5, rng).tolist())
    [1, 1, 3, 3]
    """
    by_gap = np.argsort(-gap, kind="stable")
    n_chosen = max(1, int(np.searchsorted(np.cumsum(n_nodes[by_gap]), SHARE * n_rows, "right")))
    chosen = by_gap[:n_chosen]
    n_rounds = -(-len(gap) // n_chosen)
    rounds = [rng.permutation(chosen) for _ in range(n_rounds)]
    return np.concatenate(rounds)[: len(gap)]
