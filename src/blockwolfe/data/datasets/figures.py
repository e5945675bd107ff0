"""Figures of fourteen joints: the skeleton of Leeds Sports Pose, and SYNTHETIC maps of joints.

No pictures are involved: what a detector of joints would see in them is imitated
(`appearance_maps`), with the errors that such detectors make.
"""

from __future__ import annotations

import numpy as np

__all__ = ["LSP_ARCS", "LSP_JOINTS", "MIRROR", "appearance_maps", "on_grid"]

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


def on_grid(joints: np.ndarray, size: int, body: float) -> np.ndarray:
    """Joints scaled so that a body length of one is `body` pixels, in the middle of the grid.

    Whoever is then too large for the grid is made to fit.
    """
    low, high = joints.min(axis=0), joints.max(axis=0)
    factor = min(body, (size - 3) / max((high - low).max(), 1e-9))
    middle = (size - 1) / 2
    return np.rint((joints - (low + high) / 2) * factor + middle).astype(np.int64)
