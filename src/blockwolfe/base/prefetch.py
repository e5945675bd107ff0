"""A hint to the processor: these numbers are read soon.

Rows of a long w lie far apart, and their places are known some time before they are needed; the
processor cannot guess them. Scores are the same bits with and without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from blockwolfe.base.compiled import jit

__all__ = ["FAR", "LINE", "prefetch", "prefetch_rows"]

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
