"""A transformer of rows, applied to every position of sequences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from blockwolfe.base.ragged import offsets
from blockwolfe.data.labels import flatten
from blockwolfe.data.positions import stack_positions
from blockwolfe.errors import InputError, OptionError
from blockwolfe.estimators.names import check_position_names
from blockwolfe.tasks.reading.inputs import Masked, count, positional

__all__ = ["PerPosition"]


def _has_names(self: PerPosition) -> bool:
    """Whether the transformer, fitted or not, names what it makes."""
    return hasattr(getattr(self, "transformer_", self.transformer), "get_feature_names_out")


# (results are lists, of which scikit-learn's `set_output` can make no frame)
class PerPosition(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """A transformer of scikit-learn for sequences: their positions are its rows.

    Transformers such as `Nystroem` or `StandardScaler` take one row per example, where a sequence
    has as many as it is long. `PerPosition` fits one to the positions of all sequences together,
    and gives every sequence its own rows back. `tasks.Masked` entries keep their masks.

    Parameters
    ----------
    transformer : estimator
        With `fit` and `transform`; a copy of it is fitted, and kept as `transformer_`. Where y has
        one label per position, it gets them as its targets (`SelectKBest` needs them).

    >>> from sklearn.preprocessing import StandardScaler
    >>> X = [np.array([[1.0], [3.0]]), np.array([[5.0], [7.0], [9.0]])]
    >>> scaled = PerPosition(StandardScaler()).fit_transform(X)
    >>> [x.shape for x in scaled]
    [(2, 1), (3, 1)]
    >>> abs(float(np.concatenate(scaled).mean())) < 1e-12
    True

    In a pipeline it makes a structured SVM with an approximate kernel:

    >>> from sklearn.kernel_approximation import Nystroem
    >>> from sklearn.pipeline import make_pipeline
    >>> import blockwolfe as bw
    >>> svm = bw.StructuredSVM(bw.tasks.Chain())
    >>> model = make_pipeline(PerPosition(Nystroem(gamma=0.1)), svm)
    >>> model.get_params()["perposition__transformer__gamma"]
    0.1
    """

    transformer_: Any
    n_features_in_: int

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, X: Any, y: Any = None) -> PerPosition:
        """Fit a copy of the transformer to all positions of all sequences."""
        rows, length = self._start(X)
        self.transformer_.fit(rows, **self._targets(y, length))
        return self

    def transform(self, X: Any) -> list[Any]:
        """The rows of every sequence, transformed in one call."""
        check_is_fitted(self, "transformer_")
        sequences = _sequences(X)
        check_position_names(self, sequences, reset=False)
        rows, length = _stacked(sequences)
        if rows.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {rows.shape[1]} features, but PerPosition is expecting "
                f"{self.n_features_in_} features as input, as in training."
            )
        return self._divided(self.transformer_.transform(rows), sequences, length)

    def fit_transform(self, X: Any, y: Any = None) -> list[Any]:
        """Both, by `fit_transform` of the transformer where it has one."""
        rows, length = self._start(X)
        targets = self._targets(y, length)
        if hasattr(self.transformer_, "fit_transform"):
            found = self.transformer_.fit_transform(rows, **targets)
        else:
            found = self.transformer_.fit(rows, **targets).transform(rows)
        return self._divided(found, _sequences(X), length)

    @available_if(_has_names)
    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that the transformer makes."""
        check_is_fitted(self, "transformer_")
        return np.asarray(self.transformer_.get_feature_names_out(input_features))

    def _start(self, X: Any) -> tuple[Any, np.ndarray]:
        """A new copy of the transformer; and the rows of X, and how many each sequence has."""
        _check_transformer(self.transformer)
        sequences = _sequences(X)
        check_position_names(self, sequences, reset=True)
        rows, length = _stacked(sequences)
        self.transformer_ = clone(self.transformer, safe=False)
        self.n_features_in_ = rows.shape[1]
        return rows, length

    def _targets(self, y: Any, length: np.ndarray) -> dict[str, Any]:
        """Labels end to end, where outputs are one label per position and `fit` takes targets."""
        if y is None or not has_fit_parameter(self.transformer_, "y"):
            return {}
        try:
            return {"y": _labels_of(y, length)}
        except InputError:
            if _needs_targets(self.transformer_):
                raise
            return {}  # (outputs of another kind, which most transformers have no use for)

    def _divided(self, found: Any, sequences: Sequence[Any], length: np.ndarray) -> list[Any]:
        """Each sequence with its own rows of what the transformer made of all."""
        found = positional(found)
        rows = sp.csr_array(found) if sp.issparse(found) else np.asarray(found)
        if rows.ndim != 2 or rows.shape[0] != length.sum():
            raise OptionError(
                f"transformer={self.transformer!r} made an array of shape {rows.shape} out of "
                f"{length.sum()} positions; expected a row for each of them."
            )
        parts = [rows[a:b] for a, b in pairwise(offsets(length))]
        return [
            Masked(part, x.allowed) if isinstance(x, Masked) else part
            for x, part in zip(sequences, parts, strict=True)
        ]


def _check_transformer(transformer: Any) -> None:
    hint = "expected a transformer of scikit-learn, such as Nystroem() or StandardScaler()."
    if isinstance(transformer, type):
        raise OptionError(f"transformer={transformer.__name__} is a class; {hint}")
    for method in ("fit", "transform"):
        if not callable(getattr(transformer, method, None)):
            raise OptionError(f"transformer={transformer!r} has no {method}(); {hint}")


def _labels_of(y: Any, length: np.ndarray) -> np.ndarray:
    """Labels of all positions end to end, so many of each sequence."""
    if count(y, "y") != len(length):
        raise InputError(f"X has {len(length)} examples and y has {count(y, 'y')}.")
    labels, offset = flatten(positional(y), "y")
    is_unequal = np.diff(offset) != length
    if is_unequal.any():
        i = int(np.argmax(is_unequal))
        raise InputError(
            f"X[{i}] has {length[i]} positions and y[{i}] has {np.diff(offset)[i]} labels; "
            "expected one label per position."
        )
    return labels


def _needs_targets(transformer: Any) -> bool:
    """Whether it says so; a class of the user's own that says nothing needs none."""
    return hasattr(transformer, "__sklearn_tags__") and get_tags(transformer).target_tags.required


def _sequences(X: Any) -> Sequence[Any]:
    """X as something that is indexed by position, not empty."""
    X = positional(X)
    if not count(X, "X"):
        raise InputError("X is empty (0 samples); a minimum of 1 is required.")
    if sp.issparse(X):
        raise InputError(
            "X is one sparse matrix; expected a list of sequences, each with a row per position."
        )
    return list(X)


def _stacked(sequences: Sequence[Any]) -> tuple[Any, np.ndarray]:
    """All rows, and how many each sequence has; NaN is for the transformer to judge."""
    features = [x.features if isinstance(x, Masked) else x for x in sequences]
    return stack_positions(features, others=", or a sparse matrix", keep_single=True)
