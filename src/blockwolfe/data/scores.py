"""How good predictions are, as the papers measure it: chunks, alignments, parses and poses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.data.links import read_pairs
from blockwolfe.errors import InputError

__all__ = [
    "ChunkScore",
    "alignment_error_rate",
    "chunk_f1",
    "pck",
    "torso_lengths",
    "unlabelled_attachment_score",
]


class ChunkScore(NamedTuple):
    """Precision, recall and F1 over whole chunks, as fractions.

    >>> ChunkScore(0.5, 1.0, 2 / 3).recall
    1.0
    """

    precision: float
    recall: float
    f1: float


def chunk_f1(Y_true: Sequence[Sequence[str]], Y_pred: Sequence[Sequence[str]]) -> ChunkScore:
    """Score of whole chunks, as conlleval counts: right means same start, end and type.

    Tags are ``O``, ``B-type`` and ``I-type``. An ``I-`` that continues no chunk of its
    type begins one, as in conlleval.

    >>> chunk_f1([["B-NP", "I-NP", "O", "B-VP"]], [["I-NP", "I-NP", "O", "O"]])
    ChunkScore(precision=1.0, recall=0.5, f1=0.6666666666666666)
    """
    if len(Y_true) != len(Y_pred):
        raise InputError(
            f"Y_true has {len(Y_true)} sequences and Y_pred has {len(Y_pred)}; expected as many."
        )
    n_true = n_predicted = n_right = 0
    for i, (true, predicted) in enumerate(zip(Y_true, Y_pred, strict=True)):
        if len(true) != len(predicted):
            raise InputError(
                f"Y_true[{i}] has {len(true)} tags and Y_pred[{i}] has {len(predicted)}; "
                "expected as many."
            )
        chunks, found = set(_chunks(true, f"Y_true[{i}]")), set(_chunks(predicted, f"Y_pred[{i}]"))
        n_true, n_predicted = n_true + len(chunks), n_predicted + len(found)
        n_right += len(chunks & found)
    return ChunkScore(
        n_right / n_predicted if n_predicted else 0.0,
        n_right / n_true if n_true else 0.0,
        2 * n_right / (n_true + n_predicted) if n_right else 0.0,
    )


def _chunks(tags: Sequence[str], where: str) -> Iterator[tuple[int, int, str]]:
    """Start, end (one past) and type of each chunk."""
    start, kind = 0, None
    for t, tag in enumerate(tags):
        if not isinstance(tag, str) or (tag != "O" and tag.partition("-")[0] not in ("B", "I")):
            raise InputError(f"{where}[{t}] is {tag!r}; expected 'O', 'B-...' or 'I-...'.")
        here = None if tag == "O" else tag.partition("-")[2]
        if here == kind and tag[0] != "B":
            continue
        if kind is not None:
            yield start, t, kind
        start, kind = t, here
    if kind is not None:
        yield start, len(tags), kind


def alignment_error_rate(
    sure: Sequence[Any], possible: Sequence[Any], predicted: Sequence[Any]
) -> float:
    """AER = 1 - (|A & S| + |A & (S | P)|) / (|A| + |S|), over all sentences together.

    Each argument has one collection of pairs (source, target) per sentence: sure links S,
    possible links P (whether or not they contain S), predicted links A.

    >>> alignment_error_rate([[(0, 0), (1, 1)]], [[(1, 2)]], [[(0, 0), (1, 2)]])
    0.25
    """
    if not len(sure) == len(possible) == len(predicted):
        raise InputError(
            f"sure, possible and predicted have {len(sure)}, {len(possible)} and "
            f"{len(predicted)} sentences; expected as many."
        )
    n_right = n_links = 0
    for i, row in enumerate(zip(sure, possible, predicted, strict=True)):
        names = (f"sure[{i}]", f"possible[{i}]", f"predicted[{i}]")
        S, P, A = (
            set(map(tuple, read_pairs(links, name).tolist()))
            for links, name in zip(row, names, strict=True)
        )
        n_right += len(A & S) + len(A & (S | P))
        n_links += len(A) + len(S)
    return 1.0 - n_right / n_links if n_links else 0.0


def unlabelled_attachment_score(Y_true: Sequence[Any], Y_pred: Sequence[Any]) -> float:
    """Share of words, punctuation included, that have the right head.

    >>> unlabelled_attachment_score([[2, 0], [0]], [[0, 1], [0]])
    0.3333333333333333
    """
    if len(Y_true) != len(Y_pred) or not len(Y_true):
        raise InputError(
            f"Y_true has {len(Y_true)} sentences and Y_pred has {len(Y_pred)}; expected as many, "
            "and at least one."
        )
    for i, (true, predicted) in enumerate(zip(Y_true, Y_pred, strict=True)):
        if len(true) != len(predicted):
            raise InputError(
                f"Y_true[{i}] has {len(true)} heads and Y_pred[{i}] has {len(predicted)}; "
                "expected as many."
            )
    return float(np.mean(np.concatenate(Y_true) == np.concatenate(Y_pred)))


def torso_lengths(Y: Any) -> np.ndarray:
    """Left shoulder to right hip of figures of fourteen joints, in pixels.

    >>> from blockwolfe import datasets
    >>> torso_lengths(datasets.synthetic_poses(2).Y).round(1)
    array([7.8, 8.5])
    """
    joints = _positions(Y)
    return np.linalg.norm(joints[:, 9] - joints[:, 2], axis=1)


def _positions(Y: Any) -> np.ndarray:
    """(n, n_joints, 2); as floats, since differences of unsigned integers wrap round."""
    return np.asarray([np.asarray(y)[:, :2] for y in Y], dtype=np.float64)


def pck(Y: Any, Y_hat: Any, threshold: float = 0.2) -> np.ndarray:
    """Share of images, for each joint, where it is found within `threshold` torso lengths.

    >>> from blockwolfe import datasets
    >>> Y = datasets.synthetic_poses(3).Y
    >>> pck(Y, Y).tolist() == [1.0] * 14
    True
    """
    if len(Y) != len(Y_hat):
        raise InputError(f"Y has {len(Y)} poses and Y_hat has {len(Y_hat)}; expected as many.")
    truth, guess = (_positions(some) for some in (Y, Y_hat))
    distance = np.linalg.norm(truth - guess, axis=2)
    return (distance <= threshold * torso_lengths(Y)[:, None]).mean(axis=0)
