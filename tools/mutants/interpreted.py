"""A pytest plugin that runs compiled code as the Python that it is written in.

A change in any compiled file makes Numba compile everything anew, 10 to 60 seconds of it for each
kind of task; interpreted, small problems take none. Loaded with ``-p tools.mutants.interpreted``,
before the package is imported.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numba
import numpy as np


class Interpreted:
    """In place of Numba's dispatcher: the function itself, whatever its signature."""

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run it."""
        return self.py_func(*args, **named)

    def compile(self, signature: Any) -> Any:
        """The function again: there is nothing to compile."""
        return self.py_func


class Piece:
    """In place of `blockwolfe.base.compiled.Piece`."""

    def __init__(self, function: Any, signature: Any) -> None:
        self.function, self.signature = function, signature
        self._numba_type_ = numba.types.Opaque(f"Piece[{signature}]")

    def begin(self) -> None:
        """There is nothing to compile."""

    def __call__(self, *args: Any) -> Any:
        """Run it, on records themselves."""
        return self.function(*map(unpack, args))


def njit(function: Any = None, **options: Any) -> Any:
    """In place of `numba.njit`."""
    return Interpreted if function is None else Interpreted(function)


numba.njit = njit
typeof = numba.typeof


def typeof_any(value: Any) -> Any:
    """In place of `numba.typeof`: records that hold such functions have a type as well."""
    try:
        return typeof(value)
    except (TypeError, ValueError):
        return type(value)


numba.typeof = typeof_any

from blockwolfe.base import compiled, lanes, packed  # noqa: E402
from blockwolfe.base.packed_type import unpack  # noqa: E402

compiled.Piece = Piece  # type: ignore[misc, assignment]


def stack_vector(size: int) -> np.ndarray:
    """In place of `blockwolfe.base.lanes.stack_vector`."""
    return np.zeros(size)


def stack_integers(size: int) -> np.ndarray:
    """In place of `blockwolfe.base.lanes.stack_integers`."""
    return np.zeros(size, dtype=np.int64)


def _matrix(given: Any, n_rows: int, n_columns: int) -> np.ndarray:
    """Rows of a flat array, of which only the beginnings need be that far apart."""
    array, begin, stride = given
    apart = (stride * array.itemsize, array.itemsize)
    return np.lib.stride_tricks.as_strided(array[begin:], (n_rows, n_columns), apart)


def add_product(rows: int, left: Any, right: Any, out: Any, shape: Any, scale: float) -> None:
    """In place of `blockwolfe.base.lanes.add_product`: sums are over features in order, too."""
    n_rows, size, n_columns = shape
    if n_rows and n_columns:
        a, b = _matrix(left, n_rows, size), _matrix(right, size, n_columns)
        product = np.zeros((n_rows, n_columns))
        for f in range(size):
            product += a[:, f : f + 1] * b[f]
        _matrix(out, n_rows, n_columns)[:] += scale * product


def sum_rows(
    lanes: int, x: Any, f: int, at: Any, factor: Any, span: Any, out: Any, to: int
) -> None:
    """In place of `blockwolfe.base.lanes.sum_rows`."""
    out[to : to + lanes] = 0.0
    for s in range(*span):
        begin = at[s] + f
        out[to : to + lanes] += factor[s] * x[begin : begin + lanes]


def add_transposed(size: int, left: Any, out: Any) -> None:
    """In place of `blockwolfe.base.lanes.add_transposed`."""
    _matrix(out, size, size)[:] += _matrix(left, size, size).T


for replacement in (stack_vector, stack_integers, add_product, sum_rows, add_transposed):
    setattr(lanes, replacement.__name__, replacement)


def not_written(value: Any, kind: Any) -> Any:
    """In place of `blockwolfe.base.packed._written`: interpreted code reads the record itself."""
    return (ctypes.c_uint64 * 1)()


packed._written = not_written


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Leave out tests of what only the compiler notices, such as the types of a jitted oracle."""
    items[:] = [item for item in items if not item.name.startswith("test_jitted")]
