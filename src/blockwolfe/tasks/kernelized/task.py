"""The options of tasks that take a kernel, and what changes with one.

Trained is the task without node inputs, to which the kernel is added (see `functions`). Everything
that is asked of a model later goes to its *linear twin*: the same task without a kernel, whose node
features are the scores of all labels that the kernel gives a node, each with a weight of one for
its own label.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from blockwolfe.base.ragged import offsets
from blockwolfe.base.schema import Misfit
from blockwolfe.errors import InputError, OptionError
from blockwolfe.kernels import inputs as node_inputs
from blockwolfe.kernels.judging import judge
from blockwolfe.kernels.kernel import FittedKernel
from blockwolfe.kernels.store import RowStore
from blockwolfe.tasks.kernelized.blocks import kernelized
from blockwolfe.tasks.kernelized.options import KernelOptions

__all__ = ["Kernelized", "condensed", "is_kernelized"]

# Kernel values that are in memory at a time while a model predicts.
BATCH_ENTRIES = 4_000_000
_PREFIX = "kernel_"


class _TrainedOracles:
    """Names of the oracles of training: with a kernel a task only maximises."""

    def __get__(self, task: Any, owner: Any = None) -> tuple[str, ...]:
        if task is not None and is_kernelized(task):
            return ("maximize",)
        own: Any = super(Kernelized, owner if task is None else task)
        return tuple(own.oracles)


class Kernelized(KernelOptions):
    """Base of tasks with an option `kernel`; comes before the base with the structure.

    A subclass says where its node inputs are, and how others are put in their place.
    """

    kernel_: FittedKernel | None = None
    _is_kernel = True  # whether it was not seen to be none
    kernel_scale = 1.0  # features of a node part, relative to those of its node
    layout_: Any
    oracles = _TrainedOracles()

    # -- what subclasses say -------------------------------------------------------------------

    def _stacked(self, X: Any) -> tuple[Any, np.ndarray]:
        """Node inputs of all examples end to end (see `kernels.inputs`), and how many each has."""
        raise NotImplementedError

    def _with_nodes(self, X: Any, rows: list[np.ndarray]) -> Any:
        """X with these rows of numbers as node inputs."""
        raise NotImplementedError

    def _widened(self, n_inputs: int) -> Any:
        """The layout of w with so many node features more."""
        raise NotImplementedError

    # -- training ------------------------------------------------------------------------------

    def fit(self, X: Any, Y: Any) -> Any:
        """As without a kernel; with one, keep the node inputs that it compares with."""
        self._fit_kernel(X)
        super().fit(X, Y)  # type: ignore[misc]
        self._note_width()
        return self

    def _fit_kernel(self, X: Any) -> None:
        self._check_kernel()
        self.kernel_ = None
        if is_kernelized(self):
            self._learn_nodes(X)
            self.kernel_ = self._asked_kernel().fit(self._stacked(X)[0])
            # (always the same sample: what is certified does not change from run to run)
            self._is_kernel = judge(self.kernel_, 0)

    def _learn_nodes(self, X: Any) -> None:
        """Fit whatever turns node inputs into numbers."""

    def _note_width(self) -> None:
        """Columns of the inputs, as scikit-learn's users look for them."""
        if self.kernel_ is not None and self.kernel_.width is not None:
            self.n_features_in_ = self.kernel_.width

    def _check_n_features(self, n_features: int) -> None:
        """With a kernel it is the kernel that looks at columns."""
        if self.kernel_ is None:
            super()._check_n_features(n_features)  # type: ignore[misc]

    @property
    def n_features(self) -> int:
        """Length of w; with a kernel, linear weights and a coefficient per label and position."""
        if self.kernel_ is None:
            return self.n_linear
        return self.n_linear + self.kernel_.n * self._n_node_labels

    def compiled(self, X: Any, Y: Any) -> Any:
        """The training set for the compiled loop."""
        made = super().compiled(X, Y)  # type: ignore[misc]
        if self.kernel_ is None or made is None:
            return made
        offset = offsets(self._stacked(X)[1])
        if offset[-1] != self.kernel_.n:
            raise InputError(
                f"X has {offset[-1]} positions, but the kernel was fitted on {self.kernel_.n}; "
                "train on the X that the task was fitted on."
            )
        longest = int(np.diff(offset).max())
        room = (self._cache_bytes(), self._cache_dtype(), longest, "kernel_cache_mb")
        store = RowStore(self.kernel_, *room)
        if store.is_complete:
            store.fill()
        known = (self._n_node_labels, self.kernel_scale, self._is_kernel)
        return kernelized(made, self.kernel_, store, offset, *known)

    # -- support positions ---------------------------------------------------------------------

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """Coefficients of the training positions, (positions, labels), of a w of this task.

        What follows them in a w of `solve` are scores, which prediction does without.
        """
        n_linear, kernel = self.n_linear, self._fitted()
        n = kernel.n * self._n_node_labels
        if len(w) < n_linear + n:
            raise InputError(
                f"w has {len(w)} entries; expected {n_linear + n}: {n_linear} weights, and a "
                "coefficient for every label of every position."
            )
        return np.asarray(w[n_linear : n_linear + n].reshape(self._n_node_labels, kernel.n).T)

    def condensed(self, w: np.ndarray, max_change: float = 0.0) -> tuple[Any, np.ndarray]:
        """The task with its support positions alone, and w for it.

        No score of an input that is no larger (in the norm of the kernel) than the largest of the
        present positions changes by more than `max_change`: those with the smallest coefficients
        go first.
        """
        A, kernel = self.coefficients(w), self._fitted()
        support = np.flatnonzero(A.any(axis=1))
        if max_change > 0.0:
            support = _support(A, _lengths(kernel), max_change)
        task = copy.copy(self)
        task.kernel_ = kernel.taken(support)
        return task, np.concatenate([w[: self.n_linear], A[support].T.ravel()])

    # -- prediction: by the linear twin ----------------------------------------------------------

    def _fitted(self) -> FittedKernel:
        if self.kernel_ is None:
            raise OptionError(f"{type(self).__name__} has no kernel, and so no support positions.")
        return self.kernel_

    @property
    def n_linear(self) -> int:
        """Weights that are no coefficients of a kernel: the first ones of w."""
        return int(super().n_features)  # type: ignore[misc]

    @property
    def _n_node_labels(self) -> int:
        return int(getattr(self.layout_, "n_node_labels", 0) or self.layout_.n_labels)

    def _twin(self, w: np.ndarray) -> tuple[Any, np.ndarray, Callable[[Any], np.ndarray]]:
        """The linear twin, its weights, and what gives the scores that are its node features."""
        A, n_labels = self.coefficients(np.asarray(w, dtype=np.float64)), self._n_node_labels
        support, fitted = np.flatnonzero(A.any(axis=1)), self._fitted()
        twin = clone(self).set_params(kernel=None)
        for name in vars(self).keys() - twin.get_params(deep=False).keys():
            setattr(twin, name, getattr(self, name))
        twin.kernel_, twin.layout_ = None, self._widened(n_labels)
        twin.n_features_in_, twin.vectorizer_ = n_labels, None

        def scores(inputs: Any) -> np.ndarray:
            n_rows = max(1, BATCH_ENTRIES // max(1, len(support)))
            begins = range(0, node_inputs.count(inputs), n_rows)
            index = (slice(begin, begin + n_rows) for begin in begins)
            return np.concatenate(
                [fitted.compare(inputs[at], support) @ A[support] for at in index]
            )

        return twin, np.concatenate([np.eye(n_labels).ravel(), w[: self.n_linear]]), scores

    def _by_twin(self, name: str, X: Any, w: np.ndarray) -> Any:
        """What a method of the twin gives for all of X."""
        twin, own_w, scores = self._twin(w)
        inputs, counts = self._stacked(X)
        each = np.split(scores(inputs), np.cumsum(counts)[:-1])
        return getattr(twin, name)(self._with_nodes(X, each), own_w)

    def predict(self, X: Any, w: np.ndarray) -> Any:
        """Best outputs for all of X at w."""
        if self.kernel_ is None:
            return super().predict(X, w)  # type: ignore[misc]
        return self._by_twin("predict", X, w)

    def spaces(self, X: Any, w: np.ndarray) -> list[Any]:
        """The outputs of each x, with their scores at w."""
        if self.kernel_ is None:
            return super().spaces(X, w)  # type: ignore[misc]
        return self._by_twin("spaces", X, w)

    def features(self, x: Any, y: Any) -> np.ndarray:
        """phi(x, y); with a kernel it is never formed."""
        if self.kernel_ is None:
            return super().features(x, y)  # type: ignore[misc]
        raise OptionError(
            f"{type(self).__name__}(kernel={self.kernel!r}) has no feature vectors: a kernel "
            "stands for inner products of them. Use kernel=None, or a feature map such as "
            "Nystroem in blockwolfe.PerPosition."
        )

    def augmented_decode(self, x: Any, y: Any, w: np.ndarray) -> Any:
        """Best output for L(y, .) + <w, phi(x, .)>."""
        if self.kernel_ is None:
            return super().augmented_decode(x, y, w)  # type: ignore[misc]
        return self._one_by_twin("augmented_decode", x, w, y)

    def _one_by_twin(self, name: str, x: Any, w: np.ndarray, *given: Any) -> Any:
        """What a method of the twin for one example gives; w is its last argument."""
        twin, own_w, scores = self._twin(w)
        X = self._single(x)  # type: ignore[attr-defined]
        return getattr(twin, name)(
            self._with_nodes(X, [scores(self._stacked(X)[0])])[0], *given, own_w
        )

    # -- files -----------------------------------------------------------------------------------

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """As without a kernel, and the support inputs."""
        plain, arrays = super().packed()  # type: ignore[misc]
        if self.kernel_ is not None:
            own, own_arrays = self.kernel_.packed()
            plain = plain | {_PREFIX: own}
            arrays = arrays | {_PREFIX + name: array for name, array in own_arrays.items()}
        return plain, arrays

    def relearn(self, learned: dict[str, Any]) -> None:
        """As without a kernel, and the support inputs."""
        self._check_kernel()
        if is_kernelized(self) != (_PREFIX in learned):
            raise Misfit("there is a kernel in the options, or among what was learned, not both.")
        rest = {name: value for name, value in learned.items() if not name.startswith(_PREFIX)}
        self.kernel_ = None
        if is_kernelized(self):
            arrays = {
                name.removeprefix(_PREFIX): value
                for name, value in learned.items()
                if name.startswith(_PREFIX) and name != _PREFIX
            }
            self.kernel_ = FittedKernel.unpacked(learned[_PREFIX], arrays)
            if self.kernel_.kernel != self._asked_kernel():
                raise Misfit("the kernel has other options than the task.")
        super().relearn(rest)  # type: ignore[misc]
        self._note_width()


def is_kernelized(task: Any) -> bool:
    """Whether the node inputs of a task go through a kernel.

    >>> is_kernelized(object())
    False
    """
    return getattr(task, "kernel", None) is not None and isinstance(task, Kernelized)


def condensed(task: Any, w: np.ndarray) -> tuple[Any, np.ndarray]:
    """A fitted task and weights of it as a model keeps them: with support positions alone."""
    return task.condensed(w) if is_kernelized(task) else (task, w)


def _lengths(kernel: FittedKernel) -> np.ndarray:
    """Norms of the inputs of a kernel, by its values with themselves."""
    return np.asarray(np.sqrt(np.maximum(kernel.diagonal(), 0.0)))


def _support(A: np.ndarray, length: np.ndarray, max_change: float) -> np.ndarray:
    """The positions to keep: without the others no score changes by more than `max_change`.

    By Cauchy and Schwarz: a position s changes that of label k by at most |A[s, k]| |s| |x|.
    """
    reach = np.abs(A) * length[:, None] * float(length.max(initial=0.0))
    order = np.argsort(reach.max(axis=1), kind="stable")
    is_negligible = np.cumsum(reach[order], axis=0).max(axis=1) <= max_change
    return np.sort(order[~is_negligible])
