"""Certificates and traces from files, which anybody may have written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.trace import Trace, TraceRow

__all__ = [
    "LEAST_RESOLUTION",
    "ROUNDING",
    "are_same",
    "certificate_of",
    "checked_trace",
    "record_of",
]

# Two certificates of one point agree to this, relative to the largest number in them.
ROUNDING = 1e-9
COMPARED = ("primal", "dual", "gap", "slack")
# No file may say that its numbers are known much better than they are.
LEAST_RESOLUTION = 0.5

_KINDS = {"int": "iu", "float": "f", "bool": "b", "str": "U"}


def certificate_of(read: Reader, block_gaps: np.ndarray) -> Certificate:
    """A certificate; that its numbers are true only a full pass can tell (`certify`)."""
    found: Certificate = record_of(Certificate, read, {"block_gaps": block_gaps})
    if not 0.0 < found.unit < np.inf:
        raise Misfit(f"certificate.unit is {found.unit}; expected a number > 0.")
    return found


def are_same(now: Certificate, before: Certificate) -> bool:
    """Whether two certificates are of one point, up to rounding."""
    if (now.exact, now.valid, now.lam) != (before.exact, before.valid, before.lam):
        return False
    if before.resolution < LEAST_RESOLUTION * now.resolution:
        return False
    sizes = np.abs([now.primal, now.dual, now.resolution / ROUNDING])
    scale = ROUNDING * float(sizes[np.isfinite(sizes)].max(initial=0.0))
    pairs = [(getattr(now, name), getattr(before, name)) for name in COMPARED]
    pairs.append((now.block_gaps, before.block_gaps))
    return all(np.allclose(a, b, rtol=0.0, atol=scale, equal_nan=True) for a, b in pairs)


_ASKED: dict[str, Callable[[Reader, str], Any]] = {
    "int": lambda read, name: read.integer(name),
    "bool": lambda read, name: read.flag(name),
    "float": lambda read, name: read.number(name, or_nan=True),
}


def record_of(kind: Any, read: Reader, known: dict[str, Any] | None = None) -> Any:
    """A record of numbers and flags, by the types of its fields; some are `known` already."""
    known = known or {}
    found = {
        field.name: _ASKED[str(field.type)](read, field.name)
        for field in fields(kind)
        if field.name not in known and (field.name in read or not _has_default(field))
    }
    read.only({field.name for field in fields(kind)})
    return kind(**known, **found)


def _has_default(field: Any) -> bool:
    return field.default is not field.default_factory  # (both are MISSING where there is none)


def checked_trace(columns: Any) -> Trace:
    """A trace of at least one row, of columns of equal length; those missing have defaults."""
    read = Reader(columns, "trace").only(Trace.columns)
    found = {
        field.name: read.any_array(field.name, _KINDS[str(field.type)], 1)
        for field in fields(TraceRow)
        if field.name in read
    }
    lengths = {len(column) for column in found.values()}
    if len(lengths) != 1 or 0 in lengths or "passes" not in found:
        raise Misfit("the trace has no rows, or columns of unequal length.")
    return Trace.from_dict(found)
