"""Records as compiled code has them in memory, written by Python.

Numba can do it as well, and would be asked to compile a function for each kind of record: some
hundred arrays and functions taken apart one by one are half a second of compiling each.

What Numba makes of a record is what a C compiler makes of a `struct`: members one after another,
each at a multiple of its own alignment. An array is seven words or more (counter, owner, number of
entries, their size, address, shape, strides), a function or a numpy record its address, None
zero, and a tuple a struct of its members.
"""

# mypy: disallow-untyped-calls=False
from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numba import types

__all__ = ["Known", "record_format", "record_values"]

_ARRAY = "PPnnP"  # (the counter is none: see `packed`)
_INTEGERS = {8: "b", 16: "h", 32: "i", 64: "q"}
_FLOATS = {32: "f", 64: "d"}


def record_format(record: Any) -> struct.Struct | None:
    """How memory holds a value of that type; None where only Numba knows."""
    codes = _codes(record)
    return None if codes is None else struct.Struct("@" + codes)


def _codes(of: Any) -> str | None:
    """A code of `struct` for each number that makes up a value."""
    if isinstance(of, types.BaseTuple):
        members = [_codes(member) for member in of.types]  # type: ignore[attr-defined]
        found = [codes for codes in members if codes is not None]
        if len(found) < len(members):
            return None
        # (a struct begins and ends where its longest member may: none of these, aligned as one)
        inside = "".join(found)
        longest = max(inside.replace("0", ""), key=struct.calcsize, default="b")
        return f"0{longest}{inside}0{longest}"
    if isinstance(of, types.Array):
        return _ARRAY + 2 * of.ndim * "n"
    is_address = isinstance(of, types.Record | types.NoneType) or getattr(of, "is_address", False)
    return "P" if is_address else _code_of_number(of)


def _code_of_number(of: Any) -> str | None:
    if isinstance(of, types.Boolean):
        return "?"
    if isinstance(of, types.Float):
        return _FLOATS.get(of.bitwidth)
    if not isinstance(of, types.Integer) or isinstance(of, types.IntegerLiteral):
        return None
    integer: Any = of
    code = _INTEGERS[integer.bitwidth]
    return code if integer.signed else code.upper()


class Known(dict[int, list[Any]]):
    """What makes up records that are packed again and again, by their `id`.

    Whoever has it has these records, too, for as long. A copy is empty: addresses mean nothing
    elsewhere.
    """

    def __init__(self, *records: tuple[Any, ...]) -> None:
        super().__init__()
        for record in records:
            self[id(record)] = record_values(record, [], self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Known, ()


def record_values(value: Any, found: list[Any], known: dict[int, list[Any]]) -> list[Any]:
    """The numbers that make up a value, in the order of the codes, appended to `found`."""
    if isinstance(value, tuple):
        if id(value) in known:
            found += known[id(value)]
        else:
            for member in value:
                record_values(member, found, known)
    elif isinstance(value, np.ndarray):
        found += 0, id(value), value.size, value.itemsize, value.ctypes.data
        found += value.shape
        found += value.strides
    elif isinstance(value, np.void):
        found.append(np.frombuffer(value, dtype=np.uint8).ctypes.data)
    else:
        found.append(0 if value is None else getattr(value, "address", value))
    return found
