"""Snakes on grids with cycles: what edges are worth, certified by an approximate oracle.

    python benchmarks/graph_quality.py [--data-home HOME] [--lam 0.03 0.01 0.003]
                                       [--time-limit 15] [--edges none plain directed coloured]

Pixels of 200 small pictures have the colours around them and one of 11 labels: background, or the
place along the snake, which no pixel shows by itself. lam is chosen on the last quarter of the
train split; then the model is trained on all of it, with twice the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import machine, options, publish, table
from snakes import N_LABELS, snakes

import blockwolfe as bw

HEADER = ["edges", "lam", "ending", "gap", "slack", "accuracy", "on the snake", "train seconds"]


def accuracy(Y: Any, Y_hat: Any) -> tuple[float, float]:
    """Share of right pixels, in all and among those of snakes."""
    truth, guess = np.concatenate(Y), np.concatenate(Y_hat)
    is_right = truth == guess
    return float(is_right.mean()), float(is_right[truth > 0].mean())


def trained(X: Any, Y: Any, lam: float, tol: float, seconds: float, decoder: str) -> Any:
    """The problem and what was reached in that time."""
    task = bw.tasks.PairwiseGraph(N_LABELS, decoder=decoder)
    problem = bw.Problem(task, X, Y)
    return problem, bw.solve(problem, lam, tol=tol, time_limit=seconds, random_state=0)


def line(edges: str, given: Any) -> list[Any]:
    """Choose lam, train, test."""
    (X, Y), test = (snakes(given.data_home, split, edges) for split in ("train", "test"))
    cut = 3 * len(X) // 4
    scores = []
    for lam in given.lam:
        problem, result = trained(X[:cut], Y[:cut], lam, given.tol, given.time_limit, "approximate")
        scores.append(accuracy(Y[cut:], problem.task.predict(X[cut:], result.w))[0])
    lam = given.lam[int(np.argmax(scores))]
    problem, result = trained(X, Y, lam, given.tol, 2 * given.time_limit, given.decoder)
    right = accuracy(test[1], problem.task.predict(test[0], result.w))
    certificate = result.certificate
    numbers = [certificate.gap, certificate.slack, *right, result.seconds]
    return [edges, lam, result.status.name, *numbers]


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--lam", type=float, nargs="+", default=[0.03, 0.01, 0.003])
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--time-limit", type=float, default=15.0, help="seconds per training run")
    parser.add_argument("--decoder", default="approximate", choices=["approximate", "exact"])
    kinds = ["none", "plain", "directed", "coloured"]
    parser.add_argument("--edges", nargs="+", default=kinds, choices=kinds)
    given = parser.parse_args()
    rows = [line(edges, given) for edges in given.edges]
    publish(given.output, machine(), f"decoder: {given.decoder}", table(HEADER, rows))


if __name__ == "__main__":
    main()
