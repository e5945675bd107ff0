"""Sequences made here, without any file: strings of real digits, and chains from a known model."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits

from blockwolfe.base.checks import check_integer, is_integer, is_real
from blockwolfe.base.memory import check_memory
from blockwolfe.base.ragged import offsets
from blockwolfe.base.seeds import generator
from blockwolfe.data.datasets.dataset import Dataset, check_split
from blockwolfe.errors import OptionError

__all__ = ["digit_strings", "synthetic_chains"]

_STEPS = (1, 3)
_SURPRISE = 0.1
_KEPT = 0.1
_MOST_ORDER = 8
Length = int | tuple[int, int]


def digit_strings(
    n_strings: int = 300,
    length: Length = (4, 8),
    random_state: Any = 0,
    split: str = "train",
) -> Dataset:
    """Strings of handwritten digits that follow a hidden rule; pixels in [0, 1], labels 0..9.

    The digits are the 8 x 8 images that come with scikit-learn. From one digit to the next
    the step is +1 or +3 modulo 10, equally often; one digit in ten is drawn at random
    instead. So a digit that is hard to read can be inferred from its neighbours.

    length : one number, or the least and the greatest.
    random_state : seed; the same seed gives the same strings.
    split : "train" draws on the first two thirds of the images, "test" on the others.

    >>> digits = digit_strings(2, length=5)
    >>> digits.X[0].shape, digits.Y[0]
    ((5, 64), array([2, 3, 6, 0, 1]))
    """
    check_split(split)
    rng = generator(random_state)
    if split == "test":
        rng = rng.spawn(1)[0]
    offset = _offsets(rng, n_strings, length, "n_strings")
    digits = _follow_rule(rng, offset)
    bunch = load_digits()
    pixels, classes = bunch.data / 16.0, bunch.target
    is_train = np.arange(len(classes)) < 2 * len(classes) // 3
    at = np.empty(len(digits), dtype=np.int64)
    for digit in range(10):
        pool = np.flatnonzero((classes == digit) & (is_train == (split == "train")))
        is_here = digits == digit
        at[is_here] = rng.choice(pool, size=is_here.sum())
    return Dataset(
        X=_split(pixels[at], offset),
        Y=_split(digits, offset),
        name=f"digit-strings-{split}",
        description="Strings of handwritten 8 x 8 digits in which most steps are +1 or +3.",
        label_names=tuple(map(str, range(10))),
        feature_names=list(bunch.feature_names),
        n_features=pixels.shape[1],
    )


def _follow_rule(rng: np.random.Generator, offset: np.ndarray) -> np.ndarray:
    n = int(offset[-1])
    is_free = rng.random(n) < _SURPRISE
    is_free[offset[:-1]] = True
    anything, steps = rng.integers(10, size=n), rng.choice(_STEPS, size=n)
    digits = np.empty(n, dtype=np.int64)
    for t in range(n):
        digits[t] = anything[t] if is_free[t] else (digits[t - 1] + steps[t]) % 10
    return digits


def synthetic_chains(
    n_sequences: int = 100,
    n_labels: int = 5,
    n_features: int = 20,
    length: Length = (5, 15),
    noise: float = 1.0,
    random_state: Any = 0,
    sparse: bool = False,
    order: int = 1,
) -> Dataset:
    """Sequences drawn from a random chain model: a Markov chain of labels, Gaussian features.

    Each label has a mean drawn from the unit Gaussian, and a position is the mean of its
    label plus Gaussian noise of standard deviation `noise`. One call is one model: for a
    held-out part, split what it returns.

    length : one number, or the least and the greatest.
    random_state : seed; the same seed gives the same model and sequences.
    sparse : True keeps one value in ten, chosen at random, and gives CSR matrices.
    order : how many labels before it a label depends on, at most 8.

    >>> chains = synthetic_chains(3, n_labels=2, n_features=4, length=6)
    >>> chains
    Dataset('synthetic-chains': 3 sequences, 18 positions, 2 labels, 4 features)
    """
    whole = {"n_labels": n_labels, "n_features": n_features, "order": order}
    for argument, value in whole.items():
        check_integer(argument, value, 1)
    if order > _MOST_ORDER:
        raise OptionError(f"order={order!r} must be at most {_MOST_ORDER}.")
    what = f"a chain of order {order} with {n_labels} labels"
    check_memory(8.0 * n_labels ** (order + 1), what, "Use a smaller order, or fewer labels.")
    if not is_real(noise) or not 0 <= noise < np.inf:
        raise OptionError(f"noise={noise!r} must be a number >= 0.")
    rng = generator(random_state)
    weight = np.exp(1.5 * rng.normal(size=(n_labels**order, n_labels)))
    means = rng.normal(size=(n_labels, n_features))
    offset = _offsets(rng, n_sequences, length, "n_sequences")
    labels = _walk(rng, weight / weight.sum(axis=1, keepdims=True), offset)
    features = means[labels] + noise * rng.normal(size=(len(labels), n_features))
    if sparse:
        features = sp.csr_array(features * (rng.random(features.shape) < _KEPT))
    return Dataset(
        X=_split(features, offset),
        Y=_split(labels, offset),
        name="synthetic-chains",
        description="Labels of a random Markov chain, with Gaussian features around label means.",
        label_names=tuple(map(str, range(n_labels))),
        feature_names=None,
        n_features=n_features,
    )


def _walk(rng: np.random.Generator, transition: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Labels by the rows of `transition`, one for every run before them; the first are free."""
    n, (n_runs, n_labels) = int(offset[-1]), transition.shape
    labels, draws = rng.integers(n_labels, size=n), rng.random(n)
    edges = np.cumsum(transition, axis=1)[:, :-1]
    for begin, end in pairwise(offset):
        run, n_before = 0, 1  # (the labels before t as a number, and how many runs are as long)
        for t in range(begin, end):
            if n_before >= n_runs:
                labels[t] = np.searchsorted(edges[run], draws[t], side="right")
            run = (run * n_labels + labels[t]) % n_runs
            n_before *= n_labels
    return labels


def _split(values: Any, offset: np.ndarray) -> list[Any]:
    return [values[a:b] for a, b in pairwise(offset)]


def _offsets(rng: np.random.Generator, n: int, length: Length, argument: str) -> np.ndarray:
    """Where each sequence begins, and the end of the last."""
    check_integer(argument, n, 1)
    least, greatest = _pair((length, length) if is_integer(length) else length)
    if not 1 <= least <= greatest:
        raise OptionError(f"length={length!r} must be at least 1, the smaller number first.")
    return offsets(rng.integers(least, greatest + 1, size=n))


def _pair(length: Any) -> tuple[int, int]:
    try:
        least, greatest = length
    except (TypeError, ValueError):
        least = greatest = None
    if not is_integer(least) or not is_integer(greatest):
        raise OptionError(f"length={length!r} must be an integer or a pair of integers.")
    return int(least), int(greatest)
