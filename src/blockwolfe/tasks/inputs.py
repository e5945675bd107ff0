"""What users have as X, made into one CSR matrix of positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from blockwolfe.errors import InputError
from blockwolfe.features.emissions import Tokens

__all__ = [
    "Masked",
    "checked_mask",
    "is_token_dicts",
    "n_examples",
    "n_positions",
    "positional",
    "sequence_tokens",
    "split_masks",
    "table_tokens",
    "taken",
]


LARGEST_FEATURE = 1e50


@dataclass(frozen=True)
class Masked:
    """A sequence together with the labels allowed at each of its positions.

    `allowed` is a boolean (length, n_labels) array in the order of the task's labels.
    Use it as an entry of X, in training and in prediction.

    >>> Masked(np.zeros((2, 3)), np.ones((2, 4), dtype=bool)).allowed.shape
    (2, 4)
    """

    features: Any
    allowed: np.ndarray


def n_examples(X: Any, Y: Any) -> int:
    """Number of examples, after checking that X and Y agree on it and that there are any."""
    n_x, n_y = _count(X, "X"), _count(Y, "Y")
    if n_x != n_y:
        raise InputError(f"X has {n_x} examples and Y has {n_y}; expected one y for every x.")
    if n_x == 0:
        raise InputError("X is empty (0 samples); a minimum of 1 is required to train.")
    return n_x


def positional(values: Any) -> Any:
    """What pandas indexes by label, as an array that is indexed by position."""
    return values.to_numpy() if hasattr(values, "iloc") else values


def taken(values: Any, index: Any) -> Any:
    """The examples with these numbers, of an array, a sparse matrix or a list."""
    return values[index] if hasattr(values, "shape") else [values[i] for i in index]


def _count(values: Any, name: str) -> int:
    if hasattr(values, "__array__") and not hasattr(values, "shape"):
        values = np.asarray(values)
    if hasattr(values, "shape") and len(values.shape) > 0:
        return int(values.shape[0])
    if not hasattr(values, "__len__") or isinstance(values, (str, Mapping)):
        raise InputError(f"{name} is a {type(values).__name__}; expected a list or an array.")
    return len(values)


def n_positions(x: Any) -> int:
    """Length of one sequence, whatever it is made of."""
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)


def split_masks(X: Sequence[Any], n_labels: int) -> tuple[list[Any], np.ndarray]:
    """The features of each sequence, and all allowed-label masks stacked (no rows if none)."""
    features = [x.features if isinstance(x, Masked) else x for x in X]
    if not any(isinstance(x, Masked) for x in X):
        return features, np.zeros((0, n_labels), dtype=np.bool_)
    masks = []
    for i, (x, plain) in enumerate(zip(X, features, strict=True)):
        length = n_positions(plain)
        allowed = x.allowed if isinstance(x, Masked) else None
        masks.append(checked_mask(allowed, (length, n_labels), i, "position"))
    return features, np.concatenate(masks)


def checked_mask(allowed: Any, shape: tuple[int, int], i: int, unit: str) -> np.ndarray:
    """X[i].allowed as a boolean array that leaves every unit a label; None allows all."""
    if allowed is None:
        return np.ones(shape, dtype=np.bool_)
    mask = np.asarray(allowed)
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise InputError(
            f"X[{i}].allowed is {mask.dtype} of shape {mask.shape}; expected bool of shape "
            f"{tuple(map(int, shape))}: a row per {unit}, a column per label."
        )
    if not mask.any(axis=1).all():
        t = int(np.flatnonzero(~mask.any(axis=1))[0])
        raise InputError(f"X[{i}].allowed forbids every label at {unit} {t}.")
    return mask


def is_token_dicts(features: Sequence[Any]) -> bool:
    """Whether sequences are lists of token dicts (or of feature-name lists), not arrays."""
    first = features[0] if len(features) else None
    if first is None or hasattr(first, "shape") or not hasattr(first, "__len__") or not len(first):
        return False
    token = first[0]
    return isinstance(token, Mapping) or (
        isinstance(token, (list, tuple, set)) and all(isinstance(name, str) for name in token)
    )


def sequence_tokens(features: Sequence[Any]) -> tuple[Tokens, int]:
    """Positions of all sequences as one CSR matrix, and the number of columns."""
    rows = [_one_sequence(x, i) for i, x in enumerate(features)]
    widths = {row.shape[1] for row in rows}
    if len(widths) > 1:
        i = next(i for i, row in enumerate(rows) if row.shape[1] != rows[0].shape[1])
        raise InputError(
            f"X[{i}] has {rows[i].shape[1]} features and X[0] has {rows[0].shape[1]}; "
            "expected the same number for every position."
        )
    if all(sp.issparse(row) for row in rows):
        matrix = _stack_sparse(rows)
    else:
        dense = [row.toarray() if sp.issparse(row) else row for row in rows]
        matrix = sp.csr_array(np.concatenate(dense).astype(np.float64, copy=False))
    length = np.array([row.shape[0] for row in rows], dtype=np.int64)
    return tokens_of(matrix, length), matrix.shape[1]


def tokens_of(matrix: Any, length: np.ndarray, unit: str = "position") -> Tokens:
    """Fix dtypes at the border of compiled code: int32 indices, float64 values, checked finite.

    `unit` is what an error calls a row.
    """
    offset = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    values = matrix.data.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        entry = int(np.flatnonzero(~np.isfinite(values))[0])
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        i = int(np.searchsorted(offset, row, side="right")) - 1
        raise InputError(
            f"X[{i}] has {values[entry]} at {unit} {row - offset[i]}, feature "
            f"{matrix.indices[entry]}; NaN and infinite features cannot be trained on. "
            "Impute or drop them, for example with sklearn.impute.SimpleImputer."
        )
    largest = float(np.abs(values).max()) if len(values) else 0.0
    if largest > LARGEST_FEATURE:
        raise InputError(
            f"X has a feature of size {largest:.3g}; above {LARGEST_FEATURE:.0e} scores overflow. "
            "Scale the features, for example with sklearn.preprocessing.MaxAbsScaler."
        )
    return Tokens(
        np.ascontiguousarray(matrix.indptr, dtype=np.int64),
        np.ascontiguousarray(matrix.indices, dtype=np.int32),
        np.ascontiguousarray(values),
        offset,
    )


def _one_sequence(x: Any, i: int) -> Any:
    try:
        array = sp.csr_array(x) if sp.issparse(x) else np.asarray(x)
    except ValueError as error:
        raise InputError(
            f"X[{i}] is not a (positions, features) array: its rows have unequal length."
        ) from error
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(
            f"X[{i}] has shape {array.shape} and type {array.dtype}; expected a numeric "
            "(positions, features) array (use astype(float) on objects), a sparse matrix, or a "
            "list of token dicts."
        )
    if not array.shape[0]:
        raise InputError(f"X[{i}] is empty; every sequence needs at least one position.")
    return array


def _stack_sparse(rows: list[Any]) -> sp.csr_array:
    n_values = np.array([row.nnz for row in rows])
    shift = np.repeat(np.cumsum(n_values) - n_values, [row.shape[0] for row in rows])
    ends = np.concatenate([row.indptr[1:] for row in rows]) + shift
    matrix = sp.csr_array(
        (
            np.concatenate([row.data for row in rows]),
            np.concatenate([row.indices for row in rows]),
            np.concatenate([[0], ends]),
        ),
        shape=(sum(row.shape[0] for row in rows), rows[0].shape[1]),
    )
    matrix.sum_duplicates()
    return matrix


def table_tokens(X: Any) -> tuple[Tokens, int]:
    """Rows of a 2-d array or sparse matrix, each a sequence of length one."""
    matrix = sp.csr_array(check_array(X, accept_sparse="csr", dtype=np.float64))
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # the user's matrix stays as it is
        matrix.sum_duplicates()
    return tokens_of(matrix, np.ones(matrix.shape[0], dtype=np.int64)), matrix.shape[1]
