"""A matrix A by its columns: A d for sparse d, and A^T r for a block of columns.

A step along few coordinates costs what their columns cost, and the gradient of a block what the
columns of the block cost; the other columns are not touched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.optimize.directions import Direction

__all__ = ["DenseColumns", "Matrix", "SparseColumns", "columns_of", "dot_rows"]

# An image with more entries than this share of all rows is kept dense: adding it is then faster.
_MANY = 0.25


class Matrix(ABC):
    """A matrix A at work for one follower: a sparse one has scratch that is not to be shared."""

    shape: tuple[int, int]

    @abstractmethod
    def times(self, x: np.ndarray) -> np.ndarray:
        """A x."""

    @abstractmethod
    def image(self, direction: Direction) -> Direction:
        """A d, as a change of A x."""

    @property
    @abstractmethod
    def longest_column(self) -> float:
        """The largest Euclidean norm of a column."""

    @abstractmethod
    def adjoint(self, r: np.ndarray, block: slice) -> np.ndarray:
        """A[:, block]^T r."""

    @abstractmethod
    def adjoint_at(self, r: np.ndarray, index: np.ndarray) -> np.ndarray:
        """A[:, index]^T r, of some columns."""


def columns_of(matrix: Any) -> Matrix:
    """What `read_matrix` returned, at work.

    >>> A = columns_of(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> A.image(Direction(np.array([1]), np.array([10.0]))).value
    array([20., 40.])
    >>> A.adjoint(np.ones(2), slice(1, 2))
    array([6.])
    """
    return DenseColumns(matrix) if isinstance(matrix, np.ndarray) else SparseColumns(matrix)


class DenseColumns(Matrix):
    """A dense matrix in Fortran order."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.shape = matrix.shape
        self._rows = matrix.T  # C order: row j is column j of A

    def times(self, x: np.ndarray) -> np.ndarray:
        """A x."""
        return x @ self._rows

    def image(self, direction: Direction) -> Direction:
        """A d; all of its entries."""
        thin = direction.thinned()
        index, value = thin.index, thin.value
        if not isinstance(index, slice) and len(index) == 1:
            moved = value[0] * self._rows[index[0]]  # (spares a copy of the column)
        else:
            moved = value @ self._rows[index]
        return Direction(slice(0, self.shape[0]), moved)

    @cached_property
    def longest_column(self) -> float:
        """The largest Euclidean norm of a column."""
        return float(np.sqrt(np.einsum("ij,ij->i", self._rows, self._rows).max(initial=0.0)))

    def adjoint(self, r: np.ndarray, block: slice) -> np.ndarray:
        """A[:, block]^T r."""
        return self._rows[block] @ r

    def adjoint_at(self, r: np.ndarray, index: np.ndarray) -> np.ndarray:
        """A[:, index]^T r; the columns are not copied."""
        out = np.empty(len(index))
        dot_rows(self._rows, index, r, out)
        return out


class SparseColumns(Matrix):
    """A sparse matrix by compressed columns."""

    def __init__(self, matrix: Any) -> None:
        self.shape = matrix.shape
        self._matrix = matrix
        self._arrays = matrix.indptr, matrix.indices, matrix.data
        n_rows = self.shape[0]
        self._sums, self._is_met = np.zeros(n_rows), np.zeros(n_rows, dtype=np.bool_)

    def times(self, x: np.ndarray) -> np.ndarray:
        """A x."""
        return self._matrix @ x

    def image(self, direction: Direction) -> Direction:
        """A d; its entries in the rows that the columns meet, where these are few."""
        thin = direction.thinned()
        index, value = thin.index, thin.value
        indptr, n_rows = self._arrays[0], self.shape[0]
        if isinstance(index, slice):
            if indptr[index.stop] - indptr[index.start] > _MANY * n_rows:
                moved = np.zeros(n_rows)
                _add_block(*self._arrays, index.start, value, moved)
                return Direction(slice(0, n_rows), moved)
            index = np.arange(index.start, index.stop)
        n_entries = _count_entries(indptr, index)
        if n_entries > _MANY * n_rows:
            moved = np.zeros(n_rows)
            _add_columns(*self._arrays, index, value, moved)
            return Direction(slice(0, n_rows), moved)
        rows, moved = np.empty(n_entries, dtype=np.int64), np.empty(n_entries)
        n = _gather_columns(*self._arrays, index, value, self._sums, self._is_met, rows, moved)
        return Direction(rows[:n], moved[:n])

    @cached_property
    def longest_column(self) -> float:
        """The largest Euclidean norm of a column."""
        squares = self._matrix.multiply(self._matrix).sum(axis=0)
        return float(np.sqrt(np.asarray(squares).max(initial=0.0)))

    def adjoint(self, r: np.ndarray, block: slice) -> np.ndarray:
        """A[:, block]^T r."""
        out = np.empty(block.stop - block.start)
        _dot_block(*self._arrays, block.start, r, out)
        return out

    def adjoint_at(self, r: np.ndarray, index: np.ndarray) -> np.ndarray:
        """A[:, index]^T r."""
        out = np.empty(len(index))
        _dot_columns(*self._arrays, index, r, out)
        return out


@jit
def dot_rows(rows: Any, index: Any, r: Any, out: Any) -> None:
    """out[k] = <A[:, index[k]], r>, by four terms at a time."""
    n, whole = r.shape[0], r.shape[0] - r.shape[0] % 4
    for k in range(index.shape[0]):
        row, total = rows[index[k]], 0.0
        for s in range(0, whole, 4):
            left = row[s] * r[s] + row[s + 1] * r[s + 1]
            total += left + (row[s + 2] * r[s + 2] + row[s + 3] * r[s + 3])
        for s in range(whole, n):
            total += row[s] * r[s]
        out[k] = total


@jit
def _dot_columns(indptr: Any, indices: Any, data: Any, index: Any, r: Any, out: Any) -> None:
    """out[k] = <A[:, index[k]], r>."""
    for k in range(out.shape[0]):
        total = 0.0
        for e in range(indptr[index[k]], indptr[index[k] + 1]):
            total += data[e] * r[indices[e]]
        out[k] = total


@jit
def _dot_block(indptr: Any, indices: Any, data: Any, begin: int, r: Any, out: Any) -> None:
    """out[k] = <A[:, begin + k], r>."""
    for k in range(out.shape[0]):
        total = 0.0
        for e in range(indptr[begin + k], indptr[begin + k + 1]):
            total += data[e] * r[indices[e]]
        out[k] = total


@jit
def _count_entries(indptr: Any, index: Any) -> int:
    """How many entries some columns have, together."""
    n = 0
    for s in range(index.shape[0]):
        n += indptr[index[s] + 1] - indptr[index[s]]
    return n


@jit
def _add_columns(indptr: Any, indices: Any, data: Any, index: Any, value: Any, out: Any) -> None:
    """Add A d to `out`."""
    for s in range(index.shape[0]):
        j = index[s]
        for e in range(indptr[j], indptr[j + 1]):
            out[indices[e]] += value[s] * data[e]


@jit
def _add_block(indptr: Any, indices: Any, data: Any, begin: int, value: Any, out: Any) -> None:
    """The same for the columns from `begin` on."""
    for s in range(value.shape[0]):
        for e in range(indptr[begin + s], indptr[begin + s + 1]):
            out[indices[e]] += value[s] * data[e]


@jit
def _gather_columns(
    indptr: Any,
    indices: Any,
    data: Any,
    index: Any,
    value: Any,
    sums: Any,
    is_met: Any,
    rows: Any,
    moved: Any,
) -> int:
    """A d as (row, entry) pairs; `sums` and `is_met` are zero before and after."""
    n = 0
    for s in range(index.shape[0]):
        j = index[s]
        for e in range(indptr[j], indptr[j + 1]):
            row = indices[e]
            if not is_met[row]:
                is_met[row] = True
                rows[n] = row
                n += 1
            sums[row] += value[s] * data[e]
    for k in range(n):
        row = rows[k]
        moved[k] = sums[row]
        sums[row], is_met[row] = 0.0, False
    return n
