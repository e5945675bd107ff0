"""Examples that are kept from training, to tell when it should end."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_flag, check_integer, check_weight, is_real
from blockwolfe.base.seeds import generator
from blockwolfe.errors import InputError, OptionError
from blockwolfe.tasks.multiclass import Multiclass
from blockwolfe.tasks.reading.inputs import n_examples, positional, taken

__all__ = ["Stopping"]


@dataclass(frozen=True)
class Stopping:
    """The options of early stopping, checked."""

    is_on: bool
    fraction: float
    n_iter_no_change: int
    random_state: Any

    @classmethod
    def of(cls, svm: Any) -> Stopping:
        """Those of an estimator."""
        is_on, fraction = check_flag("early_stopping", svm.early_stopping), svm.validation_fraction
        if not is_real(fraction) or not 0.0 < fraction < 1.0:
            raise OptionError(
                f"validation_fraction={fraction!r} must be a number between 0 and 1: the share of "
                "the examples that is held out."
            )
        check_integer("n_iter_no_change", svm.n_iter_no_change, 1)
        if is_on and svm.checkpoint is not None:
            raise OptionError(
                "checkpoint: a file does not keep what early_stopping knows; leave one of them out."
            )
        return cls(is_on, float(fraction), int(svm.n_iter_no_change), svm.random_state)

    @property
    def options(self) -> dict[str, Any]:
        """Those of `solve`."""
        return {"n_iter_no_change": self.n_iter_no_change} if self.is_on else {}

    def split(
        self, task: Any, given: tuple[Any, Any, Any], held_out: Any
    ) -> tuple[tuple[Any, Any, Any], Any]:
        """(X, y, sample_weight) to train on, and what is held out; all of it where that is given.

        >>> stopping = Stopping(True, 0.25, 5, random_state=0)
        >>> train, held_out = stopping.split(None, ([[0], [1], [2], [3]], [5, 6, 7, 8], None), None)
        >>> len(train[0]), len(held_out[0]), sorted([*train[1], *held_out[1]])
        (3, 1, [5, 6, 7, 8])
        """
        if not self.is_on or held_out is not None:
            return given, held_out
        X, y, weight = positional(given[0]), positional(given[1]), given[2]
        n = n_examples(X, y)
        train, test = self._drawn(n, y if isinstance(task, Multiclass) else None)
        weight = check_weight(weight, n)
        for index, name in ((train, "training"), (test, "held-out")):
            if not weight[index].sum() > 0.0:
                raise InputError(
                    f"sample_weight is zero on the whole {name} part of early_stopping; leave "
                    "examples of weight zero out."
                )
        kept = None if given[2] is None else weight[train]
        return (taken(X, train), taken(y, train), kept), (
            taken(X, test), taken(y, test), weight[test],
        )  # fmt: skip

    def _drawn(self, n: int, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of examples to train on and to hold out; with `y`, some of every label stay."""
        n_held_out = round(self.fraction * n)
        if n_held_out < 1 or n_held_out >= n:
            raise OptionError(
                f"validation_fraction={self.fraction:g} of n={n} examples holds out {n_held_out}; "
                "both parts need examples. Give another fraction, or held_out=(X, y)."
            )
        order = generator(self.random_state).permutation(n)
        if y is not None:  # (the first of every label comes first, and is trained on)
            with suppress(TypeError, ValueError, IndexError):  # (the task says what is wrong)
                _, first = np.unique(np.asarray(y)[order], return_index=True)
                order = order[np.r_[first, np.setdiff1d(np.arange(n), first)]]
        return np.sort(order[:-n_held_out]), np.sort(order[-n_held_out:])
