"""Predictions of unequal length, such that tools which put arrays end to end can take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Outputs"]


class Outputs(list[Any]):
    """A list of outputs, one per example; ``np.concatenate`` of several is one array of outputs.

    scikit-learn's `cross_val_predict` puts the predictions of folds end to end in that way. Where
    all outputs are arrays of one shape numpy does it as with any lists; where not, which is an
    error for lists, the array has one entry per example, of type object.

    >>> folds = [Outputs([np.array([1, 2]), np.array([3])]), Outputs([np.array([4])])]
    >>> np.concatenate(folds)
    array([array([1, 2]), array([3]), array([4])], dtype=object)
    """

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What numpy calls instead of its own function (NEP 18)."""
        if func is np.concatenate and len(args) == 1 and not kwargs:
            parts = list(args[0])
            every = [y for part in parts for y in part]
            if all(isinstance(part, Outputs) for part in parts) and not _has_one_shape(every):
                return _array_of(every)
        return func(*_plain(args), **{name: _plain(value) for name, value in kwargs.items()})


def _has_one_shape(outputs: list[Any]) -> bool:
    are_arrays = all(isinstance(y, np.ndarray) for y in outputs)
    return are_arrays and len({y.shape for y in outputs}) <= 1


def _array_of(outputs: list[Any]) -> np.ndarray:
    made = np.empty(len(outputs), dtype=object)
    for i, y in enumerate(outputs):  # (assigned at once, lists of one length would be spread)
        made[i] = y
    return made


def _plain(value: Any) -> Any:
    """The same with lists in place of `Outputs`, also inside lists and tuples."""
    if isinstance(value, Outputs):
        return list(value)
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value
