"""Features of the parts of a graph: part p of a block has a sparse column F[:, p].

A block is a graph: nodes with `n_node_labels` parts each and edges with `n_edge_labels` parts
each, numbered

    t * n_node_labels + k                              "node t has label k"
    n_nodes * n_node_labels + e * n_edge_labels + k    "edge e has label (or pair of labels) k"

Nodes and edges have rows of features, and a part pairs the features of its row with its label:

    w = node weights (n_node_features x n_node_labels) | edge weights (likewise)

Cuts and trees of any kind, matchings (links are the edges), parses (arcs are) and sets of labels
are all such graphs. Which parts may be chosen together is known to the structure, not here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.features.emissions import add_rows, score_label, take_one
from blockwolfe.features.rows import (
    Tokens,
    add_dense,
    column_of,
    is_dense,
    largest_norms,
    peek_dense,
    score_dense,
)

__all__ = [
    "Columns",
    "add_parts",
    "column_norms",
    "n_parts",
    "score",
    "score_parts",
    "sqnorm",
    "take_out",
]


class Columns(NamedTuple):
    """Feature rows of all nodes and edges of all blocks, and the layout of w."""

    node: Tokens
    edge: Tokens
    n_node_labels: int
    n_edge_labels: int
    edge_base: int  # where edge weights begin in w
    size: int  # length of w


@jit
def n_parts(columns: Columns, i: int) -> int:
    """How many parts block i has."""
    n_nodes = columns.node.offset[i + 1] - columns.node.offset[i]
    n_edges = columns.edge.offset[i + 1] - columns.edge.offset[i]
    return int(n_nodes * columns.n_node_labels + n_edges * columns.n_edge_labels)


@jit(inline="always")
def _score_rows(
    rows: Tokens, i: int, n_labels: int, w: Any, scale: float, theta: Any, at: int
) -> int:
    """Scores of all labels of all rows of block i, times `scale`, from theta[at] on."""
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    if is_dense(rows):
        end = at + (rows.offset[i + 1] - rows.offset[i]) * n_labels
        for p in range(at, end):
            theta[p] = 0.0
        score_dense(rows, i, n_labels, at, w, scale, theta)
        return int(end)
    for row in range(rows.offset[i], rows.offset[i + 1]):
        begin, end = indptr[row], indptr[row + 1]
        if n_labels == 1:
            theta[at] = scale * score_label(w, indices, values, begin, end, 0, 1)
        else:
            scores = theta[at : at + n_labels]
            for k in range(n_labels):
                scores[k] = 0.0
            add_rows(w, indices, values, (begin, end), scale, scores, n_labels, n_labels)
        at += n_labels
    return at


@jit(fastmath={"contract"})
def score(columns: Columns, i: int, w: Any, scale: float, theta: Any) -> None:
    """theta[p] = scale <w, F[:, p]> for every part of block i."""
    at = _score_rows(columns.node, i, columns.n_node_labels, w, scale, theta, 0)
    if columns.n_edge_labels > 0:
        of_edges = w[columns.edge_base :]
        _score_rows(columns.edge, i, columns.n_edge_labels, of_edges, scale, theta, at)


@jit(inline="always")
def _row_of(columns: Columns, i: int, p: int) -> tuple[bool, int, int]:
    """Whether part p is of an edge, its row, and its label."""
    n_labels, n_unary = columns.n_node_labels, _first_edge_part(columns, i)
    if p < n_unary:
        t = p // n_labels
        return False, columns.node.offset[i] + t, p - t * n_labels
    e = (p - n_unary) // columns.n_edge_labels
    return True, columns.edge.offset[i] + e, p - n_unary - e * columns.n_edge_labels


@jit(inline="always")
def _first_edge_part(columns: Columns, i: int) -> int:
    return (columns.node.offset[i + 1] - columns.node.offset[i]) * columns.n_node_labels


@jit(inline="always")
def _add_row(rows: Tokens, row: int, label: int, n_labels: int, change: float, out: Any) -> None:
    for e in range(rows.indptr[row], rows.indptr[row + 1]):
        out[rows.indices[e] * n_labels + label] += change * rows.values[e]


@jit(inline="always")
def _take_row(
    rows: Tokens, row: int, label: int, layout: Any, found: int, image: Any, index: Any, value: Any
) -> int:
    n_labels, base = layout
    for e in range(rows.indptr[row], rows.indptr[row + 1]):
        at = base + column_of(rows, row, e) * n_labels + label
        found = take_one(at, found, image, index, value)
    return found


@jit(inline="always")
def _drain_row(rows: Tokens, row: int, label: int, n_labels: int, buffer: Any) -> float:
    total = 0.0
    for e in range(rows.indptr[row], rows.indptr[row + 1]):
        at = column_of(rows, row, e) * n_labels + label
        total += buffer[at] * buffer[at]
        buffer[at] = 0.0
    return total


@jit(fastmath={"contract"})
def score_parts(columns: Columns, i: int, w: Any, part: Any, size: int, theta: Any) -> None:
    """theta[p] = <w, F[:, p]> of the listed parts p."""
    node, edge = columns.node, columns.edge
    n_node, n_edge = columns.n_node_labels, columns.n_edge_labels
    of_edges, first = w[columns.edge_base :], _first_edge_part(columns, i)
    has_nodes, has_edges = is_dense(node), is_dense(edge)
    if has_nodes:
        peek_dense(node, i, n_node, 0, w, part, size, theta)
    if has_edges:
        peek_dense(edge, i, n_edge, first, of_edges, part, size, theta)
    for s in range(size):
        p = part[s]
        is_edge, row, label = _row_of(columns, i, p)
        if (is_edge and has_edges) or (not is_edge and has_nodes):
            continue
        if is_edge:
            begin, end = edge.indptr[row], edge.indptr[row + 1]
            theta[p] = score_label(of_edges, edge.indices, edge.values, begin, end, label, n_edge)
        else:
            begin, end = node.indptr[row], node.indptr[row + 1]
            theta[p] = score_label(w, node.indices, node.values, begin, end, label, n_node)


@jit
def add_parts(
    columns: Columns, i: int, part: Any, delta: Any, size: int, coefficient: float, out: Any
) -> None:
    """Add coefficient F delta to `out`."""
    of_edges, first = out[columns.edge_base :], _first_edge_part(columns, i)
    node, edge = columns.node, columns.edge
    has_nodes, has_edges = is_dense(node), is_dense(edge)
    if has_nodes:
        add_dense(node, i, columns.n_node_labels, 0, (part, delta, size), coefficient, out)
    if has_edges:
        moved = (part, delta, size)
        add_dense(edge, i, columns.n_edge_labels, first, moved, coefficient, of_edges)
    for s in range(size):
        is_edge, row, label = _row_of(columns, i, part[s])
        change = coefficient * delta[s]
        if (is_edge and has_edges) or (not is_edge and has_nodes):
            continue
        if is_edge:
            _add_row(columns.edge, row, label, columns.n_edge_labels, change, of_edges)
        else:
            _add_row(columns.node, row, label, columns.n_node_labels, change, out)


@jit
def take_out(columns: Columns, i: int, parts: Any, image: Any, index: Any, value: Any) -> int:
    """What `add_parts` put into `image`, as (index, value) pairs; `image` is zero again."""
    part, size = parts
    of_nodes = (columns.n_node_labels, 0)
    of_edges = (columns.n_edge_labels, columns.edge_base)
    found = 0
    for s in range(size):
        is_edge, row, label = _row_of(columns, i, part[s])
        if is_edge:
            found = _take_row(columns.edge, row, label, of_edges, found, image, index, value)
        else:
            found = _take_row(columns.node, row, label, of_nodes, found, image, index, value)
    return found


@jit
def sqnorm(columns: Columns, i: int, part: Any, delta: Any, size: int, buffer: Any) -> float:
    """|F delta|^2, formed in `buffer` (d,), which is zero before and after."""
    add_parts(columns, i, part, delta, size, 1.0, buffer)
    of_edges = buffer[columns.edge_base :]
    total = 0.0
    for s in range(size):
        is_edge, row, label = _row_of(columns, i, part[s])
        if is_edge:
            total += _drain_row(columns.edge, row, label, columns.n_edge_labels, of_edges)
        else:
            total += _drain_row(columns.node, row, label, columns.n_node_labels, buffer)
    return total


def column_norms(columns: Columns) -> np.ndarray:
    """The largest norm of a feature column of each block."""
    return np.maximum(largest_norms(columns.node), largest_norms(columns.edge))
