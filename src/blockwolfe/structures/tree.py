"""Labels of the nodes of a tree or forest: exact maximum by max-sum.

    score(y) = sum_t unary[t, y_t] + sum_e pairwise[e, y_a, y_b],    edge e joins nodes a and b

A label that a node may not have has the score `chain.FORBIDDEN`, as on chains.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.compiled import jit
from blockwolfe.errors import InputError

__all__ = ["check_forest", "maximize", "maximize_into"]


def n_scratch(n_nodes: int, n_edges: int, n_labels: int) -> tuple[int, int]:
    """Integers and floats of scratch that `maximize_into` needs."""
    return 3 * n_nodes + 2 * n_edges, n_nodes * n_labels


@jit
def order_nodes(n_nodes: int, ends: Any, order: Any, up: Any, head: Any, following: Any) -> int:
    """Breadth-first order of every tree; up[t] is the edge to t's parent, -1 at a root.

    `head` and `following` are linked lists of edge ends around each node: end 2 e + s is
    ends[e, s]. Returns the number of nodes reached: fewer than n_nodes (or a node reached twice,
    up[t] = -2 at first) cannot happen on a forest.
    """
    for t in range(n_nodes):
        head[t], up[t] = -1, -2
    for e in range(ends.shape[0]):
        for s in range(2):
            t = ends[e, s]
            following[2 * e + s] = head[t]
            head[t] = 2 * e + s
    reached = 0
    for root in range(n_nodes):
        if up[root] != -2:
            continue
        up[root] = -1
        order[reached] = root
        at = reached
        reached += 1
        while at < reached:
            end = head[order[at]]
            while end >= 0:
                other = ends[end // 2, 1 - end % 2]
                if up[other] == -2:
                    up[other] = end // 2
                    order[reached] = other
                    reached += 1
                end = following[end]
            at += 1
    return reached


@jit
def maximize_into(
    unary: Any, pairwise: Any, ends: Any, n_labels: int, labels: Any, ints: Any, floats: Any
) -> None:
    """Write the best labels; ties go to the lowest label, from each root down.

    `unary` (n_nodes * K) and `pairwise` (n_edges * K * K) are flat; scratch as `n_scratch` says.
    """
    n_nodes, n_edges = unary.shape[0] // n_labels, ends.shape[0]
    order, up = ints[:n_nodes], ints[n_nodes : 2 * n_nodes]
    head, following = ints[2 * n_nodes : 3 * n_nodes], ints[3 * n_nodes : 3 * n_nodes + 2 * n_edges]
    order_nodes(n_nodes, ends, order, up, head, following)
    best = floats[: n_nodes * n_labels]
    for p in range(n_nodes * n_labels):
        best[p] = unary[p]
    for at in range(n_nodes - 1, -1, -1):
        t, e = order[at], up[order[at]]
        if e >= 0:
            _send_up(t, e, ends, pairwise, n_labels, best)
    for at in range(n_nodes):
        t, e = order[at], up[order[at]]
        labels[t] = _choose(t, e, ends, pairwise, n_labels, best, labels)


@jit(inline="always")
def _strides(t: int, e: int, ends: Any, n_labels: int) -> tuple[int, int, int, int]:
    """Parent of t over edge e, where the table of e begins, its strides by both labels."""
    if ends[e, 0] == t:
        return ends[e, 1], e * n_labels * n_labels, n_labels, 1
    return ends[e, 0], e * n_labels * n_labels, 1, n_labels


@jit
def _send_up(t: int, e: int, ends: Any, pairwise: Any, n_labels: int, best: Any) -> None:
    """Add to each label j of the parent the best that t's subtree can do given j."""
    parent, table, own, others = _strides(t, e, ends, n_labels)
    for j in range(n_labels):
        top = best[t * n_labels] + pairwise[table + j * others]
        for k in range(1, n_labels):
            candidate = best[t * n_labels + k] + pairwise[table + k * own + j * others]
            top = candidate if candidate > top else top
        best[parent * n_labels + j] += top


@jit
def _choose(t: int, e: int, ends: Any, pairwise: Any, n_labels: int, best: Any, labels: Any) -> int:
    """The best label of t given its parent's."""
    shift, own = -1, 0
    if e >= 0:
        parent, table, own, others = _strides(t, e, ends, n_labels)
        shift = table + labels[parent] * others
    label, top = 0, -np.inf
    for k in range(n_labels):
        candidate = best[t * n_labels + k] + (pairwise[shift + k * own] if e >= 0 else 0.0)
        if candidate > top:
            label, top = k, candidate
    return label


def check_forest(n_nodes: int, ends: np.ndarray, name: str = "edges") -> None:
    """Refuse edges that close a cycle, naming the edge that does."""
    root = np.arange(n_nodes)
    for e, (a, b) in enumerate(ends.tolist()):
        pair = [a, b]
        for s in range(2):
            while root[pair[s]] != pair[s]:
                root[pair[s]] = root[root[pair[s]]]
                pair[s] = root[pair[s]]
        if pair[0] == pair[1]:
            raise InputError(
                f"{name}[{e}] = ({a}, {b}) closes a cycle, but a tree or forest has none; remove "
                "it, or use a task for general graphs."
            )
        root[pair[0]] = pair[1]


def maximize(unary: Any, pairwise: Any, edges: Any) -> np.ndarray:
    """Best labels for `unary` (n, K), `pairwise` (m, K, K) and `edges` (m, 2).

    >>> maximize([[1.0, 0.0], [0.0, 0.5]], [[[1.0, 0.0], [0.0, 0.0]]], [[0, 1]])
    array([0, 0])
    """
    unary = np.ascontiguousarray(unary, dtype=np.float64)
    n_nodes, n_labels = unary.shape
    ends = np.ascontiguousarray(edges, dtype=np.int32).reshape(-1, 2)
    pairwise = np.ascontiguousarray(pairwise, dtype=np.float64)
    check_forest(n_nodes, ends)
    labels = np.zeros(n_nodes, dtype=np.int64)
    n_ints, n_floats = n_scratch(n_nodes, len(ends), n_labels)
    ints, floats = np.zeros(n_ints, dtype=np.int64), np.zeros(n_floats)
    maximize_into(unary.ravel(), pairwise.ravel(), ends, n_labels, labels, ints, floats)
    return labels
