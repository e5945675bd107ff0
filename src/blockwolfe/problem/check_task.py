"""`check_task`: the contract of a task, tested on the user's own data.

With H_i(y; w) = L(y_i, y) - <w, phi(x_i, y_i) - phi(x_i, y)>, for several random w:

    L(y_i, y_i) = 0,  L >= 0                       the loss is a loss
    H_i(augmented_decode) >= H_i(y) for all y       the oracle maximises
    <w, phi(x, decode)> >= <w, phi(x, y)> for all y the decoder maximises

"All y" is every output where the task can list them (``outputs(x)``) and there are few;
otherwise the true output, outputs found at other w, and random ones (``random_output``).
A task with ``bounds`` of its own is tested at w within them.

A task that bounds the error of an approximate oracle (``augmented_decode_bound``) need not
maximise, but its bound must hold for every output seen. A task whose hinge is another one says
so by ``augmented_score(x, y, y_hat, w)``, with H_i(y; w) = augmented_score(y) - that of y_i.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.memory import check_memory
from blockwolfe.base.words import counted
from blockwolfe.errors import OracleError
from blockwolfe.problem.blocks import make_blocks
from blockwolfe.problem.bounds import box_of
from blockwolfe.problem.python_task import bounds_error
from blockwolfe.problem.state import initial_state
from blockwolfe.problem.sweep import sweep
from blockwolfe.tasks.reading.inputs import n_examples, positional
from blockwolfe.tasks.reading.vectors import called, check_protocol, dense_features, fitted_clone

__all__ = ["TaskReport", "check_task"]

N_ENUMERATED = 3000
TOLERANCE = 1e-9


@dataclass(frozen=True)
class TaskReport:
    """What `check_task` found in order; `n_comparisons` outputs were compared.

    >>> TaskReport(n_examples=1, n_comparisons=2, n_enumerated=1).n_enumerated
    1
    """

    n_examples: int
    n_comparisons: int
    n_enumerated: int
    checks: tuple[str, ...] = field(
        default=(
            "loss is zero at the truth and never negative",
            "augmented_decode beats every other output seen",
            "decode beats every other output seen",
            "inputs are not changed",
            "equal outputs have equal features, and keys agree with features",
        )
    )

    def __repr__(self) -> str:
        lines = [f"  ok  {check}" for check in self.checks]
        head = (
            f"task is sound on {counted(self.n_examples, 'example')}: "
            f"{counted(self.n_comparisons, 'comparison')}, "
            f"{counted(self.n_enumerated, 'example')} enumerated in full"
        )
        return "\n".join([head, *lines])


def check_task(
    task: Any, X: Any, Y: Any, *, max_examples: int = 20, n_weights: int = 4, random_state: int = 0
) -> TaskReport:
    """Test a task's contract on the first examples; raises `OracleError` naming what is wrong.

    >>> import blockwolfe as bw
    >>> check_task(bw.tasks.Multiclass(), np.eye(3), [0, 1, 2]).n_enumerated
    3
    >>> class Wrong(bw.tasks.Multiclass):
    ...     def augmented_decode(self, x, y, w):
    ...         return self.decode(x, w)  # forgot the loss
    >>> check_task(Wrong(), np.eye(3), [0, 1, 2])
    Traceback (most recent call last):
    ...
    blockwolfe.errors.OracleError: augmented_decode ...
    """
    check_protocol(task)
    X, Y = positional(X), positional(Y)
    n = min(n_examples(X, Y), max_examples)
    if callable(getattr(task, "fit", None)):
        task = fitted_clone(task, X, Y)
    rng = np.random.default_rng(random_state)
    checker = _Checker(task, rng, n_weights)
    for i in range(n):
        checker.check(i, X[i], Y[i])
    if callable(getattr(task, "compiled", None)):
        _check_compiled(task, X[:n], Y[:n], rng)
    report = TaskReport(n, checker.n_comparisons, checker.n_enumerated)
    if not bounds_error(task):
        return report
    return replace(report, checks=_bound_checks(report.checks, checker.is_approximate))


def _bound_checks(checks: tuple[str, ...], is_approximate: bool) -> tuple[str, ...]:
    """Of a task with bounds: neither decoder need maximise, unless it says that they do."""
    kept = [check for check in checks if not is_approximate or "decode" not in check]
    return (*kept, "the bound of augmented_decode_bound holds for every output seen")


class _Checker:
    def __init__(self, task: Any, rng: np.random.Generator, n_weights: int) -> None:
        self.task, self.rng, self.n_weights = task, rng, n_weights
        self.n_comparisons = self.n_enumerated = 0
        self.is_approximate = bounds_error(task) and getattr(task, "exact", None) is not True

    def check(self, i: int, x: Any, y: Any) -> None:
        """All checks on one example."""
        before = copy.deepcopy((x, y))
        phi = dense_features(self.task, x, y, i)
        weights = [np.zeros(len(phi))]
        weights += [
            scale * self.rng.normal(size=len(phi)) for scale in 10.0 ** _spread(self.n_weights)
        ]
        weights = [_within_bounds(self.task, w) for w in weights]
        found = [(w, *self._decode(i, x, y, w)) for w in weights]
        others, is_all = self._outputs(x, y, [output for _, *pair, _ in found for output in pair])
        self._check_losses(i, y, others)
        check_memory(
            8 * len(phi) * len(others),
            f"comparing {len(others)} outputs of example {i} with {len(phi):,} features each",
            "Check the task on smaller data.",
        )
        vectors = [dense_features(self.task, x, other, i, len(phi)) for other in others]
        losses = np.array([float(called(self.task, "loss", i, y, other)) for other in others])
        for w, guess, augmented, upper in found:
            scores = np.array([np.dot(w, vector) for vector in vectors])
            if not self.is_approximate:
                mine = float(np.dot(w, dense_features(self.task, x, guess, i, len(w))))
                self._compare(i, "decode", guess, mine, others, scores)
            if callable(getattr(self.task, "augmented_score", None)):
                raised = np.array([_augmented_score(self.task, x, y, o, w, i) for o in others])
            else:
                raised = scores + losses
            if not self.is_approximate:
                mine = _augmented_score(self.task, x, y, augmented, w, i)
                self._compare(i, "augmented_decode", augmented, mine, others, raised)
            if upper is not None:
                self._compare(i, "augmented_decode_bound", augmented, upper, others, raised)
        self._check_keys(i, others, vectors)
        self.n_enumerated += is_all
        if not _same((x, y), before):
            raise OracleError(f"the task changed X[{i}] or Y[{i}]; work on a copy instead.")

    def _decode(self, i: int, x: Any, y: Any, w: np.ndarray) -> tuple[Any, Any, float | None]:
        """What `decode` and the oracle find, and the oracle's bound where it gives one."""
        given = w.copy()
        guess, upper = called(self.task, "decode", i, x, given), None
        if bounds_error(self.task):
            augmented, upper = called(self.task, "augmented_decode_bound", i, x, y, given)
        else:
            augmented = called(self.task, "augmented_decode", i, x, y, given)
        if not np.array_equal(given, w):
            raise OracleError(f"the task changed w while decoding X[{i}]; work on a copy instead.")
        return guess, augmented, upper

    def _outputs(self, x: Any, y: Any, found: list[Any]) -> tuple[list[Any], bool]:
        """Outputs to compare with, and whether they are all there are."""
        others = [y, *found]
        listing = getattr(self.task, "outputs", None)
        if callable(listing):
            listed = list(itertools.islice(listing(x), N_ENUMERATED + 1))
            if len(listed) <= N_ENUMERATED:
                return others + listed, True
        sample = getattr(self.task, "random_output", None)
        if callable(sample):
            others += [sample(x, self.rng) for _ in range(30)]
        return others, False

    def _check_losses(self, i: int, y: Any, others: list[Any]) -> None:
        at_truth = float(called(self.task, "loss", i, y, y))
        if at_truth != 0.0:
            raise OracleError(f"loss(Y[{i}], Y[{i}]) is {at_truth}; expected 0 at the truth.")
        for other in others:
            loss = float(called(self.task, "loss", i, y, other))
            if not 0.0 <= loss < np.inf:
                raise OracleError(f"loss(Y[{i}], {other!r}) is {loss}; expected finite and >= 0.")

    def _compare(
        self, i: int, method: str, own: Any, mine: float, others: Any, scores: Any
    ) -> None:
        """The score (or bound) of a method's own output against the scores of others."""
        best = int(np.argmax(scores))
        self.n_comparisons += len(others)
        if scores[best] > mine + TOLERANCE * (1.0 + abs(mine) + abs(scores[best])):
            kind = "<w, phi(x, .)>" if method == "decode" else "L(y, .) + <w, phi(x, .)>"
            if callable(getattr(self.task, "augmented_score", None)) and method != "decode":
                kind = "augmented_score"
            fails, owns = f"does not maximise {kind}", "score"
            if method == "augmented_decode_bound":
                fails, owns = f"gives a bound that {kind} exceeds", "bound"
            raise OracleError(
                f"{method} {fails} on example {i}: it returned {own!r} with "
                f"{owns} {mine:.6g}, but {others[best]!r} has {scores[best]:.6g}."
            )

    def _check_keys(self, i: int, others: list[Any], vectors: list[np.ndarray]) -> None:
        """Equal outputs must be equal corners; with ``key``, equal keys exactly then."""
        key = getattr(self.task, "key", None)
        for (y, phi), (z, psi) in itertools.pairwise(zip(others, vectors, strict=True)):
            if _same(y, z) and not np.array_equal(phi, psi):
                raise OracleError(f"features() differs between two calls for {y!r} (example {i}).")
            if callable(key) and (key(y) == key(z)) != np.array_equal(phi, psi):
                raise OracleError(
                    f"key() says {y!r} and {z!r} of example {i} are "
                    f"{'equal' if key(y) == key(z) else 'different'}; features() says otherwise."
                )


