"""Precision, recall and F1 of every label, and their averages, as a table or a dict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_weight
from blockwolfe.metrics.counts import Counts, F1Score, LabelScore, count_sets
from blockwolfe.metrics.reading import paired, read_labels

__all__ = ["LabelReport", "count_labels", "label_report"]

_COLUMNS = ("precision", "recall", "f1-score", "support")


@dataclass(frozen=True)
class LabelReport:
    """How well each label is found: `print` shows a table, `as_dict` has scikit-learn's form.

    scores : a `LabelScore` per label. accuracy : share of right labels; None where outputs are
    sets, chunks or the like. micro : precision, recall and F1 over all labels together.
    macro, weighted : means over labels, as they are and by their support; a share of nothing,
    such as the precision of a label that is never predicted, is shown as - and counts as 0.

    >>> print(label_report([["a", "b", "b"], ["a"]], [["a", "b", "a"], ["a"]]))
                  precision    recall  f1-score   support
    <BLANKLINE>
               a      0.667     1.000     0.800         2
               b      1.000     0.500     0.667         2
    <BLANKLINE>
        accuracy                          0.750         4
       macro avg      0.833     0.750     0.733         4
    weighted avg      0.833     0.750     0.733         4
    """

    scores: tuple[LabelScore, ...]
    micro: F1Score
    accuracy: float | None = None

    @classmethod
    def of(cls, counts: Mapping[Any, Counts], accuracy: float | None = None) -> LabelReport:
        """From the counts of each label."""
        scores = tuple(LabelScore.of(label, *each) for label, each in counts.items())
        total = Counts(*map(sum, zip(Counts(0, 0, 0), *counts.values(), strict=True)))
        return cls(scores, total.score(), accuracy)

    @property
    def support(self) -> float:
        """How many true labels there are."""
        return sum(score.support for score in self.scores)

    @property
    def macro(self) -> F1Score:
        """Mean over labels."""
        return self._mean(np.ones(len(self.scores)))

    @property
    def weighted(self) -> F1Score:
        """Mean over labels, by how often they are true."""
        return self._mean(np.array([score.support for score in self.scores], dtype=np.float64))

    def _mean(self, weight: np.ndarray) -> F1Score:
        if not weight.sum() > 0:
            return F1Score(0.0, 0.0, 0.0)
        values = np.nan_to_num([score[1:4] for score in self.scores], nan=0.0)
        return F1Score(*np.average(values, axis=0, weights=weight).tolist())

    def as_dict(self) -> dict[str, Any]:
        """As ``sklearn.metrics.classification_report(..., output_dict=True)`` has it.

        >>> label_report(["a", "b"], ["a", "b"]).as_dict()["a"]
        {'precision': 1.0, 'recall': 1.0, 'f1-score': 1.0, 'support': 1}
        """
        labels = {
            str(score.label): dict(zip(_COLUMNS, score[1:], strict=True)) for score in self.scores
        }
        overall = {} if self.accuracy is None else {"accuracy": self.accuracy}
        means = {
            name: dict(zip(_COLUMNS, (*mean, self.support), strict=True))
            for name, mean in self._averages()
        }
        return {**labels, **overall, **means}

    def _averages(self) -> list[tuple[str, F1Score]]:
        first = [("micro avg", self.micro)] if self.accuracy is None else []
        return [*first, ("macro avg", self.macro), ("weighted avg", self.weighted)]

    def table(self, digits: int = 3) -> str:
        """The table that `print` shows, with this many digits."""
        names = [str(score.label) for score in self.scores]
        width = max(map(len, [*names, "weighted avg"]))

        def line(name: str, values: Iterable[str]) -> str:
            return f"{name:>{width}} " + "".join(f"{value:>10}" for value in values)

        def row(name: str, values: Iterable[float]) -> str:
            *shares, support = values
            shown = ("-" if math.isnan(share) else f"{share:.{digits}f}" for share in shares)
            return line(name, [*shown, _number(support)])

        lines = [line("", _COLUMNS), ""]
        lines += [row(name, score[1:]) for name, score in zip(names, self.scores, strict=True)]
        lines.append("")
        if self.accuracy is not None:
            right = ("", "", f"{self.accuracy:.{digits}f}", _number(self.support))
            lines.append(line("accuracy", right))
        lines += [row(name, (*mean, self.support)) for name, mean in self._averages()]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()


def _number(support: float) -> str:
    """A count as it is; a sum of weights with up to six digits."""
    return str(support) if isinstance(support, int) else f"{support:.6g}"


def label_report(
    Y_true: Any, Y_pred: Any, labels: Any = None, sample_weight: Any = None
) -> LabelReport:
    """Precision, recall and F1 of every label, over all positions of all examples.

    Outputs are labels, sequences of labels, or sets of labels. `labels` come first, in their
    order; others that occur follow, sorted. Support is counted by `sample_weight` if it is given.

    >>> report = label_report([{"sea", "sun"}, {"sea"}], [{"sea"}, {"sea"}])
    >>> report.scores[0].recall, report.scores[1].recall, report.micro.f1
    (1.0, 0.0, 0.8)
    """
    pairs = paired(Y_true, Y_pred)
    first = [] if labels is None else np.asarray(labels).tolist()
    if pairs and isinstance(pairs[0][0], Set):
        return LabelReport.of(_ordered(count_sets(pairs, sample_weight, _plain), first))
    counts, accuracy = count_labels(Y_true, Y_pred, sample_weight)
    return LabelReport.of(_ordered(counts, first), accuracy)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def count_labels(Y: Any, Y_hat: Any, sample_weight: Any = None) -> tuple[dict[Any, Counts], float]:
    """The counts of each label that is true or predicted, sorted; and the share of right ones.

    >>> count_labels(["a", "b"], ["a", "a"])[0]["a"]
    Counts(right=1, predicted=2, true=1)
    """
    truth, guess, offset = labels = read_labels(Y, Y_hat)
    weight = None
    if sample_weight is not None:
        weight = np.repeat(check_weight(sample_weight, len(offset) - 1), labels.length)
    names, codes = np.unique(np.concatenate([truth, guess]), return_inverse=True)
    true, found = codes[: len(truth)], codes[len(truth) :]
    is_right = true == found

    def times(code: np.ndarray, of: Any = slice(None)) -> list[float]:
        each = None if weight is None else weight[of]
        return np.bincount(code[of], each, minlength=len(names)).tolist()

    columns = (times(true, is_right), times(found), times(true))
    accuracy = float(np.average(is_right, weights=weight))
    return dict(zip(names.tolist(), map(Counts, *columns), strict=True)), accuracy


def _ordered(counts: Mapping[Any, Counts], first: list[Any]) -> dict[Any, Counts]:
    rest = sorted(set(counts) - set(first))
    return {label: counts.get(label, Counts(0, 0, 0)) for label in [*first, *rest]}
