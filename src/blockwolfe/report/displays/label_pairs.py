"""How labels go together: in the data, and in the weights of a model of label sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.errors import InputError
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.report.displays.colour_bars import add_colour_bar
from blockwolfe.tasks.reading.label_sets import label_table

__all__ = ["LabelPairsDisplay"]


class LabelPairsDisplay:
    """The share of each label among the examples of another, and the weight of each pair.

    `shares[a, b]` is the share of examples with b among those with a, `weights[a, b]` the weight
    of the pair; NaN where there is none.

    >>> import blockwolfe as bw
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0, 0], [0, 1], [1, 1], [1, 1]])
    >>> svm = bw.StructuredSVM(bw.tasks.Multilabel("full"), lam=0.1, tol=1e-3).fit(X, Y)
    >>> display = LabelPairsDisplay.from_estimator(svm, Y)
    >>> display.shares.round(2).tolist()
    [[1.0, 1.0], [0.67, 1.0]]
    """

    def __init__(self, labels: list[str], shares: np.ndarray, weights: np.ndarray) -> None:
        self.labels, self.shares, self.weights = labels, shares, weights

    @classmethod
    def from_estimator(cls, svm: StructuredSVM, Y: Any, labels: Any = None) -> LabelPairsDisplay:
        """The display of a fitted model and the label sets Y of some data.

        `labels` names the labels; None takes the model's own names.
        """
        if not hasattr(getattr(svm, "task_", None), "pair_weights"):
            raise InputError(
                "svm is not a fitted model of label sets; expected StructuredSVM(Multilabel(...)) "
                "after fit."
            )
        table = label_table(Y, svm.task_.classes_).astype(np.float64)
        with np.errstate(invalid="ignore"):  # (a label that never occurs has no shares)
            shares = table.T @ table / table.sum(axis=0)[:, None]
        names = svm.task_.classes_ if labels is None else labels
        return cls([str(name) for name in names], shares, svm.task_.pair_weights(svm.w_))

    def plot(self, axes: Any = None) -> LabelPairsDisplay:
        """Draw shares (left) and weights (right); needs matplotlib."""
        import matplotlib.pyplot as plt

        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
        off_diagonal = np.where(np.eye(len(self.labels), dtype=bool), np.nan, self.shares)
        reach = np.nanmax(np.abs(self.weights), initial=0.0) or 1.0
        self._draw(axes[0], off_diagonal, "viridis", (0.0, None))
        self._draw(axes[1], self.weights, "RdBu", (-reach, reach))
        axes[0].set(title="Share of the column's label\namong examples of the row's")
        axes[1].set(title="Weight of the pair\n(blue: together, red: apart)")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _draw(self, ax: Any, values: np.ndarray, colours: str, limits: Any) -> None:
        picture = ax.imshow(values, cmap=colours, vmin=limits[0], vmax=limits[1])
        at = range(len(self.labels))
        ax.set_xticks(at, self.labels, rotation=45, ha="right")
        ax.set_yticks(at, self.labels)
        for (a, b), value in np.ndenumerate(values):
            if np.isfinite(value):
                red, green, blue, _ = picture.cmap(picture.norm(value))
                is_dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
                colour = "white" if is_dark else "black"
                ax.text(b, a, f"{value:.2g}", ha="center", va="center", color=colour, fontsize=8)
        add_colour_bar(ax, picture)
