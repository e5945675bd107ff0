"""Arrays in an npz file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.data.formats.base import Examples, Format, Source, written
from blockwolfe.data.text import out_of_memory
from blockwolfe.errors import InputError

__all__ = ["Arrays"]


class Arrays(Format):
    """``X`` (rows, features), ``y`` a label per row; for sequences, ``offsets`` of n + 1 rows.

    A sparse X is stored as ``X_data``, ``X_indices``, ``X_indptr`` and ``X_shape``.

    >>> file = io.BytesIO()
    >>> np.savez(file, X=np.eye(3), y=[0, 1, 0], offsets=[0, 2, 3])
    >>> [x.shape for x in Arrays().learn([Source("a.npz", file.getvalue())]).X]
    [(2, 3), (1, 3)]
    """

    name = "npz"

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """Read a file."""
        arrays = _arrays(source)
        X = self._rows(arrays, source)
        y = arrays.get("y")
        if y is None and labelled:
            raise _missing("y", "a label per row", arrays, source)
        if y is not None:
            self._check_labels(y, X.shape[0], source)
        if not self.is_sequence:
            return Examples(X, y, places=source.places(range(1, X.shape[0] + 1), "row"))
        spans = list(pairwise(_offsets(arrays, X.shape[0], source)))
        labels = None if y is None else [y[a:b] for a, b in spans]
        places = source.places(range(1, len(spans) + 1), "sequence")
        return Examples([X[a:b] for a, b in spans], labels, places=places)

    def _check_labels(self, y: np.ndarray, n_rows: int, source: Source) -> None:
        if y.ndim not in ((1,) if self.is_sequence else (1, 2)) or y.dtype.kind not in "biufU":
            raise InputError(
                f"{source.name}: y has shape {y.shape} and type {y.dtype}; expected numbers or "
                "strings, a label per row."
            )
        if len(y) != n_rows:
            raise InputError(f"{source.name}: X has {n_rows} rows and y has {len(y)}.")

    def _rows(self, arrays: dict[str, np.ndarray], source: Source) -> Any:
        if "X_indptr" in arrays:
            data, indices, indptr, shape = (
                arrays.get(f"X_{part}") for part in ("data", "indices", "indptr", "shape")
            )
            try:
                _check_kind((indices, indptr, shape), "iu", "integers")
                _check_kind((data,), "biuf", "numbers")
                values = data.astype(np.float64)  # type: ignore[union-attr]
                matrix = sp.csr_array((values, indices, indptr), shape=tuple(shape))  # type: ignore[arg-type]
                matrix.check_format(full_check=True)  # (indices inside of the shape)
            except (TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
                raise InputError(f"{source.name}: X_... is no CSR matrix ({error}).") from error
            return matrix
        X = arrays.get("X")
        if X is None or X.ndim != 2 or X.dtype.kind not in "biuf":
            raise _missing("X", "a row of numbers per position", arrays, source)
        return X

    def write(self, examples: Examples, outputs: Any) -> Iterator[str]:
        """One label a line, and an empty line after a sequence."""
        if not self.is_sequence:
            yield from map(written, outputs)
            return
        for labels in outputs:
            yield from (*map(str, labels), "")


def _check_kind(arrays: tuple[Any, ...], kinds: str, expected: str) -> None:
    """Scipy makes integers of anything, also of what is infinite, and keeps dates as features."""
    for array in arrays:
        if array.dtype.kind not in kinds:
            raise TypeError(f"found {array.dtype}, expected {expected}")


def _arrays(source: Source) -> dict[str, np.ndarray]:
    try:
        with np.load(io.BytesIO(source.content), allow_pickle=False) as archive:
            return dict(archive)
    except MemoryError as error:
        raise out_of_memory(source.name) from error
    except Exception as error:  # a damaged zip file raises almost anything
        raise InputError(f"{source.name} is not an npz file of arrays ({error}).") from error


def _offsets(arrays: dict[str, np.ndarray], n_rows: int, source: Source) -> np.ndarray:
    offsets = arrays.get("offsets")
    if offsets is None:
        raise _missing("offsets", "where each sequence begins, and the end", arrays, source)
    is_list = offsets.ndim == 1 and offsets.dtype.kind in "iu" and len(offsets) > 1
    starts = offsets.astype(np.int64) if is_list else np.zeros(2, dtype=np.int64)
    if starts[0] != 0 or starts[-1] != n_rows or (np.diff(starts) < 1).any():
        raise InputError(
            f"{source.name}: offsets must increase from 0 to {n_rows}, the number of rows of X."
        )
    return starts


def _missing(name: str, what: str, arrays: dict[str, np.ndarray], source: Source) -> InputError:
    shown = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
    return InputError(f"{source.name} has {shown}; expected {name} ({what}).")
