"""The weights of all breakpoints, each kept as its difference from the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blockwolfe.base.ragged import offsets
from blockwolfe.base.schema import Reader, check_rows

__all__ = ["Weights"]

# A weight that moved by less than this, relative to the largest one, has not moved: w is rebuilt
# at every certificate, which leaves rounding in all of its places.
ROUNDING = 1e-13


class Weights:
    """A list of vectors that differ in few places.

    >>> weights = Weights(3)
    >>> for w in ([0.0, 1.0, 0.0], [0.0, 1.0, 2.0]):
    ...     weights.append(np.array(w))
    >>> len(weights), weights.n_stored, weights[1]
    (2, 2, array([0., 1., 2.]))
    """

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self._index: list[np.ndarray] = []
        self._value: list[np.ndarray] = []
        self._last = np.zeros(n_features)  # the vector appended last
        self._shown = -1, np.zeros(n_features)  # the vector asked for last

    def __len__(self) -> int:
        return len(self._index)

    @property
    def n_stored(self) -> int:
        """How many numbers are kept in all."""
        return sum(map(len, self._index))

    def append(self, w: np.ndarray) -> None:
        """Keep one more vector."""
        scale = max(float(np.abs(w).max(initial=0.0)), float(np.abs(self._last).max(initial=0.0)))
        index = np.flatnonzero(np.abs(w - self._last) > ROUNDING * scale)
        self._index.append(index.astype(np.int32))
        self._value.append(w[index])
        self._last[index] = w[index]

    def __getitem__(self, k: int) -> np.ndarray:
        """A copy of vector k; asking in order is cheap."""
        at, w = self._shown
        at, w = (at, w.copy()) if k >= at else (-1, np.zeros(self.n_features))  # (for threads)
        for j in range(at + 1, k + 1):
            w[self._index[j]] = self._value[j]
        self._shown = k, w
        return w.copy()

    def truncate(self, size: int) -> None:
        """Forget all but the first `size` vectors."""
        if size < len(self):
            self._last = self[size - 1] if size else np.zeros(self.n_features)
            del self._index[size:], self._value[size:]
            self._shown = -1, np.zeros(self.n_features)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """For a file."""
        return {
            "weights_start": offsets([len(index) for index in self._index]),
            "weights_index": _joined(self._index, np.int32),
            "weights_value": _joined(self._value, np.float64),
        }

    @classmethod
    def from_arrays(cls, n_features: int, arrays: dict[str, Any]) -> Weights:
        """From a file, which anybody may have written."""
        read = Reader(arrays)
        index = read.array("weights_index", np.int32, (None,), least=0, most=n_features - 1)
        value = read.array("weights_value", np.float64, (len(index),))
        start = read.array("weights_start", np.int64, (None,), least=0, most=len(index))
        is_whole = len(start) > 0 and start[0] == 0 and start[-1] == len(index)
        check_rows(
            is_whole and (np.diff(start) >= 0).all(), "weights_start does not rise to the end"
        )
        weights = cls(n_features)
        if len(start) > 1:
            weights._index = np.split(index, start[1:-1])
            weights._value = np.split(value, start[1:-1])
        for index, value in zip(weights._index, weights._value, strict=True):
            weights._last[index] = value
        return weights


def _joined(arrays: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=kind)
