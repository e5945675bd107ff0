"""What is taken for what: confusion of labels, in sequences or one per example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blockwolfe.errors import InputError, OptionError, unknown_option
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.metrics import LabelScore
from blockwolfe.metrics.reading import read_labels
from blockwolfe.report.outputs.catalogue import view_of

__all__ = ["ConfusionDisplay"]

_NORMALIZE = ("true", "pred", "all")


class ConfusionDisplay:
    """Counts of (true, predicted) labels over all positions of all examples.

    matrix : a row per true label, a column per predicted one. labels : what rows and columns are.

    >>> display = ConfusionDisplay.from_predictions([["a", "b"], ["b"]], [["a", "a"], ["b"]])
    >>> display.matrix
    array([[1, 0],
           [1, 1]])
    >>> display.most_frequent(1)
    [('b', 'a', 1)]
    """

    def __init__(self, matrix: Any, labels: Sequence[Any]) -> None:
        self.matrix = np.asarray(matrix)
        self.labels = list(labels)
        if self.matrix.shape != (len(self.labels), len(self.labels)):
            raise InputError(
                f"matrix has shape {self.matrix.shape}; expected a row and a column for each of "
                f"the {len(self.labels)} labels."
            )

    @classmethod
    def from_predictions(cls, Y_true: Any, Y_pred: Any, labels: Any = None) -> ConfusionDisplay:
        """Of outputs that are labels, or sequences of labels.

        `labels` gives the order; labels that it lacks come after it.
        """
        truth, guess, _ = read_labels(Y_true, Y_pred)
        found, codes = np.unique(np.concatenate([truth, guess]), return_inverse=True)
        order = found.tolist()
        if labels is not None:
            first = np.asarray(labels).tolist()
            order = first + [label for label in order if label not in set(first)]
        place = {label: k for k, label in enumerate(order)}
        code = np.array([place[label] for label in found.tolist()])[codes]
        matrix = np.zeros((len(order), len(order)), dtype=np.int64)
        np.add.at(matrix, (code[: len(truth)], code[len(truth) :]), 1)
        return cls(matrix, order)

    @classmethod
    def from_estimator(cls, svm: StructuredSVM, X: Any, Y: Any) -> ConfusionDisplay:
        """Of a fitted estimator's predictions on X."""
        predicted = svm.predict(X)
        if not view_of(svm.task_).has_labels:
            raise OptionError(
                f"outputs of {type(svm.task_).__name__} are not labels, so there is no confusion "
                "of labels to show."
            )
        return cls.from_predictions(Y, predicted, labels=svm.task_.classes_)

    @property
    def accuracy(self) -> float:
        """Share of positions with the right label."""
        return float(np.trace(self.matrix) / self.matrix.sum())

    def per_label(self) -> list[LabelScore]:
        """Precision, recall and F1 of every label."""
        right = np.diag(self.matrix)
        predicted, true = self.matrix.sum(axis=0), self.matrix.sum(axis=1)
        return [
            LabelScore.of(label, int(right[k]), int(predicted[k]), int(true[k]))
            for k, label in enumerate(self.labels)
        ]

    def most_frequent(self, n: int = 10) -> list[tuple[Any, Any, int]]:
        """The commonest mistakes: true label, predicted label, how often."""
        wrong = self.matrix - np.diag(np.diag(self.matrix))
        order = np.argsort(-wrong, axis=None, kind="stable")[:n]
        pairs = [divmod(int(at), len(self.labels)) for at in order]
        return [(self.labels[j], self.labels[k], int(wrong[j, k])) for j, k in pairs if wrong[j, k]]

    def plot(self, ax: Any = None, normalize: str | None = None) -> ConfusionDisplay:
        """Draw with scikit-learn's `ConfusionMatrixDisplay`; needs matplotlib.

        `normalize` is "true" (each row sums to one), "pred" (each column), "all", or None.
        """
        from sklearn.metrics import ConfusionMatrixDisplay

        if normalize is not None and normalize not in _NORMALIZE:
            raise unknown_option("normalize", normalize, _NORMALIZE)
        axis = {"true": 1, "pred": 0}.get(normalize or "")
        shown: Any = self.matrix
        if normalize is not None:
            total = np.maximum(self.matrix.sum(axis=axis, keepdims=True), 1)
            shown = self.matrix / total
        is_small = len(self.labels) <= 12
        inner = ConfusionMatrixDisplay(shown, display_labels=self.labels).plot(
            ax=ax,
            include_values=is_small,
            xticks_rotation="horizontal" if is_small else "vertical",
            values_format=None if normalize is None else ".2f",
        )
        self.ax_, self.figure_ = inner.ax_, inner.figure_
        return self
