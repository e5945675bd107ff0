"""Whether probabilities can be taken at their word: how often a choice of each one is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.errors import InputError
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.tasks.reading.inputs import n_examples, positional
from blockwolfe.tasks.reading.labels import find

__all__ = ["CalibrationDisplay"]


@dataclass(frozen=True)
class Bin:
    """Choices of about one probability: its mean, the share that is right, and how many."""

    probability: float
    share_right: float
    n_choices: int


class CalibrationDisplay:
    """The probability of the likeliest label (or head) of each position, and whether it is right.

    Of a calibrated model, nine of ten choices with probability 0.9 are right.

    >>> display = CalibrationDisplay([0.9, 0.9, 0.6], [True, True, False])
    >>> display.bins(5)  # doctest: +NORMALIZE_WHITESPACE
    [Bin(probability=0.6, share_right=0.0, n_choices=1),
     Bin(probability=0.9, share_right=1.0, n_choices=2)]
    >>> round(display.error(5), 3)
    0.267
    """

    def __init__(self, probability: Any, is_right: Any) -> None:
        self.probability = np.asarray(probability, dtype=np.float64)
        self.is_right = np.asarray(is_right, dtype=np.bool_)
        if self.probability.shape != self.is_right.shape or self.probability.ndim != 1:
            raise InputError(
                f"probability has shape {self.probability.shape} and is_right "
                f"{self.is_right.shape}; expected one of each per choice."
            )

    @classmethod
    def from_estimator(
        cls, svm: StructuredSVM, X: Any, Y: Any, temperature: float | None = None
    ) -> CalibrationDisplay:
        """Of a fitted estimator on data with true outputs; `temperature` as for `marginals`."""
        n_examples(X, Y)
        return cls.from_marginals(svm.task_, svm.marginals(X, temperature), Y)

    @classmethod
    def from_marginals(cls, task: Any, marginals: Any, Y: Any) -> CalibrationDisplay:
        """Of what `marginals` of a fitted task gave, and the true outputs."""
        found = [
            (p.max(axis=1), p.argmax(axis=1) == column)
            for p, column in _rows(task, marginals, positional(Y))
        ]
        return cls(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def bins(self, n: int = 10) -> list[Bin]:
        """Choices by probability, in n bins of equal width; empty ones are left out."""
        check_integer("n", n, 1)
        at = np.minimum((self.probability * n).astype(int), n - 1)
        groups = [(self.probability[at == k], self.is_right[at == k]) for k in range(n)]
        return [Bin(float(p.mean()), float(r.mean()), len(p)) for p, r in groups if len(p)]

    def error(self, n: int = 10) -> float:
        """Expected calibration error: how far share and probability are apart, on average."""
        total = sum(b.n_choices * abs(b.share_right - b.probability) for b in self.bins(n))
        return total / len(self.probability)

    def plot(self, ax: Any = None, n: int = 10) -> CalibrationDisplay:
        """Draw the share that is right against probability; needs matplotlib."""
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(5, 5), layout="constrained")
        bins = self.bins(n)
        ax.plot([0, 1], [0, 1], color="0.7", label="calibrated")
        x, y = [b.probability for b in bins], [b.share_right for b in bins]
        ax.plot(x, y, marker="o", label=f"error {self.error(n):.3f}")
        ax.set(xlabel="probability", ylabel="share right", title="Calibration")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _rows(task: Any, marginals: Any, Y: Any) -> Any:
    """For each example its table of probabilities, and the true column of each row."""
    for p, y in zip(marginals, Y, strict=True):
        if not hasattr(task, "classes_"):  # heads of words
            yield p, np.asarray(y)
            continue
        table = np.atleast_2d(p)
        if isinstance(y, (set, frozenset)) or not np.allclose(table.sum(axis=1), 1.0):
            raise InputError(
                f"{type(task).__name__} does not choose one label for each position; calibration "
                "is shown for labels, sequences of them, segments, trees and parses."
            )
        column, is_known = find(_labels(y), task.classes_)
        yield table, np.where(is_known, column, -1)


def _labels(y: Any) -> np.ndarray:
    """Labels by position; of segments, (begin, end, label), too."""
    if isinstance(y, (list, tuple)) and len(y) and isinstance(y[0], tuple):
        return np.repeat([label for *_, label in y], [end - begin for begin, end, _ in y])
    return np.atleast_1d(np.asarray(y))
