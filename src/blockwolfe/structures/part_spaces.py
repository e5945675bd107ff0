"""Spaces of parses and of segments.

Where max-marginals are not at hand, `Space.rivals` decodes once for each choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.errors import InputError
from blockwolfe.structures import segment_beliefs, segments, spanning_tree
from blockwolfe.structures.space import Space

__all__ = ["ArcSpace", "SegmentSpace"]


class ArcSpace(Space):
    """Spanning trees for `scores` (n + 1, n + 1) as in `spanning_tree`; a choice is a head.

    >>> ArcSpace(np.array([[0.0, 3.0, 1.0], [0.0, 0.0, 2.0], [0.0, 1.0, 0.0]])).rivals([0, 1])
    array([2., 2.])
    """

    def __init__(self, scores: np.ndarray) -> None:
        self.scores = scores

    def best(self) -> np.ndarray | None:
        """Found by the structure itself."""
        try:
            return spanning_tree.maximize(self.scores)
        except InputError:  # (no tree is left)
            return None

    def score(self, choices: Any) -> float:
        """Score of an output."""
        return spanning_tree.score(self.scores, choices)

    def split(self, choices: Any, i: int) -> tuple[Space, Space]:
        """As in the base class."""
        same, other, head = self.scores.copy(), self.scores.copy(), choices[i]
        same[:, i + 1] = other[head, i + 1] = -np.inf
        same[head, i + 1] = self.scores[head, i + 1]
        return ArcSpace(same), ArcSpace(other)

    def marginals(self, temperature: float) -> np.ndarray:
        """Probability of each head 0..n (columns) of each word 1..n (rows)."""
        return np.ascontiguousarray(spanning_tree.marginals(self.scores / temperature)[:, 1:].T)

    def log_partition(self, temperature: float) -> float:
        """Logarithm of Z."""
        return spanning_tree.log_partition(self.scores / temperature)


class SegmentSpace(Space):
    """Segmentations for `segment` (T, M, K) and `transition` (T - 1, K, K), as in `segments`.

    A choice is a segment (begin, end, label). Every segmentation covers the first position of a
    segment: with it, or with another candidate.

    >>> space = SegmentSpace(np.array([[[1.0], [3.0]], [[1.0], [0.0]]]), np.zeros((1, 1, 1)))
    >>> space.best(), space.rivals([(0, 2, 0)])
    ([(0, 2, 0)], array([2.]))
    """

    def __init__(self, segment: np.ndarray, transition: np.ndarray) -> None:
        self.segment, self.transition = segment, transition

    def best(self) -> list[segments.Segment] | None:
        """Found by the structure itself."""
        found = segments.maximize(self.segment, self.transition)
        return found if self.score(found) > -np.inf else None

    def score(self, choices: Any) -> float:
        """Score of an output."""
        return segments.score(self.segment, self.transition, choices)

    def split(self, choices: Any, i: int) -> tuple[Space, Space]:
        """As in the base class."""
        begin, end, label = choices[i]
        at = (begin, end - begin - 1, label)
        same, other = self.segment.copy(), self.segment.copy()
        same[self._covers(begin)] = other[at] = -np.inf
        same[at] = self.segment[at]
        return SegmentSpace(same, self.transition), SegmentSpace(other, self.transition)

    def _covers(self, position: int) -> np.ndarray:
        """Which candidates (T, M) cover a position."""
        begin = np.arange(len(self.segment))[:, None]
        return (begin <= position) & (begin + np.arange(self.segment.shape[1]) >= position)

    def rivals(self, best: Any) -> np.ndarray:
        """By max-marginals."""
        table, _ = segment_beliefs.beliefs(self.segment, self.transition)
        found = []
        for begin, end, label in best:
            own = table[begin, end - begin - 1, label]
            table[begin, end - begin - 1, label] = -np.inf
            found.append(table[self._covers(begin)].max())
            table[begin, end - begin - 1, label] = own
        return np.array(found)

    def _sums(self, temperature: float) -> tuple[np.ndarray, float]:
        scores = self.segment / temperature, self.transition / temperature
        return segment_beliefs.beliefs(*scores, is_sum=True)

    def marginals(self, temperature: float) -> np.ndarray:
        """Probability of every label at every position (T, K)."""
        sums, total = self._sums(temperature)
        n, longest, n_labels = sums.shape
        steps = np.zeros((n + longest, n_labels))  # what begins at a position, less what has ended
        for length in range(1, longest + 1):
            share = np.exp(sums[:, length - 1] - total)
            steps[:n] += share
            steps[length : n + length] -= share
        return np.clip(np.cumsum(steps[:n], axis=0), 0.0, 1.0)

    def log_partition(self, temperature: float) -> float:
        """Logarithm of Z."""
        return self._sums(temperature)[1]
