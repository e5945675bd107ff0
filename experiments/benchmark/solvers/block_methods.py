"""The methods of blockwolfe. A solver of your own is a file like this one."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion

import blockwolfe as bw


class Solver(BaseSolver):
    """One method of `bw.solve`, for so many passes."""

    name = "blockwolfe"
    sampling_strategy = "iteration"
    # The primal of the first passes may rise, that of stochastic subgradients above all.
    stopping_criterion = SufficientProgressCriterion(patience=10)
    requirements = ("pip::blockwolfe",)
    parameters = {  # noqa: RUF012 (benchopt's form)
        "method": ["auto", "bcfw+uniform", "bcfw+gap", "bcfw+gap+pairwise+cache", "ssg", "fw"],
    }

    def set_objective(self, problem: Any, lam: float) -> None:
        """The data; the first pass compiles, which is not timed."""
        self.problem, self.lam = problem, lam
        self.run(1)

    def run(self, n_iter: int) -> None:
        """So many passes from the start."""
        if n_iter == 0:
            self.w = np.zeros(self.problem.blocks.n_features)
            return
        options = {"tol": 1e-10, "max_passes": n_iter, "random_state": 0}
        self.w = bw.solve(self.problem, self.lam, self.method, **options).w

    def get_result(self) -> dict[str, np.ndarray]:
        """Weights."""
        return {"w": self.w}
