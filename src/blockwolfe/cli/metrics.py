"""How predictions of each kind of output are scored: numbers by name."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["of_labels", "of_sequences", "of_trees"]


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
    from blockwolfe.data.conll import chunk_f1

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
    from blockwolfe.data.conllu import unlabelled_attachment_score

    complete = [np.array_equal(y, z) for y, z in zip(Y, Y_hat, strict=True)]
    return {
        "unlabelled_attachment_score": unlabelled_attachment_score(Y, Y_hat),
        "complete": float(np.mean(complete)),
    }
