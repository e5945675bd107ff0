"""Shares of right labels, and of right outputs."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_weight
from blockwolfe.errors import InputError
from blockwolfe.metrics.reading import paired, read_labels

__all__ = ["exact_match", "share_right", "token_accuracy", "unlabelled_attachment_score"]


def token_accuracy(Y_true: Any, Y_pred: Any, sample_weight: Any = None) -> float:
    """Share of right labels over all positions of all examples.

    Outputs are labels, or sequences of labels: long sequences count more than short ones.
    `sample_weight` has a weight for each example, which each of its positions gets.

    >>> token_accuracy([["a", "b", "b"], ["a"]], [["a", "b", "a"], ["a"]])
    0.75
    """
    labels = read_labels(Y_true, Y_pred)
    return share_right(labels.truth == labels.guess, labels.length, sample_weight)


def unlabelled_attachment_score(Y_true: Any, Y_pred: Any, sample_weight: Any = None) -> float:
    """UAS: share of words, punctuation included, that have the right head.

    >>> unlabelled_attachment_score([[2, 0], [0]], [[0, 1], [0]])
    0.3333333333333333
    """
    heads = read_labels(Y_true, Y_pred, "sentences", "heads")
    return share_right(heads.truth == heads.guess, heads.length, sample_weight)


def share_right(is_right: np.ndarray, length: np.ndarray, sample_weight: Any = None) -> float:
    """Share of right positions, those of all examples end to end, by the weight of their example.

    >>> share_right(np.array([True, False, True]), np.array([2, 1]), [1, 2])
    0.75
    """
    if sample_weight is None:
        return float(np.mean(is_right))
    weight = np.repeat(check_weight(sample_weight, len(length)), length)
    return float(np.average(is_right, weights=weight))


def exact_match(Y_true: Any, Y_pred: Any, sample_weight: Any = None) -> float:
    """Share of examples whose output is all right, whatever outputs are.

    Sequences, arrays and tuples are the same if all that is in them is.

    >>> exact_match([["a", "b"], ["b"]], [["a", "a"], ["b"]])
    0.5
    """
    pairs = paired(Y_true, Y_pred)
    if not pairs:
        raise InputError("Y_true is empty; expected at least one example.")
    is_right = np.array([_is_same(y, z, i) for i, (y, z) in enumerate(pairs)])
    return share_right(is_right, np.ones(len(pairs), dtype=np.int64), sample_weight)


def _is_same(y: Any, z: Any, i: int) -> bool:
    if isinstance(y, np.ndarray) and isinstance(z, np.ndarray) and "O" not in (y.dtype, z.dtype):
        return np.array_equal(y, z)
    if _is_row(y) and _is_row(z):
        return len(y) == len(z) and all(_is_same(a, b, i) for a, b in zip(y, z, strict=True))
    if (isinstance(y, Set) and _is_row(z)) or (_is_row(y) and isinstance(z, Set)):
        raise InputError(
            f"Y_true[{i}] is a {type(y).__name__} and Y_pred[{i}] a {type(z).__name__}; expected "
            "sets on both sides or on none."
        )
    if _is_row(y) or _is_row(z):
        return False  # (outputs of two kinds)
    try:
        return bool(y == z)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"Y_true[{i}], a {type(y).__name__}, cannot be compared with Y_pred[{i}], a "
            f"{type(z).__name__}: {error}. Give the task a method measure(Y, Y_hat)."
        ) from error


def _is_row(y: Any) -> bool:
    return isinstance(y, (list, tuple)) or (isinstance(y, np.ndarray) and y.ndim > 0)
