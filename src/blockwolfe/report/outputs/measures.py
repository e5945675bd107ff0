"""The usual measures of each kind of output, by name."""

from __future__ import annotations

from typing import Any

from blockwolfe import metrics
from blockwolfe.metrics.chunks import scheme_of

__all__ = [
    "of_alignments",
    "of_cuts",
    "of_labels",
    "of_segments",
    "of_sequences",
    "of_sets",
    "of_trees",
]

_MOST_LABELS = 12  # of which each has its own line


def of_labels(Y: Any, Y_hat: Any) -> dict[str, float]:
    """Accuracy.

    >>> of_labels([0, 1], [0, 0])
    {'accuracy': 0.5}
    """
    return {"accuracy": metrics.token_accuracy(Y, Y_hat)}


def of_sequences(Y: Any, Y_hat: Any) -> dict[str, float]:
    """Accuracy of positions and of whole sequences; for chunk tags the score of chunks.

    >>> of_sequences([["B-NP", "I-NP"], ["O"]], [["B-NP", "O"], ["O"]])["chunk_f1"]
    0.0
    """
    found = {
        "accuracy": metrics.token_accuracy(Y, Y_hat),
        "sequence_accuracy": metrics.exact_match(Y, Y_hat),
    }
    scheme = scheme_of([*Y, *Y_hat])
    if scheme is None:
        return found
    score = metrics.chunk_f1(Y, Y_hat, scheme)
    return found | {f"chunk_{name}": value for name, value in score._asdict().items()}


def of_trees(Y: Any, Y_hat: Any) -> dict[str, float]:
    """Unlabelled attachment score, and the share of trees that are all right.

    >>> of_trees([[2, 0]], [[0, 1]])
    {'unlabelled_attachment_score': 0.0, 'complete': 0.0}
    """
    return {
        "unlabelled_attachment_score": metrics.unlabelled_attachment_score(Y, Y_hat),
        "complete": metrics.exact_match(Y, Y_hat),
    }


def of_alignments(Y: Any, Y_hat: Any) -> dict[str, float]:
    """Alignment error rate; precision counts possible links as right, recall the sure ones.

    >>> from blockwolfe.data.links import Alignment
    >>> of_alignments([Alignment([(0, 0), (1, 1)], [(1, 2)])], [[(0, 0), (1, 2)]])
    {'alignment_error_rate': 0.25, 'precision': 1.0, 'recall': 0.5}
    """
    precision, recall, _ = metrics.link_f1(Y, Y_hat)
    rate = 1.0 - metrics.alignment_accuracy(Y, Y_hat)
    return {"alignment_error_rate": rate, "precision": precision, "recall": recall}


def of_segments(Y: Any, Y_hat: Any) -> dict[str, float]:
    """Precision, recall and F1 of segments (begin, end, label).

    >>> of_segments([[(0, 2, "a")]], [[(0, 2, "a")]])["segment_f1"]
    1.0
    """
    score = metrics.segment_f1(Y, Y_hat)
    return {f"segment_{name}": value for name, value in score._asdict().items()}


def of_cuts(Y: Any, Y_hat: Any) -> dict[str, float]:
    """Accuracy of nodes; intersection over union of each label, over all graphs, and its mean.

    >>> of_cuts([["sky", "sky", "field"]], [["sky", "field", "field"]])["iou_of_sky"]
    0.5
    """
    iou = {f"iou_of_{label}": value for label, value in metrics.iou(Y, Y_hat).items()}
    shown = iou if len(iou) <= _MOST_LABELS else {}
    accuracy, mean = metrics.token_accuracy(Y, Y_hat), metrics.mean_iou(Y, Y_hat)
    return {"accuracy": accuracy, "mean_iou": mean, **shown}


def of_sets(Y: Any, Y_hat: Any, n_labels: int) -> dict[str, float]:
    """The share of sets that are all right; of labels that are wrong; and their F1, over all sets.

    >>> found = of_sets([{"a", "b"}, {"c"}], [{"a"}, {"c"}], n_labels=5)
    >>> found["exact_match"], found["hamming_loss"], found["f1"]
    (0.5, 0.1, 0.8)
    """
    n_wrong = sum(len(y ^ z) for y, z in zip(Y, Y_hat, strict=True))
    return {
        "exact_match": metrics.exact_match(Y, Y_hat),
        "hamming_loss": n_wrong / (len(Y) * n_labels),
        **metrics.label_report(Y, Y_hat).micro._asdict(),
    }
