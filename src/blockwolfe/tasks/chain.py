"""Sequence labelling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer, is_integer
from blockwolfe.base.ragged import offsets
from blockwolfe.base.schema import Reader
from blockwolfe.data.labels import flatten
from blockwolfe.data.vectorizers.tokens import TokenVectorizer
from blockwolfe.errors import InputError, OptionError
from blockwolfe.features.rows import Tokens
from blockwolfe.kernels.inputs import stack
from blockwolfe.structures import chain
from blockwolfe.tasks.kernelized.sequences import KernelSequences
from blockwolfe.tasks.losses import Loss, ZeroOne, as_loss
from blockwolfe.tasks.reading.inputs import (
    Masked,
    check_flags,
    is_token_dicts,
    n_positions,
    sequence_tokens,
    split_masks,
    without_masks,
)
from blockwolfe.tasks.sequence import SequenceTask

__all__ = ["Chain"]

MOST_ORDER = 30  # (two labels have more runs of 32 than parts may be numbered)


class Chain(KernelSequences, SequenceTask):
    """Label sequences: emission, transition, label bias, first and last bias, each switchable.

    X is a list of (length, features) arrays or sparse matrices, or a list of lists of token
    dicts (see `TokenVectorizer`); entries may be wrapped in `Masked`. Y is a list of equally
    long label sequences, strings or integers.

    Parameters
    ----------
    n_labels : number of labels when they are 0..n_labels-1; None takes what occurs in Y.
    labels : the label set itself, in the order wanted.
    task_loss : "hamming" (the number of wrong labels), "normalized_hamming" (their share, as in
        the papers), a cost matrix, or a `Hamming` / `CostMatrix` object.
    emission, bias, first, last : which groups of weights the model has, beside transitions.
    order : how many labels before it the score of a label may depend on. Order 1 has a weight for
        every pair of neighbouring labels, order 2 also for every three in a row, and so on:
        K^(order+1) weights for K labels, and as many steps of the decoder at every position.
    transition : True for weights of every order up to `order`, False for none, or a list of the
        orders that have weights: ``order=2, transition=[2]`` leaves out the pairs.
    min_count : for token dicts, how often a feature must occur in training to be kept.
    kernel : over inputs of positions, by scikit-learn's names: "linear", "poly", "rbf", "sigmoid",
        "laplacian", "cosine", "precomputed"; or a function of two lists of inputs that gives a
        matrix. Transitions and biases stay linear. See docs/kernels.md.
    gamma, degree, coef0 : options of the kernel.
    kernel_cache_mb, kernel_dtype : room for rows of the kernel matrix, "float64" or "float32".

    >>> import blockwolfe as bw
    >>> X = [[{"w": "the"}, {"w": "cat"}], [{"w": "cat"}]]
    >>> svm = bw.StructuredSVM(Chain(), lam=0.1, tol=0.01).fit(X, [["D", "N"], ["N"]])
    >>> [list(map(str, y)) for y in svm.predict([[{"w": "the"}, {"w": "dog"}]])]
    [['D', 'N']]

    With order 2, the last of three labels may depend on the first:

    >>> Y = [[0, 0, 1], [1, 0, 0]] * 5
    >>> X = [[[1.0, 0.0] if y[0] else [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]] for y in Y]
    >>> svm = bw.StructuredSVM(Chain(order=2), lam=0.01, tol=0.01, random_state=0).fit(X, Y)
    >>> [y.tolist() for y in svm.predict(X[:2])]
    [[0, 0, 1], [1, 0, 0]]
    >>> list(svm.task_.groups)
    ['emission', 'bias', 'first', 'last', 'transition', 'transition_2']
    """

    def __init__(
        self,
        n_labels: int | None = None,
        *,
        labels: Any = None,
        task_loss: Any = "hamming",
        order: int = 1,
        emission: bool = True,
        transition: Any = True,
        bias: bool = True,
        first: bool = True,
        last: bool = True,
        min_count: int = 1,
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
        self.order = order
        self.emission = emission
        self.transition = transition
        self.bias = bias
        self.first = first
        self.last = last
        self.min_count = min_count
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_cache_mb = kernel_cache_mb
        self.kernel_dtype = kernel_dtype

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """As in the base class, and the vocabulary."""
        plain, arrays = super().packed()
        if self.vectorizer_ is not None:
            arrays["vocabulary"] = np.array(self.vectorizer_.feature_names_, dtype=str)
        return plain, arrays

    def relearn(self, learned: dict[str, Any]) -> None:
        """As in the base class, and the vectoriser."""
        rest = dict(learned)
        names = rest.pop("vocabulary", None)
        super().relearn(rest)
        self.vectorizer_ = None
        if names is not None:
            names = Reader(learned).names("vocabulary", self.n_features_in_)
            self.vectorizer_ = TokenVectorizer.from_names(names.tolist(), self.min_count)

    def _learn_inputs(self, X: Any) -> None:
        if self.kernel_ is None:
            features, _ = split_masks(X, len(self.classes_))
            self._learn_names(features if self.emission else [])

    def _learn_names(self, features: Any) -> None:
        self.vectorizer_ = None
        if is_token_dicts(features):
            self.vectorizer_ = TokenVectorizer(self.min_count).fit(features)

    def _learn_nodes(self, X: Any) -> None:
        self._check_emission()
        self._learn_names([] if callable(self.kernel) else without_masks(X))

    def _stacked(self, X: Any) -> tuple[Any, np.ndarray]:
        features = without_masks(X)
        if self.vectorizer_ is not None:
            features = self.vectorizer_.transform(features)
        return stack(features), np.array([n_positions(x) for x in features])

    def _with_nodes(self, X: Any, rows: list[np.ndarray]) -> list[Any]:
        pairs = zip(X, rows, strict=True)
        return [replace(x, features=own) if isinstance(x, Masked) else own for x, own in pairs]

    def _check_emission(self) -> None:
        if not self.emission:
            raise OptionError(
                f"kernel={self.kernel!r} is over the inputs of positions, and emission=False "
                "leaves them out; use emission=True, or kernel=None."
            )

    def _tokens(self, X: Any) -> tuple[Tokens, int, np.ndarray]:
        if not len(X):
            raise InputError("X is empty; expected at least one sequence.")
        features, allowed = split_masks(X, len(self.classes_))
        if not self.emission or self.kernel_ is not None:
            return _bare_positions(features), 0, allowed
        if self.vectorizer_ is not None:
            features = self.vectorizer_.transform(features)
        tokens, n_features = sequence_tokens(features, has_dicts=True)
        return tokens, n_features, allowed

    def _flat_labels(self, Y: Any) -> tuple[np.ndarray, np.ndarray]:
        return flatten(Y)

    def _outputs(self, labels: np.ndarray, offset: np.ndarray) -> list[np.ndarray]:
        return np.split(labels, offset[1:-1])

    def outputs(self, x: Any) -> Iterator[np.ndarray]:
        """Every label sequence of x, for checks on small problems."""
        features, allowed = split_masks([x], len(self.classes_))
        length = n_positions(features[0])
        mask = allowed if len(allowed) else None
        for codes in chain.enumerate_outputs(length, len(self.classes_), mask):
            yield self.classes_[list(codes)]

    def random_output(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """A label sequence drawn uniformly position by position."""
        features, allowed = split_masks([x], len(self.classes_))
        length = n_positions(features[0])
        mask = allowed if len(allowed) else np.ones((length, len(self.classes_)), dtype=bool)
        return self.classes_[[rng.choice(np.flatnonzero(row)) for row in mask]]

    def _groups(self) -> dict[str, Any]:
        flags = {name: getattr(self, name) for name in ("bias", "first", "last")}
        return flags | {"transition": self._orders()}

    def _orders(self) -> list[int]:
        """The orders that have weights, the lowest first."""
        if isinstance(self.transition, (list, tuple)):
            return sorted(int(order) for order in self.transition)
        return list(range(1, int(self.order) + 1)) if self.transition else []

    def _check_options(self) -> None:
        check_flags(self, "emission", "bias", "first", "last")
        check_integer("order", self.order, 1)
        if self.order > MOST_ORDER:
            raise OptionError(f"order={self.order!r} must be at most {MOST_ORDER}.")
        if not isinstance(self.transition, (bool, np.bool_)):
            _check_orders(self.transition, self.order)

    def _checked_loss(self) -> Loss:
        loss = as_loss(self.task_loss)
        if isinstance(loss, ZeroOne):
            raise OptionError(
                "task_loss='zero_one' on whole sequences is not a sum over positions, so Viterbi "
                "cannot maximise it; use 'hamming' or 'normalized_hamming'."
            )
        return loss


def _check_orders(transition: Any, order: int) -> None:
    is_list = isinstance(transition, (list, tuple)) and all(map(is_integer, transition))
    if not is_list or len(set(transition)) < len(transition):
        raise OptionError(
            f"transition={transition!r} must be True, False, or a list of different orders such "
            "as [1, 2]."
        )
    for found in transition:
        if not 1 <= found <= order:
            raise OptionError(
                f"transition={transition!r} has the order {found}; expected 1 to {order}, as "
                f"order={order}. Raise order, or leave it out."
            )


def _bare_positions(features: list[Any]) -> Tokens:
    length = [n_positions(x, f"X[{i}]") for i, x in enumerate(features)]
    if 0 in length:
        raise InputError(f"X[{length.index(0)}] is empty; every sequence needs a position.")
    return Tokens.empty(offsets(length))
