"""The problem: a task bound to training data and sample weights."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_positive, check_weight
from blockwolfe.base.memory import check_memory, in_words, memory_for
from blockwolfe.base.words import counted
from blockwolfe.errors import InputError
from blockwolfe.problem.blocks import Blocks, make_blocks
from blockwolfe.problem.bounds import box_of, check_kernel_bounds
from blockwolfe.problem.certificate import examine, primal_value
from blockwolfe.problem.pairing import primal_at
from blockwolfe.problem.state import State, check_state, initial_state, pulled, weights_of
from blockwolfe.problem.sweep import sweep
from blockwolfe.problem.unit import objective_at_start
from blockwolfe.problem.workers import Workers, check_n_jobs
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.pairing import beside
from blockwolfe.tasks.reading.inputs import n_examples, positional
from blockwolfe.tasks.reading.vectors import check_protocol, fitted_clone

__all__ = ["FEWER", "Problem", "certify", "check_lam"]


_MADE_AGAIN = ("blocks", "unit")
# Vectors of the length of w that are in memory at the same time while a certificate is made.
N_VECTORS = 8
FEWER = (
    "Use fewer features (drop rare ones, or hash them into fewer), fewer labels, or more memory."
)


def _check_size(n_features: int) -> None:
    what = f"training {n_features:,} weights ({N_VECTORS} vectors of {in_words(8 * n_features)})"
    check_memory(N_VECTORS * 8 * n_features, what, FEWER)


class Problem:
    """lam/2 |w|^2 + mean hinge loss of a task on a training set, for any solver, in any thread.

    The given task is not changed: a task with something to learn from the data
    (labels, vocabulary) is cloned and fitted, and `problem.task` is that clone.
    `sample_weight` means repetition: weight 2 equals listing the example twice.
    `bounds=(l, u)` keeps l <= w <= u: numbers, arrays or None for each side; or by groups of the
    task's weights, as in ``bounds={"transition": (0, None)}`` (`task.groups` has their names).

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> problem
    Problem(Multiclass(), 3 blocks, 4 weights, compiled)
    >>> problem.primal([0.0, 0.0, 0.0, 0.0], lam=1.0)
    1.0
    """

    def __init__(
        self, task: Any, X: Any, Y: Any, sample_weight: Any = None, bounds: Any = None
    ) -> None:
        check_protocol(task)
        X, Y = positional(X), positional(Y)
        n = n_examples(X, Y)
        weight = check_weight(sample_weight, n)
        self.weight, self.n_effective = weight / weight.sum(), float(weight.sum())
        if callable(getattr(task, "fit", None)):
            with memory_for("reading the training set", FEWER):
                task = fitted_clone(task, X, Y)
        self.task, self.X, self.Y, self.bounds = task, X, Y, bounds
        n_features = getattr(task, "n_features", None)
        if n_features is not None:  # refused before the data is prepared
            _check_size(int(n_features))
            if bounds is not None:
                check_kernel_bounds(bounds, task)
                box_of(bounds, task, int(n_features))

    def __len__(self) -> int:
        return len(self.weight)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is soon made again."""
        return {name: value for name, value in vars(self).items() if name not in _MADE_AGAIN}

    def __repr__(self) -> str:
        kind = "compiled" if self.blocks.is_compiled else "interpreted"
        sizes = f"{counted(len(self), 'block')}, {counted(self.n_features, 'weight')}"
        return f"Problem({self.task!r}, {sizes}, {kind})"

    @cached_property
    def blocks(self) -> Blocks:
        """The form that solvers work on; made at first use."""
        with memory_for("preparing the training set", FEWER):
            blocks = make_blocks(self.task, self.X, self.Y, self.weight)
        lower, upper = box_of(self.bounds, self.task, blocks.n_features)
        return replace(blocks, lower=lower, upper=upper)

    @cached_property
    def unit(self) -> float:
        """The objective at w = 0, the mean of the largest losses: what tolerances count in."""
        return objective_at_start(self.blocks)

    @property
    def n_features(self) -> int:
        """Length d of w."""
        return self.blocks.n_features

    def initial_state(self) -> State:
        """All dual weight on the true outputs."""
        return initial_state(self.blocks)

    def primal(self, w: Any, lam: float) -> float:
        """The objective at w, by one oracle call per block; a bound if the oracle only bounds."""
        lam, w = check_lam(lam), self.checked_w(w)
        blocks = self.blocks
        store = self.initial_state().store()
        value = primal_value(blocks, sweep(blocks, store, w, *blocks.own()), lam)
        if np.isnan(value):
            raise self._no_value(w)
        return value

    def checked_w(self, w: Any) -> np.ndarray:
        """Weights as an array of the right length, finite."""
        try:
            w = np.require(w, dtype=np.float64, requirements=["C", "W"])
        except (TypeError, ValueError) as error:
            raise InputError(f"w={w!r} is not an array of {self.n_features} numbers.") from error
        kernel = self.blocks.kernel
        if kernel is not None and w.shape == (self.n_features - kernel.size,):
            w = np.concatenate([w, np.zeros(kernel.size)])
        if w.shape != (self.n_features,):
            raise InputError(f"w has shape {w.shape}; expected ({self.n_features},).")
        if not np.isfinite(w).all():
            raise InputError(f"w[{np.argmin(np.isfinite(w))}] is not finite.")
        if kernel is not None:
            w = w.copy()
            kernel.complete(w)
        return np.asarray(w)

    def _no_value(self, w: np.ndarray) -> InputError:
        """Why the oracles of the task found no maximum at w."""
        task = type(self.task).__name__
        lower, upper = box_of(None, self.task, self.n_features)
        is_outside = (w < lower) | (w > upper) if len(lower) else np.zeros(len(w), dtype=bool)
        if not is_outside.any():
            return InputError(f"{task} finds no maximum at this w: scores overflow. Scale w down.")
        j = int(np.argmax(is_outside))
        return InputError(
            f"w[{j}] is {w[j]:g}, but {task} finds maxima only for weights within its bounds "
            f"{getattr(self.task, 'bounds', None)}; clip w to them."
        )


