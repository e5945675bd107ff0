"""A fold of a cross-validation: a problem that is made once, and solved for many lambdas."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.checks import is_real
from blockwolfe.base.seeds import generator
from blockwolfe.errors import InputError, OptionError
from blockwolfe.estimators.svm import StructuredSVM, estimator_with
from blockwolfe.metrics.scorers import Scorer
from blockwolfe.path.grid import warm_state
from blockwolfe.path.solve import solve_path
from blockwolfe.problem.problem import Problem
from blockwolfe.results.not_certified import NotCertifiedWarning
from blockwolfe.results.result import Result
from blockwolfe.results.status import Status
from blockwolfe.solving.solve import solve

__all__ = ["Fold", "FoldPlan", "check_fold_weights"]


class FoldPlan(NamedTuple):
    """How folds are solved and scored."""

    task: Any
    bounds: Any
    method: Any
    tol: float  # of a lambda, or eps of a whole path
    seed: int
    scoring: Any  # a function of (estimator, X, y); None for the measure of the task
    n_jobs: int | None  # cores for one fold


class Fold:
    """(X, y, sample_weight) to train on and to score on; no weights where none were given."""

    def __init__(self, plan: FoldPlan, train: Any, test: Any) -> None:
        self.plan, self.test = plan, test
        X, y, weight = train
        self.problem = Problem(plan.task, X, y, weight, plan.bounds)
        self._rng = generator(plan.seed)
        self._solved: dict[float, Result] = {}

    def score(self, lam: float) -> float:
        """The score of one lambda, solved from the w of the next larger one."""
        larger = min((known for known in self._solved if known > lam), default=None)
        start = None if larger is None else warm_state(self.problem, self._solved[larger], lam)
        plan = self.plan
        found = self._solved[lam] = solve(
            self.problem, lam, plan.method, plan.tol, start=start, random_state=self._rng,
            n_jobs=plan.n_jobs, max_passes="auto",
        )  # fmt: skip
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return self._scored(found.w, lam)

    def path_scores(self, lams: np.ndarray) -> list[float]:
        """The scores of many lambdas, from one path."""
        problem, plan = self.problem, self.plan
        # (an oracle that certifies nothing can still be followed by its estimates)
        is_exact = problem.blocks.is_exact or problem.blocks.bounds_error
        path = solve_path(
            problem, plan.tol, float(lams[-1]), plan.method, exact=is_exact,
            lam_max=float(lams[0]), random_state=plan.seed,
        )  # fmt: skip
        if path.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if path.lam_min > lams[-1]:
            warnings.warn(
                f"the path of a fold ended at lam={path.lam_min:.4g} ({path.status}); smaller "
                "lambdas are scored with its last weights.",
                NotCertifiedWarning,
                stacklevel=2,
            )
        known = (min(max(lam, path.lam_min), path.lam_max) for lam in lams)
        return [self._scored(path.coef(at), lam) for at, lam in zip(known, lams, strict=True)]

    def _scored(self, w: np.ndarray, lam: float) -> float:
        svm, (X, y, weight) = estimator_with(self.problem.task, w, float(lam)), self.test
        if self.plan.scoring is None:
            return svm.score(X, y, weight)
        return _checked_score(self.plan.scoring, svm, self.test)


def _checked_score(scoring: Any, svm: StructuredSVM, test: Any) -> float:
    X, y, weight = test
    weights = {"sample_weight": weight} if isinstance(scoring, Scorer) else {}
    score = scoring(svm, X, y, **weights)
    if not is_real(score) or not np.isfinite(score):
        raise OptionError(f"scoring returned {score!r}; expected a finite number.")
    return float(score)


def check_fold_weights(folds: Any, weight: np.ndarray) -> None:
    """Refuse folds of which nothing is left to train on, or to score on."""
    for k, fold in enumerate(folds):
        for index, name in zip(fold, ("training", "held-out"), strict=True):
            if not len(index):
                raise OptionError(f"cv: the {name} part of fold {k} is empty; leave that fold out.")
            if not weight[index].sum() > 0.0:
                raise InputError(
                    f"sample_weight is zero on the whole {name} part of fold {k}; leave examples "
                    "of weight zero out, or use fewer folds."
                )
