"""Two labels on the nodes of any graph, neighbours rewarded for agreeing: exact by min-cut.

    score(y) = sum_t unary[t] [y_t = 1] - sum_e pairwise[e] [y_a != y_b],      pairwise >= 0

where edge e joins nodes a and b. The maximum is a minimum cut: nodes with unary > 0 hang on the
source, those with unary < 0 on the sink, and the source's side of the cut has label 1. Of several
best labellings the one with the fewest ones is found: it is unique, and its ones are ones in every
other. A node that must be 0 has unary `chain.FORBIDDEN`, one that must be 1 has minus that.

The flow is found by incremental breadth-first search (Goldberg, Hed, Kaplan, Tarjan and Werneck,
2011): a tree of nodes that the source reaches and one of nodes that reach the sink grow level by
level, flow is pushed where they meet, and what a saturated arc cuts off is adopted again at the
lowest level possible. Levels only rise, so there are O(n^2 m) steps whatever the capacities: no
step compares with a tolerance. The arc that limits a push is left with exactly zero, because a
float minus itself is zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures.checks import check_ends, check_scores

__all__ = ["maximize", "maximize_into"]

_SOURCE, _SINK = 0, 1  # the two trees
_ROOT, _ORPHAN = -1, -2  # instead of an arc to the parent
_FIRST, _LAST, _LIMIT, _COUNT = 0, 1, 2, 4  # places in `_Network.state`
_N_STATE = 8


class _Network(NamedTuple):
    """The residual graph and the two trees, all in scratch.

    Edge e is the arcs 2 e (from ends[e, 0]) and 2 e + 1 (back); each is the other's number ^ 1.
    The residual of an arc and of its opposite lie side by side.
    """

    ends: Any  # (m, 2)
    start: Any  # (n + 1,): arcs that leave node t are arcs[start[t]:start[t+1]]
    arcs: Any  # (2 m,)
    residual: Any  # (2 m,)
    excess: Any  # (n,): residual from the source if > 0, minus that to the sink if < 0
    level: Any  # (n,): steps from the source, minus steps to the sink, or 0 in neither tree
    parent: Any  # (n,): the arc to the parent, _ROOT or _ORPHAN
    following: Any  # (n,): the next orphan in line
    queued: Any  # (2 n,): the last level of each tree that a node was queued for
    queue: Any  # (4 n,): nodes of the last level of each tree, and of the one that grows
    state: Any  # first and last orphan; highest level of each tree; lengths of the four queues


def n_scratch(n_nodes: int, n_edges: int) -> tuple[int, int]:
    """Integers and floats of scratch that `maximize_into` needs."""
    return (10 * n_nodes + 2 + 2 * n_edges + _N_STATE) // 2, n_nodes + 2 * n_edges


@jit
def maximize_into(
    unary: Any, pairwise: Any, ends: Any, labels: Any, ints: Any, floats: Any
) -> None:
    """Write the best labels, with the fewest ones; scratch as `n_scratch` says."""
    n = unary.shape[0]
    net = _network(n, ends, ints, floats)
    _fill(net, unary, pairwise)
    count = net.state[_COUNT:]
    of_source, of_sink = count[1], count[3]  # (both trees begin with level 1)
    while of_source > 0 and of_sink > 0:
        if of_source <= of_sink:
            of_source = _grow(net, _SOURCE)
            of_sink = count[2 + (net.state[_LIMIT + _SINK] & 1)]
        else:
            of_sink = _grow(net, _SINK)
            of_source = count[net.state[_LIMIT + _SOURCE] & 1]
    while of_source > 0:  # what the source still reaches has no way to the sink
        of_source = _grow(net, _SOURCE)
    for t in range(n):
        labels[t] = 1 if net.level[t] > 0 else 0


@jit(inline="always")
def _network(n: int, ends: Any, wide: Any, floats: Any) -> Any:
    m = ends.shape[0]
    at = n + 1 + 2 * m
    ints = wide.view(np.int32)  # half the memory to read
    return _Network(
        ends,
        ints[: n + 1],
        ints[n + 1 : at],
        floats[n : n + 2 * m],
        floats[:n],
        ints[at : at + n],
        ints[at + n : at + 2 * n],
        ints[at + 2 * n : at + 3 * n],
        ints[at + 3 * n : at + 5 * n],
        ints[at + 5 * n : at + 9 * n],
        ints[at + 9 * n : at + 9 * n + _N_STATE],
    )


@jit
def _fill(net: Any, unary: Any, pairwise: Any) -> None:
    """Arcs by node, full capacities, and trees of one level."""
    n, m, start = unary.shape[0], pairwise.shape[0], net.start
    for t in range(n + 1):
        start[t] = 0
    for e in range(m):
        start[net.ends[e, 0]] += 1
        start[net.ends[e, 1]] += 1
        net.residual[2 * e] = net.residual[2 * e + 1] = pairwise[e]
    for t in range(n):
        start[t + 1] += start[t]
    for e in range(m - 1, -1, -1):
        for s in range(2):
            t = net.ends[e, s]
            start[t] -= 1
            net.arcs[start[t]] = 2 * e + s
    for s in range(_N_STATE):
        net.state[s] = 0
    net.state[_FIRST] = net.state[_LAST] = -1
    net.state[_LIMIT + _SOURCE] = net.state[_LIMIT + _SINK] = 1
    for t in range(n):
        net.excess[t] = unary[t]
    for e in range(m):
        _push_over(net, e)
    for t in range(n):
        net.queued[t] = net.queued[n + t] = 0
        net.level[t], net.parent[t] = 0, _ORPHAN
        if net.excess[t] != 0.0:
            tree = _SOURCE if net.excess[t] > 0.0 else _SINK
            net.level[t], net.parent[t] = 1 - 2 * tree, _ROOT
            _enqueue(net, t, tree, 1)


@jit(inline="always")
def _push_over(net: Any, e: int) -> None:
    """Push what fits from the source over a single edge to the sink: most of all flow, cheaply."""
    a, b = net.ends[e, 0], net.ends[e, 1]
    from_a, from_b = net.excess[a], net.excess[b]
    if from_a * from_b < 0.0:
        amount = min(abs(from_a), abs(from_b), net.residual[2 * e])
        if from_a < 0.0:
            amount = -amount
        net.excess[a] -= amount
        net.excess[b] += amount
        net.residual[2 * e] -= amount
        net.residual[2 * e + 1] += amount


@jit(inline="always")
def _enqueue(net: Any, t: int, tree: int, level: int) -> None:
    """Note that t is to be scanned when `tree` grows beyond `level`; once per level."""
    n = net.level.shape[0]
    if net.queued[tree * n + t] != level:
        net.queued[tree * n + t] = level
        which = 2 * tree + (level & 1)
        net.queue[which * n + net.state[_COUNT + which]] = t
        net.state[_COUNT + which] += 1


@jit
def _grow(net: Any, tree: int) -> int:
    """Add one level to a tree, with all pushes that this leads to; how many nodes it has."""
    n, sign, level = net.level.shape[0], 1 - 2 * tree, net.state[_LIMIT + tree]
    net.state[_LIMIT + tree] = level + 1
    which = 2 * tree + (level & 1)
    for at in range(which * n, which * n + net.state[_COUNT + which]):
        t = net.queue[at]
        if net.level[t] == sign * level:
            _scan(net, t, tree, level)
    net.state[_COUNT + which] = 0
    return int(net.state[_COUNT + 2 * tree + ((level + 1) & 1)])


@jit
def _scan(net: Any, t: int, tree: int, level: int) -> None:
    """Follow the residual arcs of a node of the last level out of its tree."""
    sign = 1 - 2 * tree
    a = net.start[t]
    while a < net.start[t + 1]:
        arc = net.arcs[a]
        if net.residual[arc ^ tree] > 0.0:
            other = net.ends[arc >> 1, 1 - (arc & 1)]
            if net.level[other] == 0:
                net.level[other], net.parent[other] = sign * (level + 1), arc ^ 1
                _enqueue(net, other, tree, level + 1)
            elif net.level[other] * sign < 0:
                _augment(net, arc ^ tree)
                _adopt_all(net)
                if net.level[t] != sign * level:
                    return  # (queued anew where it is now)
                continue  # the same arc again: it may have more to give
        a += 1


@jit
def _augment(net: Any, bridge: int) -> None:
    """Push all that fits from the source over `bridge` to the sink; cut what is saturated."""
    residual, parent, excess, ends = net.residual, net.parent, net.excess, net.ends
    amount = residual[bridge]
    t = ends[bridge >> 1, bridge & 1]
    while parent[t] != _ROOT:
        arc = parent[t]
        amount = min(amount, residual[arc ^ 1])
        t = ends[arc >> 1, 1 - (arc & 1)]
    amount = min(amount, excess[t])
    t = ends[bridge >> 1, 1 - (bridge & 1)]
    while parent[t] != _ROOT:
        arc = parent[t]
        amount = min(amount, residual[arc])
        t = ends[arc >> 1, 1 - (arc & 1)]
    amount = min(amount, -excess[t])
    residual[bridge] -= amount
    residual[bridge ^ 1] += amount
    _push(net, ends[bridge >> 1, bridge & 1], _SOURCE, amount)
    _push(net, ends[bridge >> 1, 1 - (bridge & 1)], _SINK, amount)


@jit(inline="always")
def _push(net: Any, t: int, tree: int, amount: float) -> None:
    """Take `amount` off the way between t and the root of its tree."""
    residual, parent, ends = net.residual, net.parent, net.ends
    while parent[t] != _ROOT:
        arc = parent[t]
        forward = arc ^ 1 ^ tree
        residual[forward] -= amount
        residual[forward ^ 1] += amount
        if residual[forward] == 0.0:
            _cut_off_first(net, t)
        t = ends[arc >> 1, 1 - (arc & 1)]
    net.excess[t] -= amount * (1 - 2 * tree)
    if net.excess[t] == 0.0:
        _cut_off_first(net, t)


@jit(inline="always")
def _cut_off(net: Any, t: int) -> None:
    """Put t last in the line of orphans."""
    net.parent[t], net.following[t] = _ORPHAN, -1
    if net.state[_FIRST] < 0:
        net.state[_FIRST] = t
    else:
        net.following[net.state[_LAST]] = t
    net.state[_LAST] = t


@jit(inline="always")
def _cut_off_first(net: Any, t: int) -> None:
    """Put t first in the line of orphans: on the way to a root, nodes near it are to be first."""
    net.parent[t], net.following[t] = _ORPHAN, net.state[_FIRST]
    if net.state[_FIRST] < 0:
        net.state[_LAST] = t
    net.state[_FIRST] = t


@jit
def _adopt_all(net: Any) -> None:
    while net.state[_FIRST] >= 0:
        t = net.state[_FIRST]
        net.state[_FIRST] = net.following[t]
        _adopt(net, t)


@jit
def _adopt(net: Any, t: int) -> None:
    """Give an orphan the lowest parent there is, or set it free.

    A parent may itself be an orphan: it cuts its children off when its own level changes. The
    level of a child is that of its parent plus one, so there are no cycles.
    """
    tree = _SOURCE if net.level[t] > 0 else _SINK
    sign = 1 - 2 * tree
    level, lowest, way = net.level[t] * sign, net.state[_LIMIT + tree], -1
    for a in range(net.start[t], net.start[t + 1]):
        arc = net.arcs[a]
        above = net.level[net.ends[arc >> 1, 1 - (arc & 1)]] * sign
        if 0 < above < lowest and net.residual[arc ^ 1 ^ tree] > 0.0:
            lowest, way = above, arc
            if above < level:
                break  # (the lowest that is possible)
    if way >= 0 and lowest < level:
        net.parent[t] = way
        return
    for a in range(net.start[t], net.start[t + 1]):
        arc = net.arcs[a]
        child = net.ends[arc >> 1, 1 - (arc & 1)]
        if net.parent[child] == arc ^ 1:
            _cut_off(net, child)
    if way < 0:
        net.level[t] = 0
        return
    net.level[t], net.parent[t] = sign * (lowest + 1), way
    if lowest + 1 == net.state[_LIMIT + tree]:
        _enqueue(net, t, tree, lowest + 1)


def maximize(unary: Any, pairwise: Any, edges: Any) -> np.ndarray:
    """Best labels 0 / 1 for `unary` (n,), `pairwise` (m,) and `edges` (m, 2); ties go to 0.

    >>> maximize([2.0, -0.2, -3.0], [1.5, 1.0], [[0, 1], [1, 2]])
    array([1, 1, 0])
    """
    unary, pairwise = check_scores(unary, "unary"), check_scores(pairwise, "pairwise", ("m",))
    ends = check_ends(edges, len(unary))
    if len(pairwise) != len(ends):
        raise InputError(f"pairwise has {len(pairwise)} entries for {len(ends)} edges.")
    if (pairwise < 0).any():
        e = int(np.argmax(pairwise < 0))
        raise InputError(
            f"pairwise[{e}] is {pairwise[e]:g}; a cut is exact only where disagreeing never "
            "pays, pairwise >= 0."
        )
    labels = np.zeros(len(unary), dtype=np.int64)
    n_ints, n_floats = n_scratch(len(unary), len(ends))
    ints, floats = np.zeros(n_ints, dtype=np.int64), np.zeros(n_floats)
    maximize_into(unary, pairwise, ends, labels, ints, floats)
    return labels
