"""Rows of features: lists of (index, value) pairs, or whole rows where most values are not zero."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.compiled import jit
from blockwolfe.base.ragged import offsets
from blockwolfe.features.dense import inner, no_products, products

__all__ = [
    "Gathered",
    "Tokens",
    "add_dense",
    "column_of",
    "gather_rows",
    "is_dense",
    "largest_norms",
    "peek_dense",
    "score_dense",
    "score_gathered",
    "value_of",
    "valued",
]

# Where a larger share of the parts of dense rows is asked for, to score all of them is faster.
PEEK_SHARE = 0.25

_NO_INDICES, _NO_VALUES = np.zeros(0, dtype=np.int32), np.zeros(0)
_NO_SINGLE = np.zeros(0, dtype=np.float32)


class Tokens(NamedTuple):
    """All positions as one CSR matrix; sequence i is rows offset[i]:offset[i+1].

    Where rows are dense there are no indices: entry e of a row that begins at indptr[row] is that
    of column e - indptr[row]. Dense values that were given in single precision are in `single`,
    and `values` is empty; so it is where all values of sparse rows are one (`emissions.placed`).
    The types are the same in all cases, so nothing is compiled anew.
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    offset: np.ndarray
    single: np.ndarray
    products: Any  # `Products`; None where nobody asks for them, or waits for them (`alone`)

    @classmethod
    def sparse(
        cls, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, offset: np.ndarray
    ) -> Tokens:
        """Of the arrays of a CSR matrix.

        >>> indptr, indices = np.array([0, 1, 1]), np.array([2], dtype=np.int32)
        >>> rows = Tokens.sparse(indptr, indices, np.ones(1), np.array([0, 2]))
        >>> rows.matrix(3).toarray()
        array([[0., 0., 1.],
               [0., 0., 0.]])
        """
        return cls(indptr, indices, values, offset, _NO_SINGLE, no_products())

    @classmethod
    def empty(cls, offset: np.ndarray) -> Tokens:
        """Positions without features.

        >>> Tokens.empty(np.array([0, 2])).matrix(0).shape
        (2, 0)
        """
        indptr = np.zeros(offset[-1] + 1, dtype=np.int64)
        return cls.sparse(indptr, _NO_INDICES, _NO_VALUES, offset)

    @classmethod
    def dense(cls, matrix: np.ndarray, offset: np.ndarray) -> Tokens:
        """Of an array in row-major order, float64 or float32, which is not copied.

        >>> rows = Tokens.dense(np.ones((2, 3), dtype=np.float32), np.array([0, 2]))
        >>> rows.single.nbytes, rows.values.nbytes, rows.indices.nbytes
        (24, 0, 0)
        """
        n_rows, width = matrix.shape
        indptr, flat = offsets(np.full(n_rows, width)), matrix.reshape(-1)
        is_single = matrix.dtype == np.float32
        values, single = (_NO_VALUES, flat) if is_single else (flat, _NO_SINGLE)
        return cls(indptr, _NO_INDICES, values, offset, single, products(is_single))

    def matrix(self, n_columns: int) -> Any:
        """The rows as an array where they are dense, else as a CSR matrix."""
        shape = (len(self.indptr) - 1, n_columns)
        if self.indptr[-1] and not len(self.indices):
            return (self.single if len(self.single) else self.values).reshape(shape)
        return sp.csr_array((self.values, self.indices, self.indptr), shape=shape)

    @property
    def alone(self) -> Tokens:
        """Without what multiplies them, which may be compiling still."""
        return self._replace(products=None)

    def times(self, factor: float) -> Tokens:
        """All values multiplied; in double precision where single has no room for them.

        >>> rows = Tokens.dense(np.full((1, 2), 3e38, dtype=np.float32), np.array([0, 1]))
        >>> bool(np.isfinite(rows.times(2.0).matrix(2)).all())
        True
        """
        if not len(self.single):
            return self._replace(values=factor * self.values)
        with np.errstate(over="ignore"):
            single = np.float32(factor) * self.single
        if np.isfinite(single).all():
            return self._replace(single=single)
        values = factor * self.single.astype(np.float64)
        return self._replace(values=values, single=_NO_SINGLE, products=products(is_single=False))


@jit(inline="always")
def is_dense(rows: Tokens) -> bool:
    """Whether rows are kept without indices."""
    return rows.indices.shape[0] == 0 and rows.values.shape[0] + rows.single.shape[0] > 0


@jit(inline="always")
def _place_of(rows: Tokens, i: int, n_labels: int, first: int) -> tuple[int, ...]:
    """Where the dense rows of block i lie: a `dense.Place`."""
    begin = rows.offset[i]
    n_rows, at = rows.offset[i + 1] - begin, rows.indptr[begin]
    width = rows.indptr[begin + 1] - at if n_rows > 0 else 0
    return at, n_rows, width, n_labels, first, n_labels


