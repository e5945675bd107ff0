"""The learned weights of one label following another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from blockwolfe.errors import OptionError
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.report.displays.colour_bars import add_colour_bar
from blockwolfe.report.outputs.catalogue import view_of

__all__ = ["TransitionsDisplay"]


class TransitionsDisplay:
    """Transition weights of a chain: a row per label, a column per label that follows it.

    >>> import blockwolfe as bw
    >>> X = [[{"w": "the"}, {"w": "cat"}], [{"w": "cat"}]]
    >>> svm = bw.StructuredSVM(bw.tasks.Chain(), lam=0.1).fit(X, [["D", "N"], ["N"]])
    >>> display = TransitionsDisplay.from_estimator(svm)
    >>> display.weights.shape, display.labels
    ((2, 2), ['D', 'N'])
    """

    def __init__(self, weights: Any, labels: Sequence[Any]) -> None:
        self.weights, self.labels = np.asarray(weights), list(labels)

    @classmethod
    def from_estimator(cls, svm: StructuredSVM) -> TransitionsDisplay:
        """Of a fitted estimator whose task has transitions."""
        check_is_fitted(svm, "w_")
        found = view_of(svm.task_).transitions(svm.w_)
        if found is None:
            raise OptionError(
                f"{type(svm.task_).__name__} has no weights for transitions; "
                "tasks.Chain(transition=True) has."
            )
        return cls(found.values, found.labels)

    def plot(self, ax: Any = None) -> TransitionsDisplay:
        """Draw a heat map, blue for likely and red for unlikely; needs matplotlib."""
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        largest = float(np.abs(self.weights).max()) or 1.0
        self.image_ = ax.imshow(self.weights, cmap="RdBu", vmin=-largest, vmax=largest)
        places = range(len(self.labels))
        ax.set_xticks(places, self.labels, rotation=90 if len(self.labels) > 12 else 0)
        ax.set_yticks(places, self.labels)
        ax.set(title="Learned transition weights", xlabel="next label", ylabel="label")
        add_colour_bar(ax, self.image_)
        self.ax_, self.figure_ = ax, ax.figure
        return self
