"""Pure combinatorics on score arrays: no features, no weights, no data."""

from blockwolfe.structures import chain, choice, distance_transform, tree, tree_marginals

__all__ = ["chain", "choice", "distance_transform", "tree", "tree_marginals"]
