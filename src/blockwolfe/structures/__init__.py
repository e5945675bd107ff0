"""Pure combinatorics on score arrays: no features, no weights, no data."""

from blockwolfe.structures import chain, choice, program, subset, tree

__all__ = ["chain", "choice", "program", "subset", "tree"]
