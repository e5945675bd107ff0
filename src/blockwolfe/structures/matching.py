"""Links between two sides, each node with a capacity: exact maximum by shortest augmenting paths.

    maximise    sum_l score_l z_l,    z_l in {0, 1}
    subject to  sum of z over the links of node t <= capacity_t,    for t on either side

With capacities one this is a bipartite matching in which any node may stay single. Links that
do not help (score <= 0, `chain.FORBIDDEN` among them) are left out at once; what remains is
solved by inserting the sources one unit of capacity after another. The linear program is
totally unimodular, so its dual is what the search keeps: potentials >= 0 of all nodes with

    slack_l = potential of both ends - score_l,   >= 0 where z_l = 0,   <= 0 where z_l = 1,

and potential zero wherever a node has capacity left. A new unit looks for the cheapest path, in
slacks, to a target with capacity left, or to a source that gives up a link (Dijkstra's algorithm).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures import augmenting_paths as paths
from blockwolfe.structures.links import all_links, check_capacity, check_links, check_shape

__all__ = ["enumerate_outputs", "maximize", "maximize_into"]


@jit
def maximize_into(
    scores: Any, ends: Any, capacity: Any, n_source: int, chosen: Any, ints: Any, floats: Any
) -> int:
    """Write the numbers of the links used, by source and then in order; return how many.

    `scores` (links,), `ends` (links, 2): number of the source, number of the target;
    `capacity` (n_source + n_target,); scratch as `augmenting_paths.n_scratch` says.
    """
    n_nodes = capacity.shape[0]
    work = paths.views(n_source, n_nodes, scores.shape[0], ints, floats)
    n_kept = paths.keep_helpful(scores, ends, n_source, work)
    for t in range(n_nodes):
        work.head[t], work.spare[t] = -1, capacity[t]
        work.state[t], work.potential[t] = paths.UNSEEN, 0.0
    n_late = 0
    for root in range(n_source):
        if capacity[root] == 1:
            left = paths.begin(root, capacity, work)
            if left >= 0:
                work.late[n_late] = left
                n_late += 1
        elif capacity[root] > 1:
            work.late[n_late] = root
            n_late += 1
    for at in range(n_late):
        root = work.late[at]
        paths.reset(root, work)
        paths.insert(root, n_source, capacity[root], work)
    n_chosen = 0
    for k in range(n_kept):
        if work.is_on[k]:
            chosen[n_chosen] = work.link[k]
            n_chosen += 1
    return n_chosen


def maximize(scores: Any, links: Any = None, shape: Any = None, capacity: Any = 1) -> np.ndarray:
    """Best links as (n, 2) pairs (source, target), sorted; only links that help are used.

    scores : (n_source, n_target) array; or with `links` one score per link. Minus infinity
        forbids a link.
    links : (n_links, 2) integers, the pairs that may be linked; needs `shape`.
    shape : (n_source, n_target).
    capacity : how many links a node may have; one integer, or a pair (sources, targets) of
        integers or of arrays with one integer per node.

    >>> maximize([[3.0, 2.0], [2.0, -1.0]]).tolist()
    [[0, 1], [1, 0]]
    >>> maximize([3.0, 2.0, 2.0], [[0, 0], [0, 1], [1, 0]], (2, 2), capacity=(1, 2)).tolist()
    [[0, 0], [1, 0]]
    """
    scores = np.asarray(scores, dtype=np.float64)
    if links is None:
        if scores.ndim != 2 or (shape is not None and tuple(shape) != scores.shape):
            raise InputError(
                f"scores has shape {scores.shape}; expected (n_source, n_target), or give links "
                "and shape."
            )
        shape = scores.shape
        ends = all_links(shape)
    else:
        shape = check_shape(shape)
        ends = check_links(links, shape)
    scores = np.ascontiguousarray(scores).ravel()
    if len(scores) != len(ends):
        raise InputError(f"scores has {len(scores)} entries for {len(ends)} links.")
    if not (scores < np.inf).all():  # (False for NaN)
        e = int(np.argmin(scores < np.inf))
        raise InputError(
            f"the score of link {tuple(ends[e].tolist())} is {scores[e]}; expected a number, or "
            "-inf for a link that may not be used."
        )
    nodes = check_capacity(capacity, shape)
    n_ints, n_floats = paths.n_scratch(shape[0], shape[1], len(ends))
    chosen = np.zeros(len(ends), dtype=np.int64)
    ints, floats = np.zeros(n_ints, dtype=np.int64), np.zeros(n_floats)
    size = maximize_into(scores, ends, nodes, shape[0], chosen, ints, floats)
    found = ends[chosen[:size]]
    return found if links is None else found[np.lexsort((found[:, 1], found[:, 0]))]


def enumerate_outputs(links: Any, shape: Any, capacity: Any = 1) -> Iterator[tuple[int, ...]]:
    """Every feasible choice of links, as numbers of links, for checks on small problems.

    >>> list(enumerate_outputs([[0, 0], [0, 1], [1, 1]], (2, 2)))
    [(), (2,), (1,), (0,), (0, 2)]
    """
    shape = check_shape(shape)
    pairs = np.add(check_links(links, shape), [0, shape[0]])
    yield from _choices(pairs.tolist(), 0, check_capacity(capacity, shape).tolist())


def _choices(pairs: list[list[int]], e: int, spare: list[int]) -> Iterator[tuple[int, ...]]:
    """Feasible choices among the links from e on."""
    if e == len(pairs):
        yield ()
        return
    yield from _choices(pairs, e + 1, spare)
    if min(spare[t] for t in pairs[e]) > 0:
        left = [n - (t in pairs[e]) for t, n in enumerate(spare)]
        for rest in _choices(pairs, e + 1, left):
            yield (e, *rest)
