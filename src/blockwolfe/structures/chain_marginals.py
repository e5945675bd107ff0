"""Marginals of label sequences with transitions of any order: how probable labels and runs are.

    P(y) = exp(score(y) - log_partition),    score and states as in `higher_chain`

With m the highest order, r the labels that two states in a row share, and local_t the scores of
all that a state at t tells by itself,

    behind_t[r, k]    = exp(local_t[r, k]) sum_j behind_{t-1}[j, r] exp(top[j, r, k])
    ahead_{t-1}[j, r] = sum_k exp(top[j, r, k] + local_t[r, k]) ahead_t[r, k]

The exponentials of `top` are taken once (and kept: many sequences in turn have the same table),
those of local_t once per position, and every behind_t is divided by its sum. Nothing that matters
is lost to underflow: the next labels being equal, what follows differs between two states by the
scores of the runs that reach back to them. Where those span at most `WIDEST`, a state whose share
is below the smallest float is improbable by a factor of exp(2 WIDEST - 700), whatever comes.
Beyond that all is done in logarithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.exponential import exponentials
from blockwolfe.structures.chain import checked_unary
from blockwolfe.structures.choice import best_label, soften
from blockwolfe.structures.gathering import gathered
from blockwolfe.structures.higher_chain import add_local, checked_tables, highest

__all__ = ["Marginals", "Room", "make_room", "marginals", "marginals_into"]

WIDEST = 200.0


class Marginals(NamedTuple):
    """Probabilities of labels (T, K); of runs by order, summed over positions; log of the sum.

    >>> marginals(np.zeros((1, 2)), {1: np.zeros((2, 2))}).label
    array([[0.5, 0.5]])
    """

    label: np.ndarray
    runs: dict[int, np.ndarray]
    log_partition: float


class Room(NamedTuple):
    """Scratch for sequences of at most T positions, and the means that are found."""

    mean: np.ndarray  # of labels (T * K), then of the tables of all orders, flat
    local: np.ndarray  # (T, states): scores, or their exponentials
    behind: np.ndarray  # (T, states)
    ahead: np.ndarray  # (3, states): at a position, with what it adds, and shares of states
    top: np.ndarray  # exponentials of the table of the highest order
    seen: np.ndarray  # the tables that `top` and `facts` are of
    facts: np.ndarray  # (2,): their span, and the largest entry of the highest order
    scale: np.ndarray  # (T,): what each behind_t was divided by
    terms: np.ndarray  # (K,): terms that are being gathered


def make_room(n_positions: int, n_labels: int, orders: int, n_runs: int) -> Room:
    """Room for sequences of at most so many positions; `n_runs` are entries of all tables.

    >>> make_room(3, 2, 0b1, 4).mean.shape
    (10,)
    """
    n_states = n_labels ** orders.bit_length()
    return Room(
        mean=np.zeros(n_positions * n_labels + n_runs),
        local=np.zeros((n_positions, n_states)),
        behind=np.zeros((n_positions, n_states)),
        ahead=np.zeros((3, n_states)),
        top=np.zeros(n_states * n_labels if orders else 0),
        seen=np.full(n_runs, np.nan),
        facts=np.zeros(2),
        scale=np.zeros(n_positions),
        terms=np.zeros(n_labels),
    )


def marginals(unary: Any, tables: Mapping[int, Any], allowed: Any = None) -> Marginals:
    """Marginals for `unary` (T, K) and tables by their orders, as in `higher_chain`.

    >>> found = marginals(np.zeros((2, 2)), {1: np.log([[1.0, 2.0], [3.0, 4.0]])})
    >>> found.runs[1].round(3).tolist(), float(np.exp(found.log_partition).round(3))
    ([[0.1, 0.2], [0.3, 0.4]], 10.0)
    """
    unary = checked_unary(unary, allowed)
    flat, orders = checked_tables(tables, unary.shape[1])
    room = make_room(len(unary), unary.shape[1], orders, len(flat))
    log_partition = marginals_into(unary, flat, orders, room)
    label, rest = np.split(room.mean, [unary.size])
    ends = np.cumsum([unary.shape[1] ** (order + 1) for order in sorted(tables)])
    runs = zip(sorted(tables), np.split(rest, ends[:-1]), strict=True)
    shaped = {order: run.reshape(np.shape(tables[order])) for order, run in runs}
    return Marginals(label.reshape(unary.shape), shaped, float(log_partition))


@jit
def marginals_into(unary: Any, tables: Any, orders: int, room: Room) -> float:
    """Fill the first entries of `room.mean`; the logarithm of the sum.

    `tables` as for `higher_chain.maximize_into`; without any, labels are independent.
    """
    n_positions, n_labels = unary.shape
    n_unary, order = n_positions * n_labels, highest(orders)
    mean = room.mean[: n_unary + tables.shape[0]]
    for p in range(mean.shape[0]):
        mean[p] = 0.0
    if order == 0:
        return float(_label_by_label(unary, mean))
    _fill_local(unary, tables, orders, room.local)
    n_top = n_labels ** (order + 1)
    top, runs = tables[tables.shape[0] - n_top :], mean[mean.shape[0] - n_top :]
    _look_at(tables, orders, n_labels, top, room)
    if room.facts[0] > WIDEST:
        log_partition = _gather_behind(n_positions, n_labels, order, top, room)
        _gather_ahead(orders, top, n_positions, room, mean, runs)
        return float(log_partition)
    log_partition = _sum_behind(n_positions, n_labels, order, room)
    _sum_ahead(orders, n_positions, room, mean, runs)
    for p in range(n_top):
        runs[p] *= room.top[p]
    return float(log_partition)


@jit
def _label_by_label(unary: Any, mean: Any) -> float:
    n_labels, total = unary.shape[1], 0.0
    for t in range(unary.shape[0]):
        own = mean[t * n_labels : (t + 1) * n_labels]
        for k in range(n_labels):
            own[k] = unary[t, k]
        total += soften(own)
    return total


@jit
def _fill_local(unary: Any, tables: Any, orders: int, local: Any) -> None:
    n_labels, n_states, order = unary.shape[1], 1, highest(orders)
    for t in range(unary.shape[0]):
        n_states *= n_labels if t < order else 1
        now = local[t, :n_states]
        for s in range(n_states):
            now[s] = 0.0
        add_local(t, unary[t], tables, orders, now)


@jit
def _look_at(tables: Any, orders: int, n_labels: int, top: Any, room: Room) -> None:
    """Fill `top` and `facts`, unless they are of the same tables already."""
    n_others = 0
    for p in range(tables.shape[0]):
        n_others += tables[p] != room.seen[p]
    if n_others == 0:
        return
    for p in range(tables.shape[0]):
        room.seen[p] = tables[p]
    room.facts[0] = _span(tables, orders, n_labels)
    room.facts[1] = _exponentiate(top, room.top)


@jit
def _span(tables: Any, orders: int, n_labels: int) -> float:
    """By how much the scores of runs that reach back to a state can differ between states."""
    total, begin, size = 0.0, 0, n_labels
    for j in range(1, highest(orders) + 1):
        size *= n_labels
        if (orders >> (j - 1)) & 1:
            low, high = tables[begin], tables[begin]
            for p in range(begin, begin + size):
                low, high = min(low, tables[p]), max(high, tables[p])
            total += j * (high - low)
            begin += size
    return total


@jit
def _exponentiate(scores: Any, out: Any) -> float:
    """Fill `out` with exp(scores - top); top, the largest of them."""
    top = scores[best_label(scores)]
    exponentials(scores, top, out)
    return float(top)


# -- by sums -----------------------------------------------------------------------------------


@jit(fastmath={"contract", "reassoc"})
def _sum_behind(n_positions: int, n_labels: int, order: int, room: Room) -> float:
    """Fill `behind` with shares, and `scale`; `local` with exponentials."""
    behind, n_states = room.behind, 1
    log_partition = room.facts[1] * max(n_positions - order, 0)
    for t in range(n_positions):
        n_states *= n_labels if t < order else 1
        local, now = room.local[t, :n_states], behind[t, :n_states]
        log_partition += _exponentiate(local, local)
        if t >= order:
            _add_up(behind[t - 1, :n_states], room.top, now, n_labels)
        else:
            for s in range(n_states):
                now[s] = behind[t - 1, s // n_labels] if t > 0 else 1.0
        total = 0.0
        for s in range(n_states):
            now[s] *= local[s]
            total += now[s]
        for s in range(n_states):
            now[s] /= total
        room.scale[t] = total
        log_partition += np.log(total)
    return log_partition


@jit
def _add_up(before: Any, top: Any, now: Any, n_labels: int) -> None:
    """now[r, k] = sum_j before[j, r] top[j, r, k]; four rows at a time, as `chain.max_plus`."""
    n_shared = now.shape[0] // n_labels
    rows, out = top.reshape(n_labels * n_shared, n_labels), now.reshape(n_shared, n_labels)
    for s in range(now.shape[0]):
        now[s] = 0.0
    j = 0
    while j + 4 <= n_labels:
        a, b, c, d = j * n_shared, (j + 1) * n_shared, (j + 2) * n_shared, (j + 3) * n_shared
        for r in range(n_shared):
            shares = before[a + r], before[b + r], before[c + r], before[d + r]
            four = rows[a + r], rows[b + r], rows[c + r], rows[d + r]
            _add_four(shares, four, out[r], n_labels)
        j += 4
    while j < n_labels:
        for r in range(n_shared):
            share, row = before[j * n_shared + r], rows[j * n_shared + r]
            for k in range(n_labels):
                out[r, k] += share * row[k]
        j += 1


@jit(forceinline=True)
def _add_four(shares: Any, rows: Any, out: Any, n_labels: int) -> None:
    p0, p1, p2, p3 = shares
    r0, r1, r2, r3 = rows
    for k in range(n_labels):
        out[k] += (p0 * r0[k] + p1 * r1[k]) + (p2 * r2[k] + p3 * r3[k])


@jit
def _sum_ahead(orders: int, n_positions: int, room: Room, mean: Any, runs: Any) -> None:
    """Add the probabilities of states to `mean`; those of the longest runs to `runs`.

    The latter without the factor exp(top), which is the same at all positions.
    """
    n_labels, order = room.terms.shape[0], highest(orders)
    n_unary = n_positions * n_labels
    n_states = n_labels ** min(order, n_positions)
    ahead, known, share = room.ahead[0], room.ahead[1], room.ahead[2]
    for s in range(n_states):
        ahead[s] = 1.0
    for t in range(n_positions - 1, -1, -1):
        local, behind, scale = room.local[t], room.behind[t], room.scale[t]
        for s in range(n_states):
            share[s] = behind[s] * ahead[s]
            known[s] = local[s] * (ahead[s] / scale)
        _collect(t, share[:n_states], orders, mean[t * n_labels :][:n_labels], mean[n_unary:])
        if t >= order:
            _look_back(room.behind[t - 1], room.top, known[:n_states], ahead, runs, n_labels)
        elif t > 0:
            n_states //= n_labels
            for s in range(n_states):
                ahead[s] = 0.0
                for k in range(n_labels):
                    ahead[s] += known[s * n_labels + k]


@jit
def _look_back(before: Any, top: Any, known: Any, ahead: Any, runs: Any, n_labels: int) -> None:
    """ahead[j, r] = sum_k top[j, r, k] known[r, k]; runs[j, r, k] += before[j, r] known[r, k]."""
    n_states = known.shape[0]
    rows, sums = top.reshape(n_states, n_labels), runs.reshape(n_states, n_labels)
    after, n_shared = known.reshape(n_states // n_labels, n_labels), n_states // n_labels
    for s in range(n_states):
        r = s % n_shared
        ahead[s] = _weighed(rows[s], after[r], before[s], sums[s], n_labels)


@jit(forceinline=True, fastmath={"contract", "reassoc"})
def _weighed(row: Any, after: Any, share: float, run: Any, n_labels: int) -> float:
    """<row, after>; adds share * after to `run`."""
    total = 0.0
    for k in range(n_labels):
        total += row[k] * after[k]
        run[k] += share * after[k]
    return total


@jit
def _collect(t: int, known: Any, orders: int, label: Any, tables: Any) -> None:
    """Add the probabilities of states at t to those of all that states tell by themselves."""
    begin, size = 0, label.shape[0]
    _add_folded(known, label)
    for j in range(1, min(t + 1, highest(orders))):
        size *= label.shape[0]
        if (orders >> (j - 1)) & 1:
            _add_folded(known, tables[begin : begin + size])
            begin += size


@jit
def _add_folded(known: Any, table: Any) -> None:
    """table[s mod size] += known[s]."""
    size = table.shape[0]
    for begin in range(0, known.shape[0], size):
        for s in range(size):
            table[s] += known[begin + s]


# -- in logarithms -----------------------------------------------------------------------------


@jit
def _gather_behind(n_positions: int, n_labels: int, order: int, top: Any, room: Room) -> float:
    """Fill `behind` with logarithms."""
    behind, n_states = room.behind, 1
    for t in range(n_positions):
        n_states *= n_labels if t < order else 1
        now, local, n_shared = behind[t], room.local[t], n_states // n_labels
        for s in range(n_states):
            if t >= order:
                for j in range(n_labels):
                    at = j * n_shared + s // n_labels
                    room.terms[j] = behind[t - 1, at] + top[at * n_labels + s % n_labels]
                now[s] = local[s] + gathered(room.terms, True)
            else:
                now[s] = local[s] + (behind[t - 1, s // n_labels] if t > 0 else 0.0)
    return float(gathered(behind[n_positions - 1, :n_states], True))


@jit
def _gather_ahead(
    orders: int, top: Any, n_positions: int, room: Room, mean: Any, runs: Any
) -> None:
    """As `_sum_ahead`, and `runs` as they are.

    Probabilities are divided by their own sum at every position: sums of large scores from the
    left and from the right have rounding errors, but the same ones there.
    """
    n_labels, order = room.terms.shape[0], highest(orders)
    n_unary, n_states = n_positions * n_labels, n_labels ** min(order, n_positions)
    ahead, known, share = room.ahead[0], room.ahead[1], room.ahead[2]
    for s in range(n_states):
        ahead[s] = 0.0
    for t in range(n_positions - 1, -1, -1):
        behind = room.behind[t]
        if t < n_positions - 1:
            n_after, n_states = n_states, n_labels ** min(order, t + 1)
            has_runs = t + 1 >= order
            _gather_back(has_runs, n_after // n_labels, known, top, room.terms, ahead[:n_states])
        for s in range(n_states):
            share[s] = behind[s] + ahead[s]
        total = gathered(share[:n_states], True)
        if t < n_positions - 1 and has_runs:
            _gather_runs(behind[:n_states], known, top, total, n_labels, runs)
        for s in range(n_states):
            share[s] = np.exp(share[s] - total)
            known[s] = room.local[t, s] + ahead[s]
        _collect(t, share[:n_states], orders, mean[t * n_labels :][:n_labels], mean[n_unary:])


@jit
def _gather_back(
    has_runs: bool, n_shared: int, known: Any, top: Any, terms: Any, ahead: Any
) -> None:
    """ahead[j, r] = log sum_k exp(top[j, r, k] + known[r, k]); without runs a state is all of r."""
    n_labels = terms.shape[0]
    for s in range(ahead.shape[0]):
        of = (s % n_shared) * n_labels
        for k in range(n_labels):
            terms[k] = known[of + k] + (top[s * n_labels + k] if has_runs else 0.0)
        ahead[s] = gathered(terms, True)


@jit
def _gather_runs(behind: Any, known: Any, top: Any, total: float, n_labels: int, runs: Any) -> None:
    """runs[j, r, k] += exp(behind[j, r] + top[j, r, k] + known[r, k] - total)."""
    n_shared = behind.shape[0] // n_labels
    for s in range(behind.shape[0]):
        of = (s % n_shared) * n_labels
        for k in range(n_labels):
            follows = known[of + k] + top[s * n_labels + k]
            runs[s * n_labels + k] += np.exp(behind[s] + follows - total)
