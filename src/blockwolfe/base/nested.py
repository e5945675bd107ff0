"""Functions that only compiled code calls: kept as code for their callers, and nothing else.

Numba makes of every function all that Python could ask of it: wrappers that take its arguments
apart, its own optimised machine code, a file on disk. A function that another compiled one calls
needs none of these: its code is linked into the caller, and optimised once more there. With calls
six levels deep that was most of the time of a first compilation. Here a nested function is typed
and translated to LLVM's language, and that is all; the outermost function is optimised and made
machine code once, with everything that it calls.

    dispatcher = numba.njit(f, **nested_options())

is not to be called from Python: `compiled.jit` keeps one such dispatcher beside the one that is.
"""

# mypy: disallow-untyped-calls=False
from __future__ import annotations

from typing import Any

from numba import types

try:
    from numba import _dynfunc  # type: ignore[attr-defined]
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler_machinery import register_pass
    from numba.core.typed_passes import NativeLowering

    from blockwolfe.base.quick_compiler import QuickCompiler

    is_known = True  # (Numba's own ways, tried with the versions that docs/decisions.md names)
except ImportError:  # pragma: no cover
    is_known = False

__all__ = ["nest", "nested_options"]


def nested_options() -> dict[str, Any]:
    """Options of `numba.jit` for a function that only compiled code calls."""
    if not is_known:  # pragma: no cover
        return {}
    return {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _Nested}


def nest(dispatcher: Any, inner: Any) -> Any:
    """Let compiled code that calls the one dispatcher take the code of the other.

    Constants are numbers like others: Numba has a type for each constant, and would compile a
    function that is called with a zero somewhere once more for that zero.
    """
    if hasattr(inner, "get_call_template"):

        def get_call_template(args: Any, keywords: Any) -> Any:
            plain = {name: types.unliteral(of) for name, of in keywords.items()}
            return inner.get_call_template([types.unliteral(of) for of in args], plain)

        dispatcher.get_call_template = get_call_template
        dispatcher.get_overload = inner.get_overload
    return dispatcher


if is_known:

    class _Code(JITCodeLibrary):
        """Code to be linked into that of callers, with all that it calls; it is not run."""

        def finalize(self) -> None:
            """Link what it calls, and no more.

            (Not left to the outermost caller: code is linked where something needs it by then, and
            only once. Of two callers the first may have lost its call, as no loop of zero turns
            makes one.)
            """
            self._raise_if_finalized()
            for library in dict.fromkeys(self._linking_libraries):
                if hasattr(self, "_reload_init"):  # (which older Numbas do not have)
                    self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._finalized = True

    @register_pass(mutates_CFG=True, analysis_only=False)
    class _Translation(NativeLowering):
        """Numba's last step, up to where it would ask for machine code."""

        _name = "nested_native_lowering"

        def run_pass(self, state: Any) -> bool:
            context = state.targetctx
            state.library = _Code(context.codegen(), state.func_id.func_qualname)
            state.flags.no_compile = True
            super().run_pass(state)
            lowered, library = state["cr"], state.library
            library.finalize()
            names = lowered.fndesc
            # (a function only by name, which stands for the code where callers look it up)
            stand_in = _dynfunc.make_function(
                names.lookup_module(), names.qualname.split(".")[-1], "", 0, lowered.env, (library,)
            )
            context.insert_user_function(stand_in, names, (library,))
            state["cr"] = lowered._replace(cfunc=stand_in)
            return True

    class _Nested(QuickCompiler):
        """The compiler with that last step."""

        def define_pipelines(self) -> list[Any]:
            pipelines = super().define_pipelines()
            for pipeline in pipelines:
                pipeline.passes = [
                    (_Translation, why) if step is NativeLowering else (step, why)
                    for step, why in pipeline.passes
                ]
            return pipelines
