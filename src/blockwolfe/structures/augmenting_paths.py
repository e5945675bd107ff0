"""Shortest augmenting paths for `matching`: the compiled search, and its scratch.

See `matching` for the problem and for what potentials and slacks are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit

UNSEEN, WAITING, DONE = 0, 1, 2
MOST_BIDS = 8  # of the auction before each search


class Work(NamedTuple):
    """Views of scratch. Nodes are sources, then targets; k numbers links with positive scores."""

    start: Any  # (n_sources + 1,): links of source t are start[t]:start[t+1]
    target: Any  # (k,): node number of the target
    source: Any  # (k,)
    link: Any  # (k,): number of the link in the input
    is_on: Any  # (k,): whether the link is used
    following: Any  # (k,): next used link at the same target, -1 at the end
    head: Any  # (nodes,): first used link of a target, or -1
    spare: Any  # (nodes,): capacity left; kept for targets
    parent: Any  # (nodes,): link over which the search reached a node
    state: Any  # (nodes,): UNSEEN, WAITING or DONE
    done: Any  # (nodes,): nodes with their final distance, in that order
    waiting: Any  # (nodes,): nodes that may come nearer still
    late: Any  # (n_sources,): sources that need a search
    score: Any  # (k,)
    potential: Any  # (nodes,)
    distance: Any  # (nodes,)


def n_scratch(n_source: int, n_target: int, n_links: int) -> tuple[int, int]:
    """Integers and floats of scratch that `maximize_into` needs."""
    n_nodes = n_source + n_target
    return 2 * n_source + 1 + 5 * n_links + 6 * n_nodes, n_links + 2 * n_nodes


@jit(inline="always")
def views(n_source: int, n_nodes: int, n_links: int, ints: Any, floats: Any) -> Work:
    """The scratch, divided up."""
    a, b, c = n_source + 1, n_links, n_nodes
    nodes = a + 5 * b
    return Work(
        ints[:a],
        ints[a : a + b],
        ints[a + b : a + 2 * b],
        ints[a + 2 * b : a + 3 * b],
        ints[a + 3 * b : a + 4 * b],
        ints[a + 4 * b : nodes],
        ints[nodes : nodes + c],
        ints[nodes + c : nodes + 2 * c],
        ints[nodes + 2 * c : nodes + 3 * c],
        ints[nodes + 3 * c : nodes + 4 * c],
        ints[nodes + 4 * c : nodes + 5 * c],
        ints[nodes + 5 * c : nodes + 6 * c],
        ints[nodes + 6 * c : nodes + 6 * c + n_source],
        floats[:b],
        floats[b : b + c],
        floats[b + c : b + 2 * c],
    )


@jit
def keep_helpful(scores: Any, ends: Any, n_source: int, work: Any) -> int:
    """Group links of positive score by source; how many there are."""
    start = work.start
    for t in range(n_source + 1):
        start[t] = 0
    for e in range(scores.shape[0]):
        if scores[e] > 0.0:
            start[ends[e, 0]] += 1
    kept = 0
    for t in range(n_source):
        kept += start[t]
        start[t] = kept
    start[n_source] = kept
    for e in range(scores.shape[0] - 1, -1, -1):  # (backwards: start ends where a source begins)
        if scores[e] > 0.0:
            t = ends[e, 0]
            start[t] -= 1
            k = start[t]
            work.source[k], work.target[k], work.link[k] = t, n_source + ends[e, 1], e
            work.score[k], work.is_on[k] = scores[e], 0
    return kept


@jit(inline="always")
def _use(k: int, work: Any) -> None:
    t = work.target[k]
    work.is_on[k] = 1
    work.following[k] = work.head[t]
    work.head[t] = k


@jit(inline="always")
def _stop_using(k: int, work: Any) -> None:
    t = work.target[k]
    work.is_on[k] = 0
    if work.head[t] == k:
        work.head[t] = work.following[k]
        return
    before = work.head[t]
    while work.following[before] != k:
        before = work.following[before]
    work.following[before] = work.following[k]


@jit
def begin(root: int, capacity: Any, work: Any) -> int:
    """Begin a source: give it its best link and its potential, if that needs no search.

    Returns the source that still needs one, -1 if none does. Where all concerned have capacity
    one, a source may take its best target from another by raising the potential of the target
    to where the second best is as good; the other source then begins anew (this is an auction).
    """
    targets, potential, scores = work.target, work.potential, work.score
    for _ in range(MOST_BIDS):
        best, top, second = np.int64(-1), 0.0, 0.0
        for u in range(np.uint64(work.start[root]), np.uint64(work.start[root + 1])):
            gain = scores[u] - potential[np.uint64(targets[u])]
            if gain > top:
                best, top, second = np.int64(u), gain, top
            elif gain > second:
                second = gain
        work.potential[root] = top
        if best < 0:
            return -1
        node = work.target[best]
        is_single = capacity[root] == 1 and capacity[node] == 1
        is_free = work.spare[node] > 0
        if not is_free:
            other = work.head[node]
            if not is_single or second >= top or other < 0 or capacity[work.source[other]] > 1:
                return root
        if is_single:
            work.potential[root] = second
            work.potential[node] += top - second
        if is_free:
            work.spare[node] -= 1
            _use(best, work)
            return -1
        _stop_using(other, work)
        _use(best, work)
        root = work.source[other]
    return root


@jit(inline="always")
def _reach(node: int, k: int, at: float, level: float, sizes: Any, work: Any) -> Any:
    """Note that `node` is at distance `at` over link k; how many nodes are done and waiting."""
    n_done, n_waiting = sizes
    work.distance[node], work.parent[node] = at, k
    if at <= level:
        work.state[node] = DONE
        work.done[n_done] = node
        n_done += 1
    elif work.state[node] == UNSEEN:
        work.state[node] = WAITING
        work.waiting[n_waiting] = node
        n_waiting += 1
    return n_done, n_waiting


@jit(inline="always")
def _leave_source(t: int, level: float, bound: float, end: int, sizes: Any, work: Any) -> Any:
    """Look over the unused links of source t."""
    own = level + work.potential[t]
    targets, potential, scores = work.target, work.potential, work.score
    for u in range(np.uint64(work.start[t]), np.uint64(work.start[t + 1])):
        at = own + potential[np.uint64(targets[u])] - scores[u]
        if at >= bound:  # (unsigned indices need no test for < 0, and most links end here)
            continue
        k, node = np.int64(u), targets[u]
        if work.state[node] == DONE or work.is_on[k]:
            continue
        at = max(at, level)  # (below is rounding)
        if work.spare[node] > 0:
            if at < bound:
                bound, end = at, node
                work.parent[node] = k
        elif work.state[node] == UNSEEN or at < work.distance[node]:
            sizes = _reach(node, k, at, level, sizes, work)
    return bound, end, sizes


@jit(inline="always")
def _leave_target(t: int, level: float, bound: float, end: int, sizes: Any, work: Any) -> Any:
    """Look at the sources whose links to the full target t could be taken back."""
    k = work.head[t]
    while k >= 0:
        node = work.source[k]
        slack = work.potential[node] + work.potential[t] - work.score[k]
        at = level + max(-slack, 0.0)
        is_nearer = work.state[node] == UNSEEN or (
            work.state[node] == WAITING and at < work.distance[node]
        )
        if at < bound and is_nearer:
            sizes = _reach(node, k, at, level, sizes, work)
            if at + work.potential[node] < bound:  # (the source gives up the link)
                bound, end = at + work.potential[node], node
        k = work.following[k]
    return bound, end, sizes


@jit(inline="always")
def _nearest(n_waiting: int, work: Any) -> tuple[int, int]:
    """Place of the nearest waiting node (-1 if none waits); done ones leave the list."""
    best, kept, least = -1, 0, np.inf
    for at in range(n_waiting):
        node = work.waiting[at]
        if work.state[node] == WAITING:
            work.waiting[kept] = node
            if work.distance[node] < least:
                best, least = kept, work.distance[node]
            kept += 1
    return best, kept


@jit
def _search(root: int, n_source: int, work: Any) -> int:
    """Node where the cheapest path from `root` ends; potentials are updated."""
    bound, end, level = work.potential[root], root, 0.0
    sizes = _reach(root, -1, 0.0, level, (0, 0), work)
    at = 0
    while True:
        while at < sizes[0]:
            node = work.done[at]
            at += 1
            if node < n_source:
                bound, end, sizes = _leave_source(node, level, bound, end, sizes, work)
            else:
                bound, end, sizes = _leave_target(node, level, bound, end, sizes, work)
        place, n_waiting = _nearest(sizes[1], work)
        sizes = (sizes[0], n_waiting)
        if place < 0 or work.distance[work.waiting[place]] >= bound:
            break
        node = work.waiting[place]
        level = work.distance[node]
        work.state[node] = DONE
        work.done[sizes[0]] = node
        sizes = (sizes[0] + 1, n_waiting)
    for at in range(sizes[0]):
        node = work.done[at]
        work.state[node] = UNSEEN
        change = max(bound - work.distance[node], 0.0)
        if node < n_source:
            work.potential[node] = max(work.potential[node] - change, 0.0)
        else:
            work.potential[node] += change
    for at in range(sizes[1]):
        work.state[work.waiting[at]] = UNSEEN
    return end


@jit
def _flip(end: int, root: int, n_source: int, work: Any) -> None:
    """Change the links along the path from `root` to `end`."""
    node = end
    if node >= n_source:
        work.spare[node] -= 1
        k = work.parent[node]
        _use(k, work)
        node = work.source[k]
    while node != root:
        k = work.parent[node]
        _stop_using(k, work)
        k = work.parent[work.target[k]]
        _use(k, work)
        node = work.source[k]


@jit
def reset(root: int, work: Any) -> None:
    """The least potential with which a source without links may begin."""
    top = 0.0
    for k in range(work.start[root], work.start[root + 1]):
        top = max(top, work.score[k] - work.potential[work.target[k]])
    work.potential[root] = top


@jit
def insert(root: int, n_source: int, n_units: int, work: Any) -> None:
    """One unit of capacity of a source after another, until no further link helps."""
    for _ in range(n_units):
        end = _search(root, n_source, work)
        if end == root:
            return
        _flip(end, root, n_source, work)
