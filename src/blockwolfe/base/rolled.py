"""Outermost functions whose loops LLVM leaves as they are.

LLVM writes the body of a loop several times over, so that fewer turns are counted. In a function
that holds some hundred loops, most of which are short or seldom run, that doubles the code, and
with it the time that the rest of compiling takes. Where the hot loops are elsewhere (in pieces), or
go by four at a time already, nothing is gained by it.

No number changes: how often a body is written says nothing of the order of its sums.
"""

# mypy: disallow-untyped-calls=False
from __future__ import annotations

from typing import Any

try:
    from llvmlite.binding import create_pass_builder, create_pipeline_tuning_options
    from numba.core import config
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler_machinery import register_pass
    from numba.core.typed_passes import NativeLowering

    from blockwolfe.base.quick_compiler import QuickCompiler

    is_known = hasattr(JITCodeLibrary, "_optimize_final_module")
except ImportError:  # pragma: no cover  (Numba of before LLVM's new passes: plain, and slower)
    is_known = False

__all__ = ["rolled_options"]


def rolled_options() -> dict[str, Any]:
    """Options of `numba.jit` by which an outermost function is compiled so."""
    return {"pipeline_class": _Rolled} if is_known else {}


if is_known:

    class _Code(JITCodeLibrary):
        """Code of an outermost function, optimised but for that."""

        def _optimize_final_module(self) -> None:
            codegen, module = self._codegen, self._final_module
            first, builder = codegen._module_pass_manager(
                loop_vectorize=codegen._loopvect,
                slp_vectorize=False,
                opt=codegen._opt_level,
                cost="cheap",
            )
            first.run(module, builder)
            builder = create_pass_builder(codegen._tm, _tuning())
            builder.getModulePassManager().run(module, builder)

    def _tuning() -> Any:
        """As Numba's own, but for one."""
        own: Any = config
        tuning = create_pipeline_tuning_options()
        tuning.speed_level = own.OPT
        tuning.loop_vectorization = own.LOOP_VECTORIZE
        tuning.slp_vectorization = own.SLP_VECTORIZE
        tuning.loop_unrolling = False
        return tuning

    @register_pass(mutates_CFG=True, analysis_only=False)
    class _Lowering(NativeLowering):
        """Numba's last step, into such code."""

        _name = "rolled_native_lowering"

        def run_pass(self, state: Any) -> bool:
            state.library = _Code(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()  # (as Numba does with its own)
            return bool(super().run_pass(state))

    class _Rolled(QuickCompiler):
        """The compiler with that last step."""

        def define_pipelines(self) -> list[Any]:
            pipelines = super().define_pipelines()
            for pipeline in pipelines:
                pipeline.passes = [
                    (_Lowering, why) if step is NativeLowering else (step, why)
                    for step, why in pipeline.passes
                ]
            return pipelines
