"""Intersection over union of labelled nodes or pixels, and joints that are found."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.checks import check_weight
from blockwolfe.errors import InputError
from blockwolfe.metrics.label_report import count_labels

__all__ = ["iou", "mean_iou", "pck", "torso_lengths"]


def iou(Y_true: Any, Y_pred: Any, sample_weight: Any = None) -> dict[Any, float]:
    """Intersection over union of each label that is true somewhere, over all examples together.

    >>> iou([["sky", "sky", "field"]], [["sky", "field", "field"]])
    {'field': 0.5, 'sky': 0.5}
    """
    counts, _ = count_labels(Y_true, Y_pred, sample_weight)
    return {
        label: right / (predicted + true - right)
        for label, (right, predicted, true) in counts.items()
        if true
    }


def mean_iou(Y_true: Any, Y_pred: Any, sample_weight: Any = None) -> float:
    """Mean of `iou` over labels.

    >>> mean_iou([["sky", "sky", "field"]], [["sky", "field", "field"]])
    0.5
    """
    return float(np.mean(list(iou(Y_true, Y_pred, sample_weight).values())))


def torso_lengths(Y: Any) -> np.ndarray:
    """Left shoulder to right hip of figures of fourteen joints, in pixels.

    >>> from blockwolfe import datasets
    >>> torso_lengths(datasets.synthetic_poses(2).Y).round(1)
    array([7.8, 8.5])
    """
    joints = _positions(Y, "Y")
    if joints.shape[1] != 14:
        raise InputError(
            f"Y has poses of {joints.shape[1]} joints, and a torso is known of those of 14; give "
            "lengths, in pixels."
        )
    return np.linalg.norm(joints[:, 9] - joints[:, 2], axis=1)


def _positions(Y: Any, name: str) -> np.ndarray:
    """(n, n_joints, 2); as floats, since differences of unsigned integers wrap round."""
    try:
        return np.asarray([np.asarray(y)[:, :2] for y in Y], dtype=np.float64)
    except (IndexError, ValueError) as error:
        raise InputError(
            f"{name} is not a list of poses, (n_joints, 2) arrays of columns and rows: {error}."
        ) from error


def pck(
    Y: Any, Y_hat: Any, threshold: float = 0.2, *, lengths: Any = None, sample_weight: Any = None
) -> np.ndarray:
    """Share of images, for each joint, where it is found within `threshold` lengths.

    `lengths` is a number, or one for each image; None is the torso of the figure.

    >>> from blockwolfe import datasets
    >>> Y = datasets.synthetic_poses(3).Y
    >>> pck(Y, Y).tolist() == [1.0] * 14
    True
    """
    if len(Y) != len(Y_hat):
        raise InputError(f"Y has {len(Y)} poses and Y_hat has {len(Y_hat)}; expected as many.")
    truth, guess = _positions(Y, "Y"), _positions(Y_hat, "Y_hat")
    if truth.shape != guess.shape:
        raise InputError(
            f"Y has poses of {truth.shape[1]} joints and Y_hat of {guess.shape[1]}; expected as "
            "many."
        )
    distance = np.linalg.norm(truth - guess, axis=2)
    allowed = threshold * (torso_lengths(Y) if lengths is None else np.asarray(lengths))
    weight = check_weight(sample_weight, len(Y))
    is_found = distance <= np.broadcast_to(allowed, len(Y))[:, None]
    return np.asarray(np.average(is_found, axis=0, weights=weight))
