"""How predictions are scored: numbers by name for each kind of output."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.data.links import Alignment, read_pairs
from blockwolfe.data.scores import alignment_error_rate, chunk_f1, unlabelled_attachment_score

__all__ = [
    "LabelScore",
    "of_alignments",
    "of_labels",
    "of_segments",
    "of_sequences",
    "of_sets",
    "of_trees",
]

_MOST_LABELS = 12  # of which each has its own line


class LabelScore(NamedTuple):
    """How well one label is found; a share of nothing is NaN.

    >>> LabelScore.of("a", right=1, predicted=2, true=1)
    LabelScore(label='a', precision=0.5, recall=1.0, f1=0.6666666666666666, support=1)
    """

    label: Any
    precision: float
    recall: float
    f1: float
    support: int

    @classmethod
    def of(cls, label: Any, right: int, predicted: int, true: int) -> LabelScore:
        """From how often it was predicted rightly, predicted at all, and true."""
        f1 = share(2 * right, predicted + true)
        return cls(label, share(right, predicted), share(right, true), f1, true)


def share(part: int, whole: int) -> float:
    """Part of a whole; NaN of nothing."""
    return part / whole if whole else float("nan")


def of_labels(Y: Any, Y_hat: Any) -> dict[str, float]:
    """Accuracy.

    >>> of_labels([0, 1], [0, 0])
    {'accuracy': 0.5}
    """
    return {"accuracy": float(np.mean(np.asarray(Y) == np.asarray(Y_hat)))}


def of_sequences(Y: Any, Y_hat: Any) -> dict[str, float]:
    """Accuracy of positions and of whole sequences; for BIO tags the score of chunks.

    >>> of_sequences([["B-NP", "I-NP"], ["O"]], [["B-NP", "O"], ["O"]])["chunk_f1"]
    0.0
    """
    right = [np.asarray(y) == np.asarray(z) for y, z in zip(Y, Y_hat, strict=True)]
    found = {
        "accuracy": float(np.concatenate(right).mean()),
        "sequence_accuracy": float(np.mean([row.all() for row in right])),
    }
    if _are_chunk_tags(Y) and _are_chunk_tags(Y_hat):
        plain = [[[str(tag) for tag in y] for y in outputs] for outputs in (Y, Y_hat)]
        score = chunk_f1(*plain)
        found |= {f"chunk_{name}": value for name, value in score._asdict().items()}
    return found


def _are_chunk_tags(Y: Any) -> bool:
    tags = {str(tag) for y in Y for tag in y}
    return tags != {"O"} and all(tag == "O" or tag.startswith(("B-", "I-")) for tag in tags)


def of_trees(Y: Any, Y_hat: Any) -> dict[str, float]:
    """Unlabelled attachment score, and the share of trees that are all right.

    >>> of_trees([[2, 0]], [[0, 1]])
    {'unlabelled_attachment_score': 0.0, 'complete': 0.0}
    """
    complete = [np.array_equal(y, z) for y, z in zip(Y, Y_hat, strict=True)]
    return {
        "unlabelled_attachment_score": unlabelled_attachment_score(Y, Y_hat),
        "complete": float(np.mean(complete)),
    }


def of_alignments(Y: Any, Y_hat: Any) -> dict[str, float]:
    """Alignment error rate; precision counts possible links as right, recall the sure ones.

    >>> from blockwolfe.data.links import Alignment
    >>> of_alignments([Alignment([(0, 0), (1, 1)], [(1, 2)])], [[(0, 0), (1, 2)]])
    {'alignment_error_rate': 0.25, 'precision': 1.0, 'recall': 0.5}
    """
    truth = [y if isinstance(y, Alignment) else Alignment(y) for y in Y]
    sure, possible = [y.sure for y in truth], [y.possible for y in truth]
    links = [[set(map(tuple, read_pairs(some, "links").tolist())) for some in side]
             for side in (sure, possible, Y_hat)]  # fmt: skip
    n_found = sum(len(a) for a in links[2])
    n_right = sum(len(a & (s | p)) for s, p, a in zip(*links, strict=True))
    n_sure_found = sum(len(a & s) for s, _, a in zip(*links, strict=True))
    return {
        "alignment_error_rate": alignment_error_rate(sure, possible, Y_hat),
        "precision": n_right / max(n_found, 1),
        "recall": n_sure_found / max(sum(len(s) for s in links[0]), 1),
    }


def of_segments(Y: Any, Y_hat: Any) -> dict[str, float]:
    """Accuracy of nodes; intersection over union of each label, over all graphs, and its mean.

    >>> of_segments([["sky", "sky", "field"]], [["sky", "field", "field"]])["iou_of_sky"]
    0.5
    """
    truth, guess = (np.concatenate([np.asarray(y) for y in outputs]) for outputs in (Y, Y_hat))
    iou = {
        f"iou_of_{label}": float(np.sum(a & b) / np.sum(a | b))
        for label in np.unique(truth)
        for a, b in ((truth == label, guess == label),)
    }
    shown = iou if len(iou) <= _MOST_LABELS else {}
    accuracy = float(np.mean(truth == guess))
    return {"accuracy": accuracy, "mean_iou": float(np.mean(list(iou.values()))), **shown}


def of_sets(Y: Any, Y_hat: Any, n_labels: int) -> dict[str, float]:
    """The share of sets that are all right; of labels that are wrong; and their F1, over all sets.

    >>> found = of_sets([{"a", "b"}, {"c"}], [{"a"}, {"c"}], n_labels=5)
    >>> found["exact_match"], found["hamming_loss"], found["f1"]
    (0.5, 0.1, 0.8)
    """
    both = list(zip(Y, Y_hat, strict=True))
    n_right = sum(len(y & z) for y, z in both)
    n_true, n_found = (sum(len(y) for y in outputs) for outputs in (Y, Y_hat))
    return {
        "exact_match": float(np.mean([y == z for y, z in both])),
        "hamming_loss": (n_true + n_found - 2 * n_right) / (len(both) * n_labels),
        "precision": n_right / max(n_found, 1),
        "recall": n_right / max(n_true, 1),
        "f1": 2 * n_right / max(n_true + n_found, 1),
    }
