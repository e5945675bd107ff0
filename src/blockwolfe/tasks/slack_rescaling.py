"""Slack rescaling: the margin is one for every output, and misses cost their loss.

    H_i(y; w) = L_i(y) (1 - <w, psi_i(y)>),    psi_i(y) = phi(x_i, y_i) - phi(x_i, y)

which is margin rescaling with the corners L_i psi_i. Its maximum is not that of a sum over parts,
so every output is listed: the outputs of block i are its parts, part p with the column
-L_i(y_p) psi_i(y_p) and the cost L_i(y_p). Part 0 is the true output; others without loss are
the same corner.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.checks import check_integer
from blockwolfe.base.compiled import jit
from blockwolfe.base.ragged import offsets
from blockwolfe.errors import InputError
from blockwolfe.tasks import part_functions
from blockwolfe.tasks.base import Codes, Corners, TaskBlocks
from blockwolfe.tasks.part_functions import Options, PartData, PartScratch, augment, finish
from blockwolfe.tasks.part_task import PartLayout
from blockwolfe.tasks.reading.inputs import n_examples, tokens_of
from blockwolfe.tasks.reading.vectors import check_protocol, dense_features
from blockwolfe.tasks.wrapping import WrappingTask

__all__ = ["SlackRescaling"]


@jit
def maximize(
    data: PartData, i: int, theta: Any, scratch: PartScratch, code: Any, value: Any
) -> tuple[int, float, float]:
    """The best of all outputs; ties go to the first."""
    best, augmented = 0, scratch.augmented
    for p in range(1, augment(data, i, theta, augmented)):
        if augmented[p] > augmented[best]:
            best = p
    code[0] = best
    return finish(data, i, code, 1, value)


class _Table(NamedTuple):
    """Rows -L psi and losses of the true output of an example and of every output with a loss.

    `size_of_terms` is the largest norm of features that rows are differences of: a row has the
    rounding errors of these, however small it is itself.
    """

    rows: sp.csr_array
    losses: np.ndarray
    size_of_terms: float


class SlackRescaling(WrappingTask):
    """Any task whose outputs can be listed, with its hinge loss rescaled by slack, not margin.

    An output of small loss is kept as far away as one of large loss, but it costs less to fail.
    Prediction and task loss are those of the task itself. With a loss of 0 and 1 only, both
    ways of rescaling are the same problem.

    Parameters
    ----------
    task : the task; it must have ``outputs(x)``, which lists every output.
    max_outputs : most outputs that one example may have. All are held as sparse rows, and an
        oracle call scores all of them.

    >>> import blockwolfe as bw
    >>> costs = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    >>> task = SlackRescaling(bw.tasks.Multiclass(task_loss=costs))
    >>> svm = bw.StructuredSVM(task, lam=0.1, tol=1e-3).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    >>> svm.certificate_.relative_gap <= 1e-3
    True
    """

    exact = True

    def __init__(self, task: Any, max_outputs: int = 1000) -> None:
        self.task = task
        self.max_outputs = max_outputs

    def fit(self, X: Any, Y: Any) -> SlackRescaling:
        """Fit the task, and count the outputs; trains nothing."""
        check_protocol(self.task)
        if not callable(getattr(self.task, "outputs", None)):
            raise InputError(
                f"task {type(self.task).__name__} has no method outputs(x); slack rescaling lists "
                "every output, so the task must."
            )
        check_integer("max_outputs", self.max_outputs, 1)
        self._fit_inside(X, Y)
        for i in range(n_examples(X, Y)):
            self._check_number(X[i], i)
        return self

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take the fitted task."""
        check_integer("max_outputs", self.max_outputs, 1)
        super().relearn(learned)

    def _check_number(self, x: Any, i: int) -> None:
        outputs = self.task_.outputs(x)
        known = len(outputs) if hasattr(outputs, "__len__") else None
        counted = sum(1 for _ in itertools.islice(outputs, self.max_outputs + 1))
        if counted > self.max_outputs:
            number = f"{known:,}" if known is not None else f"more than {self.max_outputs:,}"
            raise InputError(
                f"X[{i}] has {number} outputs, and slack rescaling lists them all; the limit is "
                f"max_outputs={self.max_outputs:,}. Raise it, or use the task itself, whose margin "
                "rescaling has an oracle of its own."
            )

    # -- the rescaled hinge --------------------------------------------------------------------

    def augmented_score(self, x: Any, y: Any, y_hat: Any, w: np.ndarray) -> float:
        """H(y_hat; w), which the oracle maximises."""
        psi = dense_features(self, x, y, 0) - dense_features(self, x, y_hat, 0)
        return self.loss(y, y_hat) * (1.0 - float(np.dot(w, psi)))

    def augmented_decode(self, x: Any, y: Any, w: np.ndarray) -> Any:
        """The output with the largest rescaled hinge."""
        return max(
            itertools.chain([y], self.outputs(x)),
            key=lambda y_hat: self.augmented_score(x, y, y_hat, w),
        )

    def compiled(self, X: Any, Y: Any) -> TaskBlocks:
        """The training set for the compiled loop."""
        tables = [self._table(x, y, i) for i, (x, y) in enumerate(zip(X, Y, strict=True))]
        n, n_features = len(tables), tables[0].rows.shape[1]
        length = np.array([len(table.losses) for table in tables], dtype=np.int64)
        rows = tokens_of(sp.vstack([table.rows for table in tables], format="csr"), length)
        none = tokens_of(sp.csr_array((0, 1)), np.zeros(n, dtype=np.int64))
        start, largest = offsets(length), int(length.max())
        layout = PartLayout(n_features, 0, 1, 0)
        data = PartData(
            columns=layout.columns(rows, none),
            ends=np.zeros((0, 2), dtype=np.int32),
            size=np.ascontiguousarray(np.stack([length, length], axis=1)),
            cost=np.concatenate([table.losses for table in tables]),
            cost_start=start,
            base=np.zeros(n),
            forbidden=np.zeros(0, dtype=np.bool_),
            forbidden_start=start,
            required=np.zeros(0, dtype=np.bool_),
            options=Options(),
        )
        first, ones = np.arange(n + 1, dtype=np.int64), np.ones(n, dtype=np.int64)
        truth = Corners(first, np.zeros(n, dtype=np.int32), np.ones(n))
        return TaskBlocks(
            features=part_functions.FEATURES,
            oracles=part_functions.oracles(maximize),
            data=data,
            make_scratch=functools.partial(_make_scratch, largest, n_features),
            n_features=n_features,
            n_parts=largest,
            corner_size=ones,
            part_size=ones,
            part_count=length,
            truth=truth,
            true_codes=Codes(*truth),
            is_unit=True,
            n_steps=(len(rows.values) + int(length.sum())) / n,
            column_norm=np.array([table.size_of_terms for table in tables]),
        )

    def _table(self, x: Any, y: Any, i: int) -> _Table:
        truth = dense_features(self, x, y, i)
        rows, losses, size = [sp.csr_array((1, len(truth)))], [0.0], 0.0
        if self.loss(y, y) != 0.0:
            raise InputError(f"loss(Y[{i}], Y[{i}]) is {self.loss(y, y)}; expected 0 at the truth.")
        for other in self.outputs(x):
            loss = self.loss(y, other)
            if loss != 0.0:
                phi = dense_features(self, x, other, i, len(truth))
                rows.append(sp.csr_array(loss * (phi - truth)[None]))
                losses.append(loss)
                size = max(size, loss * (_norm(phi) + _norm(truth)))
        return _Table(sp.vstack(rows, format="csr"), np.array(losses), size)


def _norm(phi: np.ndarray) -> float:
    return float(np.linalg.norm(phi))


def _make_scratch(n_parts: int, n_features: int) -> PartScratch:
    none = np.zeros(0, dtype=np.int64)
    return PartScratch(np.zeros(n_parts), np.zeros(n_features), none, np.zeros(0))
