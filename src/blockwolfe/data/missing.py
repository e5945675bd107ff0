"""What stands for a value that is missing: None, NaN, and what pandas has beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.errors import InputError

__all__ = ["check_none_missing", "with_nan"]


def check_none_missing(labels: Any, name: str) -> None:
    """Refuse missing labels.

    >>> check_none_missing(["a", float("nan")], "Y")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: Y[1] is nan: the label is missing. Leave such examples out, or
    give them a label of their own.
    """
    for i, label in enumerate(labels):
        if _is_missing(label):
            raise InputError(
                f"{name}[{i}] is {label}: the label is missing. Leave such examples out, or give "
                "them a label of their own."
            )


def with_nan(values: np.ndarray) -> np.ndarray:
    """A copy of an array of objects in which all that is missing is NaN.

    >>> with_nan(np.array([[1, None]], dtype=object))
    array([[1, nan]], dtype=object)
    """
    found = values.copy()
    found[np.vectorize(_is_missing, otypes=[bool])(values)] = np.nan
    return found


def _is_missing(value: Any) -> bool:
    try:
        return value is None or not value == value  # noqa: PLR0124, SIM201
    except TypeError:
        return True  # (pandas.NA does not even say whether it equals itself)
    except ValueError:
        return False  # (an array)