def _check_compiled(task: Any, X: Any, Y: Any, rng: np.random.Generator) -> None:
    """H_i(w) by the compiled oracle must be H_i(w) by the four methods."""
    n = n_examples(X, Y)
    blocks = make_blocks(task, X, Y, np.full(n, 1.0 / n))
    store, work, scratch = initial_state(blocks).store(), *blocks.own()
    for drawn in (np.zeros(blocks.n_features), rng.normal(size=blocks.n_features)):
        w = _within_bounds(task, drawn)
        hinges = sweep(blocks, store, w, work, scratch).answers.hinge
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            output = task.augmented_decode(x, y, w.copy())
            expected = _augmented_score(task, x, y, output, w, i)
            expected -= _augmented_score(task, x, y, y, w, i)
            if abs(hinges[i] - expected) > TOLERANCE * (1.0 + abs(expected) + abs(hinges[i])):
                raise OracleError(
                    f"the compiled oracle reaches H = {hinges[i]:.6g} on example {i}, but "
                    f"augmented_decode reaches {expected:.6g} at the same w."
                )


def _within_bounds(task: Any, w: np.ndarray) -> np.ndarray:
    """The nearest w that the task's own bounds admit: beyond them its oracle owes nothing."""
    lower, upper = box_of(None, task, len(w))
    return np.clip(w, lower, upper) if len(lower) else w


def _augmented_score(task: Any, x: Any, y: Any, y_hat: Any, w: np.ndarray, i: int) -> float:
    """What the oracle maximises over y_hat."""
    own = getattr(task, "augmented_score", None)
    if callable(own):
        return float(own(x, y, y_hat, w))
    return float(task.loss(y, y_hat)) + float(np.dot(w, dense_features(task, x, y_hat, i, len(w))))


def _spread(n_weights: int) -> np.ndarray:
    """Exponents of the scales of w to try: small (loss decides) to large (features decide)."""
    return np.linspace(-2.0, 1.0, n_weights)


def _same(a: Any, b: Any) -> bool:
    """Equality that looks into arrays, sparse matrices and containers."""
    if sp.issparse(a) or sp.issparse(b):
        return sp.issparse(a) and sp.issparse(b) and a.shape == b.shape and not (a != b).nnz
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(np.asarray(a), np.asarray(b))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_same(p, q) for p, q in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    has_no_equality = is_dataclass(a) or getattr(type(a), "__eq__", None) is object.__eq__
    if hasattr(a, "__dict__") and type(a) is type(b) and has_no_equality:
        return _same(vars(a), vars(b))
    return bool(np.all(a == b))
