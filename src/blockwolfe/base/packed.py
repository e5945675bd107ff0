"""Arguments that are the same from call to call, taken apart once and not at every call.

Compiled code takes a record of arrays and functions apart, field by field, whenever it is entered:
some 50 arrays and 7 functions take 0.1 ms, which is a tenth of a microsecond for each visit of a
pass over a thousand blocks. A `Packed` record was taken apart before (`record_memory`): what it is
to compiled code lies in memory of its own, and is handed over as one address.

    packed = Packed((arrays, functions), kind)      # in Python
    arrays, functions = unpack(packed)              # in the compiled function, or interpreted

Compiled code counts no references here (`compiled.jit`), so what lies in that memory owns nothing:
the `Packed` holds the record itself, and with it every array and function in there. Numbers are
copied, and arrays are those that the record had: whoever puts another one in its place packs
anew (`Packing`).
"""

from __future__ import annotations

import ctypes
import threading
from functools import cached_property
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import NativeValue, intrinsic, unbox

from blockwolfe.base.compiled import jit
from blockwolfe.base.packed_type import HasRecord, PackedType, as_pointer, unpack
from blockwolfe.base.piece_type import address_of
from blockwolfe.base.record_memory import Memory, Writer, writer

__all__ = ["Packed", "PackedType", "Packing", "unpack"]


class Packed(HasRecord):
    """A record (nested tuples of arrays, numbers and pieces) as compiled code can read it at once.

    `kind` stands for the types in the record, as in `compiled.call`: records of other types need
    another one, (kind, name) say. With None the record is for interpreted code alone.

    >>> @jit
    ... def total(packed, factor):
    ...     (numbers,) = unpack(packed)
    ...     return factor * numbers.sum()
    >>> numbers = np.ones(3)
    >>> packed = Packed((numbers,), "numbers")
    >>> total(packed, 2.0)
    6.0
    >>> numbers[0] = 2.0
    >>> total(packed, 2.0), float(total.py_func(packed, 2.0))
    (8.0, 8.0)
    """

    def __init__(self, value: Any, kind: Any) -> None:
        self.value, self.kind = value, kind
        self._memory: Memory | None = None

    @cached_property
    def address(self) -> int:
        """Where the record is, or 0; `_unbox` reads it at every call."""
        if self.kind is None:
            return 0
        with _writing:  # (once: another memory would take the place of one that is read)
            if self._memory is None:
                self._memory = _written(self.value, self.kind)
        return ctypes.addressof(self._memory)

    @cached_property
    def _numba_type_(self) -> PackedType:
        """What `numba.typeof` asks for; it takes a while, and only compiling needs it."""
        return PackedType(numba.typeof(self.value))

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has memory of its own: addresses mean nothing elsewhere."""
        return Packed, (self.value, self.kind)


_writing = threading.RLock()
_writers: dict[Any, Writer] = {}  # of records, by their kinds


def _written(value: Any, kind: Any) -> Memory:
    """Memory that holds a record."""
    found = _writers.get(kind)
    if found is None:
        _writers[kind] = found = writer(numba.typeof(value), _compiled_put)
    return found.memory_for(value)


class Packing:
    """The last record of its kind, packed anew only where a member is another object.

    >>> packing, one, two = Packing("pair"), np.ones(1), np.ones(1)
    >>> packed = packing.of(one, two)
    >>> packing.of(one, two) is packed, packing.of(one, one) is packed
    (True, False)
    """

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._last: Packed | None = None

    def of(self, *members: Any) -> Packed:
        """The members, packed."""
        last = self._last
        if last is None or any(a is not b for a, b in zip(members, last.value, strict=True)):
            self._last = last = Packed(members, self._kind)
        return last


# -- what Numba knows of it --------------------------------------------------------------------


@unbox(PackedType)
def _unbox(_: PackedType, packed: Any, c: Any) -> NativeValue:
    address = address_of(packed, "address", c)
    is_null = cgutils.is_null(c.builder, address)
    has_raised = cgutils.is_not_null(c.builder, c.pyapi.err_occurred())
    is_plain = c.builder.and_(is_null, c.builder.not_(has_raised))
    with c.builder.if_then(is_plain, likely=False):
        c.pyapi.err_set_string("PyExc_TypeError", "this record is packed for interpreted code")
    return NativeValue(address, is_error=is_null)


@intrinsic
def _put(_: Any, value: types.Type, address: types.Type) -> Any:
    """Write a value to an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = builder.inttoptr(args[1], context.get_value_type(types.voidptr))
        builder.store(args[0], as_pointer(context, builder, at, signature.args[0]))
        return context.get_dummy_value()

    return types.void(value, types.uintp), generate


def _compiled_put(of: types.Type) -> Any:
    """What writes values of a type to an address, whatever that type."""
    return _put_value.compile((of, types.int64))


@jit
def _put_value(value: Any, address: int) -> None:
    _put(value, np.uintp(address))  # type: ignore[call-arg, arg-type]  # (Numba adds the first)
