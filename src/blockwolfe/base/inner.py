"""Inner products of long vectors, on one core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

__all__ = ["in_turn", "inner", "inners", "pieces"]

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
        if len(a) <= PIECE:  # (the same bits; a round has thousands of these)
            return float(np.add.reduce(np.multiply(a, b)))
        sums = [np.multiply(a[part], b[part]).sum() for part in pieces(len(a))]
        return float(np.sum(sums))


# Work on pieces, for whoever has threads: part k of n, for all k.
Share = Callable[[Callable[[int, int], None]], None]


def in_turn(work: Callable[[int, int], None]) -> None:
    """All of it, in this thread."""
    work(0, 1)


def inners(pairs: Sequence[tuple[np.ndarray, np.ndarray]], share: Share = in_turn) -> list[float]:
    """`inner` of all pairs, to the same bits: each piece of all vectors at once.

    >>> a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    >>> inners([(a, b), (a, a)])
    [11.0, 5.0]
    """
    parts = list(pieces(len(pairs[0][0]))) if pairs else []
    sums = np.zeros((len(pairs), len(parts)))

    def some(k: int, n: int) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            for j in range(k, len(parts), n):
                for i, (a, b) in enumerate(pairs):
                    sums[i, j] = np.multiply(a[parts[j]], b[parts[j]]).sum()

    share(some)
    return [float(np.sum(row)) for row in sums]
