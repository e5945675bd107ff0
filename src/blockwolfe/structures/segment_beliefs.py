"""Max-marginals and marginals of labelled segments, forwards and backwards.

With `enter` as in `segments`, and what follows gathered in the same way (see `gathering`),

    leave[t, k]     = what follows a segment of label k that ends at t,    leave[T, k] = 0
    belief[b, l, k] = enter[b, k] + segment[b, l - 1, k] + leave[b + l, k]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.structures.gathering import gathered

__all__ = ["beliefs"]


@jit
def _enter(segment: Any, transition: Any, is_sum: bool, enter: Any, done: Any, terms: Any) -> float:
    """Fill `enter` (T, K) and `done` (T + 1, K), what ends at each place; all of it, gathered."""
    n_positions, longest, n_labels = segment.shape
    for k in range(n_labels):
        enter[0, k] = 0.0
    for t in range(1, n_positions + 1):
        n = min(longest, t)
        for k in range(n_labels):
            for length in range(1, n + 1):
                terms[length - 1] = segment[t - length, length - 1, k] + enter[t - length, k]
            done[t, k] = gathered(terms[:n], is_sum)
        if t < n_positions:
            for k in range(n_labels):
                for j in range(n_labels):
                    terms[j] = done[t, j] + transition[t - 1, j, k]
                enter[t, k] = gathered(terms[:n_labels], is_sum)
    return float(gathered(done[n_positions], is_sum))


@jit
def _leave(segment: Any, transition: Any, is_sum: bool, leave: Any, ahead: Any, terms: Any) -> None:
    """Fill `leave` (T + 1, K); `ahead` (T, K) is what begins at each place."""
    n_positions, longest, n_labels = segment.shape
    for k in range(n_labels):
        leave[n_positions, k] = 0.0
    for t in range(n_positions - 1, 0, -1):
        n = min(longest, n_positions - t)
        for k in range(n_labels):
            for length in range(1, n + 1):
                terms[length - 1] = segment[t, length - 1, k] + leave[t + length, k]
            ahead[t, k] = gathered(terms[:n], is_sum)
        for k in range(n_labels):
            for j in range(n_labels):
                terms[j] = transition[t - 1, k, j] + ahead[t, j]
            leave[t, k] = gathered(terms[:n_labels], is_sum)


def beliefs(
    segment: np.ndarray, transition: np.ndarray, is_sum: bool = False
) -> tuple[np.ndarray, float]:
    """Beliefs (T, M, K) of all candidate segments, and of all segmentations together.

    `segment` (T, M, K) and `transition` (T - 1, K, K); -inf forbids. Segments over the end have
    the belief -inf.

    >>> beliefs(np.zeros((2, 2, 1)), np.array([[[1.0]]]))[0][:, :, 0]
    array([[  1.,   0.],
           [  1., -inf]])
    """
    n, longest, n_labels = segment.shape
    enter, done, leave, ahead = (np.zeros((n + 1, n_labels)) for _ in range(4))
    terms = np.empty(max(longest, n_labels))
    total = _enter(segment, transition, is_sum, enter, done, terms)
    _leave(segment, transition, is_sum, leave, ahead, terms)
    belief = np.full(segment.shape, -np.inf)
    for length in range(1, min(longest, n) + 1):
        begin = np.arange(n - length + 1)
        inside = segment[begin, length - 1]
        belief[begin, length - 1] = enter[begin] + inside + leave[begin + length]
    return belief, float(total)
