"""Poses drawn over the maps that they were found in."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.data.datasets.figures import LSP_ARCS
from blockwolfe.errors import InputError

__all__ = ["PoseDisplay"]


class PoseDisplay:
    """A pose, the true one if it is known, and the highest of all joints' scores at each pixel.

    >>> import blockwolfe as bw
    >>> poses = bw.datasets.synthetic_poses(1)
    >>> display = PoseDisplay(poses.X[0], poses.Y[0])
    >>> display.picture.shape, len(display.limbs(display.joints))
    ((32, 32), 13)
    """

    def __init__(self, x: Any, joints: Any, truth: Any = None, arcs: Any = LSP_ARCS) -> None:
        maps = np.asarray(x, dtype=np.float64)
        if maps.ndim not in (3, 4):
            raise InputError(
                f"x has shape {maps.shape}; expected (n_joints, [n_channels,] height, width)."
            )
        self.picture = maps.reshape(-1, *maps.shape[-2:]).max(axis=0)
        self.joints = _positions(joints, "joints", len(maps))
        self.truth = None if truth is None else _positions(truth, "truth", len(maps))
        self.arcs = np.asarray(arcs, dtype=np.int64).reshape(-1, 2)

    @classmethod
    def from_estimator(cls, svm: Any, x: Any, truth: Any = None) -> PoseDisplay:
        """The pose that a fitted estimator finds in x."""
        return cls(x, svm.predict([x])[0], truth, svm.task_.arcs)

    def limbs(self, joints: np.ndarray) -> np.ndarray:
        """Both ends of every arc, (n_arcs, 2, 2)."""
        return np.asarray(joints[self.arcs])

    def plot(self, ax: Any = None) -> PoseDisplay:
        """Draw; needs matplotlib."""
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(4, 4), layout="constrained")
        ax.imshow(self.picture, cmap="Greys", alpha=0.6)
        drawn = [(self.joints, "tab:orange", "-", "found")]
        if self.truth is not None:
            drawn.insert(0, (self.truth, "tab:blue", "--", "true"))
        for joints, colour, style, name in drawn:
            for k, limb in enumerate(self.limbs(joints)):
                ax.plot(*limb.T, style, color=colour, label=name if k == 0 else None)
            ax.plot(*joints.T, "o", color=colour, markersize=3)
        ax.set(xticks=[], yticks=[])
        ax.legend(loc="lower right", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _positions(joints: Any, name: str, n_joints: int) -> np.ndarray:
    positions = np.asarray(joints)
    if positions.ndim != 2 or len(positions) != n_joints or positions.shape[1] not in (2, 3):
        raise InputError(
            f"{name} has shape {positions.shape}; expected ({n_joints}, 2): x and y of each joint."
        )
    return positions[:, :2]
