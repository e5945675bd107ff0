"""Graphs as users have them, made into the arrays that tasks on graphs work on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.ragged import offsets
from blockwolfe.data.graphs import Graph
from blockwolfe.data.positions import array_of, check_sparse
from blockwolfe.errors import InputError
from blockwolfe.features.rows import Tokens
from blockwolfe.structures.checks import check_ends
from blockwolfe.tasks.reading.inputs import n_positions, sequence_tokens, tokens_of, with_ones

__all__ = ["Graph", "edge_tokens", "node_tokens", "read_ends"]


def check_graphs(X: Sequence[Any], task: str) -> None:
    """Refuse an X that is not a list of graphs."""
    if not len(X):
        raise InputError("X is empty; expected at least one graph.")
    for i, x in enumerate(X):
        if not isinstance(x, Graph):
            raise InputError(
                f"X[{i}] is a {type(x).__name__}; {task} takes blockwolfe.tasks.Graph(nodes, "
                "edges, edge_features) objects."
            )


def node_tokens(X: Sequence[Graph], bias: bool) -> tuple[Tokens, int]:
    """Feature rows of all nodes, with a constant one as last column if `bias`; and their width."""
    nodes = [x.nodes for x in X]
    for i, rows in enumerate(nodes):
        check_sparse(rows, f"X[{i}].nodes")
    if bias:
        nodes = [_with_ones(x) for x in nodes]
    return sequence_tokens(nodes, "node", ".nodes")


def _with_ones(rows: Any) -> Any:
    if sp.issparse(rows):
        return with_ones(rows)
    try:
        rows = np.asarray(rows)
    except ValueError:  # rows of unequal length
        return rows
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        return rows  # (refused with its place by `sequence_tokens`)
    return with_ones(rows)


def read_ends(X: Sequence[Graph]) -> tuple[np.ndarray, np.ndarray]:
    """Edges of all graphs end to end as (edges, 2) of int32, and where each graph begins."""
    ends = [
        check_ends(x.edges, n_positions(x.nodes, f"X[{i}].nodes"), f"X[{i}].edges")
        for i, x in enumerate(X)
    ]
    offset = offsets([len(e) for e in ends])
    return np.concatenate(ends), offset


def edge_tokens(X: Sequence[Graph], offset: np.ndarray) -> tuple[Tokens, int]:
    """Feature rows of all edges (a constant one where X has none), and their width."""
    length = np.diff(offset)
    lacks = [x.edge_features is None for x in X]
    if all(lacks):
        return tokens_of(sp.csr_array(np.ones((int(offset[-1]), 1))), length, "edge"), 1
    is_missing = np.array(lacks) & (length > 0)  # (without edges there is nothing to give)
    if is_missing.any():
        i = int(np.argmax(is_missing))
        raise InputError(f"X[{i}].edge_features is None, but other graphs have edge features.")
    rows = [_rows_of(x.edge_features, n, i) for i, (x, n) in enumerate(zip(X, length, strict=True))]
    given = [row.shape[1] for row in rows if row.shape[0]]
    width = given[0] if given else max(row.shape[1] for row in rows)
    for i, row in enumerate(rows):
        if row.shape[0] and row.shape[1] != width:
            raise InputError(
                f"X[{i}].edge_features has {row.shape[1]} columns; expected {width}, as in others."
            )
    filled = [row if row.shape[0] else sp.csr_array((0, width)) for row in rows]
    matrix = sp.csr_array(sp.vstack(filled, format="csr"))
    matrix.sum_duplicates()
    return tokens_of(matrix, length, "edge"), width


def _rows_of(rows: Any, n_edges: int, i: int) -> Any:
    if rows is None:
        return sp.csr_array((0, 0))
    name = f"X[{i}].edge_features"
    check_sparse(rows, name)
    matrix = sp.csr_array(rows) if sp.issparse(rows) else array_of(rows, name)
    if n_edges == 0 and (matrix.ndim != 2 or not matrix.shape[0]):
        return sp.csr_array((0, matrix.shape[1] if matrix.ndim == 2 else 0))
    if matrix.ndim != 2 or matrix.shape[0] != n_edges or matrix.dtype.kind not in "biuf":
        raise InputError(
            f"{name} has shape {matrix.shape} and type {matrix.dtype}; expected "
            f"numbers of shape ({n_edges}, n_edge_features), a row per edge."
        )
    return sp.csr_array(matrix.astype(np.float64))
