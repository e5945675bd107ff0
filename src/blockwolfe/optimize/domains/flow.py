"""Unit flows from a source to a target: one oracle for graphs without cycles, one for all others.

    {x : 0 <= x_a <= 1 for every arc a; out - in = 1 at the source, -1 at the target, 0 elsewhere}

Without cycles the upper bounds hold by themselves, the vertices are the paths, and the minimum is
a shortest path by dynamic programming, whatever the signs of the costs.

With cycles and negative costs a shortest path is either unbounded (walks) or NP-hard (simple
paths), so the upper bounds matter: they make the set a polytope whose vertices are 0/1 flows, a
path and cycles that share no arc. Such a flow is an assignment of arcs to the arcs that follow
them: every arc in use is followed by one that leaves where it ends, an arc not in use follows
itself, and a start and an end are the source's and the target's. The cheapest full matching is
thus the minimum, exact to rounding, with no restriction on signs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, min_weight_full_bipartite_matching

from blockwolfe.base.checks import check_integer
from blockwolfe.base.compiled import jit
from blockwolfe.base.words import counted
from blockwolfe.errors import InputError
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains.base import Domain

__all__ = ["Flow"]


class Flow(Domain):
    """Flows of one unit from a source to a target, at most one on any arc.

    On graphs without cycles these are the mixtures of paths. On others a flow may also go round in
    cycles; costs >= 0 give no reason to.

    Parameters
    ----------
    arcs : array of shape (m, 2)
        Tail and head of every arc, as node numbers; several arcs may join the same nodes. A point
        has one entry per arc.
    source, target : int
        Where the unit begins and ends.
    n_nodes : int, optional
        Number of nodes; by default the largest node number and one.

    Examples
    --------
    >>> flow = Flow([[0, 1], [1, 2], [0, 2]], source=0, target=2)
    >>> flow.minimize(np.array([1.0, 1.0, 3.0]))
    Atom(size=3, {0: 1, 1: 1})
    >>> flow.distance(np.array([0.5, 0.5, 0.5]))
    0.0
    """

    def __init__(self, arcs: Any, source: int, target: int, n_nodes: int | None = None) -> None:
        self.arcs = _read_arcs(arcs)
        check_integer("n_nodes", n_nodes, 1, or_none=True)
        self.n_nodes = int(self.arcs.max()) + 1 if n_nodes is None else int(n_nodes)
        if self.arcs.max() >= self.n_nodes:
            raise InputError(
                f"arcs name node {self.arcs.max()}, but n_nodes={self.n_nodes}; nodes are "
                f"0..{self.n_nodes - 1}."
            )
        self.source, self.target = self._end("source", source), self._end("target", target)
        if self.source == self.target:
            raise InputError(f"source and target are both {source}; expected two nodes.")
        super().__init__((len(self.arcs),))
        self._check_reach()
        order = _topological_order(self.arcs, self.n_nodes)
        self.is_acyclic = order is not None
        self._oracle = (
            _Matching(self.arcs, self.source, self.target)
            if order is None
            else _Paths(self.arcs, self.source, self.target, order)
        )

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The cheapest path, or path and cycles where arcs go round."""
        used = self._oracle.cheapest(self._vector("gradient", gradient))
        return Atom(used, np.ones(len(used)), self.size)

    def start(self) -> Atom:
        """A path with the fewest arcs."""
        return self.minimize(np.ones(self.size))

    def distance(self, x: np.ndarray) -> float:
        """The largest violation, of a bound of an arc or of the balance of a node."""
        x = self._vector("x", x)
        out, into = (np.bincount(self.arcs[:, end], x, self.n_nodes) for end in (0, 1))
        balance = out - into
        balance[self.source] -= 1.0
        balance[self.target] += 1.0
        return float(max(np.abs(balance).max(), -x.min(), x.max() - 1.0, 0.0))

    def _end(self, name: str, node: Any) -> int:
        check_integer(name, node, 0)
        if node >= self.n_nodes:
            raise InputError(f"{name}={node} is no node; nodes are 0..{self.n_nodes - 1}.")
        return int(node)

    def _check_reach(self) -> None:
        shape = (self.n_nodes, self.n_nodes)
        joined = sp.csr_array((np.ones(len(self.arcs)), self.arcs.T), shape=shape)
        reached = breadth_first_order(joined, self.source, return_predecessors=False)
        if self.target not in reached:
            raise InputError(
                f"no path goes from source {self.source} to target {self.target}: the set is "
                "empty. Are the arcs (tail, head)?"
            )

    def __repr__(self) -> str:
        return f"Flow({counted(self.size, 'arc')}, {self.source} -> {self.target})"


