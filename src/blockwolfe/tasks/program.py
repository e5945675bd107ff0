"""Any output that is the solution of a 0/1 program: a selection under rows of constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.data.positions import check_sparse
from blockwolfe.errors import InputError, OptionError
from blockwolfe.metrics.labels import token_accuracy
from blockwolfe.structures import program
from blockwolfe.tasks.learned import Learned
from blockwolfe.tasks.losses import Loss, ZeroOne, as_loss
from blockwolfe.tasks.part_task import PartLayout

__all__ = ["Program", "ProgramInput"]

_CLASSES = np.array([0, 1])


@dataclass(frozen=True, eq=False)
class ProgramInput:
    """One input of `Program`: a row of features per variable, and the rows lower <= A z <= b.

    features : (m, p) array or sparse matrix.
    A : (n_rows, m) array or sparse matrix; None for no rows.
    b : (n_rows,) upper bounds; infinite for none.
    lower : (n_rows,) lower bounds; None for none, equal to b for equations.

    >>> x = ProgramInput(np.eye(3), [[1, 1, 1]], [1])
    >>> x.A.shape, x.lower
    ((1, 3), array([-inf]))
    """

    features: Any
    A: Any = None
    b: Any = ()
    lower: Any = None

    def __post_init__(self) -> None:
        features = _matrix(self.features, "features", "(m, p), a row per variable")
        m = features.shape[0]
        A = sp.csc_array((0, m)) if self.A is None else _matrix(self.A, "A", f"(n_rows, {m})")
        if A.shape[1] != m:
            raise InputError(
                f"ProgramInput: A has {A.shape[1]} columns and features has {m} rows; expected a "
                "column of A per variable."
            )
        b = _side(self.b, "b", A.shape[0])
        none = np.full(A.shape[0], -np.inf)
        lower = none if self.lower is None else _side(self.lower, "lower", A.shape[0])
        if (lower > b).any():
            row = int(np.argmax(lower > b))
            raise InputError(
                f"ProgramInput: lower[{row}] = {lower[row]:g} is above b[{row}] = {b[row]:g}."
            )
        made = {"features": features, "A": sp.csc_array(A), "b": b, "lower": lower}
        for name, value in made.items():
            object.__setattr__(self, name, value)

    @property
    def n_variables(self) -> int:
        """How many variables z has."""
        return int(self.features.shape[0])


def _matrix(given: Any, name: str, shape: str) -> Any:
    check_sparse(given, f"ProgramInput: {name}")
    try:
        matrix = sp.csr_array(given) if sp.issparse(given) else np.asarray(given)
    except ValueError as error:
        raise InputError(f"ProgramInput: {name} has rows of unequal length.") from error
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise InputError(
            f"ProgramInput: {name} has shape {matrix.shape} and type {matrix.dtype}; expected "
            f"numbers of shape {shape}."
        )
    if not np.isfinite(matrix.data if sp.issparse(matrix) else matrix).all():
        raise InputError(f"ProgramInput: {name} has NaN or infinite entries.")
    return matrix.astype(np.float64)


def _side(given: Any, name: str, n_rows: int) -> np.ndarray:
    side = np.asarray(given, dtype=np.float64)
    if side.shape != (n_rows,) or np.isnan(side).any():
        raise InputError(
            f"ProgramInput: {name} has shape {side.shape}; expected a number per row of A, "
            f"({n_rows},), none of them NaN."
        )
    return side


class Program(Learned, BaseEstimator):
    """Selections z in {0, 1}^m that satisfy lower <= A z <= b: the oracle is a 0/1 program.

    X is a list of `ProgramInput`, Y a list of 0/1 vectors, which must satisfy the rows. The
    score of z is the sum over chosen variables of <w, features>. Programs are solved to optimality
    by HiGHS, the linear relaxation first (see `structures.program`), and may be of any size. This
    oracle takes milliseconds and not microseconds: a cache and `n_jobs` help.

    HiGHS is exact up to tolerances, and bounds what they leave: about 1e-13 of the largest score of
    a variable whose value is not forced. Certificates are made with these bounds. Where they are
    no more than rounding the certificate is `exact`; where scores are huge beside the differences
    that matter it is valid with a `slack`, which says how much of the gap HiGHS could not settle.

    Parameters
    ----------
    task_loss : "hamming" (the number of wrong variables), "normalized_hamming" (their share),
        or a 2 x 2 cost matrix [[0, false alarm], [miss, 0]]; `class_weight={1: 2.0}` makes
        misses twice as expensive.

    >>> import blockwolfe as bw
    >>> X = [ProgramInput([[1.0], [2.0], [3.0]], A=[[1, 1, 1]], b=[2])]  # at most two of three
    >>> svm = bw.StructuredSVM(Program(), lam=0.1, tol=1e-6).fit(X, [[0, 1, 1]])
    >>> svm.predict(X)
    [array([0, 1, 1])]
    """

    exact = True
    learned = ("cost_",)
    layout_: PartLayout  # of w: one weight per feature

    def __init__(self, *, task_loss: Any = "hamming") -> None:
        self.task_loss = task_loss

    def fit(self, X: Any, Y: Any) -> Program:
        """Learn the number of features and the costs, and check every output; trains nothing."""
        self.loss_ = self._checked_loss()
        for i, x in enumerate(X):
            self._check_input(x, f"X[{i}]")
        self.layout_ = PartLayout(int(X[0].features.shape[1]), 0, 1, 0)
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            self._check_width(x, f"X[{i}]")
            self._check_output(x, y, f"X[{i}]", f"Y[{i}]")
        labels = np.concatenate([np.asarray(y, dtype=np.int64) for y in Y])
        self.cost_ = self.loss_.cost(_CLASSES, labels)
        return self

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """As in the base class, and the layout."""
        plain, arrays = super().packed()
        return plain | {"layout_": list(self.layout_)}, arrays

    def relearn(self, learned: dict[str, Any]) -> None:
        """As in the base class, and the layout and the loss."""
        super().relearn(learned)
        read = Reader(learned)
        n_features, *rest = read.integers("layout_", len(PartLayout._fields))
        if n_features < 0 or rest != [0, 1, 0]:
            raise Misfit("layout_ is not one weight per feature.")
        read.array("cost_", np.float64, (2, 2), least=0.0)
        self.layout_ = PartLayout(n_features, *rest)
        self.loss_ = self._checked_loss()

    def _checked_loss(self) -> Loss:
        loss = as_loss(self.task_loss)
        if isinstance(loss, ZeroOne):
            raise OptionError(
                "task_loss='zero_one' on whole selections is not a sum over variables; use "
                "'hamming'."
            )
        return loss

    @property
    def n_features(self) -> int:
        """Length of w."""
        return int(self.layout_.n_weights)

    # -- checks ---------------------------------------------------------------------------

    def _check_input(self, x: Any, name: str) -> None:
        if not isinstance(x, ProgramInput):
            raise InputError(
                f"{name} is a {type(x).__name__}; Program takes blockwolfe.tasks.ProgramInput("
                "features, A, b, lower) objects."
            )

    def _check_width(self, x: ProgramInput, name: str) -> None:
        if x.features.shape[1] != self.n_features:
            raise InputError(
                f"{name} has {x.features.shape[1]} features per variable; expected "
                f"{self.n_features}, as X[0] in training."
            )

    def _check_output(self, x: ProgramInput, y: Any, x_name: str, name: str) -> None:
        z = np.asarray(y)
        if (
            z.shape != (x.n_variables,)
            or z.dtype.kind not in "biuf"
            or not np.isin(z, (0, 1)).all()
        ):
            raise InputError(
                f"{name} has shape {z.shape} and type {z.dtype}; expected a 0 or 1 for each of the "
                f"{x.n_variables} variables of {x_name}."
            )
        row = program.first_violation(z, x.A, x.b, x.lower)
        if row is not None:
            reached = float((x.A @ z)[row])
            raise InputError(
                f"{name} violates row {row} of {x_name}: A z is {reached:g}, but must lie in "
                f"[{x.lower[row]:g}, {x.b[row]:g}]. Correct the output or the row."
            )

    # -- the four methods ------------------------------------------------------------------

    def features(self, x: ProgramInput, y: Any) -> Any:
        """phi(x, z): the sum of the features of the chosen variables."""
        z = np.asarray(y, dtype=np.float64)
        return np.asarray(x.features.T @ z, dtype=np.float64)

    def loss(self, y: Any, y_hat: Any) -> float:
        """L(y, y_hat)."""
        truth, guess = np.asarray(y, dtype=np.int64), np.asarray(y_hat, dtype=np.int64)
        if truth.shape != guess.shape:
            raise InputError(f"y has shape {truth.shape} and y_hat {guess.shape}.")
        return float(self.cost_[truth, guess].sum() * self._scale(len(truth)))

    def measure(self, Y: Any, Y_hat: Any, sample_weight: Any = None) -> float:
        """Share of variables that are rightly 0 or 1, over all variables of all examples."""
        truth, guess = ([np.asarray(y, dtype=np.int64) for y in some] for some in (Y, Y_hat))
        return token_accuracy(truth, guess, sample_weight)

    def decode(self, x: ProgramInput, w: np.ndarray) -> np.ndarray:
        """The best selection at w."""
        return program.maximize(x.features @ w, x.A, x.b, x.lower)

    def augmented_decode(self, x: ProgramInput, y: Any, w: np.ndarray) -> np.ndarray:
        """The best selection for L(y, .) + <w, phi(x, .)>."""
        return self.augmented_decode_bound(x, y, w)[0]

    def augmented_decode_bound(
        self, x: ProgramInput, y: Any, w: np.ndarray, max_nodes: int | None = None
    ) -> tuple[np.ndarray, float]:
        """The same, and a number that L(y, .) + <w, phi(x, .)> of no selection exceeds.

        After `max_nodes` nodes the search is cut short; the true selection is then among its
        answers.
        """
        cost = self.cost_[np.asarray(y, dtype=np.int64)] * self._scale(x.n_variables)
        scores = x.features @ w + cost[:, 1] - cost[:, 0]
        briefly = None if max_nodes is None else program.CutShort(max_nodes, np.asarray(y))
        found = program.solve(scores, x.A, x.b, x.lower, briefly)
        # (scores are sums themselves, and may be small because large terms cancel)
        terms = float((abs(x.features) @ np.abs(w)).sum() + cost.sum())
        return found.z, found.bound + float(cost[:, 0].sum()) + program.UNITS * terms

    def _scale(self, m: int) -> float:
        return float(self.loss_.scale(np.full(1, max(m, 1)))[0])

    # -- all of X ---------------------------------------------------------------------------

    def predict(self, X: Any, w: np.ndarray) -> list[np.ndarray]:
        """Best selections for all of X at w."""
        for i, x in enumerate(X):
            self._check_input(x, f"X[{i}]")
            self._check_width(x, f"X[{i}]")
        found = []
        for i, x in enumerate(X):
            try:
                found.append(self.decode(x, w))
            except InputError as error:
                raise InputError(f"X[{i}]: {error}") from error
        return found

    def outputs(self, x: ProgramInput) -> Iterator[np.ndarray]:
        """Every selection that satisfies the rows, for checks on small problems."""
        yield from program.enumerate_outputs(x.n_variables, x.A, x.b, x.lower)

    def random_output(self, x: ProgramInput, rng: np.random.Generator) -> np.ndarray:
        """The best selection for random scores."""
        return program.maximize(rng.normal(size=x.n_variables), x.A, x.b, x.lower)
