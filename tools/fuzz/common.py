"""What every family of cases shares: how a broken promise is told, and what was drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["Violation", "drawn", "forget", "note", "require"]

_drawn: dict[str, Any] = {}


class Violation(Exception):  # noqa: N818 (it is what the fuzzer looks for)
    """A promise of the library was broken."""


def require(holds: Any, message: str) -> None:
    """Raise a `Violation` unless the promise holds."""
    if not holds:
        raise Violation(message)


def note(**what: Any) -> None:
    """Remember what the present case has drawn, as ``note(task="Chain")``.

    Short strings are counted in the final table. A reproducer has everything: for what is not
    to be counted there is ``note(details={...})``, which adds to the details so far.
    """
    details = {**_drawn.get("details", {}), **what.pop("details", {})}
    _drawn.update(what)
    if details:
        _drawn["details"] = details


def drawn() -> Mapping[str, Any]:
    """What the present case has noted, as JSON can hold it."""
    found: dict[str, Any] = json.loads(json.dumps(_drawn, default=repr))
    return found


def forget() -> None:
    """Begin a new case."""
    _drawn.clear()
