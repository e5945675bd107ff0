"""Figures of fourteen joints: the skeleton of Leeds Sports Pose, SYNTHETIC maps, made-up people.

No pictures are involved: what a detector of joints would see in them is imitated
(`appearance_maps`), with the errors that such detectors make.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from blockwolfe.base.seeds import generator
from blockwolfe.data.datasets import Dataset
from blockwolfe.errors import InputError, OptionError

__all__ = ["LSP_ARCS", "LSP_JOINTS", "appearance_maps", "pck", "synthetic_poses", "torso_lengths"]

LSP_JOINTS = (
    "right ankle", "right knee", "right hip", "left hip", "left knee", "left ankle",
    "right wrist", "right elbow", "right shoulder", "left shoulder", "left elbow", "left wrist",
    "neck", "head top",
)  # fmt: skip

# (parent, child), from the neck down; a joint's own arc comes before those of its children
LSP_ARCS = (
    (12, 13), (12, 8), (12, 9), (8, 7), (7, 6), (9, 10), (10, 11),
    (8, 2), (9, 3), (2, 1), (1, 0), (3, 4), (4, 5),
)  # fmt: skip

MIRROR = (5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6, 12, 13)  # the same joint on the other side
_LENGTHS = (0.13, 0.11, 0.11, 0.17, 0.15, 0.17, 0.15, 0.28, 0.28, 0.24, 0.23, 0.24, 0.23)
_ANGLES = (-90, 170, 10, 100, 100, 80, 80, 80, 100, 95, 95, 85, 85)  # degrees, y down
_SWINGS = (15, 10, 10, 60, 50, 60, 50, 8, 8, 30, 25, 30, 25)
_SPREAD = 1.3  # pixels
_NOISE = 0.12


def appearance_maps(
    joints: np.ndarray, occluded: np.ndarray, size: int, rng: np.random.Generator
) -> np.ndarray:
    """SYNTHETIC score maps (J, size, size) of a joint detector, for joints (J, 2) on the grid.

    A map has a bump at its joint (faint where the joint is occluded), often one at the same joint
    of the other side, as high or higher, one at some other joint or anywhere, and noise.

    >>> maps = appearance_maps(np.full((14, 2), 5), np.zeros(14), 12, np.random.default_rng(0))
    >>> maps.shape, maps.dtype
    ((14, 12, 12), dtype('float32'))
    """
    n_joints = len(joints)
    grid = np.arange(size)

    def bumps(centre: np.ndarray, height: np.ndarray) -> np.ndarray:
        x, y = ((grid - centre[:, axis, None]) ** 2 for axis in range(2))
        return height[:, None, None] * np.exp(-(y[:, :, None] + x[:, None, :]) / (2.0 * _SPREAD**2))

    seen = np.where(np.asarray(occluded) > 0, 0.15, 1.0) * rng.uniform(0.6, 1.1, size=n_joints)
    mirror = np.array(MIRROR) if n_joints == len(MIRROR) else np.arange(n_joints)
    confused = np.where(rng.random(n_joints) < 0.7, rng.uniform(0.3, 1.1, size=n_joints), 0.0)
    confused[mirror == np.arange(n_joints)] = 0.0
    other = np.where(
        rng.random((n_joints, 1)) < 0.5,
        joints[rng.integers(n_joints, size=n_joints)],
        rng.integers(size, size=(n_joints, 2)),
    )
    maps = bumps(joints, seen) + bumps(joints[mirror], confused)
    maps += bumps(other, rng.uniform(0.2, 1.0, size=n_joints))
    maps += _NOISE * rng.normal(size=maps.shape)
    return maps.astype(np.float32)


def synthetic_poses(n_images: int = 60, size: int = 32, random_state: Any = 0) -> Dataset:
    """Made-up people of fourteen joints, drawn limb by limb, with SYNTHETIC appearance maps.

    X has score maps (14, size, size), Y the joints (14, 2) as columns and rows of the grid.

    size : pixels of a side of the grid, at least 12.
    random_state : seed; the same seed gives the same people.

    >>> poses = synthetic_poses(3)
    >>> poses
    Dataset('synthetic-poses': 3 images, 42 joints, 14 labels, 1 features)
    >>> poses.X[0].shape, poses.Y[0][12]
    ((14, 32, 32), array([13,  7]))
    """
    for name, value, least in (("n_images", n_images, 1), ("size", size, 12)):
        is_count = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not is_count or value < least:
            raise OptionError(f"{name}={value!r} must be an integer >= {least}.")
    rng = generator(random_state)
    X, Y = [], []
    for _ in range(n_images):
        joints = _made_up(size, rng)
        is_occluded = rng.random(len(joints)) < 0.07
        X.append(appearance_maps(joints, is_occluded, size, rng))
        Y.append(joints)
    return Dataset(
        X=X,
        Y=Y,
        name="synthetic-poses",
        description="Made-up stick figures; appearance maps are synthetic (no pictures).",
        label_names=LSP_JOINTS,
        feature_names=None,
        n_features=1,
        units=("images", "joints"),
    )


def _made_up(size: int, rng: np.random.Generator) -> np.ndarray:
    joints = np.zeros((len(LSP_JOINTS), 2))
    is_flipped = rng.random() < 0.3  # seen from behind: left is right
    angles = np.radians(np.array(_ANGLES) + rng.normal(size=len(_ANGLES)) * np.array(_SWINGS) / 2)
    lengths = np.array(_LENGTHS) * rng.uniform(0.8, 1.1, size=len(_LENGTHS))
    for (parent, child), angle, length in zip(LSP_ARCS, angles, lengths, strict=True):
        step = length * np.array([np.cos(angle), np.sin(angle)])
        joints[child] = joints[parent] + step * ([-1.0, 1.0] if is_flipped else [1.0, 1.0])
    return on_grid(joints, size, 0.9 * size)


def on_grid(joints: np.ndarray, size: int, body: float) -> np.ndarray:
    """Joints scaled so that a body length of one is `body` pixels, in the middle of the grid.

    Whoever is then too large for the grid is made to fit.
    """
    low, high = joints.min(axis=0), joints.max(axis=0)
    factor = min(body, (size - 3) / max((high - low).max(), 1e-9))
    middle = (size - 1) / 2
    return np.rint((joints - (low + high) / 2) * factor + middle).astype(np.int64)


def torso_lengths(Y: Any) -> np.ndarray:
    """Left shoulder to right hip of figures of fourteen joints, in pixels.

    >>> torso_lengths(synthetic_poses(2).Y).round(1)
    array([7.8, 8.5])
    """
    joints = _positions(Y)
    return np.linalg.norm(joints[:, 9] - joints[:, 2], axis=1)


def _positions(Y: Any) -> np.ndarray:
    """(n, n_joints, 2); as floats, since differences of unsigned integers wrap round."""
    return np.asarray([np.asarray(y)[:, :2] for y in Y], dtype=np.float64)


def pck(Y: Any, Y_hat: Any, threshold: float = 0.2) -> np.ndarray:
    """Share of images, for each joint, where it is found within `threshold` torso lengths.

    >>> Y = synthetic_poses(3).Y
    >>> pck(Y, Y).tolist() == [1.0] * 14
    True
    """
    if len(Y) != len(Y_hat):
        raise InputError(f"Y has {len(Y)} poses and Y_hat has {len(Y_hat)}; expected as many.")
    truth, guess = (_positions(some) for some in (Y, Y_hat))
    distance = np.linalg.norm(truth - guess, axis=2)
    return (distance <= threshold * torso_lengths(Y)[:, None]).mean(axis=0)
