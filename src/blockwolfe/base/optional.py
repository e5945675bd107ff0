"""Libraries that not everyone needs, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from blockwolfe.errors import MissingLibraryError

__all__ = ["optional", "to_pandas", "to_polars"]


def optional(module: str, extra: str, purpose: str) -> Any:
    """The module; without it, an error that names the extra which brings it.

    >>> optional("no_such_module", "plot", "To draw")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.MissingLibraryError: To draw, no_such_module is needed: pip install
    'blockwolfe[plot]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != library:
            raise  # the library is there; what it lacks itself is not ours to explain
        raise MissingLibraryError(
            f"{purpose}, {library} is needed: pip install 'blockwolfe[{extra}]'"
        ) from error


def to_pandas(columns: dict[str, Any]) -> Any:
    """Columns as a pandas DataFrame."""
    return optional("pandas", "frames", "To make a DataFrame").DataFrame(columns)


def to_polars(columns: dict[str, Any]) -> Any:
    """Columns as a polars DataFrame."""
    return optional("polars", "frames", "To make a polars DataFrame").DataFrame(columns)
