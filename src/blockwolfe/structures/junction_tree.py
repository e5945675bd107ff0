"""Marginals of the Gibbs distribution over the labellings of any graph of small width.

    P(y) = exp(score(y) - log_partition),    score as in `graph`

Nodes are eliminated in an order that `elimination` finds. The node at place q has a table over its
labels and those of the nodes S_q that it meets: its unary, its edges to them, and what nodes
eliminated before have left. Upwards, its labels are summed out:

    message_q(S_q) = log sum over labels k of exp table_q(k, S_q)
    P(k | S_q)     = exp(table_q(k, S_q) - message_q(S_q)),        kept in the place of the table

and the message is added to the table of the first node in S_q, which has all others in its own.
Downwards, P(S_q) is a sum of the table there, and P(k, S_q) = P(k | S_q) P(S_q). Nothing is
subtracted and nothing divided but by sums: probabilities stay in [0, 1] and add up to one,
however large scores are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures.chain import FORBIDDEN
from blockwolfe.structures.choice import soften
from blockwolfe.structures.elimination import Elimination, eliminate
from blockwolfe.structures.graph import checked
from blockwolfe.structures.tree_marginals import Marginals

__all__ = ["MOST_STATES", "marginals", "means_into", "most_met", "n_scratch", "plan_of"]

# Largest table: 16 nodes of two labels, 10 of three, 4 of sixteen.
MOST_STATES = 2**16


def marginals(unary: Any, pairwise: Any, edges: Any) -> Marginals:
    """Node and edge marginals for `unary` (n, K), `pairwise` (m, K, K) and `edges` (m, 2).

    A label with score `chain.FORBIDDEN` (or -inf) has probability zero.

    >>> agree = np.log([[2.0, 1.0], [1.0, 2.0]])
    >>> found = marginals(np.zeros((3, 2)), [agree] * 3, [[0, 1], [1, 2], [2, 0]])
    >>> found.edge[0].round(3).tolist(), float(np.exp(found.log_partition).round(3))
    ([[0.357, 0.143], [0.143, 0.357]], 28.0)
    """
    unary, pairwise, ends = checked(unary, pairwise, edges)
    unary, pairwise = np.maximum(unary, FORBIDDEN), np.maximum(pairwise, FORBIDDEN)
    n_nodes, n_labels = unary.shape
    found = eliminate(n_nodes, ends, most_met(n_labels))
    if found is None:
        raise InputError(
            f"edges: the graph has cliques of more than {most_met(n_labels) + 1} nodes, whose "
            f"tables of {n_labels} labels are too large; take a sparser graph."
        )
    n_ints, n_floats = n_scratch(found, n_labels)
    mean, plan = np.zeros(unary.size + pairwise.size), plan_of(found)
    scratch = (np.zeros(n_ints, dtype=np.int64), np.zeros(n_floats))
    flat = (unary.ravel(), pairwise.ravel(), ends)
    total = means_into(*flat, n_labels, plan, mean, *scratch)
    node, edge = mean[: unary.size].reshape(unary.shape), mean[unary.size :]
    return Marginals(node, edge.reshape(pairwise.shape), float(total))


def most_met(n_labels: int) -> int:
    """How many nodes one may meet when it is eliminated.

    >>> most_met(2), most_met(3), most_met(16)
    (15, 9, 3)
    """
    most = 0
    while n_labels ** (most + 2) <= MOST_STATES and most < MOST_STATES:
        most += 1
    return most


def plan_of(found: Elimination) -> np.ndarray:
    """An elimination as `means_into` reads it: order, starts, and who is met, end to end."""
    return np.concatenate([found.order, found.start, found.met]).astype(np.int64)


def n_scratch(found: Elimination, n_labels: int) -> tuple[int, int]:
    """Integers and floats of scratch that `means_into` needs.

    >>> n_scratch(eliminate(2, np.array([[0, 1]]), 1), 3)
    (8, 15)
    """
    n_nodes, n_states = len(found.order), float(n_labels) ** (1 + np.diff(found.start))
    largest = int(n_states.max()) // n_labels
    return 2 * n_nodes + 2 * (found.width + 1), int(n_states.sum()) + largest


@jit
def means_into(
    unary: Any, pairwise: Any, ends: Any, n_labels: int, plan: Any, mean: Any, ints: Any,
    floats: Any,
) -> float:  # fmt: skip
    """Fill `mean` with the marginals of nodes (n * K), then of edges (m * K * K).

    All arrays are flat, as for `tree.maximize_into`; scratch as `n_scratch` says. Returns the
    logarithm of the sum.
    """
    n_unary, n_nodes = unary.shape[0], unary.shape[0] // n_labels
    order, start = plan[:n_nodes], plan[n_nodes : 2 * n_nodes + 1]
    met = plan[2 * n_nodes + 1 :]
    place, table_of = ints[:n_nodes], ints[n_nodes : 2 * n_nodes]
    most = (ints.shape[0] - 2 * n_nodes) // 2
    walk = (ints[2 * n_nodes : 2 * n_nodes + most], ints[2 * n_nodes + most :])
    end = 0
    for q in range(n_nodes):
        place[order[q]], table_of[q] = q, end
        end += n_labels ** (start[q + 1] - start[q] + 1)
    tables, message = floats[:end], floats[end:]
    cliques = (start, met, table_of, n_labels)
    for s in range(end):
        tables[s] = 0.0
    for s in range(mean.shape[0]):
        mean[s] = 0.0
    for q in range(n_nodes):
        _lay_node(q, cliques, walk)
        _add(tables, q, cliques, walk, unary[order[q] * n_labels :], True)
    for e in range(ends.shape[0]):
        q = _lay_edge(place[ends[e, 0]], place[ends[e, 1]], cliques, walk)
        _add(tables, q, cliques, walk, pairwise[e * n_labels * n_labels :], True)
    total = _upwards(tables, cliques, walk, message)
    _downwards(tables, cliques, walk, message)
    for q in range(n_nodes):
        _lay_node(q, cliques, walk)
        _add(tables, q, cliques, walk, mean[order[q] * n_labels :], False)
    for e in range(ends.shape[0]):
        q = _lay_edge(place[ends[e, 0]], place[ends[e, 1]], cliques, walk)
        _add(tables, q, cliques, walk, mean[n_unary + e * n_labels * n_labels :], False)
    return total


# -- between a table and a smaller one -------------------------------------------------------------
# `walk` is (digits, strides). A table is numbered by the labels of its clique, that of its own node
# first (the fastest), then those of the nodes met. A smaller table over some of them has a stride
# for each of its digits, and zero for the others.


@jit
def _lay_node(q: int, cliques: Any, walk: Any) -> None:
    """Strides of the labels of node q alone."""
    start, strides = cliques[0], walk[1]
    for d in range(1, start[q + 1] - start[q] + 1):
        strides[d] = 0
    strides[0] = 1


@jit
def _lay_edge(row: int, column: int, cliques: Any, walk: Any) -> int:
    """Strides of an edge between two places; the one of them that comes first."""
    start, met, _, n_labels = cliques
    strides, q = walk[1], min(row, column)
    strides[0] = n_labels if q == row else 1
    for d in range(start[q + 1] - start[q]):
        is_other = met[start[q] + d] == max(row, column)
        strides[d + 1] = (1 if q == row else n_labels) if is_other else 0
    return q


@jit
def _lay_message(q: int, cliques: Any, walk: Any) -> int:
    """Strides of what q meets in the table of the first of them; which place that is."""
    start, met, _, n_labels = cliques
    strides, above, stride = walk[1], met[start[q]], n_labels
    strides[0] = 1
    at = start[q] + 1
    for d in range(start[above], start[above + 1]):
        is_met = at < start[q + 1] and met[at] == met[d]
        strides[d - start[above] + 1] = stride if is_met else 0
        if is_met:
            at += 1
            stride *= n_labels
    return above


@jit
def _add(tables: Any, q: int, cliques: Any, walk: Any, smaller: Any, is_into: bool) -> None:
    """Add a smaller table to that of q (`is_into`), or sum that of q up into the smaller one."""
    start, _, table_of, n_labels = cliques
    digits, strides = walk
    n_digits, begin, at = start[q + 1] - start[q] + 1, table_of[q], 0
    for d in range(n_digits):
        digits[d] = 0
    for s in range(begin, begin + n_labels**n_digits):
        if is_into:
            tables[s] += smaller[at]
        else:
            smaller[at] += tables[s]
        for d in range(n_digits):
            digits[d] += 1
            at += strides[d]
            if digits[d] < n_labels:
                break
            at -= n_labels * strides[d]
            digits[d] = 0


@jit
def _upwards(tables: Any, cliques: Any, walk: Any, message: Any) -> float:
    """Make conditional probabilities of all tables; the logarithm of the sum over labellings."""
    start, _, table_of, n_labels = cliques
    total = 0.0
    for q in range(table_of.shape[0]):
        n_met = start[q + 1] - start[q]
        for j in range(n_labels**n_met):
            begin = table_of[q] + j * n_labels
            message[j] = soften(tables[begin : begin + n_labels])
        if n_met > 0:
            above = _lay_message(q, cliques, walk)
            _add(tables, above, cliques, walk, message, True)
        else:
            total += message[0]
    return total


@jit
def _downwards(tables: Any, cliques: Any, walk: Any, message: Any) -> None:
    """Make joint probabilities of conditional ones."""
    start, _, table_of, n_labels = cliques
    for q in range(table_of.shape[0] - 1, -1, -1):
        n_met = start[q + 1] - start[q]
        if n_met == 0:
            continue
        for j in range(n_labels**n_met):
            message[j] = 0.0
        above = _lay_message(q, cliques, walk)
        _add(tables, above, cliques, walk, message, False)
        for j in range(n_labels**n_met):
            for k in range(n_labels):
                tables[table_of[q] + j * n_labels + k] *= message[j]
