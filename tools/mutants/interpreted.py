"""A pytest plugin that runs compiled code as the Python that it is written in.

A change in any compiled file makes Numba compile everything anew, 10 to 60 seconds of it for each
kind of task; interpreted, small problems take none. Loaded with ``-p tools.mutants.interpreted``,
before the package is imported.
"""

from __future__ import annotations

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
        self.function = function
        self._numba_type_ = signature

    def __call__(self, *args: Any) -> Any:
        """Run it."""
        return self.function(*args)


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

from blockwolfe.base import compiled, packed  # noqa: E402

compiled.Piece = Piece  # type: ignore[misc, assignment]


def not_written(value: Any, kind: Any) -> np.ndarray:
    """In place of `blockwolfe.base.packed._written`: interpreted code reads the record itself."""
    return np.zeros(0)


packed._written = not_written


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Leave out tests of what only the compiler notices, such as the types of a jitted oracle."""
    items[:] = [item for item in items if not item.name.startswith("test_jitted")]
