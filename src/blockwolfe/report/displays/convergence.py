"""Pictures in the scikit-learn manner: a display holds data; `plot` draws it later."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.results.result import RunResult
from blockwolfe.results.trace import Trace

__all__ = ["ConvergenceDisplay"]

_AXES = {"seconds": "seconds", "passes": "passes", "oracle_calls": "oracle calls"}


class ConvergenceDisplay:
    """Primal, dual and certified gap of a run, and the held-out loss where it was traced.

    >>> import blockwolfe as bw
    >>> svm = bw.StructuredSVM(lam=0.1, tol=1e-6).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> display = ConvergenceDisplay.from_estimator(svm)
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
    def from_estimator(cls, svm: StructuredSVM) -> ConvergenceDisplay:
        """The display of a fitted estimator's run."""
        check_is_fitted(svm, "result_")
        return cls.from_result(svm.result_)

    @classmethod
    def from_result(cls, result: RunResult) -> ConvergenceDisplay:
        """The display of a result, of `solve` or `optimize.minimize`."""
        return cls(result.trace, result.tol * result.certificate.unit)

    @property
    def has_losses(self) -> bool:
        """Whether the loss on held-out data was traced."""
        return not bool(np.isnan(self.held_out_loss).all())

    def plot(self, against: str = "passes", axes: Any = None) -> ConvergenceDisplay:
        """Draw bounds on the optimum, the gap and, where it was traced, the held-out loss.

        `axes` are two or three axes, the third one for the loss; needs matplotlib.
        """
        import matplotlib.pyplot as plt

        if axes is None:
            n_panels = 3 if self.has_losses else 2
            _, axes = plt.subplots(1, n_panels, figsize=(5 * n_panels, 4), layout="constrained")
        x = self.trace[against][self.certified]
        left, middle = axes[:2]
        left.fill_between(x, self.dual, self.primal, alpha=0.25, label="the optimum is in here")
        left.plot(x, self.primal, ".-", label="primal")
        left.plot(x, self.dual, ".-", label="dual")
        left.set(ylabel="objective", title="Bounds")
        middle.semilogy(x, self.gap, ".-", label="certified gap")
        if self.tol:
            middle.axhline(self.tol, color="grey", linestyle="--", label="tol")
        middle.set(ylabel="primal - dual", title="Certified gap")
        if len(axes) > 2:
            axes[2].plot(x, self.held_out_loss, ".-", color="C2", label="held-out data")
            axes[2].set(ylabel="mean task loss", title="Held-out loss")
        for panel in axes:
            panel.set_xlabel(_AXES.get(against, against))
            panel.legend()
        self.axes_, self.figure_ = axes, left.figure
        return self
