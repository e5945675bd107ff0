"""True and predicted outputs side by side, checked before anything is counted."""

from __future__ import annotations

import reprlib
from collections.abc import Set
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.data.labels import flatten
from blockwolfe.errors import InputError

__all__ = ["LabelPairs", "paired", "read_labels"]


class LabelPairs(NamedTuple):
    """True and predicted labels end to end; example i has entries offset[i]:offset[i+1]."""

    truth: np.ndarray
    guess: np.ndarray
    offset: np.ndarray

    @property
    def length(self) -> np.ndarray:
        """How many labels each example has."""
        return np.diff(self.offset)


def paired(Y_true: Any, Y_pred: Any, units: str = "examples") -> list[tuple[Any, Any]]:
    """(true, predicted) of each example; `units` are what errors call examples.

    >>> paired([1, 2], [1, 1])
    [(1, 1), (2, 1)]
    """
    truth, guess = _listed(Y_true, "Y_true"), _listed(Y_pred, "Y_pred")
    if len(truth) != len(guess):
        raise InputError(
            f"Y_true has {len(truth)} {units} and Y_pred has {len(guess)}; expected as many."
        )
    return list(zip(truth, guess, strict=True))


def _listed(Y: Any, name: str) -> list[Any]:
    if isinstance(Y, str) or not hasattr(Y, "__len__"):
        raise InputError(f"{name} is {reprlib.repr(Y)}; expected a list or an array of outputs.")
    return list(Y)


def read_labels(
    Y_true: Any, Y_pred: Any, units: str = "examples", parts: str = "labels"
) -> LabelPairs:
    """Of outputs that are labels, or sequences of labels; of one example or more.

    `units` and `parts` are what errors call examples and their labels.

    >>> read_labels([["a", "b"], ["b"]], [["a", "a"], ["b"]]).guess.tolist()
    ['a', 'a', 'b']
    """
    pairs = paired(Y_true, Y_pred, units)
    if not pairs:
        raise InputError(f"Y_true is empty; expected at least one of the {units}.")
    truths, guesses = zip(*pairs, strict=True)
    (truth, offset), (guess, ends) = _flat(truths, "Y_true"), _flat(guesses, "Y_pred")
    if not np.array_equal(offset, ends):
        i = int(np.flatnonzero(offset != ends)[0]) - 1
        n_true, n_found = offset[i + 1] - offset[i], ends[i + 1] - ends[i]
        raise InputError(
            f"Y_true[{i}] has {n_true} {parts} and Y_pred[{i}] has {n_found}; expected as many."
        )
    if (truth.dtype.kind in "US") != (guess.dtype.kind in "US"):
        raise InputError(
            f"Y_true has labels like {truth[0].item()!r} and Y_pred like {guess[0].item()!r}; "
            "expected labels of one kind."
        )
    return LabelPairs(truth, guess, offset)


def _flat(Y: tuple[Any, ...], name: str) -> tuple[np.ndarray, np.ndarray]:
    """All labels end to end, and where each example begins."""
    if isinstance(Y[0], Set):
        raise InputError(
            f"{name}[0] is a set; expected a label or a sequence of labels. Of sets there are "
            "exact_match and label_report, and 'f1_micro' and 'f1_macro' for scoring."
        )
    if not isinstance(Y[0], str) and hasattr(Y[0], "__len__"):
        return flatten(Y, name)
    are_strings = [isinstance(y, str) for y in Y]
    labels = np.asarray(Y, dtype=str if all(are_strings) else None)
    # numpy turns a mixture such as ["a", 1] into strings without a word
    if labels.dtype.kind not in "iufbU" or any(are_strings) != all(are_strings):
        raise InputError(
            f"{name} is {reprlib.repr(list(Y))}; labels must be all strings or all numbers."
        )
    return labels, np.arange(len(labels) + 1)
