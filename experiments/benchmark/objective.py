"""The objective of a structured SVM in benchopt's form: lam/2 |w|^2 + mean hinge loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchopt import BaseObjective

import blockwolfe as bw


class Objective(BaseObjective):
    """A solver is given the problem and lambda, and returns weights."""

    name = "Structured SVM"
    min_benchopt_version = "1.6"
    requirements = ("pip::blockwolfe",)
    parameters = {"lam": [0.01, 0.001]}  # noqa: RUF012 (benchopt's form)

    def set_data(self, task: Any, train: Any, test: Any) -> None:
        """Training and held-out examples of one task, (X, Y) each."""
        self.problem = bw.Problem(task, *train)
        self.test = test

    def get_objective(self) -> dict[str, Any]:
        """What a solver gets: `problem.task`, `problem.X` and `problem.Y` are the data."""
        return {"problem": self.problem, "lam": self.lam}

    def evaluate_result(self, w: np.ndarray) -> dict[str, float]:
        """The primal, by one exact oracle call for each example, and the loss on test data."""
        X, Y = self.test
        losses = self.problem.task.losses(Y, self.problem.task.predict(X, w))
        return {"value": self.problem.primal(w, self.lam), "test_loss": float(np.mean(losses))}

    def get_one_result(self) -> dict[str, np.ndarray]:
        """Weights that any solver could return."""
        return {"w": np.zeros(self.problem.blocks.n_features)}
