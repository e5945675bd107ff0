"""One 0/1 program: what was chosen, what should have been, and how full its rows are."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.tasks.program import ProgramInput

__all__ = ["SelectionDisplay"]

_COLOURS = {
    "chosen, rightly": "tab:blue",
    "chosen, wrongly": "tab:orange",
    "missed": "tab:red",
    "left out, rightly": "lightgrey",
}


class SelectionDisplay:
    """Scores of the variables of a program, best first, coloured by whether the choice was right.

    `usage` is how much of its bound each row with a finite positive bound takes up.

    >>> import blockwolfe as bw
    >>> X = [bw.tasks.ProgramInput([[1.0], [2.0], [3.0]], A=[[1, 1, 1]], b=[2])]
    >>> svm = bw.StructuredSVM(bw.tasks.Program(), lam=0.1, tol=1e-6).fit(X, [[0, 1, 1]])
    >>> display = SelectionDisplay.from_estimator(svm, X[0], [0, 1, 1])
    >>> display.guess, display.usage
    (array([0, 1, 1]), array([1.]))
    """

    def __init__(
        self, scores: np.ndarray, guess: np.ndarray, truth: np.ndarray, usage: np.ndarray
    ) -> None:
        self.scores, self.guess, self.truth, self.usage = scores, guess, truth, usage
        self.row_names = [f"row {row}" for row in range(len(usage))]

    @classmethod
    def from_estimator(
        cls, svm: StructuredSVM, x: ProgramInput, y: Any, row_names: Any = None
    ) -> SelectionDisplay:
        """The display of a fitted model's prediction for x, where y is right."""
        (guess,) = svm.predict([x])
        has_bound = np.isfinite(x.b) & (x.b > 0)
        usage = np.asarray((x.A @ guess)[has_bound] / x.b[has_bound])
        display = cls(np.asarray(x.features @ svm.w_), guess, np.asarray(y), usage)
        if row_names is not None:
            display.row_names = [
                name for name, is_in in zip(row_names, has_bound, strict=True) if is_in
            ]
        return display

    @property
    def kinds(self) -> list[str]:
        """What happened to each variable."""
        names = list(_COLOURS)
        return [
            names[0 if t and g else 1 if g else 2 if t else 3]
            for t, g in zip(self.truth, self.guess, strict=True)
        ]

    def plot(self, axes: Any = None) -> SelectionDisplay:
        """Draw scores (left) and the use of rows (right); needs matplotlib."""
        import matplotlib.pyplot as plt

        if axes is None:
            _, axes = plt.subplots(
                1, 2, figsize=(10, 4), layout="constrained", width_ratios=[2.5, 1]
            )
        left, right = axes
        order, kinds = np.argsort(-self.scores, kind="stable"), np.array(self.kinds)
        for kind, colour in _COLOURS.items():
            at = np.flatnonzero(kinds[order] == kind)
            if len(at):
                left.bar(at, self.scores[order][at], color=colour, label=kind)
        left.axhline(0.0, color="black", linewidth=0.8)
        left.set_xticks(range(len(order)), [str(v) for v in order])
        left.set(xlabel="variable, best score first", ylabel="score", title="Choice")
        left.legend(fontsize="small")
        right.barh(self.row_names, self.usage, color="tab:blue")
        right.axvline(1.0, color="black", linestyle="--", linewidth=0.8)
        right.invert_yaxis()
        right.set(xlabel="share of the bound in use", title="Rows")
        self.axes_, self.figure_ = axes, left.figure
        return self
