"""Numbers that users give: arrays that hold them, or an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.errors import InputError, OracleError

__all__ = ["are_finite", "as_numbers", "called_read_only"]


def as_numbers(name: str, value: Any) -> np.ndarray:
    """A float64 array of what holds real numbers; the array itself where it is one already.

    >>> as_numbers("V", ["1", "2"])
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: V holds str entries; expected an array of real numbers.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:  # (the common case, fast)
        return value
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name} is ragged; expected rows of one length.") from error
    if array.dtype.kind not in "biuf":
        kind = {"U": "str", "O": "object", "c": "complex"}.get(array.dtype.kind, array.dtype.name)
        raise InputError(f"{name} holds {kind} entries; expected an array of real numbers.")
    return array if array.dtype == np.float64 else array.astype(np.float64)


def are_finite(vector: np.ndarray) -> bool:
    """Whether a vector has neither NaN nor inf.

    >>> are_finite(np.array([1e300, 1.0])), are_finite(np.array([np.nan, 1.0]))
    (True, False)
    """
    # (counting takes half the time of `all` on short vectors)
    return int(np.count_nonzero(np.isfinite(vector))) == vector.size


def called_read_only(
    name: str | Callable[[], str], function: Callable[[np.ndarray], Any], argument: np.ndarray
) -> Any:
    """What a user's function returns at an argument that it cannot write to.

    `name` is what errors call it; a function makes that up only where there is an error.

    >>> called_read_only("f", lambda x: x.sort(), np.array([2.0, 1.0]))
    Traceback (most recent call last):
    ...
    blockwolfe.errors.OracleError: f wrote to its argument; work on a copy instead.
    """
    view = argument.view()
    view.setflags(write=False)
    try:
        return function(view)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        named = name() if callable(name) else name
        raise OracleError(f"{named} wrote to its argument; work on a copy instead.") from error
