"""Choosing lambda by cross-validation, over paths or a grid."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.validation import check_is_fitted

from blockwolfe.base.checks import check_flag, check_integer, check_weight, is_real
from blockwolfe.base.seeds import generator
from blockwolfe.errors import InputError, NotCertifiedWarning, OptionError
from blockwolfe.estimators.svm import StructuredSVM, estimator_with
from blockwolfe.methods.registry import as_method
from blockwolfe.metrics.scorers import Scorer, as_scorer
from blockwolfe.path.grid import check_lams, solve_grid
from blockwolfe.path.scores import LambdaScores
from blockwolfe.path.solve import solve_path
from blockwolfe.problem.evaluate import predict, task_losses
from blockwolfe.problem.problem import Problem, check_lam
from blockwolfe.results.status import Status
from blockwolfe.running.progress import FoldLine, shown
from blockwolfe.tasks.multiclass import Multiclass
from blockwolfe.tasks.reading.inputs import n_examples, positional, taken

__all__ = ["StructuredSVMCV"]


class StructuredSVMCV(StructuredSVM):
    """A structured SVM that chooses its own lambda on held-out folds, then trains on everything.

    Every fold solves the whole path once, to a certified gap of `eps` at every lambda, and is
    scored at `n_lams` values of lambda; the lambda of the best mean score is used.

    Parameters
    ----------
    task : what is predicted, as for `StructuredSVM`.
    lams : a list of lambdas to solve for instead of the path.
    n_lams : how many lambdas of the paths are scored, evenly spaced in log(lambda).
    lam_min, lam_max : the range of lambdas; by default from the first breakpoint of the path down
        to 1/(10 n).
    eps : the gap at every lambda of the folds' paths (or grids).
    cv : number of folds, drawn at random; a splitter of scikit-learn; or (train, test) index pairs.
    scoring : what folds are scored by, the larger the better: one of
        `blockwolfe.metrics.scorer_names()` such as "chunk_f1", or a function of
        (estimator, X, y), which sees no sample weights. None is 1 - mean task loss.
    one_standard_error : take the largest lambda whose score is within one standard error of the
        best: a simpler model that is as good within the error.
    n_jobs : folds solved at the same time, and cores for the final fit.

    Other parameters are those of `StructuredSVM`, for the final fit.

    Attributes
    ----------
    lam_ : the lambda chosen. lams_ : all that were scored, from the largest down.
    scores_ : (folds, lambdas), `scoring` on the held-out part.
    best_score_ : mean score at `lam_`. And all attributes of a fitted `StructuredSVM`.

    >>> import blockwolfe as bw
    >>> digits = bw.datasets.digit_strings(30, length=3)
    >>> svm = StructuredSVMCV(bw.tasks.Chain(10), cv=2, eps=0.2, tol=0.05, random_state=0)
    >>> svm = svm.fit(digits.X, digits.Y)
    >>> svm.scores_.shape[0], svm.lam_ in svm.lams_
    (2, True)
    """

    _on_fold: Callable[[int, int], None] | None = None  # called with folds done, and all

    def __init__(
        self,
        task: Any = None,
        *,
        lams: Any = None,
        n_lams: int = 30,
        lam_min: float | None = None,
        lam_max: float | None = None,
        eps: float = 0.1,
        cv: Any = 5,
        scoring: Any = None,
        one_standard_error: bool = False,
        tol: float = 1e-3,
        method: Any = "auto",
        bounds: Any = None,
        max_passes: int | str | None = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        callbacks: Any = (),
        verbose: int = 0,
    ) -> None:
        super().__init__(
            task,
            tol=tol,
            method=method,
            bounds=bounds,
            max_passes=max_passes,
            time_limit=time_limit,
            random_state=random_state,
            n_jobs=n_jobs,
            callbacks=callbacks,
            verbose=verbose,
        )
        self.lams = lams
        self.n_lams = n_lams
        self.lam_min = lam_min
        self.lam_max = lam_max
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        held_out: Any = None,
        *,
        start: Any = None,
    ) -> StructuredSVMCV:
        """Score every lambda on held-out folds, choose one, and train on everything.

        `held_out` and `start` are those of the last training, as in `StructuredSVM.fit`.
        """
        if y is None:
            raise InputError("requires y to be passed, but the target y is None.")
        check_integer("n_lams", self.n_lams, 2)
        check_flag("one_standard_error", self.one_standard_error)
        scoring = None if self.scoring is None else as_scorer(self.scoring)
        given, outputs = positional(X), positional(y)
        weight = check_weight(sample_weight, n_examples(given, outputs))
        folds = self._folds(outputs)
        _check_fold_weights(folds, weight)
        problem = Problem(self._task(), given, outputs, weight, self.bounds)
        self.lams_ = self._lams(problem)
        plan = _Plan(
            self._task(), self.bounds, as_method(self.method), self.eps, self.lams is None,
            self._seed(), scoring,
        )  # fmt: skip
        # Compiled oracles run beside each other in threads, others need processes.
        place = "threads" if problem.blocks.is_compiled else "processes"
        scores = Parallel(n_jobs=self.n_jobs, prefer=place, return_as="generator")(
            delayed(_score_fold)(plan, self.lams_, _taken(train, given, outputs, weight),
                                 _taken(test, given, outputs, weight))
            for train, test in folds
        )  # fmt: skip
        self.scores_ = np.array(list(self._followed(scores, len(folds))))
        chosen = self._choose()
        self.best_score_ = float(self.scores_[:, chosen].mean())
        self.best_estimator_ = self._final(float(self.lams_[chosen]))
        self.best_estimator_.fit(X, y, sample_weight, held_out, start=start)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        for name, value in vars(self.best_estimator_).items():
            if name.endswith("_"):
                setattr(self, name, value)
        return self

    def _followed(self, scores: Any, n_folds: int) -> Iterator[list[float]]:
        """Tell after each fold, in a live line if `verbose`, and to whoever asked."""
        with shown(lambda: FoldLine(n_folds), self.verbose) as lines:
            for done, row in enumerate(scores, start=1):
                for line in lines:
                    line(done)
                if self._on_fold is not None:
                    self._on_fold(done, n_folds)
                yield row

    def save(self, path: Any) -> None:
        """Write the chosen model to one file, as `StructuredSVM.save` does, and the scores."""
        from blockwolfe.estimators.model_file import save

        check_is_fitted(self, "coef_")
        scores = LambdaScores.of(self)
        save(self.best_estimator_, path, None if scores is None else scores.packed())

    def _folds(self, y: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """Index pairs; folds of a given number are drawn at random, because data come in order."""
        is_multiclass = isinstance(self._task(), Multiclass)
        n, cv = n_examples(y, y), self.cv
        if isinstance(cv, numbers.Integral):
            if not 2 <= int(cv) <= n:
                raise OptionError(f"cv={cv} must be from 2 to the number of examples, {n}.")
            kind = StratifiedKFold if is_multiclass else KFold
            seed = int(generator(self.random_state).integers(2**31))
            cv = kind(int(cv), shuffle=True, random_state=seed)
        try:
            splitter = check_cv(cv, classifier=is_multiclass)
            folds = list(splitter.split(np.zeros(n), y if is_multiclass else None))
        except ValueError as error:
            raise OptionError(
                f"cv={cv!r}: {error} (For groups give cv=list(splitter.split(X, y, groups)).)"
            ) from error
        every = np.arange(n)  # (indexed by numbers or by masks)
        return [(every[list(train)], every[list(test)]) for train, test in folds]

    def _seed(self) -> int:
        """One seed for all folds: a generator would be asked in the order of threads."""
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(generator(self.random_state).integers(2**31))

    def _lams(self, problem: Problem) -> np.ndarray:
        """The lambdas to score, from the largest down."""
        if self.lams is not None:
            return np.array(sorted(check_lams(self.lams), reverse=True))
        lowest = 0.1 / problem.n_effective if self.lam_min is None else check_lam(self.lam_min)
        highest = self.lam_max
        if highest is None:
            highest = solve_path(problem, self.eps, exact=False, max_passes=0).lam_max
        if highest == 0.0:
            raise OptionError(
                "w = 0 serves every lambda, because the outputs of largest loss cancel; give "
                "lam_max, the largest lambda of interest."
            )
        if not lowest < check_lam(highest):
            raise OptionError(
                f"lam_min={lowest:g} is not below the largest lambda of interest, {highest:g}."
            )
        return np.geomspace(highest, lowest, self.n_lams)

    def _choose(self) -> int:
        """The largest lambda of the best mean score, or of one that is as good within its error."""
        scores = LambdaScores(self.lams_, self.scores_)
        best = int(np.argmax(scores.mean))
        if not self.one_standard_error or scores.n_folds < 2:
            return best
        return int(np.argmax(scores.mean >= scores.mean[best] - scores.error[best]))

    def _final(self, lam: float) -> StructuredSVM:
        """With all options that the two have in common."""
        known = StructuredSVM().get_params(deep=False)
        options = {n: v for n, v in self.get_params(deep=False).items() if n in known}
        final = StructuredSVM(**options | {"task": self._task(), "lam": lam})
        if theirs := getattr(self, "_skl_callbacks", ()):
            final.set_callbacks(*theirs)
        return final


class _Plan(NamedTuple):
    """How a fold is solved."""

    task: Any
    bounds: Any
    method: Any
    eps: float
    is_path: bool
    seed: int
    scoring: Any  # a function of (estimator, X, y), or None


def _taken(index: np.ndarray, *values: Any) -> tuple[Any, ...]:
    """The examples of a fold."""
    return tuple(taken(v, index) for v in values)


def _score_fold(plan: _Plan, lams: np.ndarray, train: Any, test: Any) -> list[float]:
    """The score on `test` of the weights trained on `train`, for every lambda."""
    problem = Problem(plan.task, train[0], train[1], train[2], plan.bounds)
    X, y, weight = test
    coefs = (_path_weights if plan.is_path else _grid_weights)(problem, plan, lams)
    if plan.scoring is not None:
        found = (estimator_with(problem.task, w, lam) for w, lam in zip(coefs, lams, strict=True))
        return [_checked_score(plan.scoring, svm, test) for svm in found]
    losses = (task_losses(problem.task, y, predict(problem.task, X, w)) for w in coefs)
    return [float(1.0 - np.average(loss, weights=weight)) for loss in losses]


def _checked_score(scoring: Any, svm: StructuredSVM, test: Any) -> float:
    X, y, weight = test
    weights = {"sample_weight": weight} if isinstance(scoring, Scorer) else {}
    score = scoring(svm, X, y, **weights)
    if not is_real(score) or not np.isfinite(score):
        raise OptionError(f"scoring returned {score!r}; expected a finite number.")
    return float(score)


def _path_weights(problem: Problem, plan: _Plan, lams: np.ndarray) -> Iterator[np.ndarray]:
    # (an oracle that certifies nothing can still be followed by its estimates)
    is_exact = problem.blocks.is_exact or problem.blocks.bounds_error
    path = solve_path(
        problem, plan.eps, float(lams[-1]), plan.method, exact=is_exact, lam_max=float(lams[0]),
        random_state=plan.seed,
    )  # fmt: skip
    if path.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if path.lam_min > lams[-1]:
        warnings.warn(
            f"the path of a fold ended at lam={path.lam_min:.4g} ({path.status}); smaller lambdas "
            "are scored with its last weights.",
            NotCertifiedWarning,
            stacklevel=2,
        )
    return (path.coef(min(max(lam, path.lam_min), path.lam_max)) for lam in lams)


def _grid_weights(problem: Problem, plan: _Plan, lams: np.ndarray) -> list[np.ndarray]:
    found = solve_grid(problem, lams, "primal", plan.method, plan.eps, random_state=plan.seed)
    if any(result is None for result in found):
        raise KeyboardInterrupt
    return [result.w for result in found]


def _check_fold_weights(folds: Any, weight: np.ndarray) -> None:
    for k, fold in enumerate(folds):
        for index, name in zip(fold, ("training", "held-out"), strict=True):
            if not len(index):
                raise OptionError(f"cv: the {name} part of fold {k} is empty; leave that fold out.")
            if not weight[index].sum() > 0.0:
                raise InputError(
                    f"sample_weight is zero on the whole {name} part of fold {k}; leave examples "
                    "of weight zero out, or use fewer folds."
                )
