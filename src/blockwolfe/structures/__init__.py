"""Pure combinatorics on score arrays: no features, no weights, no data."""

from blockwolfe.structures import chain, choice, cut, tree

__all__ = ["chain", "choice", "cut", "tree"]
