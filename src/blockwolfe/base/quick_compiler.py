"""Numba's compiler without what costs time and is of no use here.

*Flags that are compared quickly.* While Numba finds out types it keeps what it has found by the
options of the function at work, some fifty thousand times in a first run. All options have one and
the same hash, and comparing them looks at every one of them, set or not: a fifth of the time that
Numba's Python took.

*No steps that find nothing to do.* Closures are inlined only where there are some, and array
expressions are fused only where compiled code may allocate what they give.

*What an operation gives is found out once.* For every sum of two numbers Numba goes through all
that a sum may be, and words a reason for each that it is not. Thousands of calls are of some
hundred kinds, so what was found is kept, as long as an outermost function is compiled.

*Records are handed over by address* where the type of an argument says so (`by_address`). Handed
over field by field, as Numba does it, tasks' data are a hundred words, copied at every call.
"""

# mypy: disallow-untyped-calls=False
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from numba import types

from blockwolfe.base.packed_type import ByAddress, unpack

try:
    from numba.core import ir
    from numba.core.compiler import Compiler, Flags
    from numba.core.compiler_machinery import FunctionPass, register_pass
    from numba.core.typed_passes import NopythonRewrites
    from numba.core.untyped_passes import FixupArgs, InlineClosureLikes

    _found_out: Callable[..., Any] = types.Function.get_call_type
    is_known = True  # (Numba's own ways, tried with the versions that docs/decisions.md names)
except (ImportError, AttributeError):  # pragma: no cover
    is_known = False

__all__ = ["by_address", "quick_options"]


def quick_options() -> dict[str, Any]:
    """Options of `numba.jit` by which a function is compiled so."""
    return {"pipeline_class": QuickCompiler} if is_known else {}


def by_address(record: types.Type) -> types.Type:
    """The type of an argument of a function compiled so: a record that is handed over by address.

    The function is written as if it were handed the record.
    """
    return ByAddress(record) if is_known else record


class Remembering:
    """`types.Function.get_call_type` of Numba, asked once for each kind of call.

    >>> asked, result = [], types.int64(types.int64, types.int64)
    >>> ask = Remembering(lambda function, context, args, words: asked.append(args) or result)
    >>> len([ask("sum", None, (types.int64, types.int64), {}) for _ in range(3)]), len(asked)
    (3, 1)
    """

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask
        # (types are one object each, as long as they are held, and quickly told apart as such)
        self._found: dict[tuple[int, ...], tuple[Any, ...]] = {}

    def __call__(self, function: Any, context: Any, args: Any, keywords: Any) -> Any:
        """The signature of a call."""
        if keywords:
            return self._ask(function, context, args, keywords)
        key = (id(function), id(context), *map(id, args))
        kept = self._found.get(key)
        if kept is not None:
            return kept[0]
        found = self._ask(function, context, args, keywords)
        if found is not None and found.is_precise():
            self._found[key] = (found, function, context, args)
        return found


if is_known:

    @contextmanager
    def _remembered() -> Iterator[None]:
        """Calls are remembered in this block; compilations inside others share what they find.

        (Not for longer: whoever uses Numba may tell it of more functions in between.)
        """
        if "get_call_type" in vars(types.Function):
            yield
            return
        ask = Remembering(_found_out)

        def get_call_type(*asked: Any) -> Any:  # (a function, to become a method)
            return ask(*asked)

        function: Any = types.Function
        function.get_call_type = get_call_type
        try:
            yield
        finally:
            del function.get_call_type

    @register_pass(mutates_CFG=False, analysis_only=False)
    class ReadArguments(FunctionPass):
        """A step that reads records which are handed over by address, before all else is done."""

        _name = "read_arguments_by_address"

        def __init__(self) -> None:
            FunctionPass.__init__(self)

        def run_pass(self, state: Any) -> bool:
            """After `data = arg(0)`, where arg(0) is an address: `data = unpack(data)`."""
            begin = state.func_ir.blocks[min(state.func_ir.blocks)]
            for statement in list(begin.find_insts(ir.Assign)):
                given = statement.value
                if isinstance(given, ir.Arg) and isinstance(state.args[given.index], ByAddress):
                    _read(state.func_ir, begin, statement)
            return True

    def _read(function: Any, begin: Any, statement: Any) -> None:
        """Have a record read where a statement names its address."""
        scope, loc, record = begin.scope, statement.loc, statement.target
        address, reader = scope.redefine("$address", loc), scope.redefine("$unpack", loc)
        reads = ir.Global("unpack", unpack, loc)
        call = ir.Expr.call(reader, (address,), (), loc)
        made = [(address, statement.value), (reader, reads), (record, call)]
        function._definitions[record.name].remove(statement.value)
        for name, value in made:
            function._definitions[name.name].append(value)
        at = begin.body.index(statement)
        begin.body[at : at + 1] = [ir.Assign(value, name, loc) for name, value in made]

    class QuickFlags(Flags):
        """Options of a function: equal where Numba's own are, and found by those that are set."""

        __slots__ = ()

        def __hash__(self) -> int:
            known: Any = type(self).options
            own = self._values
            return hash(frozenset(name for name in own if own[name] != known[name].default))

        def __eq__(self, other: object) -> bool:
            if isinstance(other, QuickFlags) and self._values == other._values:
                return True
            found: bool = super().__eq__(other)  # (or NotImplemented)
            return found

    class QuickCompiler(Compiler):
        """Numba's compiler with such flags, such a memory, fewer steps, and one more at need."""

        def __init__(self, *args: Any) -> None:
            *first, flags, names = args
            super().__init__(*first, QuickFlags(flags), names)  # type: ignore[call-arg]

        def _compile_core(self) -> Any:
            with _remembered():
                return super()._compile_core()

        def define_pipelines(self) -> list[Any]:
            """Numba's own steps, less those that find nothing."""
            state, pipelines = self.state, list(super().define_pipelines())
            idle: set[Any] = set() if state.flags.nrt else {NopythonRewrites}
            code = state.func_id.func.__code__
            if not any(isinstance(constant, CodeType) for constant in code.co_consts):
                idle.add(InlineClosureLikes)
            for pipeline in pipelines:
                steps = [step for step in pipeline.passes if step[0] not in idle]
                if any(isinstance(of, ByAddress) for of in state.args):
                    at = [step for step, _ in steps].index(FixupArgs) + 1
                    steps.insert(at, (ReadArguments, "records handed over by address"))
                pipeline.passes = steps
            return pipelines
