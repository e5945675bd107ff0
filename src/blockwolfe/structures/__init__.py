"""Pure combinatorics on score arrays: no features, no weights, no data."""

from blockwolfe.structures import (
    chain,
    choice,
    cut,
    distance_transform,
    graph,
    graph_exact,
    higher_chain,
    matching,
    program,
    segments,
    spanning_tree,
    subset,
    tree,
    tree_marginals,
)

__all__ = [
    "chain",
    "choice",
    "cut",
    "distance_transform",
    "graph",
    "graph_exact",
    "higher_chain",
    "matching",
    "program",
    "segments",
    "spanning_tree",
    "subset",
    "tree",
    "tree_marginals",
]
