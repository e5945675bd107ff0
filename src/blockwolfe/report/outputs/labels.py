"""Outputs that are labels, one per example or one per position."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.report.outputs.measures import of_labels, of_sequences
from blockwolfe.report.outputs.view import LabelMatrix, View, feature_name

__all__ = ["Labels", "Sequences"]


class Labels(View):
    """One label per example.

    >>> import blockwolfe as bw
    >>> Labels(bw.tasks.Multiclass()).measures(["a", "b"], ["a", "a"])
    {'accuracy': 0.5}
    """

    has_labels = True

    def measures(self, Y: Any, Y_hat: Any) -> dict[str, float]:
        """Accuracy."""
        return of_labels(Y, Y_hat)

    def weight_name(self, group: str, at: int, names: Any) -> tuple[str, str]:
        """Feature and label; of a transition, all its labels."""
        labels = self.task.classes_
        feature, label = divmod(at, len(labels))
        if group.startswith("transition"):
            order = int(group.partition("_")[2] or 1)
            shape = (len(labels),) * (order + 1)
            return "", " → ".join(str(labels[k]) for k in np.unravel_index(at, shape))
        return feature_name(feature, names) if group == "emission" else "", str(labels[label])

    def transitions(self, coef: np.ndarray) -> LabelMatrix | None:
        """From the label of a row to that of a column: pairs alone, whatever the order."""
        place = self.task.groups.get("transition")
        if place is None:
            return None
        labels = self.task.classes_.tolist()
        weights = coef[place].reshape(len(labels), len(labels))
        title = "Transitions: blue is favoured, red is avoided"
        return LabelMatrix(title, labels, weights, "label", "next label")


class Sequences(Labels):
    """A label per position."""

    def measures(self, Y: Any, Y_hat: Any) -> dict[str, float]:
        """Accuracy of positions and sequences, and the scores of chunks where tags are BIO."""
        return of_sequences(Y, Y_hat)
