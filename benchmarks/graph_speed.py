"""Decoding graphs with cycles: our message passing against toulbar2, and how good its bound is.

    python benchmarks/graph_speed.py [--sizes 5 10 20 40] [--labels 5] [--repetitions 10]

Grids of random scores. "strength" is the size of the edge scores against node scores: weak edges
are easy, strong ones of mixed sign are hard (toulbar2 is left out above --largest-exact nodes).
Seconds are the best of three rounds over the same grids.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import machine, options, publish, table

from blockwolfe.structures import graph, graph_exact

HEADER = ["grid", "labels", "strength", "ours ms", "toulbar2 ms", "tight", "gap", "missed"]


def grid(side: int, n_labels: int, strength: float, seed: int) -> Any:
    """Tables of one random grid."""
    rng = np.random.default_rng(seed)
    number = np.arange(side * side).reshape(side, side)
    across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    ends = np.concatenate([across, down])
    unary = rng.normal(size=(side * side, n_labels))
    pairwise = strength * rng.normal(size=(len(ends), n_labels, n_labels))
    return graph.checked(unary, pairwise, ends)


def alone(tables: Any) -> Any:
    """toulbar2 without the help of our bound: from the best labels of single nodes."""
    return graph_exact.settle(*tables, tables[0].argmax(axis=1), np.inf)


def milliseconds(decode: Callable[[Any], Any], cases: list[Any]) -> float:
    """Per grid, best of three rounds."""
    rounds = []
    for _ in range(3):
        began = time.perf_counter()
        for tables in cases:
            decode(tables)
        rounds.append(1000 * (time.perf_counter() - began) / len(cases))
    return min(rounds)


def line(side: int, strength: float, given: Any) -> list[Any]:
    cases = [grid(side, given.labels, strength, seed) for seed in range(given.repetitions)]
    found = [graph.maximize(*tables) for tables in cases]
    own = [graph.score(*tables, y) for tables, (y, _) in zip(cases, found, strict=True)]
    gaps = [(upper - s) / abs(s) for (_, upper), s in zip(found, own, strict=True)]
    theirs = missed = float("nan")
    if side**2 <= given.largest_exact:
        best = [graph.score(*tables, alone(tables)[0]) for tables in cases]
        missed = float(np.mean([(b - s) / abs(b) for b, s in zip(best, own, strict=True)]))
        theirs = milliseconds(alone, cases)
    ours = milliseconds(lambda tables: graph.maximize(*tables), cases)
    tight = f"{np.mean(np.array(gaps) < 1e-9):.0%}"
    return [f"{side}x{side}", given.labels, strength, ours, theirs, tight, np.mean(gaps), missed]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 10, 20, 40])
    parser.add_argument("--strengths", type=float, nargs="+", default=[0.2, 0.4])
    parser.add_argument("--labels", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--largest-exact", type=int, default=100, help="nodes, for toulbar2")
    given = parser.parse_args()
    try:
        graph_exact.toulbar2()
    except Exception as error:
        given.largest_exact = 0
        print(error)
    rows = [line(side, strength, given) for strength in given.strengths for side in given.sizes]
    note = (
        "tight: share of grids whose labels are proved optimal; gap: (bound - score) / |score|; "
        "missed: (optimum - score) / |optimum|; both are means."
    )
    publish(given.output, machine(), table(HEADER, rows), note)


if __name__ == "__main__":
    main()
