"""A hint to the processor: these numbers are read soon.

Rows of a long w lie far apart, and their places are known some time before they are needed; the
processor cannot guess them. Scores are the same bits with and without it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from blockwolfe.base.compiled import jit

__all__ = ["FAR", "LINE", "Ahead", "fetch_block", "fetch_span", "prefetch", "prefetch_rows"]

# Numbers in one line of a cache.
LINE = 8
# Vectors of more numbers (0.5 MB) do not stay in the caches next to a core; in shorter ones a hint
# costs more than it saves.
FAR = 1 << 16


def prefetch(array: np.ndarray, at: Any) -> None:
    """In compiled code, begin to fetch the line of array[at]; interpreted, nothing.

    The place must be in the array, which has one dimension and no gaps.

    >>> prefetch(np.zeros(3), 1)
    """


@type_callable(prefetch)
def _type_of_prefetch(_: Any) -> Any:
    def typer(array: types.Type, at: types.Type) -> types.Type | None:
        is_plain = isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"
        return types.none if is_plain and isinstance(at, types.Integer) else None

    return typer


@lower_builtin(prefetch, types.Array, types.Integer)
def _lower_prefetch(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    hint = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
    function = cgutils.get_or_insert_function(builder.module, hint, "llvm.prefetch.p0i8")
    place = builder.bitcast(builder.gep(data, [args[1]]), byte)
    builder.call(function, [place, word(0), word(3), word(1)])  # (to read, to keep, of data)
    return context.get_dummy_value()


@jit(inline="always")
def prefetch_rows(matrix: Any, index: Any, at: int, length: int, stride: int) -> None:
    """Begin to fetch four rows, which begin at index[at:at+4] times `stride` of one array.

    (Written out: as a loop over rows it takes as long as it saves.)
    """
    b0, b1 = np.int64(index[at]) * stride, np.int64(index[at + 1]) * stride
    b2, b3 = np.int64(index[at + 2]) * stride, np.int64(index[at + 3]) * stride
    for k in range(0, length, LINE):
        prefetch(matrix, b0 + k)
        prefetch(matrix, b1 + k)
        prefetch(matrix, b2 + k)
        prefetch(matrix, b3 + k)


class Ahead(NamedTuple):
    """Where the features of blocks lie, for loops that fetch those of the next block.

    Block i has the rows row[i]:row[i+1] of `indptr`, and the entries entry[i]:entry[i+1] of
    `indices`. All are without entries where there is nothing to fetch.
    """

    row: np.ndarray
    entry: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray

    @classmethod
    def nothing(cls) -> Ahead:
        """Of blocks whose features lie elsewhere.

        >>> fetch_block(Ahead.nothing(), 3)
        """
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, none, np.zeros(0, dtype=np.int32))

    @classmethod
    def of(cls, row: np.ndarray, indptr: np.ndarray, indices: np.ndarray) -> Ahead:
        """Of blocks that are rows of one sparse matrix; of a dense one, nothing.

        >>> Ahead.of(np.array([0, 2]), np.array([0, 3, 4]), np.zeros(4, dtype=np.int32)).entry
        array([0, 4])
        """
        return cls(row, indptr[row], indptr, indices) if len(indices) else cls.nothing()


@jit(inline="always")
def fetch_span(array: Any, begin: int, end: int) -> None:
    """Begin to fetch array[begin:end]."""
    for e in range(begin, end, LINE):
        prefetch(array, e)


@jit(inline="always")
def fetch_block(ahead: Ahead, i: int) -> None:
    """Begin to fetch the features of block i."""
    if ahead.entry.shape[0]:
        fetch_span(ahead.indptr, ahead.row[i], ahead.row[i + 1])
        for e in range(ahead.entry[i], ahead.entry[i + 1], 2 * LINE):  # (of half as many bytes)
            prefetch(ahead.indices, e)
