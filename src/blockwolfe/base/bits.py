"""Sets of small numbers as the bits of one integer, inside compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable

__all__ = ["MOST_BITS", "lowest_bit"]

MOST_BITS = 64


def lowest_bit(bits: Any) -> Any:
    """The number of the lowest bit of a `np.uint64` that is not zero.

    >>> int(lowest_bit(np.uint64(0b101000)))
    3
    """
    value = int(bits)
    return np.uint64((value & -value).bit_length() - 1)


@type_callable(lowest_bit)
def _type_of_lowest_bit(_: Any) -> Any:
    def typer(bits: types.Type) -> types.Type | None:
        return types.uint64 if bits is types.uint64 else None

    return typer


@lower_builtin(lowest_bit, types.uint64)
def _lower_lowest_bit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.cttz(args[0], context.get_constant(types.boolean, 0))
