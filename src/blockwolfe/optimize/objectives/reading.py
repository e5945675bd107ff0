"""Arguments of objectives: arrays that are what they should be, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.errors import InputError
from blockwolfe.optimize.reading import as_numbers

__all__ = ["read_matrix", "read_point", "read_vector"]


def _check_finite(name: str, array: np.ndarray, entries: np.ndarray) -> None:
    n_bad = entries.size - int(np.count_nonzero(np.isfinite(entries)))
    if n_bad:
        are = "1 entry that is" if n_bad == 1 else f"{n_bad} entries that are"
        raise InputError(
            f"{name} of shape {array.shape} has {are} NaN or infinite; expected finite numbers."
        )


def read_vector(name: str, value: Any, size: int | None = None, of: str = "") -> np.ndarray:
    """A flat float64 vector of finite numbers; `of` says in errors what its length is.

    >>> read_vector("b", [1.0], 2, of="one entry per row of A")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: b has shape (1,); expected (2,): one entry per row of A.
    """
    if sp.issparse(value):
        raise InputError(f"{name} is sparse; expected a dense vector: pass {name}.toarray().")
    vector = as_numbers(name, value)
    expected = "(n,)" if size is None else f"({size},)"
    if vector.ndim != 1 or (size is not None and len(vector) != size):
        raise InputError(
            f"{name} has shape {vector.shape}; expected {expected}{': ' + of if of else ''}."
        )
    if not vector.size:
        raise InputError(f"{name} is empty; expected at least one number.")
    _check_finite(name, vector, vector)
    return vector


def read_point(x: Any, size: int | None) -> np.ndarray:
    """A point x at which an objective is asked for.

    >>> read_point([1, 2], 2)
    array([1., 2.])
    """
    return read_vector("x", x, size, of="the length that the objective is for")


def read_matrix(name: str, value: Any) -> Any:
    """A matrix of finite numbers with fast columns: Fortran order, or CSC where it is sparse.

    An array that has this form already is used as it is, and not copied.

    >>> read_matrix("A", [1.0, 2.0])
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: A has shape (2,); expected a matrix (rows, columns).
    """
    is_sparse = sp.issparse(value)
    shape = value.shape if is_sparse else (array := as_numbers(name, value)).shape
    if len(shape) != 2:
        raise InputError(f"{name} has shape {shape}; expected a matrix (rows, columns).")
    if 0 in shape:
        raise InputError(f"{name} is empty, of shape {shape}; expected rows and columns.")
    if not is_sparse:
        _check_finite(name, array, array)
        return np.asfortranarray(array)
    columns = sp.csc_array(value)
    columns.data = as_numbers(name, columns.data)
    if not columns.has_canonical_format:  # (sorts and adds in place: not in the user's matrix)
        columns = columns.copy()
        columns.sum_duplicates()
    _check_finite(name, columns, columns.data)
    return columns
