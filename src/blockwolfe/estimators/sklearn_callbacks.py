"""scikit-learn's own callbacks (`sklearn.callback`, from version 1.9) on our estimators.

Older versions have none; `set_callbacks` is then missing, and everything else is as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.results.result import Result
from blockwolfe.running.events import Event

__all__ = ["CallbackSupport", "run_with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """The method itself."""
        return method


Run = Callable[[tuple[Any, ...]], Result]  # of further callbacks


def run_with_callbacks(
    svm: Any, run: Run, fitted: Callable[[np.ndarray], dict[str, Any]], **data: Any
) -> Result:
    """`run`, with scikit-learn's callbacks told of it and of every pass, where any are set.

    `fitted(w)` gives the attributes of an estimator with these weights; `data` are X and y, and
    metadata, as `fit` got them.
    """
    if not getattr(svm, "_skl_callbacks", ()):
        return run(())
    return _run(svm, run, fitted, data)


@with_callbacks  # (it ends what the callbacks have begun, however the run ends)
def _run(svm: Any, run: Run, fitted: Any, data: dict[str, Any]) -> Result:
    passes = _Passes(svm, fitted, data)
    result = run((passes,))
    passes.end(result.w)
    return result


class _Passes:
    """One of our callbacks, which tells scikit-learn's."""

    def __init__(self, svm: Any, fitted: Any, data: dict[str, Any]) -> None:
        self._fitted, self._data = fitted, {"estimator": svm, **data}
        n_most = None if svm.max_passes == "auto" else svm.max_passes
        self._context = svm._init_callback_context(max_subtasks=n_most)
        self._context.call_on_fit_task_begin(**self._data)

    def __call__(self, event: Event) -> bool:
        """A pass has ended: whether a callback wants to stop."""
        if event.row.passes == 0:
            return False
        context = self._context.subcontext(task_name="pass")
        context.call_on_fit_task_begin(**self._data)
        return self._end_of(context, event.w)

    def end(self, w: np.ndarray) -> None:
        """The run has ended."""
        self._end_of(self._context, w)

    def _end_of(self, context: Any, w: np.ndarray) -> bool:
        made = context.call_on_fit_task_end(
            **self._data, reconstruction_attributes=lambda: self._fitted(w)
        )
        return bool(made)
