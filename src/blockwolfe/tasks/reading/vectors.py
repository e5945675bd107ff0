"""Feature vectors in any accepted form, and the check that a task has its four methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.errors import InputError

__all__ = ["called", "check_protocol", "dense_features", "fitted_clone", "sparse_features"]

METHODS = ("features", "loss", "decode", "augmented_decode")


def check_protocol(task: Any) -> None:
    """Refuse an object that lacks one of the four methods, naming what is missing."""
    if isinstance(task, type):
        raise InputError(f"task is the class {task.__name__}; pass an object: {task.__name__}().")
    if isinstance(task, str):
        raise InputError(f"task={task!r} is a string; pass an object, such as tasks.Chain().")
    missing = [name for name in METHODS if not callable(getattr(task, name, None))]
    if missing:
        raise InputError(
            f"task {type(task).__name__} lacks {', '.join(missing)}; a task has the four methods "
            f"{', '.join(METHODS)}. See help(blockwolfe.tasks.Task)."
        )


def called(task: Any, method: str, i: int, *args: Any) -> Any:
    """What a method of a user's task returns; an exception in it says for which example."""
    try:
        return getattr(task, method)(*args)
    except Exception as error:
        error.add_note(f"It was raised by {type(task).__name__}.{method}() for example {i}.")
        raise


def fitted_clone(task: Any, X: Any, Y: Any) -> Any:
    """A copy of the task that has learned labels and vocabulary; the given one is left alone."""
    from sklearn.base import clone

    copy = clone(task, safe=False)
    fitted = copy.fit(X, Y)
    return copy if fitted is None else fitted


def sparse_features(phi: Any, what: str) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Indices, values and (where known) length of a feature vector in any accepted form."""
    if isinstance(phi, tuple) and len(phi) == 2:
        index, value = (np.asarray(a) for a in phi)
        size = None
        if index.ndim != 1 or index.shape != value.shape:
            raise InputError(f"{what} returned (indices, values) of unequal or wrong shape.")
        if len(np.unique(index)) != len(index):
            raise InputError(f"{what} returned an index twice; add the values up first.")
        if len(index) and index.min() < 0:
            raise InputError(f"{what} returned a negative index.")
    elif sp.issparse(phi):
        row = sp.csr_array(phi.reshape(1, -1))
        row.sum_duplicates()
        index, value, size = row.indices, row.data, row.shape[1]
    else:
        try:
            dense = np.asarray(phi, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{what} returned a {type(phi).__name__}; expected an array of numbers, a sparse "
                "row, or (indices, values)."
            ) from error
        if dense.ndim != 1:
            raise InputError(
                f"{what} returned an array of shape {dense.shape}; expected one dimension."
            )
        index = np.flatnonzero(dense)
        value, size = dense[index], len(dense)
    value = value.astype(np.float64)
    if not np.isfinite(value).all():
        raise InputError(f"{what} returned NaN or an infinite value.")
    return index.astype(np.int32), value, size


def dense_features(task: Any, x: Any, y: Any, i: int, expected: int | None = None) -> np.ndarray:
    """phi(x, y) of example i as a dense vector, of the `expected` length if there is one."""
    phi = called(task, "features", i, x, y)
    index, value, size = sparse_features(phi, f"features() for example {i}")
    length = task.n_features if size is None else size
    if expected is not None and length != expected:
        raise InputError(
            f"features() for example {i} has length {length} for {y!r} and {expected} for others; "
            "expected one length for all."
        )
    dense = np.zeros(length)
    dense[index] = value
    return dense
