"""Methods on the command line, as words such as ``bcfw+gap+pairwise``: the one place that asks."""

from __future__ import annotations

from importlib import import_module

__all__ = ["EXAMPLES", "check_method", "load_methods"]

# What the shell completes; a list, so that completion and help need not load the methods.
EXAMPLES = (
    *("auto", "bcfw", "fw", "bcfw+gap", "bcfw+gap+pairwise+cache", "bcfw+averaging"),
    *("cutting_plane", "cutting_plane+n", "bundle"),
)


def check_method(words: str) -> str:
    """The words, or an error that lists the valid ones.

    >>> check_method("bcfw+gap")
    'bcfw+gap'
    """
    from blockwolfe.methods.registry import as_method

    load_methods()
    as_method(words)
    return words


def load_methods() -> None:
    """Load the files by which all methods are known."""
    import_module("blockwolfe.methods.registry")
    import_module("blockwolfe.solving")
