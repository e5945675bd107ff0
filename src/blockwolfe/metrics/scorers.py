"""Measures by name, also as functions of (estimator, X, y), which scikit-learn's tools take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.errors import OptionError, unknown_option
from blockwolfe.metrics.chunks import chunk_f1
from blockwolfe.metrics.label_report import label_report
from blockwolfe.metrics.labels import exact_match, token_accuracy, unlabelled_attachment_score
from blockwolfe.metrics.links import alignment_accuracy, link_f1, segment_f1
from blockwolfe.metrics.regions import mean_iou, pck

__all__ = ["Scorer", "as_scorer", "measure", "scorer", "scorer_names"]


class _Measure(NamedTuple):
    """A function of (Y_true, Y_pred, sample_weight), and which part of its answer is meant."""

    function: Callable[..., Any]
    part: str = ""
    options: Mapping[str, Any] = {}


_MEASURES = {
    "accuracy": _Measure(token_accuracy),
    "exact_match": _Measure(exact_match),
    "f1_macro": _Measure(label_report, "macro.f1"),
    "f1_micro": _Measure(label_report, "micro.f1"),
    "f1_weighted": _Measure(label_report, "weighted.f1"),
    "chunk_f1": _Measure(chunk_f1, "f1"),
    "chunk_f1_iob2": _Measure(chunk_f1, "f1", {"scheme": "IOB2"}),
    "chunk_f1_iobes": _Measure(chunk_f1, "f1", {"scheme": "IOBES"}),
    "chunk_f1_bilou": _Measure(chunk_f1, "f1", {"scheme": "BILOU"}),
    "segment_f1": _Measure(segment_f1, "f1"),
    "unlabelled_attachment_score": _Measure(unlabelled_attachment_score),
    "alignment_accuracy": _Measure(alignment_accuracy),
    "link_f1": _Measure(link_f1, "f1"),
    "mean_iou": _Measure(mean_iou),
    "pck": _Measure(pck),
}
_OWN = "score"  # the estimator's own


def scorer_names() -> tuple[str, ...]:
    """Names that `scorer`, ``scoring=`` and the command line take. Larger is better for all.

    >>> scorer_names()[:4]
    ('score', 'accuracy', 'exact_match', 'f1_macro')
    """
    return (_OWN, *_MEASURES)


def measure(name: str, Y_true: Any, Y_pred: Any, **options: Any) -> float:
    """The measure of that name, of outputs.

    >>> measure("chunk_f1", [["B-NP", "I-NP"]], [["B-NP", "I-NP"]], scheme="IOB2")
    1.0
    """
    function, part, own = _MEASURES[name]
    found = function(Y_true, Y_pred, **{**own, **options})
    return float(np.mean(attrgetter(part)(found) if part else found))


@dataclass(frozen=True)
class Scorer:
    """A measure of an estimator's predictions: call it with (estimator, X, y).

    Made by `scorer`.

    >>> scorer("chunk_f1", scheme="IOBES")
    Scorer(name='chunk_f1', options={'scheme': 'IOBES'})
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The measure of what the estimator predicts for X."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if self.name == _OWN:
            return float(estimator.score(X, y, **weights))
        truth, found = _comparable(estimator, y, estimator.predict(X))
        return measure(self.name, truth, found, **self.options, **weights)


def _comparable(estimator: Any, Y: Any, Y_hat: Any) -> tuple[Any, Any]:
    """Label sets as sets: users have them in several forms, which only the task can read."""
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    as_sets = getattr(getattr(last, "task_", None), "label_sets", None)
    return (Y, Y_hat) if as_sets is None else (as_sets(Y), as_sets(Y_hat))


def scorer(name: str, **options: Any) -> Scorer:
    """A measure for `cross_val_score`, `GridSearchCV` and the like, by one of `scorer_names`.

    `options` are those of the measure's function.

    >>> import blockwolfe as bw
    >>> from sklearn.model_selection import cross_val_score
    >>> digits = bw.datasets.digit_strings(30, length=3)
    >>> svm = bw.StructuredSVM(bw.tasks.Chain(10), lam=0.1, tol=0.1, random_state=0)
    >>> cross_val_score(svm, digits.X, digits.Y, cv=2, scoring=scorer("exact_match")).shape
    (2,)
    """
    if name not in scorer_names():
        raise unknown_option("scoring", name, scorer_names())
    known = _options_of(name)
    for option in options:
        if option not in known:
            listed = ", ".join(known) or "none"
            raise OptionError(f"{option} is no option of scorer({name!r}); it has: {listed}.")
    return Scorer(name, options)


def _options_of(name: str) -> list[str]:
    if name == _OWN:
        return []
    function, _, own = _MEASURES[name]
    taken = {"sample_weight", *own}
    return [option for option in list(signature(function).parameters)[2:] if option not in taken]


def as_scorer(scoring: Any) -> Any:
    """What the option `scoring` names; a function of (estimator, X, y) is itself.

    >>> as_scorer("accuracy")
    Scorer(name='accuracy', options={})
    """
    if isinstance(scoring, str):
        return scorer(scoring)
    if not callable(scoring):
        remedy = " Or give a function of (estimator, X, y)."
        raise unknown_option("scoring", scoring, scorer_names(), remedy)
    return scoring
