"""What report and command line ask of a task: how it is shown, what is named and measured how."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.markup import Html
from blockwolfe.metrics import LabelReport, label_report
from blockwolfe.report.outputs.catalogue import view_of
from blockwolfe.report.outputs.examples import outputs_of

__all__ = ["LabelMatrix", "PartsView", "View", "feature_name", "view_inside"]


class LabelMatrix(NamedTuple):
    """A number for each pair of labels, and the words of a heat map of them."""

    title: str
    labels: list[Any]
    values: np.ndarray
    rows: str
    columns: str


class View:
    """How a fitted task is shown. What is here serves any task, also one of your own.

    A subclass says what it knows better, and `register_task` gives it to a class of tasks.

    >>> View(None).measures([1], [1]), View(None).weight_name("", 3, None)
    ({}, ('w[3]', ''))
    """

    # Whether outputs are labels or sequences of labels, so that one can be taken for another.
    has_labels = False

    def __init__(self, task: Any) -> None:
        self.task = task

    def example(self, x: Any, y: Any, y_hat: Any, feature_names: Any = None) -> Html:
        """An example's true and predicted output, as a reader of the report sees them.

        `x` is what is shown of the input: the words of a sentence, those of both sides of a pair.
        """
        return outputs_of(x, y, y_hat, feature_names)

    def readable(self, Y: Any) -> Any:
        """Outputs in the form in which they are shown and written to files."""
        return Y

    def measures(self, Y: Any, Y_hat: Any) -> dict[str, float]:
        """The usual measures of such predictions, by name."""
        return {}

    def label_report(self, Y: Any, Y_hat: Any) -> LabelReport | None:
        """How well each label is found, where outputs are labels, sequences or sets of them."""
        return label_report(Y, Y_hat, self.task.classes_) if self.has_labels else None

    def weight_name(self, group: str, at: int, names: Any) -> tuple[str, str]:
        """Feature and label of weight `at` of a group, "" where it has none.

        `names` are names of the features: a list, a dict of some of them, or None.
        """
        return f"w[{at}]", ""

    def hashed_names(self, columns: np.ndarray, data: Any) -> dict[int, str] | None:
        """Names of hashed features as far as data (X, Y, ...) shows them; None: none is hashed."""
        return None

    def transitions(self, coef: np.ndarray) -> LabelMatrix | None:
        """Weights of one label after another, where the task has them."""
        return None

    def matrices(self, coef: np.ndarray) -> dict[str, LabelMatrix]:
        """Weights of pairs of labels, drawn as heat maps in the report, by key."""
        found = self.transitions(coef)
        return {} if found is None else {"transitions": found}


class PartsView(View):
    """Of tasks with features of parts, whose weights are those of features and nothing else."""

    def weight_name(self, group: str, at: int, names: Any) -> tuple[str, str]:
        """The name of the feature."""
        layout = self.task.layout_
        is_plain = layout.n_weights == layout.n_edge_features  # a weight a feature, nothing else
        return feature_name(at, names) if is_plain else f"w[{at}]", ""


def view_inside(task: Any) -> View:
    """The view of the task that a wrapper is about."""
    return view_of(getattr(task, "task_", task.task))


def feature_name(at: int, names: Any) -> str:
    """The name of a feature; those beyond the last name are the constant ones.

    >>> feature_name(1, ["a", "b"]), feature_name(2, ["a", "b"]), feature_name(2, None)
    ('b', 'constant', 'feature 2')
    """
    if names is None or isinstance(names, dict):
        return f"feature {at}" if names is None else names.get(at, f"feature {at}")
    return str(names[at]) if at < len(names) else "constant"
