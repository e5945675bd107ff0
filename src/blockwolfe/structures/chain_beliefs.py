"""Max-marginals and marginals of label sequences: forwards, backwards, and both together.

belief[t, k] = scores of all sequences with label k at t, gathered (see `gathering`)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.structures.gathering import gathered

__all__ = ["beliefs", "beliefs_into"]


@jit
def beliefs_into(
    unary: Any, transition: Any, is_sum: bool, ahead: Any, terms: Any, belief: Any
) -> None:
    """Fill `belief` (T, K); `ahead` (T, K) and `terms` (K,) are scratch.

    `ahead` is all that follows a position. A difference is never taken, so -inf does no harm.
    """
    n_positions, n_labels = unary.shape
    last = n_positions - 1
    for k in range(n_labels):
        belief[0, k], ahead[last, k] = unary[0, k], 0.0
    for t in range(1, n_positions):
        for k in range(n_labels):
            for j in range(n_labels):
                terms[j] = belief[t - 1, j] + transition[j, k]
            belief[t, k] = unary[t, k] + gathered(terms, is_sum)
    for t in range(last - 1, -1, -1):
        for k in range(n_labels):
            for j in range(n_labels):
                terms[j] = transition[k, j] + unary[t + 1, j] + ahead[t + 1, j]
            ahead[t, k] = gathered(terms, is_sum)
    for t in range(n_positions):
        for k in range(n_labels):
            belief[t, k] += ahead[t, k]


def beliefs(unary: np.ndarray, transition: np.ndarray, is_sum: bool = False) -> np.ndarray:
    """Beliefs for `unary` (T, K) and `transition` (K, K); -inf forbids.

    >>> beliefs(np.array([[1.0, 0.0], [0.0, 0.5]]), np.eye(2))
    array([[2. , 1.5],
           [2. , 1.5]])
    """
    belief, ahead = np.empty_like(unary), np.empty_like(unary)
    beliefs_into(unary, transition, is_sum, ahead, np.empty(unary.shape[1]), belief)
    return belief
