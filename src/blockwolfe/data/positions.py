"""Positions of sequences as users have them, end to end in one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.ragged import starts
from blockwolfe.errors import InputError

__all__ = [
    "array_of",
    "check_columns",
    "check_finite",
    "check_sparse",
    "check_unmasked",
    "place_of",
    "stack_positions",
]


def stack_positions(
    features: Sequence[Any],
    unit: str = "position",
    what: str = "",
    others: str = "",
    *,
    keep_single: bool = False,
) -> tuple[Any, np.ndarray]:
    """Rows of all sequences in one float64 matrix (CSR if any of them is sparse), and lengths.

    In errors a row is called `unit`, and an entry of `features` X[i] followed by `what`;
    `others` says what else would do. With `keep_single`, all float32 makes float32.

    >>> matrix, length = stack_positions([[[1, 2]], [[3, 4], [5, 6]]])
    >>> matrix.tolist(), length.tolist()
    ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [1, 2])
    """
    wanted = f"a numeric ({unit}s, features) array (use astype(float) on objects){others}"
    check_columns(features, what)
    rows = [_one_sequence(x, f"X[{i}]{what}", unit, wanted) for i, x in enumerate(features)]
    widths = {row.shape[1] for row in rows}
    if len(widths) > 1:
        i = next(i for i, row in enumerate(rows) if row.shape[1] != rows[0].shape[1])
        raise InputError(
            f"X[{i}]{what} has {rows[i].shape[1]} features and X[0]{what} has {rows[0].shape[1]}; "
            f"expected the same number for every {unit}."
        )
    length = np.array([row.shape[0] for row in rows], dtype=np.int64)
    if any(sp.issparse(row) for row in rows):  # (a dense copy of a sparse row may be huge)
        matrix = _stack_sparse([sp.csr_array(row) for row in rows], what)
    else:
        matrix = np.concatenate(rows)
    is_single = keep_single and all(row.dtype == np.float32 for row in rows)
    return matrix.astype(np.float32 if is_single else np.float64, copy=False), length


def check_columns(features: Sequence[Any], what: str = "") -> None:
    """Refuse data frames of other columns than the first: features go by their place."""
    named = [(i, list(x.columns)) for i, x in enumerate(features) if hasattr(x, "columns")]
    for i, columns in named:
        first, expected = named[0]
        if columns != expected:
            pairs = enumerate(zip_longest(columns, expected, fillvalue="nothing"))
            k, (found, wanted) = next((k, pair) for k, pair in pairs if pair[0] != pair[1])
            raise InputError(
                f"X[{i}]{what} has {found!r} as column {k} and X[{first}]{what} has {wanted!r}; "
                "expected data frames of the same columns in the same order."
            )


def check_finite(matrix: Any, offset: np.ndarray, unit: str = "position") -> None:
    """Refuse NaN and infinite entries of a dense or CSR matrix; sequence i begins at offset[i].

    >>> check_finite(np.array([[0.0, 1.0], [2.0, np.nan]]), np.array([0, 1, 2]))
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: X[1] has nan at position 0, feature 1; NaN and infinite features
    cannot be trained on. Impute or drop them, for example with sklearn.impute.SimpleImputer.
    """
    values = matrix.data if sp.issparse(matrix) else matrix.reshape(-1)
    is_finite = np.isfinite(values)
    if is_finite.all():
        return
    entry = int(np.argmin(is_finite))
    i, row = place_of(entry, matrix, offset)
    column = matrix.indices[entry] if sp.issparse(matrix) else entry % matrix.shape[1]
    raise InputError(
        f"X[{i}] has {values[entry]} at {unit} {row}, feature {column}; NaN and infinite features "
        "cannot be trained on. Impute or drop them, for example with sklearn.impute.SimpleImputer."
    )


def place_of(entry: int, matrix: Any, offset: np.ndarray) -> tuple[int, int]:
    """The example of a stored value, and its row there."""
    if sp.issparse(matrix):
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
    else:
        row = entry // matrix.shape[1]
    i = int(np.searchsorted(offset, row, side="right")) - 1
    return i, row - int(offset[i])


def array_of(rows: Any, name: str) -> np.ndarray:
    """An array; rows of unequal length are refused."""
    check_unmasked(rows, name)
    try:
        return np.asarray(rows)
    except ValueError as error:
        raise InputError(f"{name} is not an array: its rows have unequal length.") from error


def check_unmasked(values: Any, name: str) -> None:
    """Refuse masked entries, which would be read as what is under the mask."""
    if np.ma.is_masked(values):
        raise InputError(f"{name} has masked entries; fill them, or leave those rows out.")


def check_sparse(matrix: Any, name: str = "X") -> None:
    """Refuse a sparse matrix of no numbers, or that points outside of itself."""
    if sp.issparse(matrix) and matrix.dtype.kind not in "biuf":
        raise InputError(f"{name} is a sparse matrix of {matrix.dtype}; expected numbers.")
    if not sp.issparse(matrix) or matrix.format not in ("csr", "csc"):
        return  # (an array, or a format that scipy checks)
    unit, size = ("column", matrix.shape[1]) if matrix.format == "csr" else ("row", matrix.shape[0])
    indices = matrix.indices
    if len(indices) and not 0 <= indices.min() <= indices.max() < size:
        raise InputError(
            f"{name} is a sparse matrix of {size} {unit}s with {unit} indices "
            f"{indices.min()}..{indices.max()}; it is damaged, make it anew."
        )
    start, n_entries = matrix.indptr, min(len(indices), len(matrix.data))
    # (compared, not subtracted: from the least integer to the largest is a step of -1)
    if start[0] != 0 or (start[1:] < start[:-1]).any() or start[-1] > n_entries:
        raise InputError(
            f"{name} is a sparse matrix with an indptr that decreases or goes beyond its "
            f"{n_entries} entries; it is damaged, make it anew."
        )


def _one_sequence(x: Any, name: str, unit: str, wanted: str) -> Any:
    if sp.issparse(x) and x.format != "csr":
        check_sparse(x, name)  # (of CSR matrices all are checked at once, which is faster)
    try:
        array = sp.csr_array(x) if sp.issparse(x) else array_of(x, name)
    except ValueError:
        check_sparse(x, name)
        raise
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        found = f"has shape {array.shape} and type {array.dtype}"
        if array.ndim == 0:
            found = f"is a {type(x).__name__}"
        remedy = _remedy(x, array, "token dicts" in wanted)
        raise InputError(f"{name} {found}; expected {wanted}.{remedy}")
    if not array.shape[0]:
        raise InputError(f"{name} is empty; expected at least one {unit}.")
    return array


def _remedy(x: Any, array: np.ndarray, has_dicts: bool) -> str:
    """What is most often meant by something else than rows of numbers."""
    if array.ndim == 1 and array.dtype.kind in "biuf":
        return " One feature for each is x.reshape(-1, 1); a single example is a list of one, [x]."
    if not has_dicts:
        return ""
    if hasattr(x, "columns"):
        return " Of a data frame, x.to_dict('records') makes token dicts."
    if isinstance(x, str):
        return " Of a text, [{'word': word} for word in x.split()] makes token dicts."
    if array.ndim == 1 and array.dtype.kind == "U":
        return " Of words, [{'word': word} for word in x] makes token dicts."
    return ""


def _stack_sparse(rows: list[Any], what: str) -> sp.csr_array:
    try:
        matrix = _end_to_end(rows)
        check_sparse(matrix)
    except ValueError:  # (also of scipy)
        for i, row in enumerate(rows):
            check_sparse(row, f"X[{i}]{what}")
        raise
    matrix.sum_duplicates()
    return matrix


def _end_to_end(rows: list[Any]) -> sp.csr_array:
    if any(row.indptr[0] != 0 for row in rows):
        raise ValueError
    n_values = np.array([row.nnz for row in rows])
    shift = np.repeat(starts(n_values), [row.shape[0] for row in rows])
    ends = np.concatenate([row.indptr[1:] for row in rows]) + shift
    return sp.csr_array(
        (
            # as floats: duplicates are summed, and small integers would wrap round
            np.concatenate([row.data.astype(np.float64, copy=False) for row in rows]),
            np.concatenate([row.indices for row in rows]),
            np.concatenate([[0], ends]),
        ),
        shape=(sum(row.shape[0] for row in rows), rows[0].shape[1]),
    )
