"""How good predictions are: shares of right labels, F1 of labels, chunks and links, and more.

>>> from blockwolfe import metrics
>>> metrics.token_accuracy([["a", "b", "b"], ["a"]], [["a", "b", "a"], ["a"]])
0.75
"""

from blockwolfe.metrics.chunks import chunk_f1, chunk_report
from blockwolfe.metrics.counts import F1Score, LabelScore
from blockwolfe.metrics.label_report import LabelReport, label_report
from blockwolfe.metrics.labels import exact_match, token_accuracy, unlabelled_attachment_score
from blockwolfe.metrics.links import (
    alignment_accuracy,
    alignment_error_rate,
    link_f1,
    segment_f1,
)
from blockwolfe.metrics.regions import iou, mean_iou, pck, torso_lengths
from blockwolfe.metrics.scorers import Scorer, scorer, scorer_names

__all__ = [
    "F1Score",
    "LabelReport",
    "LabelScore",
    "Scorer",
    "alignment_accuracy",
    "alignment_error_rate",
    "chunk_f1",
    "chunk_report",
    "exact_match",
    "iou",
    "label_report",
    "link_f1",
    "mean_iou",
    "pck",
    "scorer",
    "scorer_names",
    "segment_f1",
    "token_accuracy",
    "torso_lengths",
    "unlabelled_attachment_score",
]
