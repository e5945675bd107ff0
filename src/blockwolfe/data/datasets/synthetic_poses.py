"""Made-up people of fourteen joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.base.seeds import generator
from blockwolfe.data.datasets.dataset import Dataset
from blockwolfe.data.datasets.figures import LSP_ARCS, LSP_JOINTS, appearance_maps, on_grid

__all__ = ["synthetic_poses"]

# Of each arc of LSP_ARCS: its length in bodies, its angle in degrees (y down), and how it swings.
_LENGTHS = (0.13, 0.11, 0.11, 0.17, 0.15, 0.17, 0.15, 0.28, 0.28, 0.24, 0.23, 0.24, 0.23)
_ANGLES = (-90, 170, 10, 100, 100, 80, 80, 80, 100, 95, 95, 85, 85)
_SWINGS = (15, 10, 10, 60, 50, 60, 50, 8, 8, 30, 25, 30, 25)


def synthetic_poses(n_images: int = 60, size: int = 32, random_state: Any = 0) -> Dataset:
    """Made-up people of fourteen joints, drawn limb by limb, with SYNTHETIC appearance maps.

    X has score maps (14, size, size), Y the joints (14, 2) as columns and rows of the grid.

    size : pixels of a side of the grid, at least 12.
    random_state : seed; the same seed gives the same people.

    >>> poses = synthetic_poses(3)
    >>> poses
    Dataset('synthetic-poses': 3 images, 42 joints, 14 labels, 1 feature)
    >>> poses.X[0].shape, poses.Y[0][12]
    ((14, 32, 32), array([13,  7]))
    """
    for name, value, least in (("n_images", n_images, 1), ("size", size, 12)):
        check_integer(name, value, least)
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
