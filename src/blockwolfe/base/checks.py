"""Checks of options: each error names the option, what was found and what is wanted."""

from __future__ import annotations

import numbers
import reprlib
from typing import Any

import numpy as np

from blockwolfe.errors import InputError, OptionError, unknown_option

__all__ = [
    "check_flag",
    "check_integer",
    "check_kind",
    "check_positive",
    "check_share",
    "check_weight",
    "is_integer",
    "is_real",
]


def is_real(value: Any) -> bool:
    """A number, and not True or False.

    >>> is_real(1.5), is_real(True), is_real("1")
    (True, False, False)
    """
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def is_integer(value: Any) -> bool:
    """An integer, and not True or False.

    >>> is_integer(np.int64(3)), is_integer(True), is_integer(3.0)
    (True, False, False)
    """
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def check_flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(f"{name}={value!r} must be True or False.")
    return bool(value)


def check_integer(name: str, value: Any, least: int, or_none: bool = False) -> None:
    """An integer >= least, or None where that is allowed."""
    if value is None and or_none:
        return
    if not is_integer(value) or value < least:
        end = ", or None." if or_none else "."
        raise OptionError(f"{name}={value!r} must be an integer >= {least}{end}")


def check_positive(name: str, value: Any, hint: str = "") -> float:
    """A finite number > 0; `hint` ends the sentence: what it is, or an example.

    >>> check_positive("eps", 0, hint=": a gap")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.OptionError: eps=0 must be a finite number > 0: a gap.
    """
    if not is_real(value) or not 0.0 < float(value) < np.inf:
        raise OptionError(f"{name}={value!r} must be a finite number > 0{hint}.")
    return float(value)


def check_share(name: str, value: Any, highest: float = 1.0) -> None:
    """A number between 0 and 1."""
    if not is_real(value) or not 0.0 <= value <= highest:
        raise OptionError(f"{name}={value!r} must be a number between 0 and {highest:g}.")


def check_kind(name: str, value: Any, kind: type, valid: list[str]) -> None:
    """An object of the right family."""
    if not isinstance(value, kind):
        raise unknown_option(name, value, valid)


def check_weight(sample_weight: Any, n: int) -> np.ndarray:
    """Sample weights >= 0 that are not all zero; ones when none are given.

    >>> check_weight(None, 2)
    array([1., 1.])
    """
    if sample_weight is None:
        return np.ones(n)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"sample_weight={reprlib.repr(sample_weight)} is not one number per example; for "
            "weights by class use class_weight of the task's loss."
        ) from error
    if weight.shape != (n,):
        raise InputError(
            f"sample_weight has shape {weight.shape}; expected one weight per example, ({n},)."
        )
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise InputError("sample_weight has negative, NaN or infinite entries; expected >= 0.")
    if not weight.any():
        raise InputError("sample_weight is zero for every example; nothing is left.")
    if weight.max() > np.finfo(float).max / n:
        raise InputError("sample_weight sums to more than a float can hold; scale it down.")
    return weight
