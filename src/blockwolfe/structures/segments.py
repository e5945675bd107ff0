"""A sequence cut into labelled segments: exact maximum by semi-Markov Viterbi.

    score = sum over segments  segment[begin, length - 1, label]
          + sum over boundaries t  transition[t - 1, label before t, label after t]

A segment has 1..M positions; two neighbours may have the same label. With the best score of the
first t positions, their last segment of label k,

    best[t, k]  = max_{1 <= l <= min(M, t)} segment[t - l, l - 1, k] + enter[t - l, k]
    enter[t, k] = max_j best[t, j] + transition[t - 1, j, k],     enter[0, k] = 0

so a sequence of T positions costs T K (M + K).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures.checks import check_scores

__all__ = ["enumerate_outputs", "maximize", "maximize_into", "score"]

Segment = tuple[int, int, int]


def n_scratch(n_positions: int, n_labels: int) -> int:
    """Floats of scratch that `maximize_into` needs."""
    return 2 * (n_positions + 1) * n_labels


@jit
def maximize_into(
    segment: Any, transition: Any, n_labels: int, longest: int, found: Any, floats: Any
) -> int:
    """Write the best segments as found[3 s : 3 s + 3] = begin, length, label; how many.

    `segment` (T * M * K) and `transition` ((T - 1) * K * K) are flat. They are found from the last
    to the first; ties go to the lowest label, then to the shortest segment.
    """
    n_positions = segment.shape[0] // (n_labels * longest)
    half = (n_positions + 1) * n_labels
    best, enter = floats[:half], floats[half : 2 * half]
    for k in range(n_labels):
        enter[k] = 0.0
    for t in range(1, n_positions + 1):
        for k in range(n_labels):
            best[t * n_labels + k] = -np.inf
        for length in range(1, min(longest, t) + 1):
            row = ((t - length) * longest + length - 1) * n_labels
            for k in range(n_labels):
                candidate = segment[row + k] + enter[(t - length) * n_labels + k]
                best[t * n_labels + k] = max(best[t * n_labels + k], candidate)
        if t < n_positions:
            _fill_enter(t, transition, n_labels, best, enter)
    return int(_follow_back(segment, transition, n_labels, longest, found, best, enter))


@jit
def _fill_enter(t: int, transition: Any, n_labels: int, best: Any, enter: Any) -> None:
    at = t * n_labels
    for k in range(n_labels):
        enter[at + k] = -np.inf
    for j in range(n_labels):
        row = ((t - 1) * n_labels + j) * n_labels
        for k in range(n_labels):
            candidate = best[at + j] + transition[row + k]
            enter[at + k] = max(enter[at + k], candidate)


@jit
def _follow_back(
    segment: Any, transition: Any, n_labels: int, longest: int, found: Any, best: Any, enter: Any
) -> int:
    t, n_found = segment.shape[0] // (n_labels * longest), 0
    label = 0
    for k in range(1, n_labels):
        if best[t * n_labels + k] > best[t * n_labels + label]:
            label = k
    while t > 0:
        chosen, top = 1, -np.inf
        for length in range(1, min(longest, t) + 1):
            row = ((t - length) * longest + length - 1) * n_labels
            candidate = segment[row + label] + enter[(t - length) * n_labels + label]
            if candidate > top:
                chosen, top = length, candidate
        t -= chosen
        found[3 * n_found], found[3 * n_found + 1], found[3 * n_found + 2] = t, chosen, label
        n_found += 1
        if t > 0:
            following, label, top = label, 0, -np.inf
            for j in range(n_labels):
                row = ((t - 1) * n_labels + j) * n_labels
                candidate = best[t * n_labels + j] + transition[row + following]
                if candidate > top:
                    label, top = j, candidate
    return n_found


def maximize(segment: Any, transition: Any) -> list[Segment]:
    """Best segments (begin, end, label) for `segment` (T, M, K) and `transition` (T - 1, K, K).

    `transition` (K, K) is the same at every boundary. Segments over the end are ignored.

    >>> scores = np.zeros((3, 2, 2))
    >>> scores[0, 1, 1] = scores[2, 0, 0] = 1.0
    >>> maximize(scores, np.zeros((2, 2)))
    [(0, 2, 1), (2, 3, 0)]
    """
    segment, transition = _checked(segment, transition)
    n_positions, longest, n_labels = segment.shape
    found = np.zeros(3 * n_positions, dtype=np.int64)
    floats = np.zeros(n_scratch(n_positions, n_labels))
    flat = (segment.ravel(), transition.ravel())
    n_found = maximize_into(*flat, n_labels, longest, found, floats)
    triples = found[: 3 * n_found].reshape(-1, 3)[::-1]
    return [(int(b), int(b + length), int(k)) for b, length, k in triples]


def _checked(segment: Any, transition: Any) -> tuple[np.ndarray, np.ndarray]:
    axes = ("n_positions", "max_length", "n_labels")
    segment = check_scores(segment, "segment", axes, is_finite=False)
    if not segment.size:
        raise InputError(f"segment has shape {segment.shape}; expected none of {axes} to be 0.")
    n_positions, _, n_labels = segment.shape
    shape = (n_positions - 1, n_labels, n_labels)
    transition = np.asarray(transition, dtype=np.float64)
    if transition.shape not in (shape, shape[1:]):
        raise InputError(
            f"transition has shape {transition.shape}; expected {shape} or {shape[1:]}."
        )
    tables = np.broadcast_to(transition, shape)
    names = ("n_positions - 1", "n_labels", "n_labels")
    return segment, check_scores(tables, "transition", names, is_finite=False)


def score(segment: Any, transition: Any, segments: Any) -> float:
    """Score of one segmentation.

    >>> score(np.ones((3, 2, 2)), np.eye(2), [(0, 2, 1), (2, 3, 1)])
    3.0
    """
    segment, transition = _checked(segment, transition)
    total = sum(segment[begin, end - begin - 1, label] for begin, end, label in segments)
    for (_, _, before), (begin, _, after) in itertools.pairwise(segments):
        total += transition[begin - 1, before, after]
    return float(total)


def enumerate_outputs(n_positions: int, longest: int, n_labels: int) -> Iterator[list[Segment]]:
    """Every segmentation, for checks on small problems.

    >>> list(enumerate_outputs(2, 2, 1))
    [[(0, 1, 0), (1, 2, 0)], [(0, 2, 0)]]
    """
    if n_positions == 0:
        yield []
        return
    for length in range(1, min(longest, n_positions) + 1):
        begin = n_positions - length
        for head in enumerate_outputs(begin, longest, n_labels):
            for label in range(n_labels):
                yield [*head, (begin, n_positions, label)]