def _read_arcs(arcs: Any) -> np.ndarray:
    try:
        array = np.asarray(arcs)
    except ValueError as error:
        raise InputError("arcs is ragged; expected pairs (tail, head).") from error
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or array.dtype.kind not in "iu":
        raise InputError(
            f"arcs has shape {array.shape} and type {array.dtype.name}; expected integers of shape "
            "(m, 2), the tail and the head of every arc."
        )
    if array.min() < 0:
        raise InputError(f"arcs name node {array.min()}; nodes are numbered from 0.")
    loops = np.flatnonzero(array[:, 0] == array[:, 1])
    if len(loops):
        raise InputError(
            f"arcs[{loops[0]}] joins node {array[loops[0], 0]} with itself; leave such arcs out, "
            "as they move nothing."
        )
    return array.astype(np.int64)


def _topological_order(arcs: np.ndarray, n_nodes: int) -> np.ndarray | None:
    """The nodes with every tail before its heads; None where arcs go round in a cycle."""
    tail, head = arcs.T
    n_left = np.bincount(head, minlength=n_nodes)
    by_tail = np.argsort(tail, kind="stable")
    begin = np.searchsorted(tail[by_tail], np.arange(n_nodes + 1))
    order = np.flatnonzero(n_left == 0).tolist()
    for node in order:  # (grows meanwhile)
        for a in by_tail[begin[node] : begin[node + 1]]:
            n_left[head[a]] -= 1
            if n_left[head[a]] == 0:
                order.append(int(head[a]))
    return np.array(order, dtype=np.int64) if len(order) == n_nodes else None


class _Paths:
    """Shortest paths in a graph without cycles."""

    def __init__(self, arcs: np.ndarray, source: int, target: int, order: np.ndarray) -> None:
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self.by_tail = np.argsort(place[arcs[:, 0]], kind="stable")
        self.tail, self.head = (np.ascontiguousarray(arcs[:, end]) for end in (0, 1))
        self.source, self.target, self.n_nodes = source, target, len(order)

    def cheapest(self, costs: np.ndarray) -> np.ndarray:
        """The arcs of a cheapest path, sorted."""
        cost, last = np.full(self.n_nodes, np.inf), np.full(self.n_nodes, -1, dtype=np.int64)
        cost[self.source] = 0.0
        _reach_all(self.by_tail, self.tail, self.head, _at_scale(costs), cost, last)
        used, node = [], self.target
        while node != self.source:
            used.append(last[node])
            node = self.tail[last[node]]
        return np.sort(np.array(used, dtype=np.int64))


@jit
def _reach_all(by_tail: Any, tail: Any, head: Any, costs: Any, cost: Any, last: Any) -> None:
    """The cost of the cheapest way to every node and its last arc; inf and -1 where there is none.

    `by_tail` has the arcs in a topological order of their tails, whose costs are thus final.
    """
    for at in range(len(by_tail)):
        a = by_tail[at]
        through = cost[tail[a]] + costs[a]
        if through < cost[head[a]]:
            cost[head[a]] = through
            last[head[a]] = a


class _Matching:
    """0/1 flows as full matchings: row a is matched with the arc that follows arc a.

    Row and column m stand for the start, which arcs out of the source follow, and for the end,
    which follows arcs into the target.
    """

    def __init__(self, arcs: np.ndarray, source: int, target: int) -> None:
        m = len(arcs)
        tails, heads = np.append(arcs[:, 0], target), np.append(arcs[:, 1], source)
        by_tail = np.argsort(tails, kind="stable")
        begin, end = (np.searchsorted(tails[by_tail], heads, side) for side in ("left", "right"))
        n_next = end - begin
        rows = np.repeat(np.arange(m + 1), n_next)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(n_next) - n_next, n_next)
        columns = by_tail[np.repeat(begin, n_next) + within]
        itself = np.arange(m)
        self.m = m
        self.rows, self.columns = np.append(rows, itself), np.append(columns, itself)
        self.is_next = np.arange(len(self.rows)) < len(rows)

    def cheapest(self, costs: np.ndarray) -> np.ndarray:
        """The arcs of a cheapest 0/1 flow, sorted."""
        costs = np.append(_at_scale(costs), 0.0)
        # Every full matching has m + 1 pairs: a constant changes none of the comparisons, and
        # keeps all weights positive, as zeros would count as no pair at all.
        weights = np.where(self.is_next, costs[self.columns], 0.0) + 2.0
        shape = (self.m + 1, self.m + 1)
        pairs = sp.csr_array((weights, (self.rows, self.columns)), shape=shape)
        rows, columns = min_weight_full_bipartite_matching(pairs)
        return np.asarray(np.sort(columns[(rows != columns) & (columns < self.m)]), dtype=np.int64)


def _at_scale(costs: np.ndarray) -> np.ndarray:
    """With 1 as the largest size, so that sums stay finite and constants can be added."""
    largest = float(np.abs(costs).max())
    return costs / largest if largest > 0.0 else costs
