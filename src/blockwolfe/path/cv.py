"""Choosing lambda by cross-validation: a search, a list of lambdas, or whole paths."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.validation import check_is_fitted

from blockwolfe.base.checks import check_flag, check_integer, check_weight
from blockwolfe.base.seeds import generator
from blockwolfe.errors import InputError, OptionError
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.methods.registry import as_method
from blockwolfe.metrics.scorers import as_scorer
from blockwolfe.path.folds import Fold, FoldPlan, check_fold_weights
from blockwolfe.path.grid import check_lams
from blockwolfe.path.scores import LambdaScores
from blockwolfe.path.search import Range, check_range, search
from blockwolfe.path.solve import solve_path
from blockwolfe.problem.problem import Problem, check_lam
from blockwolfe.problem.state import check_state
from blockwolfe.problem.workers import check_n_jobs
from blockwolfe.running.events import checked_callbacks
from blockwolfe.running.limits import Limits
from blockwolfe.running.progress import ChoiceLine, shown
from blockwolfe.solving.setup import checked_held_out
from blockwolfe.tasks.multiclass import Multiclass
from blockwolfe.tasks.reading.inputs import n_examples, positional, taken

__all__ = ["StructuredSVMCV"]

# The gap of folds, where none is asked for: a choice needs no more.
FOLD_TOL = 0.03
# How many times the default strength, and which part of it, the ends of a grid are.
GRID_ENDS = 20.0
# Lambdas of paths that are scored, where no number is asked for.
PATH_LAMS = 30


class StructuredSVMCV(StructuredSVM):
    """A structured SVM that chooses its own lambda on held-out folds, then trains on everything.

    Lambdas are searched coarse to fine. It begins at four times the default strength, and goes down
    by factors of four until a lambda is clearly worse than the best, or scores have risen and it is
    not clearly better, or two are no better; then up, where the first is still the best. Then it
    may try one more, by a factor of two from the best, towards its better neighbour. Each fold's
    problem is made once, and a smaller lambda begins where the larger one ended. The lambda nearest
    to the default strength is taken, of those not clearly worse than the best. Clearly means by
    more than one standard error of the difference, taken fold by fold.

    Parameters
    ----------
    task : what is predicted, as for `StructuredSVM`.
    lams : a list of lambdas, all of which are scored instead of a search.
    n_lams : score so many lambdas, evenly spaced in log(lambda), instead of a search.
    lam_min, lam_max : the range of lambdas. A search begins at `lam_max` where it is given, and
        else finds its own range. Of `n_lams` the range is by default 20 times to 1/20 of the
        default strength (100/n to 0.25/n for sequences); of paths from their first breakpoint
        down to 1/(10 n).
    eps : solve the whole path of every fold, to this certified gap at every lambda, and score
        `n_lams` (30) values of lambda on it. With `lams`, the gap of every lambda. None is a
        search, or a list, to a gap of 0.03. All in the units of `tol`.
    cv : number of folds, drawn at random; a splitter of scikit-learn; or (train, test) index pairs.
    scoring : what folds are scored by, the larger the better: one of
        `blockwolfe.metrics.scorer_names()` such as "chunk_f1", or a function of
        (estimator, X, y), which sees no sample weights. None is the measure of the task, from 0 to
        1, as in `StructuredSVM.score`.
    one_standard_error : take the largest lambda whose score is within one standard error of the
        best score itself, a wider band than that of differences: an even simpler model.
    n_jobs : folds solved at the same time, and cores for the final fit.

    `method`, `bounds` and `random_state` also serve the folds; `tol`, `max_passes`, `time_limit`
    and `callbacks` the final fit alone. There is no early stopping and no checkpoint.

    Attributes
    ----------
    lam_ : the lambda chosen. lams_ : all that were scored, from the largest down.
    scores_ : (folds, lambdas), `scoring` on the held-out part.
    best_score_ : mean score at `lam_`. And all attributes of a fitted `StructuredSVM`.

    >>> import blockwolfe as bw
    >>> digits = bw.datasets.digit_strings(30, length=3)
    >>> svm = StructuredSVMCV(bw.tasks.Chain(10), cv=2, random_state=0).fit(digits.X, digits.Y)
    >>> svm.scores_.shape[0], svm.lam_ in svm.lams_
    (2, True)
    """

    _on_step: Callable[[str], None] | None = None  # told how far the choice is

    def __init__(
        self,
        task: Any = None,
        *,
        lams: Any = None,
        n_lams: int | None = None,
        lam_min: float | None = None,
        lam_max: float | None = None,
        eps: float | None = None,
        cv: Any = 3,
        scoring: Any = None,
        one_standard_error: bool = False,
        tol: float = 1e-2,
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
        check_integer("n_lams", self.n_lams, 2, or_none=True)
        check_flag("one_standard_error", self.one_standard_error)
        self._scorer()
        self._check_lams()
        given = (positional(X), positional(y))
        weight = check_weight(sample_weight, n_examples(*given))
        problem = Problem(self._task(), *given, sample_weight, self.bounds)
        self._check_last(problem, held_out, start)
        folds = self._folds(given[1])
        check_fold_weights(folds, weight)
        parts = [
            tuple((*(taken(v, index) for v in given),
                   None if sample_weight is None else weight[index]) for index in fold)
            for fold in folds
        ]  # fmt: skip
        with self._told() as tell:
            found = (self._by_lambda if self._is_stepwise else self._by_path)(problem, parts, tell)
        self.lams_, self.scores_ = found.lams, found.scores
        chosen = self._choose(self._strength(problem))
        self.best_score_ = float(self.scores_[:, chosen].mean())
        self.best_estimator_ = self._final(float(self.lams_[chosen]))
        self.best_estimator_.fit(X, y, sample_weight, held_out, start=start)
        for earlier in ("feature_names_in_", "temperature_", "extra_"):
            self.__dict__.pop(earlier, None)
        for name, value in vars(self.best_estimator_).items():
            if name.endswith("_"):
                setattr(self, name, value)
        return self

    def _check_lams(self) -> None:
        """Refuse a range or a number of lambdas beside a list of them."""
        others = ("n_lams", "lam_min", "lam_max")
        given = [name for name in others if getattr(self, name) is not None]
        if self.lams is not None and given:
            raise OptionError(f"lams and {given[0]} are both given; give one of them.")

    def _check_last(self, problem: Problem, held_out: Any, start: Any) -> None:
        """Refuse at once what the last training would refuse after all folds."""
        Limits.checked(self.tol, self.max_passes, None, self.time_limit, len(problem))
        checked_callbacks(self.callbacks)
        check_n_jobs(self.n_jobs)
        checked_held_out(problem, held_out)
        if start is not None:
            check_state(problem.blocks, start)

    @property
    def _is_stepwise(self) -> bool:
        """Whether lambdas are solved one by one, not on a path."""
        return self.eps is None or self.lams is not None

    def _by_lambda(
        self, problem: Problem, parts: list[Any], tell: Callable[[str], None]
    ) -> LambdaScores:
        """Lambda by lambda, every fold at the same time."""
        listed = self._listed(problem)
        where = None if listed else Range.of(self._strength(problem), self.lam_max, self.lam_min)
        tol = FOLD_TOL if self.eps is None else self.eps
        # Compiled oracles run beside each other in threads; others are given processes by `solve`.
        is_compiled = problem.blocks.is_compiled
        plan = self._plan(tol, None if is_compiled else self.n_jobs)
        folds = [Fold(plan, train, test) for train, test in parts]
        pool = Parallel(n_jobs=self.n_jobs if is_compiled else 1, prefer="threads")

        def score(lam: float) -> list[float]:
            found: list[float] = pool(delayed(fold.score)(lam) for fold in folds)
            tell(f"lam {lam:.4g}: score {np.mean(found):.4f}")
            return found

        if where is not None:
            return search(score, where)
        return LambdaScores(np.array(listed), np.array([score(lam) for lam in listed]).T)

    def _by_path(
        self, problem: Problem, parts: list[Any], tell: Callable[[str], None]
    ) -> LambdaScores:
        """Fold by fold, each over a whole path."""
        lams, plan, rows = self._lams_of_path(problem), self._plan(self.eps), []
        # Compiled oracles run beside each other in threads, others need processes.
        place = "threads" if problem.blocks.is_compiled else "processes"
        pool = Parallel(n_jobs=self.n_jobs, prefer=place, return_as="generator")
        for row in pool(delayed(_path_scores)(plan, lams, *part) for part in parts):
            rows.append(row)
            tell(f"{len(rows)} of {len(parts)} folds done")
        return LambdaScores(lams, np.array(rows))

    def _plan(self, tol: Any, n_jobs: int | None = None) -> FoldPlan:
        made = (as_method(self.method), tol, self._seed(), self._scorer(), n_jobs)
        return FoldPlan(self._task(), self.bounds, *made)

    def _scorer(self) -> Any:
        return None if self.scoring is None else as_scorer(self.scoring)

    @contextmanager
    def _told(self) -> Iterator[Callable[[str], None]]:
        """What tells how far the choice is: in a live line if `verbose`, and to whoever asked."""
        with shown(ChoiceLine, self.verbose) as lines:
            told: list[Callable[[str], None]] = [
                *lines,
                *([] if self._on_step is None else [self._on_step]),
            ]

            def tell(text: str) -> None:
                for each in told:
                    each(text)

            yield tell

    def save(self, path: Any) -> None:
        """Write the chosen model to one file, as `StructuredSVM.save` does, and the scores."""
        from blockwolfe.estimators.model_file import save

        check_is_fitted(self, "w_")
        scores = LambdaScores.of(self)
        if hasattr(self, "temperature_"):
            self.best_estimator_.temperature_ = self.temperature_
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
            every = np.arange(n)  # (indexed by numbers or by masks)
            found = [(every[list(train)], every[list(test)]) for train, test in folds]
        except (ValueError, TypeError, IndexError) as error:
            raise OptionError(
                f"cv={cv!r}: {error} (For groups give cv=list(splitter.split(X, y, groups)).)"
            ) from error
        if not found:
            raise OptionError(f"cv={cv!r} has no folds; give a list, which can be read twice.")
        return found

    def _seed(self) -> int:
        """One seed for all folds: a generator would be asked in the order of threads."""
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(generator(self.random_state).integers(2**31))

    def _listed(self, problem: Problem) -> list[float]:
        """The lambdas that are all scored, from the largest down; none where they are searched."""
        if self.lams is not None:
            return sorted(check_lams(self.lams), reverse=True)
        if self.n_lams is None:
            return []
        ends = Range.of(self._strength(problem), self.lam_max, self.lam_min, GRID_ENDS)
        return list(map(float, np.geomspace(ends.highest, ends.lowest, self.n_lams)))

    def _lams_of_path(self, problem: Problem) -> np.ndarray:
        """The lambdas of the paths that are scored, from the largest down."""
        assert self.eps is not None
        lowest = 0.1 / problem.n_effective if self.lam_min is None else check_lam(self.lam_min)
        highest = self.lam_max
        if highest is None:
            highest = solve_path(problem, self.eps, exact=False, max_passes=0).lam_max
        if highest == 0.0:
            raise OptionError(
                "w = 0 serves every lambda, because the outputs of largest loss cancel; give "
                "lam_max, the largest lambda of interest."
            )
        check_range(lowest, check_lam(highest))
        return np.geomspace(highest, lowest, PATH_LAMS if self.n_lams is None else self.n_lams)

    def _choose(self, default: float) -> int:
        """One of the lambdas that are as good as the best, within an error."""
        scores = LambdaScores(self.lams_, self.scores_)
        if not self.one_standard_error:
            far = np.abs(np.log(scores.lams / default))
            return int(np.argmin(np.where(scores.as_good, far, np.inf)))
        best = int(np.argmax(scores.mean))
        return int(np.argmax(scores.mean >= scores.mean[best] - scores.error[best]))

    def _final(self, lam: float) -> StructuredSVM:
        """With all options that the two have in common."""
        known = StructuredSVM().get_params(deep=False)
        options = {n: v for n, v in self.get_params(deep=False).items() if n in known}
        final = StructuredSVM(**options | {"task": self._task(), "lam": lam})
        if theirs := getattr(self, "_skl_callbacks", ()):
            final.set_callbacks(*theirs)
        return final


def _path_scores(plan: FoldPlan, lams: np.ndarray, train: Any, test: Any) -> list[float]:
    """Those of one fold, perhaps in a process of its own, where problems do not go."""
    return Fold(plan, train, test).path_scores(lams)
