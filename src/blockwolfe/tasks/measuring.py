"""How good predictions of a task are, in one number: what `score` of an estimator is."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np

from blockwolfe.base.checks import is_real
from blockwolfe.errors import OptionError
from blockwolfe.metrics.labels import exact_match, share_right
from blockwolfe.tasks.reading.labels import encode, find

__all__ = ["label_share", "measured"]


def measured(task: Any, Y: Any, Y_hat: Any, sample_weight: Any = None) -> float:
    """``task.measure(Y, Y_hat)``; of a task without that method the share of right outputs.

    >>> class Pairs:
    ...     '''A task of a user's own, as far as it matters here.'''
    >>> measured(Pairs(), [(0, 1), (1, 1)], [(0, 1), (0, 0)])
    0.5
    """
    own = getattr(task, "measure", None)
    if not callable(own):
        return exact_match(Y, Y_hat, sample_weight)
    if sample_weight is not None and "sample_weight" not in signature(own).parameters:
        raise OptionError(
            f"sample_weight is given, but measure of {type(task).__name__} takes none; give it an "
            "argument sample_weight=None, or leave the weights out."
        )
    found = own(Y, Y_hat) if sample_weight is None else own(Y, Y_hat, sample_weight=sample_weight)
    if not is_real(found) or not np.isfinite(found):
        raise OptionError(
            f"measure of {type(task).__name__} returned {found!r}; expected a finite number, the "
            "larger the better."
        )
    return float(found)


def label_share(
    truth: np.ndarray,
    guess: np.ndarray,
    offset: np.ndarray,
    classes: np.ndarray,
    sample_weight: Any = None,
) -> float:
    """Share of right labels, which lie end to end; one unknown to training is missed.

    >>> label_share(np.array([0, 5]), np.array([0, 1]), np.array([0, 2]), np.array([0, 1]))
    0.5
    """
    known, is_known = find(truth, classes)
    is_right = is_known & (known == encode(guess, classes, offset))
    return share_right(is_right, np.diff(offset), sample_weight)
