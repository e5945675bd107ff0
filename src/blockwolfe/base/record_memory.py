"""Records written into memory from Python, as they lie there where Numba's code has written them.

Numba can write a record itself: a function that is compiled for its type takes it apart, member by
member, and stores it. That took a twelfth of all the time that a first run compiles. Members are of
few types, and lie one behind another as in C, so it is done here without compiling: Python's
`struct` knows where C has numbers, and arrays are taken apart by the very function that Numba's
code calls for that.

    found = writer(of, compiled)         # once for each type of record
    memory = found.memory_for(record)

A record with a member of some other type (a user's data may hold any) is written as a whole by
compiled code: where such a member lies is Numba's to say.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import _helperlib, types
from numba.core.registry import cpu_target
from numba.np.numpy_support import as_dtype

from blockwolfe.base.packed_type import Address
from blockwolfe.base.piece_type import PieceType

__all__ = ["Memory", "Writer", "writer"]

_WORD = 8  # bytes

# Numbers as `struct` names them; it takes no number with a fraction for a whole one.
_NUMBERS: dict[types.Type, str] = {
    types.boolean: "?",
    types.float32: "f",
    types.float64: "d",
    types.int8: "b",
    types.int16: "h",
    types.int32: "i",
    types.int64: "q",
    types.uint8: "B",
    types.uint16: "H",
    types.uint32: "I",
    types.uint64: "Q",
}

Memory = ctypes.Array[ctypes.c_uint64]
# Writes a value into a memory, which begins at an address, so many bytes behind its beginning.
Write = Callable[[Any, Memory, int, int], Any]


class Writer(NamedTuple):
    """How values of one type are written."""

    write: Write
    size: int  # bytes
    alignment: int = _WORD
    number: str = ""  # as `struct` names it

    def memory_for(self, value: Any) -> Memory:
        """Memory that holds a value; what is in there is not kept alive by it."""
        memory = (ctypes.c_uint64 * max(-(-self.size // _WORD), 1))()
        self.write(value, memory, ctypes.addressof(memory), 0)
        return memory


def writer(of: types.Type, compiled: Callable[[types.Type], Callable[[Any, int], Any]]) -> Writer:
    """For values of a type; `compiled(of)` is code that writes such a value to an address."""
    found, size = _writer(of), _size_of(of)
    if found is not None and found.size == size:
        return found
    put = compiled(of)

    def write(value: Any, memory: Memory, begin: int, at: int) -> None:
        put(value, begin + at)

    return Writer(write, size)


def _size_of(of: types.Type) -> int:
    """Bytes that a value of a type takes."""
    context = cpu_target.target_context
    return int(context.get_abi_sizeof(context.get_value_type(of)))


def _writer(of: Any) -> Writer | None:
    """None where a type is not known here."""
    if isinstance(of, types.BaseTuple):
        kinds: Any = of
        members = [_writer(kind) for kind in kinds]
        known = [member for member in members if member is not None]
        return _of_record(known) if len(known) == len(members) else None
    if isinstance(of, types.Array):
        return _of_array(of)
    if of in _NUMBERS:
        return _of_number(_NUMBERS[of])
    for kind, write in _WORDS.items():
        if isinstance(of, kind):
            return Writer(write, _WORD)
    return None


def _of_record(members: list[Writer]) -> Writer:
    """One behind another, each at a multiple of its alignment; numbers in a row all at once."""
    offsets, end = [], 0
    for member in members:
        offsets.append(_rounded(end, member.alignment))
        end = offsets[-1] + member.size
    places: list[tuple[Any, Write, int]] = []  # members, how they are written, and where
    are_numbers = [member.number != "" for member in members]
    for is_run, row in itertools.groupby(range(len(members)), are_numbers.__getitem__):
        some = list(row)
        if is_run:
            first, last = some[0], some[-1]
            write = _of_numbers(members[first : last + 1], offsets[first : last + 1])
            places.append((slice(first, last + 1), write, offsets[first]))
        else:
            places += [(k, members[k].write, offsets[k]) for k in some]

    def write_all(record: Any, memory: Memory, begin: int, at: int) -> None:
        if len(record) != len(members):
            raise TypeError(f"{len(members)} members were expected, not {len(record)}")
        for which, write, offset in places:
            write(record[which], memory, begin, at + offset)

    alignment = max((member.alignment for member in members), default=1)
    return Writer(write_all, _rounded(end, alignment), alignment)


def _of_numbers(members: list[Writer], offsets: list[int]) -> Write:
    """Of numbers at such offsets, written from the first on."""
    names, at = "=", offsets[0]
    for member, offset in zip(members, offsets, strict=True):
        names, at = f"{names}{offset - at}x{member.number}", offset + member.size
    pack = struct.Struct(names)

    def write(numbers: Any, memory: Memory, begin: int, at: int) -> None:
        pack.pack_into(memory, at, *numbers)

    return write


def _of_number(name: str) -> Writer:
    pack = struct.Struct(f"={name}")

    def write(number: Any, memory: Memory, begin: int, at: int) -> None:
        pack.pack_into(memory, at, number)

    return Writer(write, pack.size, pack.size, name)


def _rounded(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


# What Numba's own code calls to take an array apart: 0 where it could.
_adapt: Any = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(
    _helperlib.c_helpers["adapt_ndarray"]  # type: ignore[attr-defined]
)


def _of_array(of: types.Array) -> Writer:
    ndim, dtype = of.ndim, as_dtype(of.dtype)

    def write(array: Any, memory: Memory, begin: int, at: int) -> None:
        if array.dtype != dtype or array.ndim != ndim or _adapt(array, begin + at):
            raise TypeError(f"{ndim} dimensions of {dtype} were expected, not {array!r}")

    return Writer(write, _WORD * (5 + 2 * ndim))


_put_word = struct.Struct("Q").pack_into


def _write_address(value: Any, memory: Memory, begin: int, at: int) -> None:
    """Of a piece, or of what is packed."""
    _put_word(memory, at, value.address)


def _write_nothing(value: Any, memory: Memory, begin: int, at: int) -> None:
    _put_word(memory, at, 0)


def _write_place_of_fields(record: Any, memory: Memory, begin: int, at: int) -> None:
    """Where the fields of a numpy record are."""
    _put_word(memory, at, np.frombuffer(record.data, dtype=np.uint8).ctypes.data)


# Values of one word.
_WORDS: dict[Any, Write] = {
    types.NoneType: _write_nothing,
    types.Record: _write_place_of_fields,
    PieceType: _write_address,
    Address: _write_address,
}
