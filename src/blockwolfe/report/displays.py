"""Pictures in the scikit-learn manner: a display holds data; `plot` draws it later."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.results.result import Result
from blockwolfe.results.trace import Trace

__all__ = ["ConvergenceDisplay"]

_AXES = {"seconds": "seconds", "passes": "passes", "oracle_calls": "oracle calls"}


class ConvergenceDisplay:
    """Primal, dual and certified gap of a run.

    >>> import blockwolfe as bw
    >>> svm = bw.StructuredSVM(lam=0.1, tol=1e-6).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> display = ConvergenceDisplay.from_result(svm.result_)
    >>> bool(display.gap[-1] <= 1e-6)
    True
    """

    def __init__(self, trace: Trace, tol: float | None = None) -> None:
        is_certified = ~np.isnan(trace["gap"])
        self.trace, self.tol = trace, tol
        self.certified = is_certified
        self.primal, self.dual = trace["primal"][is_certified], trace["dual"][is_certified]
        self.gap = trace["gap"][is_certified]
        self.held_out_loss = trace["held_out_loss"][is_certified]

    @classmethod
    def from_result(cls, result: Result) -> ConvergenceDisplay:
        """The display of a solver's result."""
        return cls(result.trace, result.tol)

    def plot(self, against: str = "passes", axes: Any = None) -> ConvergenceDisplay:
        """Draw bounds on the optimum (left) and the gap (right); needs matplotlib."""
        import matplotlib.pyplot as plt

        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
        x = self.trace[against][self.certified]
        left, right = axes
        left.fill_between(x, self.dual, self.primal, alpha=0.25, label="the optimum is in here")
        left.plot(x, self.primal, ".-", label="primal")
        left.plot(x, self.dual, ".-", label="dual")
        left.set(xlabel=_AXES.get(against, against), ylabel="objective (1)", title="Bounds")
        left.legend()
        right.semilogy(x, self.gap, ".-", label="certified gap")
        if self.tol:
            right.axhline(self.tol, color="grey", linestyle="--", label="tol")
        right.set(xlabel=_AXES.get(against, against), ylabel="primal - dual", title="Certified gap")
        right.legend()
        self.axes_, self.figure_ = axes, left.figure
        return self
