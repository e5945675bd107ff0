"""Sets of labels as users have them, made into a table of 0 and 1 and back."""

from __future__ import annotations

import numbers
import reprlib
from collections.abc import Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.memory import check_memory
from blockwolfe.errors import InputError
from blockwolfe.tasks.losses import class_weights
from blockwolfe.tasks.reading.inputs import positional
from blockwolfe.tasks.reading.labels import given_classes

__all__ = ["label_table", "miss_weights", "set_classes"]

_EXPECTED = "expected an (n, L) array of 0 and 1, or a list of sets of labels"


def _is_set(y: Any) -> bool:
    """Whether y is a set of labels and not a row of 0 and 1."""
    is_list = isinstance(y, (list, tuple)) or (isinstance(y, np.ndarray) and y.ndim == 1)
    return isinstance(y, Set) or (is_list and all(isinstance(label, str) for label in y))


def _are_sets(Y: Any) -> bool:
    if isinstance(Y, np.ndarray) and Y.dtype.kind in "biuf":
        return False
    return isinstance(Y, (list, tuple, np.ndarray)) and any(_is_set(y) for y in Y)


def set_classes(Y: Any, labels: Any) -> np.ndarray:
    """The labels: given, or those that occur in sets, or 0..L-1 for the columns of a table."""
    if labels is not None:
        return given_classes(labels)
    if not _are_sets(Y):
        return np.arange(_table(Y).shape[1])
    found = set().union(*(_members(y, i) for i, y in enumerate(Y)))
    if not found:
        raise InputError("Y has empty sets only, so the labels are unknown; pass labels=[...].")
    odd = [label for label in found if not isinstance(label, (str, numbers.Real))]
    if odd:
        raise InputError(f"Y has the label {odd[0]!r}; labels must be all strings or all integers.")
    if len({isinstance(label, str) for label in found}) > 1:
        raise InputError("Y mixes strings with other labels; labels must be of one kind.")
    return np.array(sorted(found))


def label_table(Y: Any, classes: np.ndarray) -> np.ndarray:
    """Y as (n, L) of 0 and 1, int64."""
    Y, n_labels = positional(Y), len(classes)
    if not _are_sets(Y):
        table = _table(Y)
        if table.shape[1] != n_labels:
            raise InputError(
                f"Y has {table.shape[1]} columns and there are {n_labels} labels; {_EXPECTED}."
            )
        return table
    at = {label: k for k, label in enumerate(classes.tolist())}
    table = np.zeros((len(Y), n_labels), dtype=np.int64)
    for i, y in enumerate(Y):
        for label in _members(y, i):
            if label not in at:
                raise InputError(
                    f"Y[{i}] has the label {label!r}, which is not among {classes.tolist()}."
                )
            table[i, at[label]] = 1
    return table


def _members(y: Any, i: int) -> set[Any]:
    if not _is_set(y):
        raise InputError(f"Y[{i}] is {reprlib.repr(y)}, but other entries are sets of labels.")
    return {label.item() if isinstance(label, np.generic) else label for label in y}


def _table(Y: Any) -> np.ndarray:
    rows = [y.toarray().ravel() if sp.issparse(y) else y for y in Y] if isinstance(Y, list) else Y
    if sp.issparse(Y):
        n, n_labels = Y.shape
        what = f"a table of {n:,} examples and {n_labels:,} labels"
        check_memory(8 * n * n_labels, what, "Use fewer labels: drop those that are rare.")
    try:
        table = Y.toarray() if sp.issparse(Y) else np.asarray(rows)
    except ValueError as error:
        raise InputError(
            f"Y has rows of unequal length; {_EXPECTED} (as sets: lists of numbers are taken as "
            "rows)."
        ) from error
    if table.ndim != 2 or not table.shape[1] or table.dtype.kind not in "biuf":
        raise InputError(f"Y has shape {table.shape} and type {table.dtype}; {_EXPECTED}.")
    is_bad = (table != 0) & (table != 1)
    if is_bad.any():
        i, label = (int(at[0]) for at in np.nonzero(is_bad))
        raise InputError(f"Y[{i}][{label}] is {table[i, label]}; {_EXPECTED}.")
    return table.astype(np.int64)


def miss_weights(class_weight: Any, classes: np.ndarray, table: np.ndarray) -> np.ndarray:
    """What missing each label costs, times the cost of a miss."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        n_on = table.sum(axis=0)
        n_off = len(table) - n_on
        return np.where((n_on > 0) & (n_off > 0), n_off / np.maximum(n_on, 1), 1.0)
    return class_weights(class_weight, classes, table)
