"""Max-marginals and marginals of labelled segments.

Marginals go forwards by sums of scores, and backwards by probabilities: the last segment, given
where it ends, and what lies before it, given where it begins. So what begins at a place is what
ends there, and every position is covered with probability one, however large scores are.

Beliefs go both ways. With `enter` as in `segments`, and what follows gathered in the same way (see
`gathering`),

    leave[t, k]     = what follows a segment of label k that ends at t,    leave[T, k] = 0
    belief[b, l, k] = enter[b, k] + segment[b, l - 1, k] + leave[b + l, k]
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.structures.choice import soften
from blockwolfe.structures.gathering import gathered

__all__ = ["Room", "beliefs", "marginals_into"]


class Room(NamedTuple):
    """Scratch for a sequence of T positions: see above."""

    enter: np.ndarray  # (T + 1, K)
    done: np.ndarray  # (T + 1, K): all that ends at a place with a label
    begins: np.ndarray  # (T + 1, K): probability that a segment of a label begins there
    ends: np.ndarray  # (T + 1, K): and that one ends there
    terms: np.ndarray  # (the larger of M and K,): terms that are being gathered


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
    """Fill `leave` (T + 1, K); `ahead` (T, K) is what begins at a place."""
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


@jit
def marginals_into(
    segment: Any, transition: Any, room: Room, of_segments: Any, of_boundaries: Any
) -> float:
    """Probabilities of all candidate segments and boundaries, in arrays like those of scores.

    Returns the logarithm of the sum. Segments over the end are never chosen.
    """
    n_positions, longest, n_labels = segment.shape
    enter, done, begins, ends, terms = room
    total = _enter(segment, transition, True, enter, done, terms)
    for b in range(n_positions):
        for k in range(n_labels):
            begins[b, k] = ends[b, k] = 0.0
            for length in range(longest):
                of_segments[b, length, k] = 0.0
    for k in range(n_labels):
        ends[n_positions, k] = done[n_positions, k]
    soften(ends[n_positions])
    for t in range(n_positions, 0, -1):
        if t < n_positions:
            _share_boundary(t, transition, room, of_boundaries[t - 1])
        n = min(longest, t)
        for k in range(n_labels):
            for length in range(1, n + 1):
                terms[length - 1] = segment[t - length, length - 1, k] + enter[t - length, k]
            soften(terms[:n])
            for length in range(1, n + 1):
                share = ends[t, k] * terms[length - 1]
                of_segments[t - length, length - 1, k] = share
                begins[t - length, k] += share
    return float(total)


@jit
def _share_boundary(t: int, transition: Any, room: Room, out: Any) -> None:
    """Share what begins at t among the labels of what ends there."""
    n_labels, terms = out.shape[0], room.terms
    for k in range(n_labels):
        for j in range(n_labels):
            terms[j] = room.done[t, j] + transition[t - 1, j, k]
        soften(terms[:n_labels])
        for j in range(n_labels):
            out[j, k] = room.begins[t, k] * terms[j]
            room.ends[t, j] += out[j, k]


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
