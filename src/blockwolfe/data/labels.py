"""Labels of sequences as users have them, end to end in one array."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from blockwolfe.base.ragged import offsets
from blockwolfe.data.missing import check_none_missing
from blockwolfe.errors import InputError

__all__ = ["flatten"]


def flatten(Y: Iterable[Any], name: str = "Y") -> tuple[np.ndarray, np.ndarray]:
    """All labels of all sequences end to end, and where each sequence begins.

    `name` is what an error calls Y.

    >>> labels, offset = flatten([["a", "b"], ["a"]])
    >>> labels.tolist(), offset.tolist()
    (['a', 'b', 'a'], [0, 2, 3])
    """
    arrays = [_one_sequence(y, f"{name}[{i}]") for i, y in enumerate(Y)]
    kinds = {"string" if array.dtype.kind == "U" else "integer" for array in arrays}
    if len(kinds) > 1:
        i = next(i for i, a in enumerate(arrays) if a.dtype.kind != arrays[0].dtype.kind)
        raise InputError(
            f"{name}[{i}] has labels like {arrays[i][0].item()!r} and {name}[0] like "
            f"{arrays[0][0].item()!r}; labels must be all strings or all integers."
        )
    offset = offsets([len(array) for array in arrays])
    return np.concatenate(arrays), offset


def _one_sequence(y: Any, name: str) -> np.ndarray:
    is_list = hasattr(y, "__len__") and hasattr(y, "__getitem__") and getattr(y, "ndim", 1) > 0
    if isinstance(y, str) or not is_list:
        raise InputError(
            f"{name} is {reprlib.repr(y)} of type {type(y).__name__}; expected a sequence of "
            "labels, one per position of X."
        )
    if not len(y):
        raise InputError(f"{name} is empty; every sequence needs at least one position.")
    try:
        array = np.asarray(y)
    except ValueError:  # rows of unequal length
        array = np.zeros((0, 0))
    if array.dtype.kind == "O" and all(isinstance(label, str) for label in y):
        array = array.astype(str)
    if array.dtype == np.uint64:  # (which together with other integers numpy makes floats of)
        array = array.astype(object if array.max() > np.iinfo(np.int64).max else np.int64)
    # numpy turns a mixture such as ["a", 1] into strings without a word
    is_mixed = array.dtype.kind == "U" and not all(isinstance(label, str) for label in y)
    if array.ndim != 1 or array.dtype.kind not in "iuUb" or is_mixed:
        check_none_missing(y, name)
        if array.ndim > 1 and array.size:
            raise InputError(
                f"{name} has shape {array.shape}; expected one label per position, in one "
                "dimension: y.ravel() of a picture."
            )
        raise InputError(
            f"{name} is {reprlib.repr(y)}{_type_found(array)}; labels must be all strings or all "
            "integers, one per position."
        )
    return array


def _type_found(array: np.ndarray) -> str:
    """Said of numbers that look like integers to those who read them."""
    return f" of type {array.dtype}" if array.dtype.kind in "fc" and array.size else ""
