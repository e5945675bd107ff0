"""Sampling rules for methods whose visits do not tell the gap of a block."""

from __future__ import annotations

from typing import Any

from blockwolfe.base.checks import check_kind
from blockwolfe.errors import OptionError
from blockwolfe.methods.bcfw.sampling import Sampling
from blockwolfe.methods.registry import known

__all__ = ["check_orders"]


def check_orders(method: Any) -> None:
    """Refuse a sampling rule that goes by gaps, for a method that sees none."""
    rules = [rule for rule in known("sampling").values() if not rule.needs_gaps]
    valid = [f"{rule.__name__}()" for rule in rules]
    check_kind("sampling", method.sampling, Sampling, valid)
    if method.sampling.needs_gaps:
        raise OptionError(
            f"sampling={method.sampling!r} goes by gaps of blocks, which visits of "
            f"{type(method).__name__} do not tell; use {', '.join(valid)}, or the method BCFW."
        )
