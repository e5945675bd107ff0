"""What a weight stands for, in words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.nonzero import is_nonzero
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.report.outputs.catalogue import view_of
from blockwolfe.report.outputs.view import View
from blockwolfe.tasks.kernelized.task import is_kernelized

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
        is_obvious = self.group.split("_")[0] in _OBVIOUS  # (also transitions of higher orders)
        return named if is_obvious else f"{self.group} {named}".strip()


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
    >>> str(bw.largest_weights(svm, 1, names=["size"])[0])
    'size : a'
    """
    view, w = view_of(svm.task_), linear_weights(svm)
    is_used = is_nonzero(w)
    if names is None and data is not None:
        names = hashed_names(svm, n, data)
    if names is None:
        names = _feature_names(svm, view)
    order = (int(k) for k in _largest(w, n) if is_used[k])
    return [_named(view, k, float(w[k]), names) for k in order]


def linear_weights(svm: StructuredSVM) -> np.ndarray:
    """The weights; with a kernel, those that are no coefficients of it."""
    return np.asarray(svm.w_[: svm.task_.n_linear] if is_kernelized(svm.task_) else svm.w_)


def hashed_names(svm: StructuredSVM, n: int, data: Any) -> dict[int, str] | None:
    """Names of the n largest weights as far as (X, Y) shows them; None where none is hashed."""
    return view_of(svm.task_).hashed_names(_largest(linear_weights(svm), n), data)


def _largest(coef: np.ndarray, n: int) -> np.ndarray:
    size = np.abs(coef)
    n = min(n, len(size))
    largest = np.argpartition(-size, n - 1)[:n] if n else np.zeros(0, dtype=np.int64)
    return largest[np.lexsort((largest, -size[largest]))]


def _feature_names(svm: StructuredSVM, view: View) -> Any:
    vectorizer = getattr(view.task, "vectorizer_", None)
    return getattr(vectorizer, "feature_names_", getattr(svm, "feature_names_in_", None))


def _named(view: View, k: int, value: float, names: Any) -> NamedWeight:
    group, at = _place(getattr(view.task, "groups", {}), k)
    return NamedWeight(group, *view.weight_name(group, at, names), value)


def _place(groups: dict[str, slice], k: int) -> tuple[str, int]:
    """The group of weight k and its number there."""
    for name, where in groups.items():
        if where.start <= k < where.stop:
            return name, k - where.start
    return "", k
