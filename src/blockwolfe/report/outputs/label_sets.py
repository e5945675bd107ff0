"""Outputs that are sets of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.markup import Html, element, joined
from blockwolfe.metrics import LabelReport, label_report
from blockwolfe.report.outputs.examples import marked, row_text
from blockwolfe.report.outputs.measures import of_sets
from blockwolfe.report.outputs.view import LabelMatrix, View, feature_name

__all__ = ["LabelSets"]


class LabelSets(View):
    """A set of labels per example, or a row of zeros and ones.

    >>> import blockwolfe as bw
    >>> svm = bw.StructuredSVM(bw.tasks.Multilabel(), lam=1.0).fit([[0.0], [1.0]], [{"a"}, {"b"}])
    >>> LabelSets(svm.task_).readable([[0, 1]])
    [{'b'}]
    """

    def example(self, x: Any, y: Any, y_hat: Any, feature_names: Any = None) -> Html:
        """Each label that is true or predicted, and the row."""
        found = marked(set(y), set(y_hat), lambda label: (str(label),), "no labels")
        return joined([found, element("p", element("code", row_text(x, feature_names)))])

    def readable(self, Y: Any) -> Any:
        """Sets of labels by their names."""
        return self.task.label_sets(Y)

    def measures(self, Y: Any, Y_hat: Any) -> dict[str, float]:
        """Exact matches, wrong labels, precision, recall and F1."""
        return of_sets(self.readable(Y), self.readable(Y_hat), len(self.task.classes_))

    def label_report(self, Y: Any, Y_hat: Any) -> LabelReport:
        """Of every label: whether it is in the set or not."""
        return label_report(self.readable(Y), self.readable(Y_hat), self.task.classes_)

    def weight_name(self, group: str, at: int, names: Any) -> tuple[str, str]:
        """Feature and label, or both labels of a pair."""
        labels = [str(label) for label in self.task.classes_]
        if group == "label":
            feature, label = divmod(at, len(labels))
            return feature_name(feature, names), labels[label]
        feature, pair = divmod(at, len(self.task.pairs_))
        one, other = self.task.pairs_[pair]
        shown = feature_name(feature, names) if self.task.pair_features == "x" else ""
        return shown, f"{labels[one]} + {labels[other]}"

    def matrices(self, coef: np.ndarray) -> dict[str, LabelMatrix]:
        """Weights of pairs of labels."""
        if not len(self.task.pairs_):
            return {}
        title, labels = "Pairs of labels: blue together, red apart", self.task.classes_.tolist()
        values = self.task.pair_weights(coef)
        return {"pairs": LabelMatrix(title, labels, values, "label", "and label")}
