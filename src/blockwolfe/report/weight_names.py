"""What a weight stands for, in words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.estimator import StructuredSVM
from blockwolfe.report.outputs import inner_task
from blockwolfe.tasks.labelling import LabellingTask
from blockwolfe.tasks.multilabel import Multilabel
from blockwolfe.tasks.part_task import PartTask
from blockwolfe.tasks.sequence import SequenceTask

__all__ = ["NamedWeight", "largest_weights"]


class NamedWeight(NamedTuple):
    """A weight, the group it belongs to, and its feature and label where it has them."""

    group: str
    feature: str
    label: str
    value: float


def largest_weights(svm: StructuredSVM, n: int = 20) -> list[NamedWeight]:
    """The n weights of largest size, by size; zeros are left out.

    >>> import blockwolfe as bw
    >>> svm = bw.StructuredSVM(lam=0.1).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> largest_weights(svm, 1)[0][:2]
    ('emission', 'feature 0')
    """
    order = np.argsort(-np.abs(svm.coef_), kind="stable")[:n]
    return [_named(svm, int(k)) for k in order if svm.coef_[k] != 0.0]


def _named(svm: StructuredSVM, k: int) -> NamedWeight:
    group, at = _place(getattr(svm.task_, "groups", {}), k)
    task, value = inner_task(svm.task_), float(svm.coef_[k])
    if isinstance(task, SequenceTask):
        return NamedWeight(group, *_of_sequence(svm, task, group, at), value)
    if isinstance(task, PartTask):
        return NamedWeight(group, *_of_parts(task, group, at), value)
    return NamedWeight(group, f"w[{at}]", "", value)


def _place(groups: dict[str, slice], k: int) -> tuple[str, int]:
    """The group of weight k and its number there."""
    for name, where in groups.items():
        if where.start <= k < where.stop:
            return name, k - where.start
    return "", k


def _of_sequence(svm: StructuredSVM, task: SequenceTask, group: str, at: int) -> tuple[str, str]:
    labels = task.classes_
    feature, label = divmod(at, len(labels))
    if group == "transition":
        return "", f"{labels[feature]} → {labels[label]}"
    if group != "emission":
        return "", str(labels[label])
    names: Any = getattr(svm, "feature_names_in_", None)
    vectorizer = getattr(task, "vectorizer_", None)
    if vectorizer is not None:
        names = vectorizer.feature_names_
    return f"feature {feature}" if names is None else str(names[feature]), str(labels[label])


def _of_parts(task: PartTask, group: str, at: int) -> tuple[str, str]:
    layout = task.layout_
    if isinstance(task, Multilabel):
        return _of_sets(task, group, at)
    if not isinstance(task, LabellingTask):
        is_plain = layout.n_weights == layout.n_edge_features  # a weight a feature, nothing else
        return f"feature {at}" if is_plain else f"w[{at}]", ""
    labels = task.classes_
    if (layout.n_node_labels, layout.n_edge_labels) != (len(labels), len(labels) ** 2):
        return f"feature {at}", ""
    n_labels = layout.n_node_labels if group == "node" else layout.n_edge_labels
    feature, label = divmod(at, n_labels)
    if group == "node":
        return f"feature {feature}", str(labels[label])
    one, other = divmod(label, len(labels))
    return f"feature {feature}", f"{labels[one]} | {labels[other]}"


def _of_sets(task: Multilabel, group: str, at: int) -> tuple[str, str]:
    names = [str(label) for label in task.classes_]
    if group == "label":
        feature, label = divmod(at, len(names))
        return f"feature {feature}", names[label]
    feature, pair = divmod(at, len(task.pairs_))
    one, other = task.pairs_[pair]
    return (
        f"feature {feature}" if task.pair_features == "x" else "",
        f"{names[one]} + {names[other]}",
    )
