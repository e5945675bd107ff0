"""Labels of the nodes of a tree or forest: exact maximum by max-sum.

    score(y) = sum_t unary[t, y_t] + sum_e pairwise[e, y_a, y_b],    edge e joins nodes a and b

A label that a node may not have has the score `chain.FORBIDDEN`, as on chains.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures.chain import max_plus

__all__ = ["check_forest", "maximize", "maximize_into", "score"]


def n_scratch(n_nodes: int, n_edges: int, n_labels: int) -> tuple[int, int]:
    """Integers and floats of scratch that `maximize_into` needs."""
    return 3 * n_nodes + 2 * n_edges, (n_nodes + 1) * n_labels


@jit
def order_nodes(n_nodes: int, ends: Any, order: Any, up: Any, head: Any, following: Any) -> None:
    """Breadth-first order of every tree; up[t] is the edge to t's parent, -1 at a root.

    The root of a tree is its lowest node; the children of a node lie together in `order`.
    `head` and `following` are linked lists of edge ends around each node: end 2 e + s is
    ends[e, s].
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
    message = floats[n_nodes * n_labels : (n_nodes + 1) * n_labels]
    tables = pairwise.reshape((n_edges, n_labels, n_labels))
    for p in range(n_nodes * n_labels):
        best[p] = unary[p]
    for at in range(n_nodes - 1, -1, -1):
        t, e = order[at], up[order[at]]
        if e >= 0:
            own = best[t * n_labels : (t + 1) * n_labels]
            is_first = ends[e, 0] == t
            _tell(own, tables[e], is_first, message, n_labels)
            parent = ends[e, 1] if is_first else ends[e, 0]
            for k in range(n_labels):
                best[parent * n_labels + k] += message[k]
    for at in range(n_nodes):
        t, e = order[at], up[order[at]]
        own = best[t * n_labels : (t + 1) * n_labels]
        if e < 0:
            labels[t] = _highest(own, n_labels)
        else:
            is_first = ends[e, 0] == t
            parent = ends[e, 1] if is_first else ends[e, 0]
            labels[t] = _follow(own, tables[e], is_first, labels[parent], n_labels)


@jit(inline="always")
def _tell(own: Any, table: Any, is_first: bool, message: Any, n_labels: int) -> None:
    """message[j] = the best that a node's subtree can do when its parent has label j.

    `is_first`: whether the node's labels are the rows of the edge's table, or its columns.
    """
    if is_first:
        max_plus(own, table, message, n_labels)
    else:
        for j in range(n_labels):
            message[j] = _best_sum(own, table[j], n_labels)


@jit(inline="always")
def _best_sum(own: Any, row: Any, n_labels: int) -> float:
    """max_k own[k] + row[k]; four maxima side by side, so that none waits for another."""
    a = own[0] + row[0]
    b, c, d = a, a, a
    k = n_labels % 4
    for j in range(1, k):
        s = own[j] + row[j]
        a = s if s > a else a
    while k < n_labels:
        p, q = own[k] + row[k], own[k + 1] + row[k + 1]
        r, s = own[k + 2] + row[k + 2], own[k + 3] + row[k + 3]
        a, b = p if p > a else a, q if q > b else b
        c, d = r if r > c else c, s if s > d else d
        k += 4
    a = a if a > b else b
    c = c if c > d else d
    return a if a > c else c


@jit(inline="always")
def _highest(own: Any, n_labels: int) -> int:
    """The best label of a root."""
    label = 0
    for k in range(1, n_labels):
        if own[k] > own[label]:
            label = k
    return label


@jit(inline="always")
def _follow(own: Any, table: Any, is_first: bool, other: int, n_labels: int) -> int:
    """The best label of a node whose parent has label `other`."""
    label, top = 0, own[0] + (table[0, other] if is_first else table[other, 0])
    for k in range(1, n_labels):
        candidate = own[k] + (table[k, other] if is_first else table[other, k])
        if candidate > top:
            label, top = k, candidate
    return label


@jit
def _first_cycle(ends: Any, root: Any) -> int:
    """The first edge that closes a cycle, or -1; `root` is scratch of one entry per node."""
    for t in range(root.shape[0]):
        root[t] = t
    for e in range(ends.shape[0]):
        a, b = ends[e, 0], ends[e, 1]
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        while root[b] != b:
            root[b] = root[root[b]]
            b = root[b]
        if a == b:
            return e
        root[a] = b
    return -1


def check_forest(n_nodes: int, ends: np.ndarray, name: str = "edges") -> None:
    """Refuse edges that close a cycle, naming the edge that does.

    >>> check_forest(3, np.array([[0, 1], [2, 1]]))
    """
    ends = np.ascontiguousarray(ends, dtype=np.int32)
    e = _first_cycle(ends, np.zeros(n_nodes, dtype=np.int32))
    if e >= 0:
        a, b = ends[e].tolist()
        raise InputError(
            f"{name}[{e}] = ({a}, {b}) closes a cycle, but a tree or forest has none; remove "
            "it, or use a task for general graphs."
        )


def checked(unary: Any, pairwise: Any, edges: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arguments as compiled code takes them; shapes that do not fit are refused."""
    unary = np.ascontiguousarray(unary, dtype=np.float64)
    if unary.ndim != 2 or not unary.shape[1]:
        raise InputError(f"unary has shape {unary.shape}; expected (n_nodes, n_labels).")
    n_nodes, n_labels = unary.shape
    ends, pairwise = np.asarray(edges), np.ascontiguousarray(pairwise, dtype=np.float64)
    if not ends.size:
        ends = np.zeros((0, 2), dtype=np.int32)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise InputError(
            f"edges has shape {ends.shape} and type {ends.dtype}; expected integers (n_edges, 2)."
        )
    if len(ends) and not 0 <= ends.min() <= ends.max() < n_nodes:
        raise InputError(f"edges joins nodes {ends.min()}..{ends.max()}, of 0..{n_nodes - 1}.")
    if pairwise.size != len(ends) * n_labels**2 or (len(ends) and pairwise.ndim != 3):
        raise InputError(
            f"pairwise has shape {pairwise.shape}; expected ({len(ends)}, {n_labels}, {n_labels})."
        )
    for name, scores in (("unary", unary), ("pairwise", pairwise)):
        if not (scores < np.inf).all():
            raise InputError(f"{name} has NaN or +inf; expected scores that are finite or -inf.")
    ends = np.ascontiguousarray(ends, dtype=np.int32)
    check_forest(n_nodes, ends)
    return unary, pairwise, ends


def maximize(unary: Any, pairwise: Any, edges: Any) -> np.ndarray:
    """Best labels for `unary` (n, K), `pairwise` (m, K, K) and `edges` (m, 2).

    >>> maximize([[1.0, 0.0], [0.0, 0.5]], [[[1.0, 0.0], [0.0, 0.0]]], [[0, 1]])
    array([0, 0])
    """
    unary, pairwise, ends = checked(unary, pairwise, edges)
    n_nodes, n_labels = unary.shape
    labels = np.zeros(n_nodes, dtype=np.int64)
    n_ints, n_floats = n_scratch(n_nodes, len(ends), n_labels)
    ints, floats = np.zeros(n_ints, dtype=np.int64), np.zeros(n_floats)
    maximize_into(unary.ravel(), pairwise.ravel(), ends, n_labels, labels, ints, floats)
    return labels


def score(unary: Any, pairwise: Any, edges: Any, labels: Any) -> float:
    """Score of one labelling.

    >>> score([[1.0, 0.0], [0.0, 0.5]], [[[1.0, 0.0], [0.0, 0.0]]], [[0, 1]], [0, 0])
    2.0
    """
    labels, ends = np.asarray(labels), np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    total = np.asarray(unary)[np.arange(len(labels)), labels].sum()
    if len(ends):
        of_edges = np.asarray(pairwise)[
            np.arange(len(ends)), labels[ends[:, 0]], labels[ends[:, 1]]
        ]
        total += of_edges.sum()
    return float(total)
