"""Max-marginals and marginals of label sequences with transitions of any order.

As in `higher_chain` the state at position t is the run of the last m labels, here an axis for each.
With local_t the scores of all that ends at t, an axis for each label that it looks at,

    behind_t = gathered over the oldest label (behind_{t-1} + local_t)
    ahead_t  = gathered over the label at t + 1 (local_{t+1} + ahead_{t+1})
    belief_t = gathered over all labels but that at t (behind_t + ahead_t)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import logsumexp

__all__ = ["beliefs"]


def beliefs(
    unary: np.ndarray, tables: Mapping[int, np.ndarray], is_sum: bool = False
) -> np.ndarray:
    """Beliefs (T, K) for `unary` (T, K) and a table for each order, as in `higher_chain`.

    >>> triples = np.zeros((2, 2, 2))
    >>> triples[0, 1, 1] = 3.0
    >>> beliefs(np.zeros((3, 2)), {2: triples})
    array([[3., 0.],
           [0., 3.],
           [0., 3.]])
    """
    gather: Any = logsumexp if is_sum else np.max
    order, n = max(tables), len(unary)
    behind, ahead = [unary[0]], np.zeros((unary.shape[1],) * min(n, order))
    for t in range(1, n):
        longer = behind[-1][..., None] + _local(unary[t], tables, t)
        behind.append(gather(longer, axis=0) if t >= order else longer)
    belief = np.empty_like(unary)
    for t in range(n - 1, -1, -1):
        both = behind[t] + ahead
        belief[t] = gather(both, axis=tuple(range(both.ndim - 1)))
        ahead = gather(_local(unary[t], tables, t) + ahead, axis=-1)
    return belief


def _local(unary: np.ndarray, tables: Mapping[int, np.ndarray], t: int) -> np.ndarray:
    """Scores of all that ends at t: an axis for each label that is looked at."""
    axes = min(t, max(tables)) + 1
    total = np.zeros((len(unary),) * axes) + unary
    for order, table in tables.items():
        if order <= t:
            total = total + table
    return total
