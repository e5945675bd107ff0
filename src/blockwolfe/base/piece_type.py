"""What Numba knows of a function that is handed to compiled code as a value (`compiled.Piece`).

Its type is its signature, and its value one address, that of the compiled function itself. Numba
has such a type of its own, `FunctionType`; a call of one is made in three ways, by two addresses or
by asking Python for one, and each hands on all arguments. With tasks' data, some hundred words
long, these calls were a large part of the code of a loop.
"""

# mypy: disallow-untyped-calls=False
from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import signature as call_signature
from numba.extending import NativeValue, lower_builtin, models, register_model, unbox

__all__ = ["PieceType", "address_of"]


class PieceType(types.Callable):
    """The type of a piece: a function of its signature."""

    def __init__(self, signature: Any) -> None:
        self.signature = types.unliteral(signature)
        super().__init__(name=f"Piece[{self.signature}]")

    @property
    def key(self) -> Any:
        """Types are the same whose signatures are."""
        return self.signature

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """The signature, where the arguments are of its types or can safely be made so."""
        own = self.signature
        if kws or len(args) != len(own.args):
            raise ValueError(f"expected {len(own.args)} arguments, by position; found {len(args)}")
        for found, expected in zip(args, own.args, strict=True):
            score = context.can_convert(fromty=types.unliteral(found), toty=expected)
            if score is None or score > Conversion.safe:
                raise ValueError(f"mismatch of argument types: {found} for {expected}")
        # (as if it were a method: a call is then given the piece itself, too)
        return call_signature(own.return_type, *own.args, recvr=self)

    def get_call_signatures(self) -> Any:
        """The one there is."""
        return (self.signature,), False

    def get_impl_key(self, sig: Any) -> Any:
        """What `_call` is registered under."""
        return type(self)


register_model(PieceType)(models.OpaqueModel)


@lower_builtin(PieceType, types.VarArg(types.Any))
def _call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Call it by its address; an error that it raises is the caller's."""
    result, taken, convention = signature.return_type, signature.args[1:], context.call_conv
    pointer = convention.get_function_type(result, taken).as_pointer()
    function = builder.bitcast(args[0], pointer)
    status, found = convention.call_function(builder, function, result, taken, args[1:])
    with cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return found


@unbox(PieceType)
def _unbox(_: PieceType, piece: Any, c: Any) -> Any:
    address = address_of(piece, "address", c)
    return NativeValue(address, is_error=cgutils.is_null(c.builder, address))


def address_of(value: Any, name: str, c: Any) -> Any:
    """An attribute of an object that is unboxed, an address; null where it raises."""
    number = c.pyapi.object_getattr_string(value, name)
    place = cgutils.alloca_once_value(c.builder, c.context.get_constant_null(types.voidptr))
    with c.builder.if_then(cgutils.is_not_null(c.builder, number), likely=True):
        c.builder.store(c.pyapi.long_as_voidptr(number), place)
        c.pyapi.decref(number)
    return c.builder.load(place)
