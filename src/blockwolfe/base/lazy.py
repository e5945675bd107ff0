"""Packages whose public names are loaded when the first is asked for (PEP 562).

Such a package says in `public.py` what its names are. Whoever imports one of its files does not
load all the others: processes that compile, or that answer for a Python task, start in a third of
the time.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["lazily"]


def lazily(
    package: str, names: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, whose globals are `names`.

    >>> look_up, listed = lazily("blockwolfe.tasks", {})
    >>> look_up("Chain").__name__, "Chain" in listed()
    ('Chain', True)
    >>> look_up("Chian")
    Traceback (most recent call last):
    AttributeError: module 'blockwolfe.tasks' has no attribute 'Chian'
    """

    def public() -> Any:
        return import_module(f"{package}.public")

    def look_up(name: str) -> Any:
        is_special = name.startswith("__") and name != "__all__"
        if not is_special and find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")  # (a file: no reason to load all others)
        if is_special or name not in ("__all__", *public().__all__):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        names[name] = found = getattr(public(), name)
        return found

    def listed() -> list[str]:
        return sorted({*names, *public().__all__})

    return look_up, listed
