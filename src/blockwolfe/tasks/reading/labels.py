"""Labels of any kind to numbers 0..K-1 and back, with errors that say where a bad label stands."""

from __future__ import annotations

import numbers
import reprlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.errors import InputError, OptionError

__all__ = ["encode", "find", "find_classes", "given_classes", "known_codes"]


def find_classes(flat: np.ndarray, n_labels: Any, labels: Any) -> np.ndarray:
    """The label set: given as `labels`, or 0..n_labels-1, or what occurs in the data."""
    if labels is not None:
        classes = given_classes(labels)
        if n_labels is not None and n_labels != len(classes):
            raise OptionError(f"n_labels={n_labels} but {len(classes)} labels are given; give one.")
        return classes
    if n_labels is not None:
        check_integer("n_labels", n_labels, 1)
        return np.arange(int(n_labels))
    return np.unique(flat)


def given_classes(labels: Any) -> np.ndarray:
    """The option `labels` as an array.

    >>> given_classes(["b", "a"])
    array(['b', 'a'], dtype='<U1')
    """
    expected = "expected a list of at least one label, all strings or all integers"
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise OptionError(f"labels={labels!r}; {expected}.")
    listed = list(labels)
    are_strings = {isinstance(label, str) for label in listed}
    are_plain = all(isinstance(k, (str, numbers.Real, np.bool_)) for k in listed)
    if len(are_strings) != 1 or not are_plain:  # numpy makes strings of ["a", 1] without a word
        raise OptionError(f"labels={reprlib.repr(listed)}; {expected}.")
    classes = np.array(listed)
    if len(np.unique(classes)) != len(classes):
        raise OptionError("labels has repeated entries; expected each label once.")
    return classes


def find(flat: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of each label in `classes`, and whether it is there at all."""
    if (flat.dtype.kind in "US") != (classes.dtype.kind in "US"):
        return np.zeros(len(flat), dtype=np.int32), np.zeros(len(flat), dtype=bool)
    order = np.argsort(classes, kind="stable")
    ranked = classes[order]
    at = np.minimum(np.searchsorted(ranked, flat), len(ranked) - 1)
    return order[at].astype(np.int32), ranked[at] == flat


def known_codes(
    flat: np.ndarray, classes: np.ndarray, offset: np.ndarray
) -> list[np.ndarray | None]:
    """Labels of each example as numbers; None where one of them is not in `classes`.

    >>> known_codes(np.array(["b", "a", "z"]), np.array(["a", "b"]), np.array([0, 2, 3]))
    [array([1, 0], dtype=int32), None]
    """
    codes, is_known = find(flat, classes)
    both = zip(np.split(codes, offset[1:-1]), np.split(is_known, offset[1:-1]), strict=True)
    return [own if known.all() else None for own, known in both]


def encode(
    flat: np.ndarray, classes: np.ndarray, offset: np.ndarray | None = None, name: str = "Y"
) -> np.ndarray:
    """Index of each label in `classes`; an unknown one is an error that says where it is."""
    codes, is_known = find(flat, classes)
    if not is_known.all():
        bad = int(np.flatnonzero(~is_known)[0])
        place = f"{name}{_place(bad, offset)}"
        raise InputError(f"{place} is {flat[bad].item()!r}, {_expectation(classes)}")
    return codes


def _place(position: int, offset: np.ndarray | None) -> str:
    if offset is None:
        return f"[{position}]"
    i = int(np.searchsorted(offset, position, side="right")) - 1
    return f"[{i}][{position - offset[i]}]"


def _expectation(classes: np.ndarray) -> str:
    if classes.dtype.kind in "iu" and np.array_equal(classes, np.arange(len(classes))):
        return f"outside the labels 0..{len(classes) - 1}. Check n_labels or the labels."
    shown = ", ".join(repr(c.item()) for c in classes[:8]) + (", ..." if len(classes) > 8 else "")
    return (
        f"not one of the {len(classes)} labels {shown}. Check the spelling, or pass labels=[...]."
    )
