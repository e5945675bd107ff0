"""Arguments of domains: numbers and arrays that are what they should be, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.checks import check_integer
from blockwolfe.errors import InputError
from blockwolfe.optimize.reading import as_numbers

__all__ = ["finite_array", "matrix", "read_shape"]


def finite_array(name: str, value: Any) -> np.ndarray:
    """An own float64 array, not empty, of finite numbers.

    >>> finite_array("center", [0.0, np.inf])
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: center has 1 entry that is NaN or infinite; expected finite
    numbers.
    """
    array = np.array(as_numbers(name, value))
    if array.size == 0:
        raise InputError(f"{name} is empty, of shape {array.shape}; expected at least one number.")
    n_bad = array.size - int(np.isfinite(array).sum())
    if n_bad:
        are = "1 entry that is" if n_bad == 1 else f"{n_bad} entries that are"
        raise InputError(f"{name} has {are} NaN or infinite; expected finite numbers.")
    return array


def matrix(name: str, value: Any) -> Any:
    """An own matrix of finite numbers: a dense array, or CSR without duplicates where sparse.

    >>> matrix("V", [1.0, 2.0])
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: V has shape (2,); expected a matrix, with two dimensions.
    """
    if not sp.issparse(value):
        array = finite_array(name, value)
        if array.ndim != 2:
            raise InputError(
                f"{name} has shape {array.shape}; expected a matrix, with two dimensions."
            )
        return np.ascontiguousarray(array)
    if value.ndim != 2 or 0 in value.shape:
        raise InputError(f"{name} has shape {value.shape}; expected a matrix that is not empty.")
    rows = sp.csr_array(value, copy=True)
    if rows.nnz:
        rows.data = finite_array(name, rows.data)
    rows.sum_duplicates()
    return rows.astype(np.float64)


def read_shape(name: str, value: Any, n_dimensions: int | None = None) -> tuple[int, ...]:
    """A tuple of positive integers; one integer is a vector's length.

    >>> read_shape("shape", (2, 3)), read_shape("size", 4)
    ((2, 3), (4,))
    """
    lengths = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not lengths or (n_dimensions is not None and len(lengths) != n_dimensions):
        many = "at least one" if n_dimensions is None else str(n_dimensions)
        raise InputError(f"{name}={value!r} has {len(lengths)} lengths; expected {many}.")
    for length in lengths:
        check_integer(name, length, 1)
    return tuple(int(length) for length in lengths)
