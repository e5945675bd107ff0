"""Pure combinatorics on score arrays: no features, no weights, no data."""

from blockwolfe.structures import chain, choice, matching, tree

__all__ = ["chain", "choice", "matching", "tree"]
