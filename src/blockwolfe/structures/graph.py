"""Labels of the nodes of any graph: an approximate maximum, and a bound that no labelling beats.

    score(y) = sum_t unary[t, y_t] + sum_e pairwise[e, y_a, y_b],    edge e joins nodes a and b

On a graph with cycles the maximum is NP-hard to find. Sequential tree-reweighted message passing
(TRW-S, Kolmogorov 2006) instead lowers an upper bound. Messages m move score between tables
without changing any total:

    belief_t(k) = unary[t, k] + sum_e m_{e->t}(k)          over the edges e around t
    rest_e(j, k) = pairwise[e, j, k] - m_{e->a}(j) - m_{e->b}(k)

A pass visits the nodes in order. At t, with f edges still to be passed, b passed, and
share = 1 / max(f, b), the message over each edge to come becomes

    m_{e->s}(j) = max_k  share belief_t(k) - m_{e->t}(k) + pairwise[e, j, k]

and t leaves (1 - f share) max_k belief_t(k) to the bound: the maximum of a sum is at most the sum
of maxima, whatever the messages were, so that every pass yields a valid bound, and no pass
raises it. Labels are read off on the way and improved one by one. On a forest the maximum is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures import tree
from blockwolfe.structures.checks import check_ends, check_scores

__all__ = ["maximize", "maximize_into", "score"]

# Bound and score this close, relative to their size, are equal: the labels are optimal.
TIGHT = 1e-11
# A pass back and forth that closes less than this share of the gap is the last.
WORTHWHILE = 1e-3


def n_scratch(n_nodes: int, n_edges: int, n_labels: int) -> tuple[int, int]:
    """Integers and floats of scratch that `maximize_into` needs: forests go to `tree`."""
    n_ints, of_forest = tree.n_scratch(n_nodes, n_edges, n_labels)
    return n_ints, max(of_forest, (2 * n_edges + 2) * n_labels)


@jit
def score_of(unary: Any, pairwise: Any, ends: Any, n_labels: int, labels: Any) -> float:
    """Score of a labelling; tables are flat."""
    total = 0.0
    for t in range(unary.shape[0] // n_labels):
        total += unary[t * n_labels + labels[t]]
    for e in range(ends.shape[0]):
        pair = labels[ends[e, 0]] * n_labels + labels[ends[e, 1]]
        total += pairwise[e * n_labels * n_labels + pair]
    return total


@jit(inline="always")
def _other(ends: Any, end: int) -> int:
    """The node at the other end of an edge; end 2 e + s is ends[e, s]."""
    return int(ends[end // 2, 1 - end % 2])


@jit
def _send(
    end: int, pairwise: Any, n_labels: int, share: float, message: Any, scratch: Any
) -> float:
    """Renew the message over an edge, its largest entry zero; returns what that took off.

    `scratch` holds the belief of the sender, and room for as much again.
    """
    belief, offer = scratch[:n_labels], scratch[n_labels : 2 * n_labels]
    incoming = message[end * n_labels : (end + 1) * n_labels]
    for k in range(n_labels):
        offer[k] = share * belief[k] - incoming[k]
    back = end + 1 - 2 * (end % 2)
    out = message[back * n_labels : (back + 1) * n_labels]
    table = pairwise[end // 2 * n_labels * n_labels : (end // 2 + 1) * n_labels * n_labels]
    for j in range(n_labels):
        out[j] = -np.inf
    if end % 2 == 0:  # the sender's label is the row of the table
        for k in range(n_labels):
            for j in range(n_labels):
                candidate = offer[k] + table[k * n_labels + j]
                out[j] = candidate if candidate > out[j] else out[j]
    else:
        for j in range(n_labels):
            for k in range(n_labels):
                candidate = offer[k] + table[j * n_labels + k]
                out[j] = candidate if candidate > out[j] else out[j]
    top = out[0]
    for j in range(1, n_labels):
        top = out[j] if out[j] > top else top
    for j in range(n_labels):
        out[j] -= top
    return float(top)


@jit(inline="always")
def _is_coming(t: int, other: int, is_back: bool) -> bool:
    """Whether a pass has yet to reach the other node of an edge."""
    return (other < t) if is_back else (other > t)


@jit
def _gather(
    t: int, is_back: bool, tables: Any, links: Any, labels: Any, message: Any, scratch: Any
) -> tuple[int, int]:
    """The belief of t, and its best label given those read off already; edges to come, passed."""
    unary, pairwise, ends = tables
    head, following = links
    n_labels = scratch.shape[0] // 2
    belief, choice = scratch[:n_labels], scratch[n_labels:]
    n_coming = n_passed = 0
    for k in range(n_labels):
        belief[k] = choice[k] = unary[t * n_labels + k]
    end = head[t]
    while end >= 0:
        other, is_row = _other(ends, end), end % 2 == 0
        is_coming = _is_coming(t, other, is_back)
        n_coming += is_coming
        n_passed += not is_coming
        begin = end // 2 * n_labels * n_labels + labels[other] * (1 if is_row else n_labels)
        step = n_labels if is_row else 1
        for k in range(n_labels):
            told = message[end * n_labels + k]
            belief[k] += told
            choice[k] += told if is_coming else pairwise[begin + k * step]
        end = following[end]
    best = 0
    for k in range(1, n_labels):
        best = k if choice[k] > choice[best] else best
    labels[t] = best
    return n_coming, n_passed


@jit
def _pass(is_back: bool, tables: Any, links: Any, labels: Any, message: Any, scratch: Any) -> float:
    """One pass over the nodes: the bound it proves; `labels` are read off on the way."""
    ends, pairwise = tables[2], tables[1]
    head, following = links
    n_nodes, n_labels, bound = head.shape[0], scratch.shape[0] // 2, 0.0
    for at in range(n_nodes):
        t = n_nodes - 1 - at if is_back else at
        n_coming, n_passed = _gather(t, is_back, tables, links, labels, message, scratch)
        share, top = 1.0 / max(n_coming, n_passed, 1), scratch[0]
        for k in range(1, n_labels):
            top = scratch[k] if scratch[k] > top else top
        bound += (1.0 - n_coming * share) * top
        end = head[t]
        while end >= 0:
            if _is_coming(t, _other(ends, end), is_back):
                bound += _send(end, pairwise, n_labels, share, message, scratch)
            end = following[end]
    return bound


@jit
def _improve(tables: Any, n_labels: int, links: Any, labels: Any, choice: Any) -> None:
    """Change one label at a time while that raises the score."""
    unary, pairwise, ends = tables
    head, following = links
    is_changed = True
    while is_changed:
        is_changed = False
        for t in range(head.shape[0]):
            for k in range(n_labels):
                choice[k] = unary[t * n_labels + k]
            end = head[t]
            while end >= 0:
                table = end // 2 * n_labels * n_labels
                label, is_row = labels[_other(ends, end)], end % 2 == 0
                for k in range(n_labels):
                    at = k * n_labels + label if is_row else label * n_labels + k
                    choice[k] += pairwise[table + at]
                end = following[end]
            best = labels[t]
            for k in range(n_labels):
                # (clearly better: rounding must not send two nodes round and round)
                if choice[k] > choice[best] + TIGHT * (1.0 + abs(choice[best])):
                    best = k
            is_changed = is_changed or best != labels[t]
            labels[t] = best


@jit
def _search(
    tables: Any,
    links: Any,
    max_iterations: int,
    labels: Any,
    trial: Any,
    message: Any,
    scratch: Any,
) -> float:
    """Passes back and forth while they are worthwhile; the least bound, the best labels."""
    n_labels = scratch.shape[0] // 2
    best, bound, before = -np.inf, np.inf, np.inf
    for at in range(2 * max_iterations):
        is_back = at % 2 == 1
        bound = min(bound, _pass(is_back, tables, links, trial, message, scratch))
        _improve(tables, n_labels, links, trial, scratch)
        reached = score_of(tables[0], tables[1], tables[2], n_labels, trial)
        if reached > best:
            best = reached
            for t in range(trial.shape[0]):
                labels[t] = trial[t]
        gap = bound - best
        is_last = is_back and before - bound <= WORTHWHILE * gap
        if is_last or gap <= TIGHT * (1.0 + abs(best)):
            break
        before = bound if is_back else before
    return max(bound, best)


@jit
def maximize_into(
    unary: Any,
    pairwise: Any,
    ends: Any,
    n_labels: int,
    max_iterations: int,
    labels: Any,
    ints: Any,
    floats: Any,
) -> float:
    """Write good labels and return a bound on every labelling's score.

    `unary` (n_nodes * K) and `pairwise` (n_edges * K * K) are flat; scratch as `n_scratch` says.
    """
    n_nodes, n_edges = unary.shape[0] // n_labels, ends.shape[0]
    order, up = ints[:n_nodes], ints[n_nodes : 2 * n_nodes]
    head, following = ints[2 * n_nodes : 3 * n_nodes], ints[3 * n_nodes : 3 * n_nodes + 2 * n_edges]
    tree.order_nodes(n_nodes, ends, order, up, head, following)
    n_trees = 0
    for t in range(n_nodes):
        n_trees += up[t] == -1
    if n_edges == n_nodes - n_trees:
        tree.maximize_into(unary, pairwise, ends, n_labels, labels, ints, floats)
        return float(score_of(unary, pairwise, ends, n_labels, labels))
    n_messages = 2 * n_edges * n_labels
    message, scratch = floats[:n_messages], floats[n_messages : n_messages + 2 * n_labels]
    for m in range(n_messages):
        message[m] = 0.0
    trial = order  # (the order of a tree is not needed here)
    for t in range(n_nodes):
        trial[t] = 0
    tables, links = (unary, pairwise, ends), (head, following)
    return float(_search(tables, links, max_iterations, labels, trial, message, scratch))


def checked(unary: Any, pairwise: Any, edges: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score tables and edges of one graph as contiguous arrays, their shapes checked."""
    unary = check_scores(unary, "unary", ("n_nodes", "n_labels"), is_finite=False)
    if not unary.size:
        raise InputError(f"unary has shape {unary.shape}; expected a node and a label.")
    n_nodes, n_labels = unary.shape
    ends = check_ends(edges, n_nodes)
    if np.size(pairwise) != len(ends) * n_labels**2:
        raise InputError(
            f"pairwise has shape {np.shape(pairwise)}; expected ({len(ends)}, {n_labels}, "
            f"{n_labels}), a table per edge."
        )
    tables = np.reshape(pairwise, (-1, n_labels, n_labels))
    return unary, check_scores(tables, "pairwise", ("n_edges", "n_labels", "n_labels")), ends


