"""Label sequences by beam search: Viterbi that goes on from the best few states alone.

Scores and states are those of `higher_chain`: with m the highest order, a state is the run of the
last m labels, and its number is y_t plus K times the number of the labels before. Of all prefixes
that end in one state the best is taken, as by Viterbi; then all states but the best `width` are
given up. A beam as wide as there are states gives up none, and is exact. A position costs K times
the width, where Viterbi takes K times the number of states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.base.compiled import jit
from blockwolfe.structures.chain import checked_transition, checked_unary
from blockwolfe.structures.higher_chain import highest

__all__ = ["maximize", "maximize_into"]


@jit
def _gain(t: int, run: int, unary: Any, tables: Any, orders: int) -> float:
    """What the last label of `run` adds at position t; `run` numbers the labels up to there."""
    size = unary.shape[1]
    total, begin = unary[t, run % size], 0
    for j in range(1, highest(orders) + 1):
        size *= unary.shape[1]
        if (orders >> (j - 1)) & 1:
            if t >= j:
                total += tables[begin + run % size]
            begin += size
    return float(total)


@jit
def _insert_state(states: Any, scores: Any, state: int, n_kept: int) -> int:
    """Put a state among those kept, the best first, unless it is there; how many there are."""
    width = states.shape[0]
    for r in range(n_kept):
        if states[r] == state:
            return n_kept
    place = min(n_kept, width - 1)
    while place > 0 and scores[states[place - 1]] < scores[state]:
        states[place] = states[place - 1]
        place -= 1
    states[place] = state
    return min(n_kept + 1, width)


@jit
def _reach(
    t: int, before: Any, n_before: int, unary: Any, tables: Any, orders: int, best: Any
) -> None:
    """best[t, s] of every state s that one label more leads to."""
    n_labels, n_states, now = unary.shape[1], unary.shape[1] ** highest(orders), best[t]
    for r in range(n_before):
        for k in range(n_labels):
            now[(before[r] * n_labels + k) % n_states] = -np.inf
    for r in range(n_before):
        score = best[t - 1, before[r]] if t > 0 else 0.0
        for k in range(n_labels):
            run = before[r] * n_labels + k
            reached = score + _gain(t, run, unary, tables, orders)
            now[run % n_states] = max(now[run % n_states], reached)


@jit
def _origin(
    t: int, state: int, before: Any, n_before: int, unary: Any, tables: Any, orders: int, best: Any
) -> int:
    """Which of the states before it, by rank, a state was reached from."""
    n_labels, n_states = unary.shape[1], unary.shape[1] ** highest(orders)
    origin, highest_score = 0, -np.inf
    for r in range(n_before):
        run = before[r] * n_labels + state % n_labels
        if run % n_states == state:
            score = best[t - 1, before[r]] if t > 0 else 0.0
            score += _gain(t, run, unary, tables, orders)
            if score > highest_score:
                origin, highest_score = r, score
    return origin


@jit
def _keep_best(before: Any, n_before: int, n_labels: int, scores: Any, states: Any) -> int:
    """The states to go on from, the best first; how many there are."""
    n_states, width, n_kept = scores.shape[0], states.shape[0], 0
    for r in range(n_before):
        for k in range(n_labels):
            state = (before[r] * n_labels + k) % n_states
            if n_kept < width or scores[state] > scores[states[n_kept - 1]]:
                n_kept = _insert_state(states, scores, state, n_kept)
    return n_kept


@jit
def maximize_into(unary: Any, tables: Any, orders: int, kept: Any, best: Any, labels: Any) -> None:
    """Write the label sequence that a beam finds into `labels`; `orders` has at least one order.

    `tables` and `orders` are as in `higher_chain`. `best` is scratch with a row for every position
    and a column for every state. `kept` is scratch of integers, (positions + 1, 2, width): before
    the first position and after each the states that were kept, the best first, and the ranks of
    those before them. Between equal states the one found first is kept.
    """
    n_positions, n_labels = unary.shape
    n_states, n_before = n_labels ** highest(orders), 1
    kept[0, 0, 0] = 0  # (at first there is one prefix, of no labels)
    for t in range(n_positions):
        before, now = kept[t, 0], kept[t + 1]
        _reach(t, before, n_before, unary, tables, orders, best)
        n_now = _keep_best(before, n_before, n_labels, best[t, :n_states], now[0])
        for r in range(n_now):
            now[1, r] = _origin(t, now[0, r], before, n_before, unary, tables, orders, best)
        n_before = n_now
    rank = 0
    for back in range(n_positions):
        t = n_positions - 1 - back
        labels[t] = kept[t + 1, 0, rank] % n_labels
        rank = kept[t + 1, 1, rank]


def maximize(unary: Any, transition: Any, width: int, allowed: Any = None) -> np.ndarray:
    """A good label sequence for `unary` (T, K), `transition` (K, K), `allowed` (T, K) or None.

    >>> unary, transition = [[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 3.0]]
    >>> maximize(unary, transition, width=1), maximize(unary, transition, width=2)
    (array([0, 0]), array([1, 1]))
    """
    unary = checked_unary(unary, allowed)
    transition = checked_transition(transition, unary.shape[1])
    check_integer("width", width, 1)
    kept = np.zeros((len(unary) + 1, 2, min(width, unary.shape[1])), dtype=np.int64)
    labels = np.empty(len(unary), dtype=np.int64)
    maximize_into(unary, transition.ravel(), 1, kept, np.empty_like(unary), labels)
    return labels
