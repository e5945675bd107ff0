"""What Numba knows of records that lie in memory and are handed over by their address.

`PackedType` is the type of a record that was packed (`packed.Packed`), which functions `unpack`.
`ByAddress` is the type of an argument that a function takes as a record: callers hand over the
address, and the function reads the record at its beginning (`quick_compiler`). A caller may hold
the record packed or not, and what is packed may be handed to functions that take the record itself.
"""

# mypy: disallow-untyped-calls=False
from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.typeconv.castgraph import Conversion
from numba.extending import lower_builtin, lower_cast, models, register_model, type_callable

__all__ = ["Address", "ByAddress", "HasRecord", "PackedType", "as_pointer", "by_value", "unpack"]


class HasRecord:
    """What `unpack` knows a packed record by: the base of `packed.Packed`."""

    value: Any


def unpack(packed: Any) -> Any:
    """The record itself, also of what is no packed one; compiled code reads it from memory.

    >>> from blockwolfe.base.packed import Packed
    >>> unpack(Packed((1, 2), None)), unpack((1, 2))
    ((1, 2), (1, 2))
    """
    return packed.value if isinstance(packed, HasRecord) else packed


class Address(types.Type):
    """Values are addresses of records of one type."""

    def __init__(self, record: types.Type) -> None:
        self.record = record
        super().__init__(name=f"{type(self).__name__}({record})")

    @property
    def key(self) -> types.Type:
        """Types are the same whose records are of the same type."""
        return self.record


class PackedType(Address):
    """The type of a packed record."""

    def can_convert_to(self, typingctx: Any, other: Any) -> Conversion | None:
        """Where the record is taken, by address or by value."""
        taken = other.record if isinstance(other, ByAddress) else other
        return Conversion.safe if taken == self.record else None


class ByAddress(Address):
    """The type of an argument that the function takes as a record, and is handed by address."""

    def can_convert_from(self, typingctx: Any, other: Any) -> Conversion | None:
        """Also of a record that is not packed."""
        return Conversion.safe if other == self.record else None


def by_value(signature: Any) -> Any:
    """The same signature of a function that takes its records themselves.

    >>> by_value(types.void(ByAddress(types.int64), types.float64))
    (int64, float64) -> none
    """
    args = (of.record if isinstance(of, ByAddress) else of for of in signature.args)
    return signature.return_type(*args)


register_model(PackedType)(models.OpaqueModel)
register_model(ByAddress)(models.OpaqueModel)


def as_pointer(context: Any, builder: Any, address: Any, record: types.Type) -> Any:
    """The address of a record as a value, not as data: data of a numpy record is a copy of it."""
    return builder.bitcast(address, context.get_value_type(record).as_pointer())


def _read(context: Any, builder: Any, address: Any, record: types.Type) -> Any:
    value = builder.load(as_pointer(context, builder, address, record))
    if context.enable_nrt:  # (a caller of its own, who counts: these arrays have no counters)
        context.nrt.incref(builder, record, value)
    return value


@type_callable(unpack)
def _type_of_unpack(_: Any) -> Any:
    def typer(packed: types.Type) -> types.Type | None:
        return packed.record if isinstance(packed, Address) else None

    return typer


@lower_builtin(unpack, Address)
def _lower_unpack(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _read(context, builder, args[0], signature.return_type)


@lower_cast(PackedType, ByAddress)
def _same_address(context: Any, builder: Any, found: Any, taken: Any, value: Any) -> Any:
    return value


@lower_cast(types.Any, ByAddress)
def _address_of_a_copy(context: Any, builder: Any, found: Any, taken: Any, value: Any) -> Any:
    return builder.bitcast(cgutils.alloca_once_value(builder, value), cgutils.voidptr_t)


@lower_cast(PackedType, types.Any)
def _by_value(context: Any, builder: Any, found: Any, taken: Any, value: Any) -> Any:
    return _read(context, builder, value, taken)
