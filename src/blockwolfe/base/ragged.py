"""Lists of unequal length, end to end in one array: where each begins, and all their positions."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["entries", "offsets", "starts"]


def offsets(length: Any) -> np.ndarray:
    """Where each list begins and the last one ends: list i has entries offset[i]:offset[i+1].

    >>> offsets([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    offset = np.zeros(len(length) + 1, dtype=np.int64)
    np.cumsum(length, out=offset[1:])
    return offset


def starts(length: np.ndarray) -> np.ndarray:
    """Where each list begins.

    >>> starts(np.array([2, 0, 3])).tolist()
    [0, 2, 2]
    """
    return np.asarray(np.cumsum(length) - length, dtype=np.int64)


def entries(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Positions start[i], ..., start[i] + length[i] - 1 of all i, end to end.

    >>> entries(np.array([10, 20]), np.array([2, 1])).tolist()
    [10, 11, 20]
    """
    return np.repeat(start - starts(length), length) + np.arange(int(length.sum()))
