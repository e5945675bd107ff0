"""Names for the weights of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["largest_weights", "transition_table"]


def largest_weights(svm: Any, names: Any, n: int) -> list[tuple[str, float]]:
    """The `n` weights of largest size, with their names."""
    w = svm.coef_
    n = min(n, len(w))
    at = np.argpartition(-np.abs(w), n - 1)[:n] if n else np.zeros(0, dtype=int)
    at = at[np.argsort(-np.abs(w[at]), kind="stable")]
    name = _namer(svm.task_, names)
    return [(name(int(j)), float(w[j])) for j in at if w[j] != 0.0]


def _namer(task: Any, names: Any) -> Callable[[int], str]:
    """A function from the place of a weight to its name."""
    groups = getattr(task, "groups", None) or {}
    labels = [str(label) for label in getattr(task, "classes_", ())]
    is_layout = "emission" in groups and labels
    names = _feature_names(task, names)

    def name(j: int) -> str:
        for group, place in groups.items():
            if place.start <= j < place.stop:
                within = j - place.start
                return _inside(group, within) if is_layout else f"{group}[{within}]"
        return f"w[{j}]"

    def _inside(group: str, within: int) -> str:
        at, label = divmod(within, len(labels))
        if group == "emission":
            return f"{names[at] if names is not None else f'x[{at}]'} : {labels[label]}"
        if group == "transition":
            return f"{labels[at]} -> {labels[label]}"
        return f"{group} : {labels[label]}"

    return name


def _feature_names(task: Any, names: Any) -> Any:
    vectorizer = getattr(task, "vectorizer_", None)
    return names if names is not None else getattr(vectorizer, "feature_names_", None)


def transition_table(svm: Any) -> tuple[list[str], np.ndarray] | None:
    """Labels and weights from each (row) to each (column); None where there are none."""
    place = (getattr(svm.task_, "groups", None) or {}).get("transition")
    labels = [str(label) for label in getattr(svm.task_, "classes_", ())]
    if place is None or place.stop - place.start != len(labels) ** 2:
        return None
    return labels, svm.coef_[place].reshape(len(labels), len(labels))
