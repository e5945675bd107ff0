"""Values of kernels, all by scikit-learn's functions or the user's own, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.metrics.pairwise import (
    cosine_similarity,
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
)

from blockwolfe.errors import InputError

__all__ = [
    "FORMULAS",
    "centred",
    "gamma_of",
    "kernel_values",
    "named",
    "pieces",
    "squared_radius",
]

# A function, and which options of a kernel it takes.
FORMULAS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "linear": (linear_kernel, ()),
    "poly": (polynomial_kernel, ("gamma", "degree", "coef0")),
    "rbf": (rbf_kernel, ("gamma",)),
    "sigmoid": (sigmoid_kernel, ("gamma", "coef0")),
    "laplacian": (laplacian_kernel, ("gamma",)),
    "cosine": (cosine_similarity, ()),
}

PIECE = 2**25  # bytes of values at a time (a sparse product holds them twice)


def pieces(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Rows of a large matrix, so many at a time that a piece is no more than `PIECE` bytes.

    >>> list(pieces(5, 2**21))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, PIECE // (8 * max(1, n_columns)))
    for begin in range(0, n_rows, size):
        yield slice(begin, min(begin + size, n_rows))


def named(name: Any) -> str:
    """A kernel in a message.

    >>> named("rbf"), named(linear_kernel)
    ("kernel='rbf'", 'kernel=linear_kernel')
    """
    shown = repr(name) if isinstance(name, str) else getattr(name, "__name__", repr(name))
    return f"kernel={shown}"


def kernel_values(name: Any, options: dict[str, Any], A: Any, B: Any) -> np.ndarray:
    """The kernel between all of A and all of B, neither of them empty, as (len(A), len(B))."""
    if callable(name):
        return _own_values(name, A, B)
    function, takes = FORMULAS[name]
    if name == "rbf" and isinstance(B, np.ndarray) and isinstance(A, np.ndarray):
        A, B = _centred(A, B)
    if name == "laplacian":
        A, B = _narrow(A), _narrow(B)
    # Options and inputs have been checked: not again for every row. Values that are not finite are
    # told by the caller, with their place.
    checked = config_context(assume_finite=True, skip_parameter_validation=True)
    with checked, np.errstate(all="ignore"):
        return np.asarray(function(A, B, **{option: options[option] for option in takes}))


def centred(table: np.ndarray) -> np.ndarray:
    """Rows less their mean: distances stay, and their squares are rounded by less."""
    return np.asarray(table - table.mean(axis=0))


def _centred(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both less the mean of B; one array where they are one, which scikit-learn looks at."""
    own = centred(B)
    return (own if A is B else A - B.mean(axis=0)), own


def _narrow(rows: Any) -> Any:
    """Sparse rows with indices of 32 bits, as scikit-learn's distances take them alone."""
    if not sp.issparse(rows):
        return rows
    own = rows.tocsr()
    parts = (own.data, own.indices.astype(np.int32), own.indptr.astype(np.int32))
    return sp.csr_array(parts, shape=own.shape)


def squared_radius(inputs: Any) -> float:
    """The largest |x|^2 of rows as distances are computed of: dense ones are centred.

    >>> squared_radius(np.array([[7.0], [9.0]])), squared_radius(sp.csr_array([[7.0], [9.0]]))
    (1.0, 81.0)
    """
    if sp.issparse(inputs):
        return float(inputs.multiply(inputs).sum(axis=1).max())
    return float((centred(inputs) ** 2).sum(axis=1).max())


def _own_values(function: Any, A: Any, B: Any) -> np.ndarray:
    """By the user's own function, whose result is checked; its errors are its own."""
    found = function(A, B)
    shape = tuple(len(given) if isinstance(given, list) else given.shape[0] for given in (A, B))
    wanted = f"expected an array of numbers of shape {shape}: a row per entry of A, a column per "
    wanted += "entry of B"
    try:
        values = None if sp.issparse(found) else np.asarray(found)
    except ValueError:  # (rows of unequal length)
        values = None
    if values is None:
        raise InputError(f"{named(function)} returned a {type(found).__name__}; {wanted}.")
    if values.dtype.kind not in "biuf" or values.shape != shape:
        raise InputError(
            f"{named(function)} returned an array of {values.dtype} of shape {values.shape}; "
            f"{wanted}."
        )
    return values


def gamma_of(gamma: Any, inputs: Any) -> float:
    """The number that gamma stands for: None is 1 / p, "scale" is 1 / (p var(inputs)) as in SVC.

    >>> gamma_of("scale", np.array([[1.0, -1.0]])), gamma_of(None, np.ones((3, 4)))
    (0.5, 0.25)
    """
    width = inputs.shape[1]
    if gamma is None:
        return 1.0 / width
    if gamma != "scale":
        return float(gamma)
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(inputs):
            variance = float(inputs.multiply(inputs).mean() - inputs.mean() ** 2)
        else:
            variance = float(inputs.var())
    found = 1.0 / (width * variance) if variance > 0.0 else 1.0  # (of constant features: as SVC)
    if not np.isfinite(variance) or not 0.0 < found < np.inf:
        raise InputError(
            f"gamma='scale' is no finite number > 0 here: the variance of X is {variance:g}. Scale "
            "X, for example with sklearn.preprocessing.StandardScaler, or give gamma as a number."
        )
    return found