def maximize(
    unary: Any, pairwise: Any, edges: Any, max_iterations: int = 100
) -> tuple[np.ndarray, float]:
    """Good labels for `unary` (n, K), `pairwise` (m, K, K), `edges` (m, 2), and an upper bound.

    The labels are optimal where their score is the bound.

    >>> agree = np.eye(2)
    >>> labels, upper = maximize([[0.5, 0.0], [0.0, 0.0], [0.0, 0.2]], [agree] * 3,
    ...                          [[0, 1], [1, 2], [2, 0]])
    >>> labels, round(upper, 6)
    (array([0, 0, 0]), 3.5)
    """
    unary, pairwise, ends = checked(unary, pairwise, edges)
    n_nodes, n_labels = unary.shape
    labels = np.zeros(n_nodes, dtype=np.int64)
    n_ints, n_floats = n_scratch(n_nodes, len(ends), n_labels)
    ints, floats = np.zeros(n_ints, dtype=np.int64), np.zeros(n_floats)
    flat = (unary.ravel(), pairwise.ravel(), ends)
    upper = maximize_into(*flat, n_labels, max_iterations, labels, ints, floats)
    return labels, float(upper)


def score(unary: Any, pairwise: Any, edges: Any, labels: Any) -> float:
    """Score of one labelling.

    >>> score([[1.0, 0.0], [0.0, 0.5]], [np.eye(2)], [[0, 1]], [0, 1])
    1.5
    """
    unary, pairwise, ends = checked(unary, pairwise, edges)
    codes = np.asarray(labels)
    is_right = codes.shape == unary.shape[:1] and codes.dtype.kind in "iu"
    if not is_right or not 0 <= codes.min() <= codes.max() < unary.shape[1]:
        raise InputError(f"labels={labels!r}; expected a label 0..{unary.shape[1] - 1} per node.")
    codes = codes.astype(np.int64)
    return float(score_of(unary.ravel(), pairwise.ravel(), ends, unary.shape[1], codes))
