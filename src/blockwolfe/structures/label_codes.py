"""Label sequences as codes of outputs, and what is read from codes without listing their parts.

The code of a sequence is its labels. Its parts are numbered as in `features.emissions`: "position
t has label k" is t * K + k, and after those of all positions come the tables of transitions, of
each order that there is. Here codes lie in one array, and one is given by where it begins.

Unsigned indices need no test for < 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.bits import MOST_BITS, lowest_bit
from blockwolfe.base.compiled import jit
from blockwolfe.base.look import Look, meet_one
from blockwolfe.structures.higher_chain import highest

__all__ = [
    "NOT_LABELS",
    "LabelCodes",
    "difference",
    "meet_code",
    "meet_labels",
    "subtract",
    "total",
    "unpack",
]


class LabelCodes(NamedTuple):
    """How labels make parts; no labels at all where a code is the list of parts itself."""

    n_labels: int
    orders: int  # bit j - 1 says whether transitions of order j have a table
    runs: int  # where the weights of transitions begin in w: they are their scores


NOT_LABELS = LabelCodes(0, 0, 0)


@jit(inline="always")
def _part(t: Any, label: Any, n_labels: int) -> Any:
    return np.uint64(t) * np.uint64(n_labels) + np.uint64(label)


@jit
def _run(code: Any, at: int, order: int, n_labels: int) -> int:
    """The number of the run of order + 1 labels that begins there."""
    run = 0
    for u in range(at, at + order + 1):
        run = run * n_labels + code[u]
    return run


@jit
def unpack(form: LabelCodes, code: Any, at: int, size: int, part: Any) -> int:
    """Parts of a label sequence; a transition seen twice is listed twice."""
    n_labels, found = form.n_labels, size
    for t in range(size):
        part[t] = t * n_labels + code[at + t]
    if form.orders & 1:
        for t in range(size - 1):
            part[found] = (size + code[at + t]) * n_labels + code[at + t + 1]
            found += 1
    if form.orders > 1:
        begin = _first_run(form, size)
        for order in range(2, highest(form.orders) + 1):
            if (form.orders >> (order - 1)) & 1:
                for t in range(size - order):
                    part[found] = begin + _run(code, at + t, order, n_labels)
                    found += 1
                begin += n_labels ** (order + 1)
    return found


@jit
def _first_run(form: LabelCodes, size: int) -> int:
    """The number of the first part of order 2 or higher."""
    n_labels = form.n_labels
    return size * n_labels + (n_labels * n_labels if form.orders & 1 else 0)


@jit
def total(form: LabelCodes, code: Any, at: int, size: int, theta: Any, runs: Any) -> float:
    """<theta, z> of a label sequence; `runs` are the scores of transitions alone."""
    n_labels, sum_of_labels, sum_of_runs = form.n_labels, 0.0, 0.0
    first, last = np.uint64(at), np.uint64(at + size)
    base = np.uint64(0)
    if form.orders & 1:
        before = np.uint64(code[first])
        sum_of_labels = theta[before]
        for e in range(first + np.uint64(1), last):
            base += np.uint64(n_labels)
            label = np.uint64(code[e])
            sum_of_labels += theta[base + label]
            sum_of_runs += runs[before * np.uint64(n_labels) + label]
            before = label
    else:
        for e in range(first, last):
            sum_of_labels += theta[base + np.uint64(code[e])]
            base += np.uint64(n_labels)
    if form.orders > 1:
        begin = _first_run(form, 0)
        for order in range(2, highest(form.orders) + 1):
            if (form.orders >> (order - 1)) & 1:
                for t in range(size - order):
                    sum_of_runs += runs[begin + _run(code, at + t, order, n_labels)]
                begin += n_labels ** (order + 1)
    return sum_of_labels + sum_of_runs


@jit
def meet_labels(
    form: LabelCodes, code: Any, begin: Any, n_codes: int, size: int, look: Look
) -> int:
    """Parts "position t has label k" of some codes of one length, each once, into `look.met`.

    Returns how many. Those of one position follow each other: they are scored together. (Scores of
    transitions are weights, and need not be looked for.)
    """
    if form.n_labels > MOST_BITS:
        return int(_meet_many_labels(form.n_labels, code, begin, n_codes, size, look))
    met, n_labels, n_met = look.met, np.uint64(form.n_labels), 0
    base, one = np.uint64(0), np.uint64(1)
    for t in range(np.uint64(size)):
        labels = np.uint64(0)
        for r in range(n_codes):
            labels |= one << np.uint64(code[np.uint64(begin[r]) + t])
        while labels:
            met[n_met] = base + lowest_bit(labels)
            n_met += 1
            labels &= labels - one
        base += n_labels
    return n_met


@jit
def _meet_many_labels(
    n_labels: int, code: Any, begin: Any, n_codes: int, size: int, look: Look
) -> int:
    """The same where labels are more than an integer has bits."""
    look.number[0] += 1
    number, seen, met = look.number[0], look.seen, look.met
    base, n_met = np.uint64(0), 0
    for t in range(np.uint64(size)):
        for r in range(n_codes):
            p = base + np.uint64(code[np.uint64(begin[r]) + t])
            met[n_met] = p  # (written in any case: a branch would be guessed wrong too often)
            n_met += seen[p] != number
            seen[p] = number
        base += np.uint64(n_labels)
    return n_met


@jit
def meet_code(
    form: LabelCodes, code: Any, at: int, size: int, factor: float, look: Look, n_met: int
) -> int:
    """Add factor times a label sequence to the sums of this look; how many parts it has met."""
    n_labels = form.n_labels
    for t in range(size):
        n_met = meet_one(t * n_labels + code[at + t], factor, look, n_met)
    if form.orders & 1:
        for t in range(size - 1):
            pair = (size + code[at + t]) * n_labels + code[at + t + 1]
            n_met = meet_one(pair, factor, look, n_met)
    if form.orders > 1:
        base = _first_run(form, size)
        for order in range(2, highest(form.orders) + 1):
            if (form.orders >> (order - 1)) & 1:
                for t in range(size - order):
                    part = base + _run(code, at + t, order, n_labels)
                    n_met = meet_one(part, factor, look, n_met)
                base += n_labels ** (order + 1)
    return n_met


@jit
def difference(form: LabelCodes, code: Any, to: int, away: int, size: int, look: Look) -> int:
    """z(to) - z(away) of two codes, met part by part where they differ; how many parts.

    Sums of transitions that both have, at other positions, may be zero.
    """
    look.number[0] += 1
    n_labels, n_met = np.uint64(form.n_labels), 0
    base, plus, minus = np.uint64(0), np.uint64(to), np.uint64(away)
    number, seen, met, sums = look.number[0], look.seen, look.met, look.sum
    for t in range(np.uint64(size)):
        a, b = code[plus + t], code[minus + t]
        if a != b:
            p, q = base + np.uint64(a), base + np.uint64(b)
            seen[p], sums[p], met[n_met] = number, 1.0, p
            seen[q], sums[q], met[n_met + 1] = number, -1.0, q
            n_met += 2
        base += n_labels
    if form.orders & 1:
        one = np.uint64(1)
        for t in range(one, np.uint64(size)):
            a, b = code[plus + t], code[minus + t]
            before_a, before_b = code[plus + t - one], code[minus + t - one]
            if a != b or before_a != before_b:
                p = base + np.uint64(before_a) * n_labels + np.uint64(a)
                q = base + np.uint64(before_b) * n_labels + np.uint64(b)
                n_met = meet_one(p, 1.0, look, n_met)
                n_met = meet_one(q, -1.0, look, n_met)
    if form.orders > 1:
        n_met = _differ_in_runs(form, code, to, away, size, look, n_met)
    return n_met


@jit
def _differ_in_runs(
    form: LabelCodes, code: Any, to: int, away: int, size: int, look: Look, n_met: int
) -> int:
    """Transitions of order 2 and higher."""
    base = _first_run(form, size)
    for order in range(2, highest(form.orders) + 1):
        if (form.orders >> (order - 1)) & 1:
            for t in range(size - order):
                plus = _run(code, to + t, order, form.n_labels)
                minus = _run(code, away + t, order, form.n_labels)
                if plus != minus:
                    n_met = meet_one(base + plus, 1.0, look, n_met)
                    n_met = meet_one(base + minus, -1.0, look, n_met)
            base += form.n_labels ** (order + 1)
    return n_met


@jit
def subtract(form: LabelCodes, to: Any, at: int, away: Any, size: int, out: Any) -> int:
    """z(to) - z(away) as (part, delta), where they differ; how many entries it has.

    `out` is where, part and delta are written to. The one code begins at to[at], the other at
    away[0]. Parts of one position follow each other; a transition may be listed more than once,
    which sums do not mind.
    """
    (where, part, delta), begin, n = out, np.uint64(at), 0
    n_labels, n_differ = np.uint64(form.n_labels), _differing(to, begin, away, size, where)
    for s in range(np.uint64(n_differ)):
        t = np.uint64(where[s])
        p, q = _part(t, to[begin + t], n_labels), _part(t, away[t], n_labels)
        n = _note_two(p, q, part, delta, n)
    if n and form.orders & 1:
        n = _subtract_pairs(n_labels, to, begin, away, (n_differ, size), out, n)
    if n and form.orders > 1:
        n = _subtract_runs(form, to[at:], away, size, (part, delta), n)
    return n


@jit(inline="always")
def _differing(to: Any, begin: Any, away: Any, size: int, where: Any) -> int:
    """The positions at which two codes differ, into `where`; how many."""
    n = 0
    for t in range(np.uint64(size)):
        where[np.uint64(n)] = t  # (in any case: a branch would be guessed wrong too often)
        n += to[begin + t] != away[t]
    return n


@jit(inline="always")
def _subtract_pairs(
    n_labels: Any, to: Any, begin: Any, away: Any, sizes: Any, out: Any, n: int
) -> int:
    """Transitions from and to the positions in `where`, each position once."""
    (where, part, delta), one, two = out, np.uint64(1), np.uint64(2)
    n_differ, end, todo = np.uint64(sizes[0]), np.uint64(sizes[1]), one
    base = end * n_labels
    for s in range(n_differ):
        last = np.uint64(where[s]) + two
        for t in range(max(last - two, todo), min(last, end)):
            p = base + _part(to[begin + t - one], to[begin + t], n_labels)
            q = base + _part(away[t - one], away[t], n_labels)
            n = _note_two(p, q, part, delta, n)
        todo = last
    return n


@jit(inline="always")
def _note_two(plus: Any, minus: Any, part: Any, delta: Any, n: int) -> int:
    part[n], delta[n] = plus, 1.0
    part[n + 1], delta[n + 1] = minus, -1.0
    return n + 2


@jit
def _subtract_runs(form: LabelCodes, to: Any, away: Any, size: int, out: Any, n: int) -> int:
    """Transitions of order 2 and higher."""
    (part, delta), base = out, _first_run(form, size)
    for order in range(2, highest(form.orders) + 1):
        if (form.orders >> (order - 1)) & 1:
            for t in range(size - order):
                plus = _run(to, t, order, form.n_labels)
                minus = _run(away, t, order, form.n_labels)
                if plus != minus:
                    n = _note_two(base + plus, base + minus, part, delta, n)
            base += form.n_labels ** (order + 1)
    return n