@jit(inline="always")
def score_dense(
    rows: Tokens, i: int, n_labels: int, first: int, w: Any, scale: float, theta: Any
) -> None:
    """theta[p] += scale times the score of p, of all parts of block i's rows, from `first` on."""
    place = _place_of(rows, i, n_labels, first)
    rows.products.score(rows.values, rows.single, place, w, scale, theta)


@jit(inline="always")
def peek_dense(
    rows: Tokens, i: int, n_labels: int, first: int, w: Any, part: Any, size: int, theta: Any
) -> None:
    """theta[p] = the score of p, of the listed parts among them; where they are many, of all."""
    place = _place_of(rows, i, n_labels, first)
    n_parts = place[1] * n_labels
    if size > PEEK_SHARE * n_parts:
        for p in range(first, first + n_parts):
            theta[p] = 0.0
        rows.products.score(rows.values, rows.single, place, w, 1.0, theta)
    else:
        rows.products.peek(rows.values, rows.single, place, w, part, size, theta)


@jit(inline="always")
def add_dense(
    rows: Tokens, i: int, n_labels: int, first: int, moved: Any, coefficient: float, out: Any
) -> None:
    """Add coefficient times the features of the listed parts among them to `out`."""
    part, delta, size = moved
    place = _place_of(rows, i, n_labels, first)
    rows.products.add(rows.values, rows.single, place, part, delta, size, coefficient, out)


class Gathered(NamedTuple):
    """Room for dense rows of several blocks, one below the other, in one of the two arrays."""

    values: np.ndarray
    single: np.ndarray

    @classmethod
    def of(cls, rows: Tokens, n_rows: int) -> Gathered:
        """For so many."""
        width = int(rows.indptr[1] - rows.indptr[0])
        sizes = (n_rows * width * bool(len(kind)) for kind in (rows.values, rows.single))
        n_values, n_single = sizes
        return cls(np.zeros(n_values), np.zeros(n_single, dtype=np.float32))


@jit
def gather_rows(rows: Tokens, block: Any, span: Any, to: Gathered) -> None:
    """Copy the rows of blocks of one row each, block[span[0]:span[1]]."""
    at, size = 0, rows.indptr[1] - rows.indptr[0]
    for s in range(span[0], span[1]):
        begin = rows.indptr[rows.offset[block[s]]]
        for e in range(begin, begin + size):
            if to.single.shape[0] > 0:
                to.single[at] = rows.single[e]
            else:
                to.values[at] = rows.values[e]
            at += 1


@jit
def score_gathered(
    rows: Tokens, own: Gathered, span: Any, n_labels: int, n_scored: int, w: Any, theta: Any
) -> None:
    """theta[r * n_labels + k] += score of label k at row r, of gathered rows span[0]:span[1].

    Of so many labels from the first on. The bits are those of `score_dense`.
    """
    width, (begin, end) = rows.indptr[1] - rows.indptr[0], span
    place = begin * width, end - begin, width, n_labels, begin * n_labels, n_scored
    rows.products.score(own.values, own.single, place, w, 1.0, theta)


@jit(inline="always")
def column_of(rows: Tokens, row: int, entry: int) -> int:
    """The column of an entry of a row."""
    if rows.indices.shape[0] == 0:
        return int(entry - rows.indptr[row])
    return int(rows.indices[entry])


@jit(inline="always")
def valued(values: Any, entry: Any, factor: float) -> float:
    """The value of an entry of sparse rows, times a factor; no values at all mean ones."""
    return factor * values[entry] if values.shape[0] else factor


@jit(inline="always")
def value_of(rows: Tokens, entry: int) -> float:
    """The value of an entry."""
    if rows.single.shape[0] > 0:
        return float(rows.single[entry])
    return float(valued(rows.values, entry, 1.0))


@jit
def _fill_norms(rows: Tokens, constant: float, out: Any) -> None:
    values, single = rows.values, rows.single
    for i in range(out.shape[0]):
        largest = 0.0
        for row in range(rows.offset[i], rows.offset[i + 1]):
            at, n = rows.indptr[row], rows.indptr[row + 1] - rows.indptr[row]
            of_single = inner(single, at, single, at, n) if single.shape[0] > 0 else float(n)
            square = inner(values, at, values, at, n) if values.shape[0] > 0 else of_single
            largest = max(largest, square + constant)
        out[i] = np.sqrt(largest)


def largest_norms(rows: Tokens, constant: float = 0.0) -> np.ndarray:
    """The largest norm of a row of each block, with so many features of value one added to each."""
    norms = np.zeros(len(rows.offset) - 1)
    _fill_norms(rows.alone, constant, norms)
    return norms
