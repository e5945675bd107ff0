"""What kernels compare: rows of a dense or CSR matrix, or a list of any objects."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.ragged import offsets
from blockwolfe.data.positions import check_finite, check_sparse, check_unmasked, stack_positions
from blockwolfe.errors import InputError

__all__ = ["checked", "count", "stack", "take"]

_OTHERS = ", a sparse matrix, or a list of objects for a kernel of your own"


def count(inputs: Any) -> int:
    """How many there are."""
    return len(inputs) if isinstance(inputs, list) else int(inputs.shape[0])


def take(inputs: Any, index: Any) -> Any:
    """Those with these numbers, in that order.

    >>> take(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    return [inputs[i] for i in index] if isinstance(inputs, list) else inputs[index]


def stack(parts: Sequence[Any]) -> Any:
    """The inputs of all examples in one: a float64 array, a CSR array, or a list of objects.

    A list of rows of numbers is read as an array, any other list as objects. One sparse part
    makes the whole sparse. Errors call a part X[i].

    >>> stack([[[1, 2]], np.ones((1, 2))])
    array([[1., 2.],
           [1., 1.]])
    >>> stack([["the", "cat"], ["sat"]])
    ['the', 'cat', 'sat']
    """
    if not len(parts):
        raise InputError("X is empty; expected at least one example.")
    is_object = [_has_objects(part, f"X[{i}]") for i, part in enumerate(parts)]
    if all(is_object):
        return [entry for part in parts for entry in part]
    if any(is_object):
        i = is_object.index(not is_object[0])
        kinds = [_KINDS[is_object[k]] for k in (0, i)]
        raise InputError(
            f"X[0] is {kinds[0]} and X[{i}] is {kinds[1]}; expected the same for every example."
        )
    matrix, length = stack_positions(parts, others=_OTHERS)
    check_finite(matrix, offsets(length))
    return _plain(matrix)


_KINDS = {True: "a list of objects", False: "an array of numbers"}


def _has_objects(part: Any, name: str) -> bool:
    """Whether a part is a list of objects, not rows of numbers."""
    if hasattr(part, "shape"):
        return part.ndim == 1 and part.dtype.kind in "OU" and len(part) > 0
    if not isinstance(part, (list, tuple)):
        raise InputError(
            f"{name} is a {type(part).__name__}; expected an array, a sparse matrix, or a list "
            "with one entry per position."
        )
    if not len(part):
        raise InputError(f"{name} is empty; expected at least one position.")
    return not _is_row(part[0])


def _is_row(entry: Any) -> bool:
    """Whether this is one row of a list of rows of numbers."""
    if hasattr(entry, "shape"):
        return entry.ndim == 1 and entry.dtype.kind in "biuf"
    is_list = isinstance(entry, (list, tuple)) and len(entry) > 0
    return is_list and all(isinstance(number, (numbers.Real, np.bool_)) for number in entry)


def checked(inputs: Any) -> Any:
    """Inputs as kernels take them: float64 and C-contiguous, CSR, or a list; all finite.

    >>> checked(np.array([[np.inf]]))
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: X[0] has inf at position 0, feature 0; NaN and infinite features
    cannot be trained on. Impute or drop them, for example with sklearn.impute.SimpleImputer.
    """
    if isinstance(inputs, list):
        return inputs
    check_sparse(inputs)
    check_unmasked(inputs, "X")
    matrix = inputs if sp.issparse(inputs) else np.asarray(inputs)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or not matrix.shape[1]:
        raise InputError(
            f"X has shape {matrix.shape} and type {matrix.dtype}; expected a numeric "
            f"(positions, features) array with at least one feature{_OTHERS}."
        )
    matrix = _plain(matrix)
    check_finite(matrix, np.arange(matrix.shape[0] + 1))
    return matrix


def _plain(matrix: Any) -> Any:
    """One layout for each kind; the user's own matrix stays as it is."""
    if not sp.issparse(matrix):
        return np.ascontiguousarray(matrix, dtype=np.float64)
    rows = sp.csr_array(matrix, dtype=np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows
