"""In which order to eliminate the nodes of a graph, and which nodes then meet in a table.

Eliminating a node joins its remaining neighbours with each other. A node and the neighbours that
it has left when its turn comes are a *clique*; the largest, less one, is the *width* of the order:
1 on a forest, about the smaller side of a grid. The best order is NP-hard to find; this one takes
the node whose elimination adds the fewest edges (min-fill), of those the one with the fewest
neighbours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit

__all__ = ["Elimination", "eliminate"]


class Elimination(NamedTuple):
    """The order, and of the node at place q the places of those that it meets, ascending.

    They are entries start[q]:start[q + 1] of `met`; all of them are places after q.
    """

    order: np.ndarray
    start: np.ndarray
    met: np.ndarray

    @property
    def width(self) -> int:
        """Nodes of the largest clique, less one."""
        return int(np.diff(self.start).max())


def eliminate(n_nodes: int, ends: np.ndarray, most: int) -> Elimination | None:
    """A min-fill order of a graph; None if a node meets more than `most` others on the way.

    >>> square = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> eliminate(4, square, 2).width, eliminate(4, square, 1)
    (2, None)
    """
    joined = np.zeros((n_nodes, n_nodes), dtype=np.bool_)
    joined[ends[:, 0], ends[:, 1]] = joined[ends[:, 1], ends[:, 0]] = True
    most = min(most, n_nodes - 1)
    order, size, around = np.zeros((3, n_nodes), dtype=np.int64)
    met, is_left = np.zeros((n_nodes, max(most, 1)), dtype=np.int64), np.ones(n_nodes, np.bool_)
    if not _eliminate(joined, is_left, most, order, size, met, around):
        return None
    place = np.argsort(order)
    lists = [np.sort(place[met[q, : size[q]]]) for q in range(n_nodes)]
    return Elimination(order, np.concatenate([[0], np.cumsum(size)]), np.concatenate(lists))


@jit
def _eliminate(
    joined: Any, is_left: Any, most: int, order: Any, size: Any, met: Any, around: Any
) -> bool:
    """Fill `order`, and of each place how many nodes are met, and which; False if too many are."""
    n_nodes = order.shape[0]
    for q in range(n_nodes):
        t = _next(joined, is_left, around)
        n = _neighbours(t, joined, is_left, around)
        if n > most:
            return False
        order[q], size[q], is_left[t] = t, n, False
        for a in range(n):
            met[q, a] = around[a]
            for b in range(n):
                joined[around[a], around[b]] = a != b
    return True


@jit
def _neighbours(t: int, joined: Any, is_left: Any, around: Any) -> int:
    n = 0
    for u in range(is_left.shape[0]):
        if is_left[u] and joined[t, u]:
            around[n] = u
            n += 1
    return n


@jit
def _next(joined: Any, is_left: Any, around: Any) -> int:
    """The node that adds the fewest edges; of several, the one with the fewest neighbours."""
    best, least, fewest = -1, 0, 0
    for t in range(is_left.shape[0]):
        if not is_left[t]:
            continue
        n, fill = _neighbours(t, joined, is_left, around), 0
        for a in range(n):
            for b in range(a):
                fill += not joined[around[a], around[b]]
        if best < 0 or (fill, n) < (least, fewest):
            best, least, fewest = t, fill, n
    return best
