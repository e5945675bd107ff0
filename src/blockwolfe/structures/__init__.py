"""Pure combinatorics on score arrays: no features, no weights, no data."""

from blockwolfe.structures import chain, choice, graph, graph_exact, segments, tree

__all__ = ["chain", "choice", "graph", "graph_exact", "segments", "tree"]
