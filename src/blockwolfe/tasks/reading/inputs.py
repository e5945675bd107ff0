"""What users have as X, made into one CSR matrix of positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from blockwolfe.base.ragged import offsets
from blockwolfe.data.missing import with_nan
from blockwolfe.data.positions import (
    check_finite,
    check_sparse,
    check_unmasked,
    place_of,
    stack_positions,
)
from blockwolfe.errors import InputError, OptionError
from blockwolfe.features.rows import Tokens

__all__ = [
    "Masked",
    "check_flags",
    "checked_mask",
    "checked_w",
    "count",
    "in_fit_form",
    "is_token_dicts",
    "n_examples",
    "n_positions",
    "positional",
    "sequence_tokens",
    "split_masks",
    "table_tokens",
    "taken",
    "with_ones",
    "without_masks",
]


LARGEST_FEATURE = 1e50
# Rows are kept whole where at least this share of all values is not zero: see docs/decisions.md.
DENSE_SHARE = 0.5
FLOATS = [np.float64, np.float32]


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
    n_x, n_y = count(X, "X"), count(Y, "Y")
    if n_x != n_y:
        raise InputError(f"X has {n_x} examples and Y has {n_y}; expected one y for every x.")
    if n_x == 0:
        raise InputError("X is empty (0 samples); a minimum of 1 is required.")
    return n_x


def positional(values: Any) -> Any:
    """What is indexed by label (pandas) or not at all, as something indexed by position."""
    if sp.issparse(values) and values.format in ("coo", "dia", "bsr"):
        return values.tocsr()
    return values.to_numpy() if hasattr(values, "iloc") else values


def taken(values: Any, index: Any) -> Any:
    """The examples with these numbers, of an array, a sparse matrix or a list."""
    return values[index] if hasattr(values, "shape") else [values[i] for i in index]


def count(values: Any, name: str) -> int:
    """Number of examples in a list or an array; `name` is what an error calls it."""
    if hasattr(values, "__array__") and not hasattr(values, "shape"):
        values = np.asarray(values)
    if hasattr(values, "shape") and len(values.shape) > 0:
        return int(values.shape[0])
    if not hasattr(values, "__len__") or isinstance(values, (str, Mapping)):
        raise InputError(f"{name} is a {type(values).__name__}; expected a list or an array.")
    return len(values)


def check_flags(task: Any, *names: str) -> None:
    """Refuse options that are neither True nor False: "no", for example, would count as True."""
    for name in names:
        value = getattr(task, name)
        if not isinstance(value, (bool, np.bool_)):
            raise OptionError(f"{name}={value!r} must be True or False.")


def n_positions(x: Any, name: str = "x") -> int:
    """Length of one sequence, whatever it is made of; `name` is what an error calls it."""
    if hasattr(x, "shape") and len(x.shape) > 0:
        return int(x.shape[0])
    is_none = hasattr(x, "shape") or not hasattr(x, "__len__")  # (an array of no dimension)
    if is_none or isinstance(x, (str, Mapping)):
        raise InputError(f"{name} is a {type(x).__name__}; expected a sequence or an array.")
    return len(x)


def checked_w(w: Any, n_features: int) -> np.ndarray:
    """Weights as compiled code takes them, in a copy: it looks for no more and no fewer."""
    if np.shape(w) != (n_features,):
        raise InputError(
            f"w has shape {np.shape(w)}; expected ({n_features},), the weights of this task."
        )
    return np.array(w, dtype=np.float64)


def without_masks(X: Sequence[Any]) -> list[Any]:
    """The features of each sequence."""
    return [x.features if isinstance(x, Masked) else x for x in X]


def split_masks(X: Sequence[Any], n_labels: int) -> tuple[list[Any], np.ndarray]:
    """The features of each sequence, and all allowed-label masks stacked (no rows if none)."""
    features = without_masks(X)
    if not any(isinstance(x, Masked) for x in X):
        return features, np.zeros((0, n_labels), dtype=np.bool_)
    masks = []
    for i, (x, plain) in enumerate(zip(X, features, strict=True)):
        length = n_positions(plain, f"X[{i}]")
        allowed = x.allowed if isinstance(x, Masked) else None
        masks.append(checked_mask(allowed, (length, n_labels), i, "position"))
    return features, np.ascontiguousarray(np.concatenate(masks))


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
    if isinstance(first, (Mapping, set, frozenset)) and not sp.issparse(first):
        raise InputError(
            f"X[0] is a {type(first).__name__}; expected a sequence: a list of token dicts, one "
            "per position."
        )
    if first is None or hasattr(first, "shape") or not hasattr(first, "__len__") or not len(first):
        return False
    token = first[0]
    return isinstance(token, Mapping) or (
        isinstance(token, (list, tuple, set)) and all(isinstance(name, str) for name in token)
    )


def sequence_tokens(
    features: Sequence[Any], unit: str = "position", what: str = "", *, has_dicts: bool = False
) -> tuple[Tokens, int]:
    """Positions of all sequences as one CSR matrix, and the number of columns.

    In errors a row is called `unit`, and an entry of `features` X[i] followed by `what`;
    `has_dicts` says that token dicts would do as well.
    """
    others = ", a sparse matrix, or a list of token dicts" if has_dicts else ", or a sparse matrix"
    is_dense = not any(map(sp.issparse, features))
    matrix, length = stack_positions(features, unit, what, others, keep_single=is_dense)
    return tokens_of(in_fit_form(matrix), length, unit), matrix.shape[1]


def in_fit_form(matrix: Any) -> Any:
    """The matrix as an array if enough of its values are not zero, else as CSR of float64.

    By its values alone: the same numbers make the same run, however they are given.

    >>> in_fit_form(np.eye(3)).format
    'csr'
    >>> in_fit_form(sp.csr_array(np.ones((1, 2))))
    array([[1., 1.]])
    """
    n_values = matrix.count_nonzero() if sp.issparse(matrix) else np.count_nonzero(matrix)
    if n_values and n_values >= DENSE_SHARE * np.prod(matrix.shape):
        return matrix.toarray() if sp.issparse(matrix) else matrix
    return sp.csr_array(matrix, dtype=np.float64) if sp.issparse(matrix) else _sparse(matrix)


def _sparse(matrix: np.ndarray) -> sp.csr_array:
    """As `sp.csr_array(matrix, dtype=np.float64)`, in a third of its time."""
    is_there = matrix != 0
    at, n_columns = np.flatnonzero(is_there), matrix.shape[1]
    index = sp.get_index_dtype(maxval=max(len(at), n_columns))
    values = matrix.reshape(-1)[at].astype(np.float64, copy=False)
    start = offsets(np.count_nonzero(is_there, axis=1)).astype(index)
    return sp.csr_array((values, (at % n_columns).astype(index), start), shape=matrix.shape)


def with_ones(rows: Any) -> Any:
    """A constant one as last column of a matrix.

    >>> with_ones(np.zeros((1, 1), dtype=np.float32))
    array([[0., 1.]], dtype=float32)
    """
    if sp.issparse(rows):
        return sp.hstack([rows, np.ones((rows.shape[0], 1))], format="csr")
    kind = np.float32 if rows.dtype == np.float32 else np.float64
    return np.hstack([rows, np.ones((len(rows), 1), dtype=kind)])


def tokens_of(matrix: Any, length: np.ndarray, unit: str = "position") -> Tokens:
    """Fix arrays at the border of compiled code: int32 indices, float64 values, checked finite.

    They are all contiguous and writeable (a read-only one, of a memory map say, would have
    everything compiled anew). An array stays one, float32 or float64. `unit` is what an error
    calls a row.
    """
    check_sparse(matrix)
    offset = offsets(length)
    check_finite(matrix, offset, unit)
    values = matrix.data if sp.issparse(matrix) else matrix.reshape(-1)
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    largest = max(-low, high)
    if largest > LARGEST_FEATURE:
        entry = int(values.argmin() if -low > high else values.argmax())
        i, _ = place_of(entry, matrix, offset)
        raise InputError(
            f"X[{i}] has a feature of size {largest:.3g}; above {LARGEST_FEATURE:.0e} scores "
            "overflow. Scale the features, for example with sklearn.preprocessing.MaxAbsScaler."
        )
    if matrix.shape[1] > np.iinfo(np.int32).max:
        raise InputError(
            f"X has {matrix.shape[1]} columns; expected at most {np.iinfo(np.int32).max}."
        )
    if not sp.issparse(matrix):
        kind = np.float32 if matrix.dtype == np.float32 else np.float64
        return Tokens.dense(_plain(matrix, kind), offset)
    return Tokens.sparse(
        _plain(matrix.indptr, np.int64),
        _plain(matrix.indices, np.int32),
        _plain(values, np.float64),
        offset,
    )


def _plain(array: np.ndarray, dtype: Any) -> np.ndarray:
    return np.require(array, dtype, ["C", "A", "W", "E"])


def table_tokens(X: Any) -> tuple[Tokens, int]:
    """Rows of a 2-d array or sparse matrix (or a list of sparse rows), each of length one."""
    if isinstance(X, (list, tuple)) and len(X) and sp.issparse(X[0]):
        X = _stacked(X)
    if isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], Mapping):
        raise InputError(
            "X[0] is a dict; expected rows of numbers. Make them of dicts with "
            "sklearn.feature_extraction.DictVectorizer, for example in a pipeline."
        )
    check_sparse(X)
    check_unmasked(X, "X")
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        raise InputError(f"X holds dates or times ({X.dtype}); convert them to numbers.")
    try:
        table = _checked_table(X)
    except ValueError as error:
        raise InputError(str(error)) from error
    except TypeError:  # (pandas.NA is no number, not even NaN)
        table = _checked_table(with_nan(np.asarray(X, dtype=object)))
    if sp.issparse(table) and not table.has_canonical_format:
        table = sp.csr_array(table, dtype=np.float64, copy=True)  # the user's stays as it is
        table.sum_duplicates()
    matrix = in_fit_form(table)
    if _shares_memory(matrix, X):
        matrix = matrix.copy()  # (X may be changed later)
    return tokens_of(matrix, np.ones(matrix.shape[0], dtype=np.int64)), matrix.shape[1]


def _checked_table(X: Any) -> Any:
    """As scikit-learn reads it; what is not finite is told with its place later."""
    named: dict[str, Any] = {"input_name": "X", "estimator": "StructuredSVM"}
    return check_array(X, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False, **named)


def _shares_memory(matrix: Any, X: Any) -> bool:
    """Whether values (or indices) of the matrix are X's own, or may be."""
    if not sp.issparse(matrix):
        return hasattr(X, "__array__")
    return sp.issparse(X) and any(
        np.shares_memory(getattr(matrix, name), getattr(X, name, ()))
        for name in ("data", "indices", "indptr")
    )


def _stacked(rows: Sequence[Any]) -> sp.csr_array:
    """Sparse rows, one per example, as one matrix."""
    width = rows[0].shape[-1]
    for i, row in enumerate(rows):
        if not sp.issparse(row) or row.shape not in ((width,), (1, width)):
            raise InputError(
                f"X[{i}] is a {type(row).__name__} of shape {np.shape(row)}; expected a sparse row "
                f"of {width} columns, as X[0]."
            )
    return sp.csr_array(sp.vstack([row.reshape(1, -1) for row in rows], format="csr"))
