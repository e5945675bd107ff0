"""``blockwolfe methods``: what may be written after --method, from the registry."""

from __future__ import annotations

from typing import Any

from blockwolfe.cli import options as o
from blockwolfe.cli.showing import OK, show, table

__all__ = ["methods"]


def methods(json: o.Json = False) -> int:
    """List the methods for --method, and the words that may follow each after a +.

    \b
    Examples:
      blockwolfe methods
      blockwolfe train chain train.txt -o model.npz --method bcfw+gap+pairwise+cache
    """
    from blockwolfe.cli.methods import load_methods
    from blockwolfe.rules.registry import known

    load_methods()
    found = {name: _told(method) for name, method in sorted(known("method").items())}
    rows = [(name, told["summary"], told["ends_with"]) for name, told in found.items()]
    words = [
        (f"{name}+{word}", what) for name, told in found.items() for word, what in told["words"]
    ]
    show(
        json,
        {name: told | {"words": dict(told["words"])} for name, told in found.items()},
        table("Methods", ("name", "what it does", "ends with"), rows),
        table("Words after a name; several may follow", ("for example", "what it sets"), words),
    )
    return OK


def _told(method: Any) -> dict[str, Any]:
    from blockwolfe.rules.registry import words_of

    return {
        "summary": _first_line(method),
        "ends_with": "a certified gap" if method().has_dual else "a budget; primal only",
        "needs": method().needs,
        "words": [(word, _setting(sets)) for word, sets in words_of(method)],
    }


def _setting(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


def _first_line(method: Any) -> str:
    return (method.__doc__ or method.__name__).strip().splitlines()[0]
