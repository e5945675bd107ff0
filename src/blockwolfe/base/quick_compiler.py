"""Numba's compiler without what costs time and is of no use here.

*Flags that are compared quickly.* While Numba finds out types it keeps what it has found by the
options of the function at work, some fifty thousand times in a first run. All options have one and
the same hash, and comparing them looks at every one of them, set or not: a fifth of the time that
Numba's Python took.

*No steps that find nothing to do.* Closures are inlined only where there are some, and array
expressions are fused only where compiled code may allocate what they give.
"""

# mypy: disallow-untyped-calls=False
from __future__ import annotations

from types import CodeType
from typing import Any

try:
    from numba.core.compiler import Compiler, Flags
    from numba.core.typed_passes import NopythonRewrites
    from numba.core.untyped_passes import InlineClosureLikes

    is_known = True  # (Numba's own ways, tried with the versions that docs/decisions.md names)
except ImportError:  # pragma: no cover
    is_known = False

__all__ = ["quick_options"]


def quick_options() -> dict[str, Any]:
    """Options of `numba.jit` by which a function is compiled so."""
    return {"pipeline_class": QuickCompiler} if is_known else {}


if is_known:

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
        """Numba's compiler with such flags, and fewer steps."""

        def __init__(self, *args: Any) -> None:
            *first, flags, names = args
            super().__init__(*first, QuickFlags(flags), names)  # type: ignore[call-arg]

        def define_pipelines(self) -> list[Any]:
            """Numba's own steps, less those that find nothing."""
            state, pipelines = self.state, list(super().define_pipelines())
            idle: set[Any] = set() if state.flags.nrt else {NopythonRewrites}
            code = state.func_id.func.__code__
            if not any(isinstance(constant, CodeType) for constant in code.co_consts):
                idle.add(InlineClosureLikes)
            for pipeline in pipelines:
                pipeline.passes = [step for step in pipeline.passes if step[0] not in idle]
            return pipelines
