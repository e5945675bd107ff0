"""Checks that settings objects make of their options, when they are made."""

from __future__ import annotations

import numbers
from typing import Any

from blockwolfe.errors import OptionError, unknown_option

__all__ = ["check_flag", "check_integer", "check_kind", "check_share"]


def check_flag(name: str, value: Any) -> None:
    """True or False."""
    if not isinstance(value, bool):
        raise OptionError(f"{name}={value!r} must be True or False.")


def check_integer(name: str, value: Any, least: int, or_none: bool = False) -> None:
    """An integer >= least, or None where that is allowed."""
    if value is None and or_none:
        return
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or value < least:
        end = ", or None." if or_none else "."
        raise OptionError(f"{name}={value!r} must be an integer >= {least}{end}")


def check_share(name: str, value: Any, highest: float = 1.0) -> None:
    """A number between 0 and 1."""
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_real or not 0.0 <= value <= highest:
        raise OptionError(f"{name}={value!r} must be a number between 0 and {highest:g}.")


def check_kind(name: str, value: Any, kind: type, valid: list[str]) -> None:
    """An object of the right family."""
    if not isinstance(value, kind):
        raise unknown_option(name, value, valid)
