"""What a weight stands for, in words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.nonzero import is_nonzero
from blockwolfe.data.vectorizers.arc_names import arc_feature_names
from blockwolfe.data.vectorizers.arcs import ArcVectorizer
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.report.outputs import inner_task
from blockwolfe.tasks.labelling import LabellingTask
from blockwolfe.tasks.multilabel import Multilabel
from blockwolfe.tasks.part_task import PartTask
from blockwolfe.tasks.sequence import SequenceTask

__all__ = ["NamedWeight", "hashed_names", "largest_weights"]


class NamedWeight(NamedTuple):
    """A weight, the group it belongs to, and its feature and label where it has them."""

    group: str
    feature: str
    label: str
    value: float

    def __str__(self) -> str:
        """All of it in one line: ``word=cat : NOUN``, ``DET → NOUN``."""
        named = " : ".join(part for part in (self.feature, self.label) if part)
        return named if self.group in _OBVIOUS else f"{self.group} {named}".strip()


# Groups that a feature and a label are expected to belong to.
_OBVIOUS = ("emission", "transition", "node", "link", "label")


def largest_weights(
    svm: StructuredSVM, n: int = 20, names: Any = None, data: Any = None
) -> list[NamedWeight]:
    """The n weights of largest size, by size; zeros are left out.

    `names` of the features, where the estimator does not know them itself: a list, or a dict from
    some of them. Hashed features get their names from `data`, examples (X, Y) that have them.

    >>> import blockwolfe as bw
    >>> svm = bw.StructuredSVM(lam=0.1).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> largest_weights(svm, 1)[0][:2]
    ('emission', 'feature 0')
    """
    order = _largest(svm.coef_, n)
    if names is None and data is not None:
        names = hashed_names(svm, n, data)
    if names is None:
        names = _feature_names(svm)
    is_used = is_nonzero(svm.coef_)
    return [_named(svm, int(k), names) for k in order if is_used[k]]


def hashed_names(svm: StructuredSVM, n: int, data: Any) -> dict[int, str] | None:
    """Names of the n largest weights as far as (X, Y) shows them; None where none is hashed."""
    vectorizer = getattr(inner_task(svm.task_), "vectorizer_", None)
    if not isinstance(vectorizer, ArcVectorizer):
        return None
    return arc_feature_names(vectorizer, _largest(svm.coef_, n), *data[:2])


def _largest(coef: np.ndarray, n: int) -> np.ndarray:
    size = np.abs(coef)
    n = min(n, len(size))
    largest = np.argpartition(-size, n - 1)[:n] if n else np.zeros(0, dtype=np.int64)
    return largest[np.lexsort((largest, -size[largest]))]


def _feature_names(svm: StructuredSVM) -> Any:
    vectorizer = getattr(inner_task(svm.task_), "vectorizer_", None)
    return getattr(vectorizer, "feature_names_", getattr(svm, "feature_names_in_", None))


def _named(svm: StructuredSVM, k: int, names: Any) -> NamedWeight:
    group, at = _place(getattr(svm.task_, "groups", {}), k)
    task, value = inner_task(svm.task_), float(svm.coef_[k])
    if isinstance(task, SequenceTask):
        return NamedWeight(group, *_of_sequence(task, group, at, names), value)
    if isinstance(task, PartTask):
        return NamedWeight(group, *_of_parts(task, group, at, names), value)
    return NamedWeight(group, f"w[{at}]", "", value)


def _feature(at: int, names: Any) -> str:
    """The name of a feature; those beyond the last name are the constant ones."""
    if names is None or isinstance(names, dict):
        return f"feature {at}" if names is None else names.get(at, f"feature {at}")
    return str(names[at]) if at < len(names) else "constant"


def _place(groups: dict[str, slice], k: int) -> tuple[str, int]:
    """The group of weight k and its number there."""
    for name, where in groups.items():
        if where.start <= k < where.stop:
            return name, k - where.start
    return "", k


def _of_sequence(task: SequenceTask, group: str, at: int, names: Any) -> tuple[str, str]:
    labels = task.classes_
    feature, label = divmod(at, len(labels))
    if group == "transition":
        return "", f"{labels[feature]} → {labels[label]}"
    return _feature(feature, names) if group == "emission" else "", str(labels[label])


def _of_parts(task: PartTask, group: str, at: int, names: Any) -> tuple[str, str]:
    layout = task.layout_
    if isinstance(task, Multilabel):
        return _of_sets(task, group, at, names)
    if not isinstance(task, LabellingTask):
        is_plain = layout.n_weights == layout.n_edge_features  # a weight a feature, nothing else
        return _feature(at, names) if is_plain else f"w[{at}]", ""
    labels, names = task.classes_, names if group == "node" else None
    if (layout.n_node_labels, layout.n_edge_labels) != (len(labels), len(labels) ** 2):
        return _feature(at, names), ""
    n_labels = layout.n_node_labels if group == "node" else layout.n_edge_labels
    feature, label = divmod(at, n_labels)
    if group == "node":
        return _feature(feature, names), str(labels[label])
    one, other = divmod(label, len(labels))
    return _feature(feature, names), f"{labels[one]} | {labels[other]}"


def _of_sets(task: Multilabel, group: str, at: int, names: Any) -> tuple[str, str]:
    labels = [str(label) for label in task.classes_]
    if group == "label":
        feature, label = divmod(at, len(labels))
        return _feature(feature, names), labels[label]
    feature, pair = divmod(at, len(task.pairs_))
    one, other = task.pairs_[pair]
    shown = _feature(feature, names) if task.pair_features == "x" else ""
    return shown, f"{labels[one]} + {labels[other]}"
