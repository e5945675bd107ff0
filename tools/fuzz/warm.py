"""Imported once by the server that runs to be killed are forked from: all that takes time.

Compiled code that is in memory here is in memory there.
"""

from __future__ import annotations

import numpy as np

import blockwolfe as bw
from tools.fuzz import kills  # noqa: F401 (with all that it imports)


def _load() -> None:
    X, Y = np.eye(3), [0, 1, 2]
    graphs = [bw.tasks.Graph(x[None], []) for x in X]
    problems = [
        bw.Problem(bw.tasks.Multiclass(), X, Y),
        bw.Problem(bw.tasks.Tree(3), graphs, [[y] for y in Y]),
    ]
    for problem in problems:
        for method in ("bcfw", "bcfw+gap+pairwise+cache", "bcfw+averaging", "fw"):
            bw.solve(problem, 0.1, method, max_passes=3)
        bw.solve_path(problem, 0.5, lam_min=1.0, max_passes=2)


_load()
