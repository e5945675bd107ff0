"""Pure combinatorics on score arrays: no features, no weights, no data."""

from blockwolfe.structures import chain, choice, spanning_tree, tree

__all__ = ["chain", "choice", "spanning_tree", "tree"]
from blockwolfe.structures import cut

__all__ = ["chain", "choice", "cut", "tree"]
from blockwolfe.structures import distance_transform, tree_marginals

__all__ = ["chain", "choice", "distance_transform", "tree", "tree_marginals"]
from blockwolfe.structures import matching

__all__ = ["chain", "choice", "matching", "tree"]
from blockwolfe.structures import program, subset

__all__ = ["chain", "choice", "program", "subset", "tree"]
