"""Work cut into pieces that threads take one after another, inside compiled code.

A thread that has done its piece takes the next, without a word to Python: pieces may cost what
they like, and the last of them is all that threads wait for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable

__all__ = ["Pieces", "claim"]


class Pieces(NamedTuple):
    """Piece k is `cuts[k]` to `cuts[k + 1]`.

    >>> Pieces.of(0, 10, 3).cuts
    array([ 0,  3,  6, 10])
    >>> Pieces.of(5, 7, 3).cuts
    array([5, 6, 7])
    """

    cuts: np.ndarray
    claimed: np.ndarray  # (1,): how many were asked for, by all threads together

    @classmethod
    def of(cls, begin: int, end: int, n_pieces: int) -> Pieces:
        """The positions begin:end in at most so many pieces of nearly equal length."""
        n_pieces = min(end - begin, n_pieces)
        cuts = begin + np.arange(n_pieces + 1) * (end - begin) // max(n_pieces, 1)
        return cls(cuts, np.zeros(1, dtype=np.int64))

    def rounds(self, n_pieces: int) -> Iterator[Pieces]:
        """So many pieces at a time.

        >>> [pieces.cuts for pieces in Pieces.of(0, 10, 3).rounds(2)]
        [array([0, 3, 6]), array([ 6, 10])]
        """
        for k in range(0, len(self.cuts) - 1, n_pieces):
            yield Pieces(self.cuts[k : k + n_pieces + 1], np.zeros(1, dtype=np.int64))


def claim(counter: np.ndarray) -> int:
    """The number of the next piece: add one to counter[0], and return what it was before.

    Compiled, no two threads get the same; interpreted it is for one of them.

    >>> counter = np.zeros(1, dtype=np.int64)
    >>> claim(counter), claim(counter)
    (0, 1)
    """
    number = int(counter[0])
    counter[0] += 1
    return number


@type_callable(claim)
def _type_of_claim(_: Any) -> Any:
    def typer(counter: types.Type) -> types.Type | None:
        is_counter = isinstance(counter, types.Array) and counter.dtype == types.int64
        return types.int64 if is_counter else None

    return typer


@lower_builtin(claim, types.Array)
def _lower_claim(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    counter = context.make_array(signature.args[0])(context, builder, args[0])
    one = context.get_constant(types.int64, 1)
    return builder.atomic_rmw("add", counter.data, one, "monotonic")
