"""Marginals of the Gibbs distribution over the labellings of a tree or forest: sum-product.

    P(y) = exp(score(y) - log_partition),    score as in `tree`

And max-marginals, by the same messages with maxima in the place of sums (see `gathering`).
Messages are kept as logarithms and the largest term is taken out of every sum. What a parent
knows without one of its children is summed up from the others, never found by subtraction: with
`chain.FORBIDDEN` among the scores a difference would be rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.structures.chain import FORBIDDEN
from blockwolfe.structures.gathering import gathered
from blockwolfe.structures.tree import checked, order_nodes

__all__ = ["Marginals", "beliefs", "marginals", "marginals_into", "means_into"]


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
    unary, pairwise, ends, order, up = _ordered(unary, pairwise, edges)
    node, edge = np.zeros(unary.shape), np.zeros(pairwise.shape)
    log_partition = marginals_into(unary, pairwise, ends, order, up, _room(unary), node, edge)
    return Marginals(node, edge, float(log_partition))


def beliefs(unary: Any, pairwise: Any, edges: Any, is_sum: bool = False) -> np.ndarray:
    """Of node t and label k, the best score with that label there (n, K); -inf where none has it.

    With `is_sum` the logarithm of the sum of exp(score) instead.

    >>> beliefs([[1.0, 0.0], [0.0, 0.5]], [[[1.0, 0.0], [0.0, 0.0]]], [[0, 1]])
    array([[2. , 0.5],
           [2. , 1.5]])
    """
    unary, pairwise, ends, order, up = _ordered(unary, pairwise, edges)
    belief, room = np.zeros(unary.shape), _room(unary)
    total = _beliefs_into(unary, pairwise, ends, order, up, is_sum, room, belief)
    for t in range(len(belief)):  # a node has heard of its own tree alone
        belief[t] += total - gathered(belief[t], is_sum)
    belief[belief < FORBIDDEN / 2] = -np.inf
    return belief


def _ordered(unary: Any, pairwise: Any, edges: Any) -> tuple[np.ndarray, ...]:
    """Checked scores and edges, the order of nodes, and the edge from each to its parent."""
    unary, pairwise, ends = checked(unary, pairwise, edges)
    unary, pairwise = np.maximum(unary, FORBIDDEN), np.maximum(pairwise, FORBIDDEN)
    (n_nodes, n_labels), n_edges = unary.shape, len(ends)
    ints = np.zeros(3 * n_nodes + 2 * n_edges, dtype=np.int64)
    order, up, head, following = np.split(ints, np.arange(1, 4) * n_nodes)
    order_nodes(n_nodes, ends, order, up, head, following)
    return unary, pairwise.reshape(n_edges, n_labels, n_labels), ends, order, up


def _room(unary: np.ndarray) -> Room:
    inner, told, rest, heard = (np.zeros(unary.shape) for _ in range(4))
    return Room(inner, told, rest, heard, np.zeros(unary.shape[1]))


class Room(NamedTuple):
    """Scratch, all logarithms; of node t with parent u over edge e, and labels k of t, j of u."""

    inner: np.ndarray  # [t, k]: unary of t and all that its children say
    told: np.ndarray  # [t, j]: what t says to u
    rest: np.ndarray  # [t, j]: all that u knows except what t says
    heard: np.ndarray  # [t, k]: what u says to t
    running: np.ndarray  # (K,): sums that are being made, terms that are being gathered


@jit
def marginals_into(
    unary: Any,
    pairwise: Any,
    ends: Any,
    order: Any,
    up: Any,
    room: Any,
    node: Any,
    edge: Any,
) -> float:
    """Fill `node` (n, K) and `edge` (m, K, K); the logarithm of the sum.

    `order` and `up` are those of `tree.order_nodes`.
    """
    log_partition = _beliefs_into(unary, pairwise, ends, order, up, True, room, node)
    _marginals_into(pairwise, ends, up, room, node, edge)
    return float(log_partition)


def n_scratch(n_nodes: int, n_edges: int, n_labels: int) -> tuple[int, int]:
    """Integers and floats of scratch that `means_into` needs.

    >>> n_scratch(2, 1, 3)
    (8, 27)
    """
    return 3 * n_nodes + 2 * n_edges, (4 * n_nodes + 1) * n_labels


@jit
def means_into(
    unary: Any, pairwise: Any, ends: Any, n_labels: int, mean: Any, ints: Any, floats: Any
) -> float:
    """Fill `mean` with the marginals of nodes (n * K), then of edges (m * K * K).

    All arrays are flat, as for `tree.maximize_into`; scratch as `n_scratch` says.
    """
    n_unary, n_edges = unary.shape[0], ends.shape[0]
    n_nodes = n_unary // n_labels
    order, up = ints[:n_nodes], ints[n_nodes : 2 * n_nodes]
    head, following = ints[2 * n_nodes : 3 * n_nodes], ints[3 * n_nodes : 3 * n_nodes + 2 * n_edges]
    order_nodes(n_nodes, ends, order, up, head, following)
    shape = (n_nodes, n_labels)
    room = Room(
        floats[:n_unary].reshape(shape),
        floats[n_unary : 2 * n_unary].reshape(shape),
        floats[2 * n_unary : 3 * n_unary].reshape(shape),
        floats[3 * n_unary : 4 * n_unary].reshape(shape),
        floats[4 * n_unary : 4 * n_unary + n_labels],
    )
    tables = pairwise.reshape((n_edges, n_labels, n_labels))
    node = mean[:n_unary].reshape(shape)
    edge = mean[n_unary:].reshape((n_edges, n_labels, n_labels))
    return float(marginals_into(unary.reshape(shape), tables, ends, order, up, room, node, edge))


@jit
def _beliefs_into(
    unary: Any, pairwise: Any, ends: Any, order: Any, up: Any, is_sum: bool, room: Any, node: Any
) -> float:
    """Fill `node` with beliefs, of the tree that each node is in; those of all trees together."""
    n_nodes, n_labels = unary.shape
    for t in range(n_nodes):
        for k in range(n_labels):
            room.inner[t, k], room.heard[t, k] = unary[t, k], 0.0
    for at in range(n_nodes - 1, -1, -1):
        t, e = order[at], up[order[at]]
        if e >= 0:
            is_first = ends[e, 0] == t
            parent = ends[e, 1] if is_first else ends[e, 0]
            _pass_on(room.inner[t], pairwise[e], is_first, is_sum, room.running, room.told[t])
            for j in range(n_labels):
                room.inner[parent, j] += room.told[t, j]
    total, child = 0.0, 0
    for at in range(n_nodes):
        t, e = order[at], up[order[at]]
        if e >= 0:
            is_row = ends[e, 0] != t
            _pass_on(room.rest[t], pairwise[e], is_row, is_sum, room.running, room.heard[t])
        else:  # (roots have no parent to hear of: `heard` stays zero)
            total += gathered(room.inner[t], is_sum)
            child = max(child, at + 1)
        for k in range(n_labels):
            node[t, k] = room.inner[t, k] + room.heard[t, k]
        child = _spread_rest(t, child, ends, order, up, unary, room)
    return total


@jit
def _marginals_into(pairwise: Any, ends: Any, up: Any, room: Any, node: Any, edge: Any) -> None:
    """Beliefs in `node` made into probabilities; those of pairs into `edge`."""
    for t in range(node.shape[0]):
        total, e = gathered(node[t], True), up[t]
        for k in range(node.shape[1]):
            node[t, k] = np.exp(node[t, k] - total)
        if e >= 0:
            _edge_marginal(room.inner[t], room.rest[t], pairwise[e], ends[e, 0] == t, edge[e])


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
def _pass_on(source: Any, table: Any, is_row: bool, is_sum: bool, terms: Any, message: Any) -> None:
    """message[j] gathers source[k] + score of k and j; rows of the table are k or j."""
    n_labels = source.shape[0]
    for j in range(n_labels):
        for k in range(n_labels):
            terms[k] = source[k] + (table[k, j] if is_row else table[j, k])
        message[j] = gathered(terms, is_sum)


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
