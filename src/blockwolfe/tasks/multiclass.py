"""Multiclass classification: one label per example (Crammer and Singer)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from blockwolfe.data.missing import check_none_missing
from blockwolfe.errors import InputError
from blockwolfe.features.rows import Tokens
from blockwolfe.tasks.base import Simplex
from blockwolfe.tasks.kernelized.sequences import KernelSequences
from blockwolfe.tasks.kernelized.tables import KernelTable
from blockwolfe.tasks.multiclass_functions import (
    add,
    augment,
    gather,
    peek,
    score_gathered,
)
from blockwolfe.tasks.reading.inputs import check_flags, checked_w
from blockwolfe.tasks.sequence import SequenceTask
from blockwolfe.tasks.sequence_functions import ORACLES

__all__ = ["Multiclass"]


class Multiclass(KernelTable, KernelSequences, SequenceTask):
    """One label per example; X is a 2-d array or sparse matrix, Y a list of labels.

    Parameters
    ----------
    n_labels : number of labels when they are 0..n_labels-1; None takes what occurs in Y.
    labels : the label set itself, in the order wanted.
    task_loss : "zero_one", a cost matrix, or a `ZeroOne` / `CostMatrix` object.
    bias : a weight per label that does not depend on x (regularised like the others).
    kernel : over the rows of X, by scikit-learn's names: "linear", "poly", "rbf", "sigmoid",
        "laplacian", "cosine", "precomputed"; or a function of two lists of inputs that gives a
        matrix. Biases stay linear. See docs/kernels.md.
    gamma, degree, coef0 : options of the kernel.
    kernel_cache_mb, kernel_dtype : room for rows of the kernel matrix, "float64" or "float32".

    >>> import blockwolfe as bw
    >>> svm = bw.StructuredSVM(Multiclass(), lam=0.1, tol=1e-6)
    >>> svm.fit([[0.0], [1.0], [2.0]], ["low", "high", "high"]).predict([[3.0]])
    array(['high'], dtype='<U4')
    """

    has_positions = False
    block_oracles = ORACLES["labels"]._replace(
        simplex=Simplex(augment, gather, score_gathered, peek, add)
    )
    default_c = 1.0  # as in LinearSVC

    def __init__(
        self,
        n_labels: int | None = None,
        *,
        labels: Any = None,
        task_loss: Any = "zero_one",
        bias: bool = True,
        kernel: Any = None,
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_cache_mb: float = 1000,
        kernel_dtype: str = "float64",
    ) -> None:
        self.n_labels = n_labels
        self.labels = labels
        self.task_loss = task_loss
        self.bias = bias
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_cache_mb = kernel_cache_mb
        self.kernel_dtype = kernel_dtype

    def _tokens(self, X: Any) -> tuple[Tokens, int, np.ndarray]:
        if isinstance(X, (list, tuple)) and len(X) and _is_sequence(X[0]):
            raise InputError(
                "X is a list of sequences, but Multiclass takes one row of numbers per example; "
                "for sequences use task=Chain()."
            )
        tokens, n_features = self._columns(X)
        return tokens, n_features, np.zeros((0, len(self.classes_)), dtype=np.bool_)

    def _flat_labels(self, Y: Any) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(Y, (list, tuple)) and len(Y) and isinstance(Y[0], (list, tuple, np.ndarray)):
            raise InputError(
                "Y[0] is a sequence, but Multiclass takes one label per example; "
                "for sequences use task=Chain()."
            )
        if isinstance(Y, (list, tuple)) or np.asarray(Y).dtype.kind in "Of":
            check_none_missing(Y, "Y")
        is_mixed = isinstance(Y, (list, tuple)) and len({isinstance(y, str) for y in Y}) > 1
        if is_mixed:  # numpy would turn the others into strings without a word
            raise InputError("Y mixes strings with other labels; labels must be of one kind.")
        try:
            flat = column_or_1d(Y, warn=True)
            check_classification_targets(flat)
        except ValueError as error:
            raise InputError(str(error)) from error
        if flat.dtype.kind in "OT" and all(isinstance(y, str) for y in flat):
            flat = flat.astype(str)  # pandas gives strings as objects
        return flat, np.arange(len(flat) + 1)

    def _outputs(self, labels: np.ndarray, offset: np.ndarray) -> np.ndarray:
        return labels

    def _together(self, values: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(values)

    def scores(self, X: Any, w: np.ndarray) -> np.ndarray:
        """<w, phi(x, k)> for every row x and label k."""
        if self.kernel_ is not None:
            return np.asarray(self._by_twin("scores", X, w))
        w = checked_w(w, self.n_features)
        tokens, n_features, _ = self._tokens(X)
        self._check_n_features(n_features)
        n_labels, bias = len(self.classes_), self.layout_.bias
        weights = w[: n_features * n_labels].reshape(n_features, n_labels)
        scores = np.asarray(tokens.matrix(n_features) @ weights)
        return scores + (w[bias : bias + n_labels] if bias >= 0 else 0.0)

    def outputs(self, x: Any) -> Iterator[Any]:
        """Every label."""
        yield from self.classes_

    def _groups(self) -> dict[str, Any]:
        return {"bias": bool(self.bias), "first": False, "last": False}

    def _check_options(self) -> None:
        check_flags(self, "bias")

    def _single(self, x: Any) -> Any:
        return x.reshape(1, -1) if sp.issparse(x) else np.reshape(np.asarray(x), (1, -1))


def _is_sequence(x: Any) -> bool:
    """Whether x is itself a list of rows or of token dicts, as `Chain` takes them."""
    if isinstance(x, (list, tuple)):
        return bool(x) and isinstance(x[0], (list, tuple, dict, np.ndarray))
    return sp.issparse(x) and x.shape[0] > 1
