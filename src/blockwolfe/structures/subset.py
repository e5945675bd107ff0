"""The best subset of n items under scores of items and of pairs of items.

    score(z) = sum_l unary[l] z_l + sum_e pairwise[e] z_a z_b,    pair e joins items a and b

Exact by branch and bound, or the best of a few climbs by single changes. Where all pairwise scores
are >= 0 a cut finds the same maximum in polynomial time, and where the pairs form a forest
max-sum does; this file takes any signs and any pairs. Its cost is then exponential in the
worst case (see `MOST_ITEMS`), and usually some dozens of nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import InputError
from blockwolfe.structures.checks import check_ends, check_scores

__all__ = ["MOST_ITEMS", "enumerate_outputs", "maximize", "maximize_into", "score"]

# The most items for which the exact search is offered. The hardest instances known (all pairs
# repel, at random) take 0.05 ms with 15 items, 1 ms with 20, 10 ms with 25, 200 ms with 30.
MOST_ITEMS = 25


def n_scratch(n_items: int) -> tuple[int, int]:
    """Integers and floats of scratch that the searches need."""
    return 4 * n_items, n_items * (3 * n_items + 6)


@jit
def _order_items(unary: Any, pairwise: Any, ends: Any, rank: Any, weight: Any) -> None:
    """rank[l]: the place of item l when those with the largest pairwise scores come first."""
    n_items = unary.shape[0]
    for at in range(n_items):
        weight[at] = 0.0
    for e in range(ends.shape[0]):
        size = abs(pairwise[e])
        weight[ends[e, 0]] += size
        weight[ends[e, 1]] += size
    for at in range(n_items):
        place = 0
        for other in range(n_items):
            is_before = weight[other] > weight[at]
            place += is_before or (weight[other] == weight[at] and other < at)
        rank[at] = place


@jit
def _fill_table(unary: Any, pairwise: Any, ends: Any, rank: Any, table: Any, field: Any) -> None:
    """Pairwise scores as a symmetric (n * n) table, and unary scores, both by rank."""
    n_items = unary.shape[0]
    for p in range(n_items * n_items):
        table[p] = 0.0
    for at in range(n_items):
        field[rank[at]] = unary[at]
    for e in range(ends.shape[0]):
        a, b = rank[ends[e, 0]], rank[ends[e, 1]]
        table[a * n_items + b] += pairwise[e]
        table[b * n_items + a] += pairwise[e]


@jit
def _climb(own: Any, table: Any, z: Any, field: Any) -> float:
    """Change the one item that gains most until none gains; the score reached.

    `own` are the unary scores; `field` is scratch: what each item adds when it is on.
    """
    n_items = own.shape[0]
    value = 0.0
    for at in range(n_items):
        field[at] = own[at]
        for other in range(n_items):
            if z[other]:
                field[at] += table[at * n_items + other]
        if z[at]:
            value += 0.5 * (own[at] + field[at])
    while True:
        best, most = -1, 0.0
        for at in range(n_items):
            gain = -field[at] if z[at] else field[at]
            if gain > most:
                best, most = at, gain
        if best < 0 or value + most <= value:  # (below rounding it might go round in circles)
            return value
        z[best] = 1 - z[best]
        value += most
        sign = 1.0 if z[best] else -1.0
        for at in range(n_items):
            field[at] += sign * table[at * n_items + best]


@jit
def _climb_from_all(own: Any, table: Any, best: Any, z: Any, field: Any) -> float:
    """The best of climbs from none, from all, and from the items that score by themselves."""
    n_items = own.shape[0]
    top = -np.inf
    for start in range(3):
        for at in range(n_items):
            z[at] = start == 1 or (start == 2 and own[at] > 0.0)
        value = _climb(own, table, z, field)
        if value > top:
            top = value
            for at in range(n_items):
                best[at] = z[at]
    return top


@jit
def _fill_room(table: Any, n_items: int, room: Any) -> None:
    """room[k, l]: half of the positive scores of pairs of l with the items k, k + 1, ..."""
    for at in range(n_items):
        total = 0.0
        for k in range(n_items - 1, -1, -1):
            total += 0.5 * max(table[at * n_items + k], 0.0)
            room[k * n_items + at] = total


@jit
def _bound(k: int, n_items: int, value: float, fields: Any, room: Any) -> float:
    """No choice of items k, k + 1, ... is better: a pair gives each of its items half, if > 0."""
    total = value
    for at in range(k * n_items + k, (k + 1) * n_items):
        total += max(fields[at] + room[at], 0.0)
    return total


@jit
def _choices(k: int, n_items: int, field: float, table: Any) -> tuple[int, int]:
    """The first and the second value to try for item k; equal when one of them cannot be better."""
    least, most = field, field
    for at in range(k * n_items + k + 1, (k + 1) * n_items):
        least += min(table[at], 0.0)
        most += max(table[at], 0.0)
    if most <= 0.0:
        return 0, 0
    if least >= 0.0:
        return 1, 1
    return (1, 0) if least + most > 0.0 else (0, 1)


@jit
def _branch(
    table: Any, fields: Any, room: Any, values: Any, best: Any, z: Any, tried: Any, top: float
) -> None:
    """Depth-first search below `top`, items in order; fields[k] is what each adds at depth k."""
    n_items = z.shape[0]
    _fill_room(table, n_items, room)
    values[0] = 0.0
    k = 0
    tried[0] = 0
    while k >= 0:
        value, field = values[k], fields[k * n_items + k]
        first, second = _choices(k, n_items, field, table)
        # What was found meanwhile may make the second choice hopeless.
        is_done = tried[k] == 2 or (tried[k] == 1 and first == second)
        if is_done or _bound(k, n_items, value, fields, room) <= top:
            k -= 1
            continue
        z[k] = first if tried[k] == 0 else second
        tried[k] += 1
        value += field * z[k]
        if k + 1 < n_items:
            for at in range(k + 1, n_items):
                pair = table[k * n_items + at] if z[k] else 0.0
                fields[(k + 1) * n_items + at] = fields[k * n_items + at] + pair
            k += 1
            values[k], tried[k] = value, 0
        elif value > top:
            top = value
            for at in range(n_items):
                best[at] = z[at]


@jit
def maximize_into(
    unary: Any, pairwise: Any, ends: Any, is_exact: bool, chosen: Any, ints: Any, floats: Any
) -> None:
    """Write a 1 for every item of the best subset and a 0 for the others.

    Scratch as `n_scratch` says. Without `is_exact` it is the best of a few climbs.
    """
    n = unary.shape[0]
    rank, best, z, tried = ints[:n], ints[n : 2 * n], ints[2 * n : 3 * n], ints[3 * n : 4 * n]
    table, fields = floats[: n * n], floats[n * n : 2 * n * n]
    room, rest = floats[2 * n * n : 3 * n * n], floats[3 * n * n :]
    field, values = rest[:n], rest[n : 2 * n]
    _order_items(unary, pairwise, ends, rank, field)
    _fill_table(unary, pairwise, ends, rank, table, fields[:n])
    top = _climb_from_all(fields[:n], table, best, z, field)
    if is_exact:
        _branch(table, fields, room, values, best, z, tried, top)
    for at in range(n):
        chosen[at] = best[rank[at]]


def maximize(unary: Any, pairwise: Any, edges: Any, *, exact: bool = True) -> np.ndarray:
    """The best subset, as zeros and ones, for `unary` (n,), `pairwise` (m,) and `edges` (m, 2).

    `exact=False` climbs from a few starts: fast for any n, and possibly not the best.

    >>> maximize([1.0, -0.5, 0.2], [1.0, -2.0], [[0, 1], [0, 2]])
    array([1, 1, 0])
    """
    unary, pairwise = check_scores(unary, "unary"), check_scores(pairwise, "pairwise", ("m",))
    ends, n_items = check_ends(edges, len(unary)), len(unary)
    if len(pairwise) != len(ends):
        raise InputError(f"pairwise has {len(pairwise)} entries for {len(ends)} edges.")
    if exact and n_items > MOST_ITEMS:
        raise InputError(
            f"unary has {n_items} items; the exact search is offered up to {MOST_ITEMS}. Use "
            "exact=False, or pairs that form a forest (structures.tree)."
        )
    chosen = np.zeros(n_items, dtype=np.int64)
    n_ints, n_floats = n_scratch(n_items)
    ints, floats = np.zeros(n_ints, dtype=np.int64), np.zeros(n_floats)
    if n_items:
        maximize_into(unary, pairwise, ends, exact, chosen, ints, floats)
    return chosen


def score(unary: Any, pairwise: Any, edges: Any, chosen: Any) -> float:
    """The score of a subset.

    >>> score([1.0, -0.5], [2.0], [[0, 1]], [1, 1])
    2.5
    """
    ends, z = np.asarray(edges, dtype=np.int64).reshape(-1, 2), np.asarray(chosen)
    return float(np.dot(unary, z) + np.dot(pairwise, z[ends[:, 0]] * z[ends[:, 1]]))


def enumerate_outputs(n_items: int) -> np.ndarray:
    """Every subset, as rows of zeros and ones, for checks on small problems.

    >>> enumerate_outputs(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    numbers = np.arange(2**n_items)[:, None]
    return numbers >> np.arange(n_items - 1, -1, -1) & 1
