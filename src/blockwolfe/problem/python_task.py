"""Plain Python tasks as blocks: sparse feature vectors out of the four methods.

An approximate oracle that bounds its error (``augmented_decode_bound``) returns as slack how far
its bound is above the score of its own output; `certificate` adds that to hinge and gap.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from blockwolfe.base.identity import Examples
from blockwolfe.base.ragged import offsets
from blockwolfe.base.rounding import ROUNDING
from blockwolfe.errors import InputError, OracleError
from blockwolfe.tasks.base import Codes, Corners, Features, Oracles, Task, TaskBlocks
from blockwolfe.tasks.reading.vectors import called, sparse_features

__all__ = ["PythonOracle", "PythonScratch", "bounds_error"]


def bounds_error(task: Any) -> bool:
    """Whether the task's oracle is approximate and bounds its error."""
    return callable(getattr(task, "augmented_decode_bound", None))


class PythonOracle:
    """Calls the task; the `data` of the interpreted block functions."""

    def __init__(self, task: Task, X: Sequence[Any], Y: Sequence[Any]) -> None:
        self.task, self.X, self.Y = task, X, Y
        self.n_features = self._find_size()
        self.truth = self._true_corners()
        # Largest corner seen by any thread: what a visit must find room for in its block. It only
        # grows, and a thread that finds it too small for an answer raises it again.
        largest = max(1, int(np.diff(self.truth.start).max()))
        self.corner_size = np.full(len(self.truth.start) - 1, largest, dtype=np.int64)
        self.bounds_error = bounds_error(task)
        self.method = "augmented_decode_bound" if self.bounds_error else "augmented_decode"

    @cached_property
    def rough(self) -> PythonOracle:
        """The same, by ``task.rough_decode``; what one learns of sizes, both know."""
        other = copy.copy(self)
        other.method, other.bounds_error = "rough_decode", False
        return other

    def blocks(self) -> TaskBlocks:
        """The training set as blocks whose parts are the features themselves."""
        return TaskBlocks(
            features=FEATURES,
            oracles=ORACLES,
            rough=ROUGH if callable(getattr(self.task, "rough_decode", None)) else None,
            data=self,
            make_scratch=PythonScratch,
            n_features=self.n_features,
            n_parts=self.n_features,
            corner_size=self.corner_size,
            part_size=self.corner_size,
            truth=self.truth,
            true_codes=Codes(*self.truth),
            is_identity=True,
            bounds_error=self.bounds_error,
            reads=self.reads(),
        )

    def reads(self) -> dict[str, Any]:
        """Everything that the task's methods may look at."""
        n = len(self.corner_size)
        return {"task": [self.task], "X": Examples(self.X, n), "Y": Examples(self.Y, n)}

    def _find_size(self) -> int:
        declared = getattr(self.task, "n_features", None)
        if declared is not None:
            return int(declared)
        phi = called(self.task, "features", 0, self.X[0], self.Y[0])
        size = sparse_features(phi, "features(X[0], Y[0])")[2]
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
        start = offsets([len(index) for index, _ in corners])
        part = np.concatenate([index for index, _ in corners]).astype(np.int32)
        return Corners(start, part, np.concatenate([value for _, value in corners]))

    def corner(self, i: int, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """phi(x_i, y) as distinct indices and values."""
        phi = called(self.task, "features", i, self.X[i], y)
        index, value, size = sparse_features(phi, f"features() for example {i}")
        last = int(index.max()) + 1 if len(index) else 0
        if last > self.n_features or (size is not None and size != self.n_features):
            raise InputError(
                f"features() for example {i} has length {size or last}, "
                f"but w has length {self.n_features}."
            )
        return index, value

    def loss(self, i: int, y: Any) -> float:
        """L_i(y), refused when it is negative or not a number."""
        found = called(self.task, "loss", i, self.Y[i], y)
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
        return called(self.task, self.method, i, self.X[i], self.Y[i], w)

    def taken_apart(self, i: int, answer: Any) -> tuple[Any, float]:
        """The output in an answer, and the bound (NaN without bounds)."""
        if not self.bounds_error:
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

    def slack(self, i: int, upper: float, loss: float, terms: np.ndarray) -> float:
        """How far a bound is above its own output's L + <w, phi>; refused when it is below.

        `terms` are the products of which <w, phi> is the sum.
        """
        if not self.bounds_error:
            return 0.0
        score = loss + float(terms.sum())
        if upper < score - ROUNDING * (abs(upper) + loss + float(np.abs(terms).sum())):
            raise OracleError(
                f"augmented_decode_bound() for example {i} gave the bound {upper:.6g}, but its own "
                f"output scores {score:.6g}; a bound is at least every L(y, .) + <w, phi(x, .)>."
            )
        return max(upper - score, 0.0)

    def grow(self, size: int) -> None:
        """Corners may be as large as this."""
        np.maximum(self.corner_size, size, out=self.corner_size)


class PythonScratch:
    """What one thread remembers of the oracle: answers at one w that nobody has asked for yet."""

    def __init__(self) -> None:
        self._answers: dict[int, Any] = {}
        self._answered_at, self._method = np.zeros(0), ""

    def answer(self, oracle: PythonOracle, i: int, w: np.ndarray) -> Any:
        """The task's oracle; an answer known already for the same w is given from memory."""
        if i in self._answers and self._is_of(oracle.method, w):
            return self._answers.pop(i)
        return oracle.ask(i, w)

    def _is_of(self, method: str, w: np.ndarray) -> bool:
        return method == self._method and np.array_equal(self._answered_at, w)

    def put_answers(self, method: str, w: np.ndarray, order: Any, outputs: Any) -> None:
        """Keep a method's answers at w: of other processes, or one that found no room yet."""
        if not self._is_of(method, w):
            self._method, self._answered_at, self._answers = method, w.copy(), {}
        self._answers |= {int(i): y for i, y in zip(order, outputs, strict=True)}


def _maximize(
    data: PythonOracle,
    i: int,
    theta: np.ndarray,
    scratch: PythonScratch,
    code: np.ndarray,
    value: np.ndarray,
) -> tuple[int, float, float]:
    shown = theta.view()
    shown.flags.writeable = False  # a task may look at w, not change it
    answer = scratch.answer(data, i, shown)
    y, upper = data.taken_apart(i, answer)
    index, values = data.corner(i, y)
    code[: len(index)], value[: len(index)] = index, values
    if len(index) > data.corner_size[i]:
        data.grow(len(index))
        scratch.put_answers(data.method, theta, [i], [answer])
    loss = data.loss(i, y)
    return len(index), loss, data.slack(i, upper, loss, theta[index] * values)


def _maximize_roughly(
    data: PythonOracle,
    i: int,
    theta: np.ndarray,
    scratch: PythonScratch,
    code: np.ndarray,
    value: np.ndarray,
) -> tuple[int, float, float]:
    return _maximize(data.rough, i, theta, scratch, code, value)


def _unpack(data: PythonOracle, i: int, code: np.ndarray, size: int, part: np.ndarray) -> int:
    part[:size] = code[:size]
    return size


def _score(data: PythonOracle, i: int, w: np.ndarray, scale: float, theta: np.ndarray) -> None:
    theta[:] = scale * w


def _peek(
    data: PythonOracle, i: int, w: np.ndarray, part: np.ndarray, size: int, theta: np.ndarray
) -> None:
    theta[part[:size]] = w[part[:size]]


def _sqnorm(
    data: PythonOracle, i: int, part: np.ndarray, delta: np.ndarray, size: int, scratch: Any
) -> float:
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
    np.add.at(out, part[:size], coefficient * delta[:size])  # (a part may be listed twice)


def _spread(
    data: PythonOracle, i: int, moved: Any, image: np.ndarray, index: np.ndarray, value: np.ndarray
) -> int:
    part, delta, size, coefficient = moved
    index[:size], value[:size] = part[:size], coefficient * delta[:size]
    return int(size)


FEATURES = Features(_score, _peek, _sqnorm, _add, _spread)
ORACLES = Oracles(_maximize, _unpack)
ROUGH = Oracles(_maximize_roughly, _unpack)
