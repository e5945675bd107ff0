"""Graphs as inputs, and grids of pixels as graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Graph", "grid_edges"]


@dataclass(frozen=True)
class Graph:
    """One input of a task on graphs: feature rows of nodes, edges, and feature rows of edges.

    nodes : (n_nodes, n_features) array or sparse matrix.
    edges : (n_edges, 2) integers, the nodes that each edge joins; no edge is fine.
    edge_features : (n_edges, n_edge_features) array or sparse matrix; None is a constant one.
    allowed : optional boolean (n_nodes, n_labels), the labels that each node may have.

    >>> Graph(np.eye(3), [[0, 1], [1, 2]]).edges
    [[0, 1], [1, 2]]
    """

    nodes: Any
    edges: Any
    edge_features: Any = None
    allowed: Any = None


def grid_edges(height: int, width: int) -> np.ndarray:
    """Edges of a grid whose nodes are numbered row by row: to the right, then downwards.

    >>> grid_edges(2, 2).tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """
    at = np.arange(height * width, dtype=np.int32).reshape(height, width)
    across = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1)
    down = np.stack([at[:-1].ravel(), at[1:].ravel()], axis=1)
    return np.concatenate([across, down])
