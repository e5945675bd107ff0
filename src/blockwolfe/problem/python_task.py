"""Plain Python tasks as blocks: sparse feature vectors out of the four methods.

An approximate oracle that bounds its error (``augmented_decode_bound``) leaves in `slack[i]` how
far its bound is above the score of its own output; `certificate` adds that to hinge and gap.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from blockwolfe.errors import InputError, OracleError
from blockwolfe.tasks.base import BlockFunctions, Corners, Task, TaskBlocks
from blockwolfe.tasks.vectors import sparse_features

__all__ = ["FUNCTIONS", "PythonOracle", "has_bounds"]


N_SAMPLED = 20

# How far a bound may be below the score that it bounds, relative to both: rounding.
BOUND_ROUNDING = 1e-9


def has_bounds(task: Any) -> bool:
    """Whether the task's oracle is approximate and bounds its error."""
    return callable(getattr(task, "augmented_decode_bound", None))


class PythonOracle:
    """Calls the task; the `data` of the interpreted block functions."""

    def __init__(self, task: Task, X: Sequence[Any], Y: Sequence[Any]) -> None:
        self.task, self.X, self.Y = task, X, Y
        self.n_features = self._find_size()
        self.truth = self._true_corners()
        # Largest corner seen: the room that a visit must find in its block's store.
        self.bound = np.full(len(X), max(1, int(np.diff(self.truth.start).max())), dtype=np.int64)
        self._answers: dict[int, Any] = {}
        self._answered_at = np.zeros(0)
        self.has_bounds = has_bounds(task)
        self.slack = np.zeros(len(X))  # of the last call for each example

    def blocks(self) -> TaskBlocks:
        """The training set as blocks whose parts are the features themselves."""
        return TaskBlocks(
            functions=FUNCTIONS,
            data=self,
            n_features=self.n_features,
            n_parts=self.n_features,
            corner_size=self.bound,
            truth=self.truth,
            has_bounds=self.has_bounds,
            identity=(self.sample_losses(),),
        )

    def sample_losses(self) -> np.ndarray:
        """Losses between some true outputs: they tell a task with another loss from this one."""
        losses = np.full(min(N_SAMPLED, len(self.Y) - 1), np.nan)
        for i in range(len(losses)):
            # two outputs need not be comparable, and a task may object in any way
            with contextlib.suppress(Exception):
                losses[i] = float(self.task.loss(self.Y[i], self.Y[-1 - i]))
        return losses

    def _find_size(self) -> int:
        declared = getattr(self.task, "n_features", None)
        if declared is not None:
            return int(declared)
        size = sparse_features(self.task.features(self.X[0], self.Y[0]), "features(X[0], Y[0])")[2]
        if size is None:
            raise InputError(
                "features() returns (indices, values), so the length of w is unknown; "
                "give the task an attribute n_features."
            )
        return size

    def _true_corners(self) -> Corners:
        for i, y in enumerate(self.Y):
            if self.loss(i, y) != 0.0:
                raise OracleError(
                    f"loss(Y[{i}], Y[{i}]) is {self.loss(i, y)}; expected 0 at the true output."
                )
        corners = [self.corner(i, y) for i, y in enumerate(self.Y)]
        start = np.concatenate([[0], np.cumsum([len(index) for index, _ in corners])])
        part = np.concatenate([index for index, _ in corners]).astype(np.int32)
        return Corners(start.astype(np.int64), part, np.concatenate([v for _, v in corners]))

    def corner(self, i: int, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """phi(x_i, y) as distinct indices and values."""
        index, value, size = sparse_features(
            self.task.features(self.X[i], y), f"features() for example {i}"
        )
        last = int(index.max()) + 1 if len(index) else 0
        if last > self.n_features or (size is not None and size != self.n_features):
            raise InputError(
                f"features() for example {i} has length {size or last}, "
                f"but w has length {self.n_features}."
            )
        return index, value

    def loss(self, i: int, y: Any) -> float:
        """L_i(y), refused when it is negative or not a number."""
        found = self.task.loss(self.Y[i], y)
        try:
            loss = float(found)
        except (TypeError, ValueError) as error:
            raise OracleError(
                f"loss() for example {i} returned {found!r}; expected a number."
            ) from error
        if not loss >= 0.0 or loss == float("inf"):
            raise OracleError(
                f"loss() for example {i} is {loss}; expected a finite number >= 0. Output: {y!r}."
            )
        return loss

    def ask(self, i: int, w: np.ndarray) -> Any:
        """The task's oracle: an output, or with bounds a pair of output and bound."""
        if self.has_bounds:
            bounded: Any = self.task
            return bounded.augmented_decode_bound(self.X[i], self.Y[i], w)
        return self.task.augmented_decode(self.X[i], self.Y[i], w)

    def __call__(self, i: int, w: np.ndarray) -> Any:
        """The task's oracle; an answer known already for the same w is given from memory."""
        if i in self._answers and np.array_equal(self._answered_at, w):
            return self._answers.pop(i)
        return self.ask(i, w)

    def put_answers(self, w: np.ndarray, order: Any, outputs: Any) -> None:
        """Keep answers at w: those that other processes found, or one that found no room yet."""
        if not np.array_equal(self._answered_at, w):
            self._answered_at, self._answers = w.copy(), {}
        self._answers |= {int(i): y for i, y in zip(order, outputs, strict=True)}

    def taken_apart(self, i: int, answer: Any) -> tuple[Any, float]:
        """The output in an answer, and the bound (NaN without bounds)."""
        if not self.has_bounds:
            return answer, float("nan")
        try:
            y, upper = answer
            upper = float(upper)
        except (TypeError, ValueError) as error:
            raise OracleError(
                f"augmented_decode_bound() for example {i} returned {answer!r}; expected a pair "
                "(output, upper) with a number as upper bound."
            ) from error
        if not np.isfinite(upper):
            raise OracleError(
                f"augmented_decode_bound() for example {i} gave the bound {upper}; expected a "
                "finite number. Leave the method out where there is no bound."
            )
        return y, upper

    def note_bound(self, i: int, upper: float, score: float) -> None:
        """Keep the slack of a bound on L + <w, phi>, refused when its own output is above it."""
        if not self.has_bounds:
            return
        if upper < score - BOUND_ROUNDING * (1.0 + abs(score) + abs(upper)):
            raise OracleError(
                f"augmented_decode_bound() for example {i} gave the bound {upper:.6g}, but its own "
                f"output scores {score:.6g}; a bound is at least every L(y, .) + <w, phi(x, .)>."
            )
        self.slack[i] = max(upper - score, 0.0)

    def without_memory(self) -> PythonOracle:
        """A copy to send to another process."""
        twin = copy.copy(self)
        twin._answers = {}
        return twin


def _score(data: PythonOracle, i: int, w: np.ndarray) -> None:
    return None


def _maximize(
    data: PythonOracle, i: int, w: np.ndarray, part: np.ndarray, value: np.ndarray
) -> tuple[int, float]:
    shown = w.view()
    shown.flags.writeable = False  # a task may look at w, not change it
    answer = data(i, shown)
    y, upper = data.taken_apart(i, answer)
    index, values = data.corner(i, y)
    part[: len(index)], value[: len(index)] = index, values
    if len(index) > data.bound[i]:
        data.bound[:] = np.maximum(data.bound, len(index))
        data.put_answers(w, [i], [answer])
    loss = data.loss(i, y)
    data.note_bound(i, upper, loss + float(np.dot(w[index], values)))
    return len(index), loss


def _read(
    data: PythonOracle, i: int, w: np.ndarray, part: np.ndarray, size: int, out: np.ndarray
) -> None:
    out[:size] = w[part[:size]]


def _sqnorm(data: PythonOracle, i: int, part: np.ndarray, delta: np.ndarray, size: int) -> float:
    return float(np.dot(delta[:size], delta[:size]))


def _add(
    data: PythonOracle,
    i: int,
    part: np.ndarray,
    delta: np.ndarray,
    size: int,
    coefficient: float,
    out: np.ndarray,
) -> None:
    out[part[:size]] += coefficient * delta[:size]


def _spread(
    data: PythonOracle, i: int, moved: Any, image: np.ndarray, index: np.ndarray, value: np.ndarray
) -> int:
    part, delta, size, coefficient = moved
    index[:size], value[:size] = part[:size], coefficient * delta[:size]
    return int(size)


FUNCTIONS = BlockFunctions(_score, _maximize, _read, _read, _sqnorm, _add, _spread)