def certify(
    problem: Problem, state: State, lam: float, n_jobs: int | None = None, *, w: Any = None
) -> Certificate:
    """An independent certificate of a state: one exact oracle call per block at one w.

    It is made at w = v / lam of the state, or at the weights that an accelerated run had at this
    lambda. With `w=result.w` it is that of the pair that `solve` returns: of w beside the dual of
    the state, by one more pass. `n_jobs` cores share the calls; the numbers are the same for any
    of them.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> bw.certify(problem, bw.solve(problem, lam=0.1, tol=1e-6).state, lam=0.1).gap <= 1e-6
    True
    """
    lam, n_jobs = check_lam(lam), check_n_jobs(n_jobs)
    blocks = problem.blocks
    state = check_state(blocks, state, "state")
    store, pull = state.store(), state.pull
    w = None if w is None else _inside(blocks, problem.checked_w(w))
    pulls = None if pull is None or pull.lam != lam else partial(pulled, blocks, pull=pull)
    with Workers(blocks, n_jobs) as workers:
        own = blocks.own()
        certificate, v, _ = examine(blocks, store, lam, *own, workers=workers, weights=pulls)
        seen_at = weights_of(blocks, v, lam) if pulls is None else pulls(v)
        if w is not None and not np.array_equal(w, seen_at):
            value = primal_at(blocks, store, w, lam, *blocks.own(), workers)
            certificate = beside(certificate, value)
    return replace(certificate, unit=problem.unit)


def _inside(blocks: Blocks, w: np.ndarray) -> np.ndarray:
    """Refuse weights outside of their bounds, whose objective may be below the optimum."""
    if not blocks.is_bounded:
        return w
    is_outside = (w < blocks.lower) | (w > blocks.upper)
    if is_outside.any():
        j = int(np.argmax(is_outside))
        raise InputError(
            f"w[{j}] is {w[j]:g}; expected a number between its bounds, {blocks.lower[j]:g} and "
            f"{blocks.upper[j]:g}. Clip w to the bounds of the problem, or certify it without them."
        )
    return w


def check_lam(lam: Any) -> float:
    """The regularisation strength as a float > 0."""
    return check_positive("lam", lam, hint=", for example 1/n or 0.01")
