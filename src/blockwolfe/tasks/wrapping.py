"""A task around another task: what it hands on as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.errors import OptionError
from blockwolfe.tasks.kernelized.task import is_kernelized
from blockwolfe.tasks.learned import Learned
from blockwolfe.tasks.measuring import measured
from blockwolfe.tasks.reading.inputs import positional
from blockwolfe.tasks.reading.vectors import check_protocol, fitted_clone

__all__ = ["WrappingTask", "unwrapped"]


def unwrapped(task: Any) -> Any:
    """The task that all wrappers are about."""
    while isinstance(task, WrappingTask):
        task = task.task
    return task


class WrappingTask(Learned, BaseEstimator):
    """Base of tasks with an option `task`, whose features, loss and predictions they share.

    After `_fit_inside` the fitted task is `task_`. What the task does not have, this one has not
    either: asking for it is an `AttributeError`.
    """

    task: Any

    def _fit_inside(self, X: Any, Y: Any) -> None:
        check_protocol(self.task)
        if is_kernelized(self.task):
            raise OptionError(
                f"{type(self).__name__} takes no task with a kernel, and "
                f"{type(self.task).__name__} has kernel={self.task.kernel!r}; use kernel=None, or "
                "a feature map such as Nystroem in blockwolfe.PerPosition."
            )
        has_fit = callable(getattr(self.task, "fit", None))
        self.task_ = fitted_clone(self.task, X, Y) if has_fit else self.task

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The fitted task itself is all there is."""
        return {"task_": self.task_}, {}

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take the fitted task."""
        task = Reader(learned).only(("task_",)).given("task_")
        if not isinstance(task, type(self.task)):
            raise Misfit("task_ is not of the class that the options name.")
        self.task_ = task

    @property
    def _inner(self) -> Any:
        return getattr(self, "task_", self.task)

    @property
    def n_features(self) -> Any:
        """Length of w, where the task has it."""
        return self._inner.n_features

    @property
    def groups(self) -> Any:
        """Groups of weights, where the task has them."""
        return self._inner.groups

    @property
    def bounds(self) -> Any:
        """Bounds that the task asks for, if any."""
        return self._inner.bounds

    @property
    def classes_(self) -> Any:
        """Labels of the task, where it has them."""
        return self._inner.classes_

    @property
    def outputs(self) -> Any:
        """Every output of x, by a function of x, where the task has it."""
        return self._inner.outputs

    def features(self, x: Any, y: Any) -> Any:
        """phi(x, y) of the task."""
        return self._inner.features(x, y)

    def loss(self, y: Any, y_hat: Any) -> float:
        """L(y, y_hat) of the task."""
        return float(self._inner.loss(y, y_hat))

    def losses(self, Y: Any, Y_hat: Any) -> np.ndarray:
        """Task loss of each example."""
        if callable(getattr(self._inner, "losses", None)):
            return np.asarray(self._inner.losses(Y, Y_hat))
        return np.array([self.loss(y, y_hat) for y, y_hat in zip(Y, Y_hat, strict=True)])

    def measure(self, Y: Any, Y_hat: Any, sample_weight: Any = None) -> float:
        """That of the task."""
        return measured(self._inner, Y, Y_hat, sample_weight)

    def decode(self, x: Any, w: np.ndarray) -> Any:
        """Best output for x at w, by the task."""
        return self._inner.decode(x, w)

    def predict(self, X: Any, w: np.ndarray) -> Any:
        """Best outputs for all of X at w, by the task."""
        if callable(getattr(self._inner, "predict", None)):
            return self._inner.predict(X, w)
        return [self.decode(x, w) for x in positional(X)]
