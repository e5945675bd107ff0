"""Marginals of the Gibbs distribution over the labellings of a tree or forest: sum-product.

    P(y) = exp(score(y) - log_partition),    score as in `tree`

Messages are kept as logarithms and the largest term is taken out of every sum. What a parent
knows without one of its children is summed up from the others, never found by subtraction: with
`chain.FORBIDDEN` among the scores a difference would be rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.structures.chain import FORBIDDEN
from blockwolfe.structures.tree import checked, order_nodes

__all__ = ["Marginals", "marginals"]


class Marginals(NamedTuple):
    """Probabilities of labels (n, K) and of pairs of labels (m, K, K); log of the sum.

    >>> marginals([[0.0, 0.0]], [], []).node
    array([[0.5, 0.5]])
    """

    node: np.ndarray
    edge: np.ndarray
    log_partition: float


def marginals(unary: Any, pairwise: Any, edges: Any) -> Marginals:
    """Node and edge marginals for `unary` (n, K), `pairwise` (m, K, K) and `edges` (m, 2).

    A label with score `chain.FORBIDDEN` (or -inf) has probability zero.

    >>> found = marginals(np.zeros((2, 2)), [np.log([[1.0, 2.0], [3.0, 4.0]])], [[0, 1]])
    >>> found.node.round(3).tolist(), float(np.exp(found.log_partition).round(3))
    ([[0.3, 0.7], [0.4, 0.6]], 10.0)
    """
    unary, pairwise, ends = checked(unary, pairwise, edges)
    unary, pairwise = np.maximum(unary, FORBIDDEN), np.maximum(pairwise, FORBIDDEN)
    (n_nodes, n_labels), n_edges = unary.shape, len(ends)
    pairwise = pairwise.reshape(n_edges, n_labels, n_labels)
    ints = np.zeros(3 * n_nodes + 2 * n_edges, dtype=np.int64)
    order, up, head, following = np.split(ints, np.arange(1, 4) * n_nodes)
    order_nodes(n_nodes, ends, order, up, head, following)
    node, edge = np.zeros(unary.shape), np.zeros(pairwise.shape)
    told, rest, heard = (np.zeros(unary.shape) for _ in range(3))
    room = Room(unary.copy(), told, rest, heard, np.zeros(n_labels))
    log_partition = _marginals_into(unary, pairwise, ends, order, up, room, node, edge)
    return Marginals(node, edge, float(log_partition))


class Room(NamedTuple):
    """Scratch, all logarithms; of node t with parent u over edge e, and labels k of t, j of u."""

    inner: np.ndarray  # [t, k]: unary of t and all that its children say
    told: np.ndarray  # [t, j]: what t says to u
    rest: np.ndarray  # [t, j]: all that u knows except what t says
    heard: np.ndarray  # [t, k]: what u says to t
    running: np.ndarray  # (K,)


@jit
def _marginals_into(
    unary: Any, pairwise: Any, ends: Any, order: Any, up: Any, room: Any, node: Any, edge: Any
) -> float:
    n_nodes, n_labels = unary.shape
    for at in range(n_nodes - 1, -1, -1):
        t, e = order[at], up[order[at]]
        if e >= 0:
            is_first = ends[e, 0] == t
            parent = ends[e, 1] if is_first else ends[e, 0]
            _pass_on(room.inner[t], pairwise[e], is_first, room.told[t])
            for j in range(n_labels):
                room.inner[parent, j] += room.told[t, j]
    log_partition, child = 0.0, 0
    for at in range(n_nodes):
        t, e = order[at], up[order[at]]
        if e >= 0:
            _pass_on(room.rest[t], pairwise[e], ends[e, 0] != t, room.heard[t])
            _edge_marginal(room.inner[t], room.rest[t], pairwise[e], ends[e, 0] == t, edge[e])
        else:  # (roots have no parent to hear of, so `heard` is zero)
            log_partition += _log_sum(room.inner[t])
            child = max(child, at + 1)
        for k in range(n_labels):
            node[t, k] = room.inner[t, k] + room.heard[t, k]
        _normalize(node[t])
        child = _spread_rest(t, child, ends, order, up, unary, room)
    return log_partition


@jit
def _spread_rest(t: int, first: int, ends: Any, order: Any, up: Any, unary: Any, room: Any) -> int:
    """`rest` of all children of t, which are order[first:last]; returns last.

    One sweep forwards adds what earlier children say, one backwards what later ones say.
    """
    n_nodes, n_labels = unary.shape
    running = room.running
    for j in range(n_labels):
        running[j] = unary[t, j] + room.heard[t, j]
    last = first
    while last < n_nodes and up[order[last]] >= 0 and _parent(order[last], ends, up) == t:
        for j in range(n_labels):
            room.rest[order[last], j] = running[j]
            running[j] += room.told[order[last], j]
        last += 1
    for j in range(n_labels):
        running[j] = 0.0
    for at in range(last - 1, first - 1, -1):
        for j in range(n_labels):
            room.rest[order[at], j] += running[j]
            running[j] += room.told[order[at], j]
    return last


@jit(inline="always")
def _parent(t: int, ends: Any, up: Any) -> int:
    e = up[t]
    return int(ends[e, 1] if ends[e, 0] == t else ends[e, 0])


@jit
def _pass_on(source: Any, table: Any, is_row: bool, message: Any) -> None:
    """message[j] = log sum_k exp(source[k] + score of k and j); rows of the table are k or j."""
    n_labels = source.shape[0]
    for j in range(n_labels):
        top = -np.inf
        for k in range(n_labels):
            term = source[k] + (table[k, j] if is_row else table[j, k])
            top = max(top, term)
        total = 0.0
        for k in range(n_labels):
            total += np.exp(source[k] + (table[k, j] if is_row else table[j, k]) - top)
        message[j] = top + np.log(total)


@jit
def _edge_marginal(inner: Any, rest: Any, table: Any, is_first: bool, out: Any) -> None:
    n_labels, top = inner.shape[0], -np.inf
    for a in range(n_labels):
        for b in range(n_labels):
            known = inner[a] + rest[b] if is_first else rest[a] + inner[b]
            out[a, b] = known + table[a, b]
            top = max(top, out[a, b])
    total = 0.0
    for a in range(n_labels):
        for b in range(n_labels):
            out[a, b] = np.exp(out[a, b] - top)
            total += out[a, b]
    for a in range(n_labels):
        for b in range(n_labels):
            out[a, b] /= total


@jit
def _log_sum(scores: Any) -> float:
    top = scores[0]
    for k in range(1, scores.shape[0]):
        top = max(top, scores[k])
    total = 0.0
    for k in range(scores.shape[0]):
        total += np.exp(scores[k] - top)
    return float(top + np.log(total))


@jit
def _normalize(scores: Any) -> None:
    total = _log_sum(scores)
    for k in range(scores.shape[0]):
        scores[k] = np.exp(scores[k] - total)
