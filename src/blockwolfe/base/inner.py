"""Inner products of long vectors, on one core."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

__all__ = ["inner", "pieces"]

# Numbers of a piece that stays in a core's cache, with two others beside it.
PIECE = 1 << 15


def pieces(n: int) -> Iterator[slice]:
    """Slices of a long vector, one after another: sums over them need no vector as long.

    >>> list(pieces(PIECE + 1))
    [slice(0, 32768, None), slice(32768, 32769, None)]
    """
    for begin in range(0, n, PIECE):
        yield slice(begin, min(begin + PIECE, n))


def inner(a: np.ndarray, b: np.ndarray) -> float:
    """<a, b>, to the same bits on any number of cores.

    BLAS would share it out, and its threads keep a core busy with waiting for a while after.
    Summed in pairs: one after another, 200,000 terms lose two digits more.

    >>> inner(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    with np.errstate(over="ignore", invalid="ignore"):  # (who asks looks at the number)
        sums = [np.multiply(a[part], b[part]).sum() for part in pieces(len(a))]
        return float(np.sum(sums))
