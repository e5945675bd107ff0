"""Label sequences scored by position and by runs of labels: exact maximum by Viterbi.

    score(y) = sum_t unary[t, y_t] + sum_j sum_t table_j[y_{t-j}, ..., y_t]

A table of order j has a score for every run of j + 1 labels: pairs (j = 1) are those of
`chain`, triples (j = 2) come next. With m the highest order, the state at position t is the run
of the last m labels (fewer before position m - 1), by rows: its number is y_t plus K times the
number of the labels before. So whatever depends on the last j + 1 <= m labels of state s alone
is found at s mod K^(j+1), and only the table of order m takes part in the maximum:

    best[t, s] = unary[t, s mod K] + sum_{j < m} table_j[s mod K^(j+1)]
                 + max_{y_{t-m}} best[t-1, state before s] + table_m[y_{t-m}, s]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blockwolfe.base.checks import is_integer
from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures.chain import checked_unary, raise_by_four, raise_by_one
from blockwolfe.structures.checks import check_scores

__all__ = ["maximize", "maximize_into", "score"]


@jit
def _add_repeated(table: Any, now: Any, n_states: int) -> None:
    """now[s] += table[s mod size]: by the last labels of a state, whatever came before them."""
    size = table.shape[0]
    for begin in range(0, n_states, size):
        for s in range(size):
            now[begin + s] += table[s]


@jit
def _drop_oldest(before: Any, top: Any, now: Any, n_labels: int) -> None:
    """now[r, k] = max_j before[j, r] + top[j, r, k], r the labels that both states share.

    By four rows of `top` at a time, as `chain.max_plus`, and through it from end to end: it is
    the one array that may be too large for the cache.
    """
    n_shared = now.shape[0] // n_labels
    rows = top.reshape(n_labels * n_shared, n_labels)
    out = now.reshape(n_shared, n_labels)
    for r in range(n_shared):
        for k in range(n_labels):
            out[r, k] = before[r] + rows[r, k]
    j = 1
    while j + 4 <= n_labels:
        a, b, c, d = j * n_shared, (j + 1) * n_shared, (j + 2) * n_shared, (j + 3) * n_shared
        for r in range(n_shared):
            prefixes = before[a + r], before[b + r], before[c + r], before[d + r]
            four = rows[a + r], rows[b + r], rows[c + r], rows[d + r]
            raise_by_four(prefixes, four, out[r], n_labels)
        j += 4
    while j < n_labels:
        for r in range(n_shared):
            at = j * n_shared + r
            raise_by_one(before[at], rows[at], out[r], n_labels)
        j += 1


@jit
def highest(orders: int) -> int:
    """The highest order of a set of them, in which order j is bit j - 1."""
    n = 0
    while orders >> n:
        n += 1
    return n


@jit
def _sweep(unary: Any, tables: Any, orders: int, top: Any, best: Any) -> int:
    """Fill `best`; how many states the last position has."""
    n_positions, n_labels = unary.shape
    order, n_states = highest(orders), 1
    for t in range(n_positions):
        now = best[t]
        if t < order:  # (all labels so far are in the state)
            n_states *= n_labels
            for s in range(n_states):
                now[s] = best[t - 1, s // n_labels] if t > 0 else 0.0
        else:
            _drop_oldest(best[t - 1, :n_states], top, now[:n_states], n_labels)
        add_local(t, unary[t], tables, orders, now[:n_states])
    return n_states


@jit
def add_local(t: int, unary: Any, tables: Any, orders: int, now: Any) -> None:
    """Add to all states of position t what they alone tell: labels, and runs but the longest."""
    begin, size = 0, unary.shape[0]
    _add_repeated(unary, now, now.shape[0])
    for j in range(1, min(t + 1, highest(orders))):
        size *= unary.shape[0]
        if (orders >> (j - 1)) & 1:
            _add_repeated(tables[begin : begin + size], now, now.shape[0])
            begin += size


@jit
def maximize_into(unary: Any, tables: Any, orders: int, best: Any, labels: Any) -> None:
    """Write the best label sequence into `labels`.

    `tables` are those of all orders in the set `orders` (bit j - 1 is order j), the lowest first,
    flat and end to end. `best` is scratch with a row for every position and a column for
    every state. Of several best sequences it is the one whose last labels (as many as the highest
    order) come first in the order of sequences, and before them the lowest, from the end on.
    """
    n_positions, n_labels = unary.shape
    order = highest(orders)
    n_all = n_labels**order
    top = tables[tables.shape[0] - n_all * n_labels :]
    n_states, state = _sweep(unary, tables, orders, top, best), 0
    for s in range(1, n_states):
        if best[n_positions - 1, s] > best[n_positions - 1, state]:
            state = s
    for t in range(n_positions - 1, -1, -1):
        labels[t] = state % n_labels
        if t >= order:
            state = _state_before(best[t - 1], top, state, n_all, n_labels)
        else:
            state //= n_labels


@jit
def _state_before(before: Any, top: Any, following: int, n_all: int, n_labels: int) -> int:
    """The state from which `following` was reached best."""
    n_shared, shared = n_all // n_labels, following // n_labels
    found, most = shared, before[shared] + top[following]
    for j in range(1, n_labels):
        candidate = before[j * n_shared + shared] + top[j * n_all + following]
        if candidate > most:
            found, most = j * n_shared + shared, candidate
    return found


def maximize(unary: Any, tables: Mapping[int, Any], allowed: Any = None) -> np.ndarray:
    """Best label sequence for `unary` (T, K) and tables by their orders.

    A table of order j has j + 1 axes of length K; `allowed` is (T, K) or None, as in `chain`.

    >>> triples = np.zeros((2, 2, 2))
    >>> triples[0, 1, 1] = 3.0
    >>> maximize(np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]), {2: triples})
    array([0, 1, 1])
    """
    unary = checked_unary(unary, allowed)
    flat, orders = checked_tables(tables, unary.shape[1])
    labels = np.empty(len(unary), dtype=np.int64)
    best = np.empty((len(unary), unary.shape[1] ** highest(orders)))
    maximize_into(unary, flat, orders, best, labels)
    return labels


def checked_tables(tables: Mapping[int, Any], n_labels: int) -> tuple[np.ndarray, int]:
    """All tables flat and end to end, and their orders as a set of bits."""
    if not tables or not all(is_integer(order) and order >= 1 for order in tables):
        raise InputError(
            f"tables has the orders {list(tables)!r}; expected a table for at least one order >= 1."
        )
    flat, orders = [], 0
    for order in sorted(tables):
        name, shape = f"tables[{order}]", (n_labels,) * (order + 1)
        table = check_scores(tables[order], name, ("n_labels",) * (order + 1), is_finite=False)
        if table.shape != shape:
            raise InputError(f"{name} has shape {table.shape}; expected {shape}.")
        flat.append(table.ravel())
        orders |= 1 << (order - 1)
    return np.concatenate(flat), orders


def score(unary: Any, tables: Mapping[int, Any], labels: Any) -> float:
    """Score of one label sequence.

    >>> score(np.array([[1.0, 0.0], [0.0, 0.5]]), {1: np.eye(2)}, [1, 1])
    1.5
    """
    labels = np.asarray(labels)
    total = np.asarray(unary)[np.arange(len(labels)), labels].sum()
    for order, table in tables.items():
        n_runs = max(len(labels) - order, 0)
        run = tuple(labels[u : u + n_runs] for u in range(order + 1))
        total += np.asarray(table)[run].sum()
    return float(total)
