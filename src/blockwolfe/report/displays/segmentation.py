"""Labels of nodes that have a place in the plane, drawn as pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from blockwolfe.errors import InputError

__all__ = ["SegmentationDisplay"]


class SegmentationDisplay:
    """Values of nodes (true labels, predicted labels, a feature) as pictures side by side.

    Each pixel of a picture shows the nearest node: exact for grids, and close for superpixels of
    which only the centres are known.

    positions : (n_nodes, 2), the row and column of each node's centre.
    panels : from a title to one number per node.
    shape : height and width of the pictures; those of a grid for a grid.

    >>> corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> display = SegmentationDisplay(corners, {"truth": [0, 1, 1, 1]}, shape=(2, 2))
    >>> display.pictures["truth"]
    array([[0., 1.],
           [1., 1.]])
    """

    def __init__(
        self, positions: Any, panels: Mapping[str, Any], shape: tuple[int, int] = (96, 128)
    ) -> None:
        self.positions = np.asarray(positions, dtype=np.float64)
        if self.positions.ndim != 2 or self.positions.shape[1] != 2 or not len(self.positions):
            raise InputError(
                f"positions has shape {self.positions.shape}; expected (n_nodes, 2), the row and "
                "column of each node."
            )
        self.shape = shape
        nearest = self._nearest_nodes()
        self.pictures = {
            title: self._checked(values, title)[nearest] for title, values in panels.items()
        }

    @classmethod
    def from_predictions(
        cls,
        positions: Any,
        y_true: Any,
        y_pred: Any,
        classes: Any,
        shape: tuple[int, int] = (96, 128),
    ) -> SegmentationDisplay:
        """Truth, prediction, and where they differ; `classes` are the labels in order."""
        truth, guess = (np.searchsorted(classes, np.asarray(y)) for y in (y_true, y_pred))
        wrong = (truth != guess).astype(np.float64)
        return cls(positions, {"truth": truth, "prediction": guess, "wrong": wrong}, shape)

    def _nearest_nodes(self) -> np.ndarray:
        low, high = self.positions.min(axis=0), self.positions.max(axis=0)
        rows, columns = (np.linspace(low[k], high[k], self.shape[k]) for k in range(2))
        pixels = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1)
        return np.asarray(KDTree(self.positions).query(pixels)[1])

    def _checked(self, values: Any, title: str) -> np.ndarray:
        array = np.asarray(values, dtype=np.float64)
        if array.shape != (len(self.positions),):
            raise InputError(
                f"panel {title!r} has shape {array.shape}; expected one number for each of the "
                f"{len(self.positions)} nodes."
            )
        return array

    def plot(self, axes: Any = None) -> SegmentationDisplay:
        """Draw one picture a panel; needs matplotlib."""
        import matplotlib.pyplot as plt

        if axes is None:
            size = (3.2 * len(self.pictures), 2.8)
            _, axes = plt.subplots(1, len(self.pictures), figsize=size, layout="constrained")
        axes = np.atleast_1d(axes)
        for ax, (title, picture) in zip(axes, self.pictures.items(), strict=True):
            ax.imshow(picture, cmap="gray" if picture.min() < 0 else "cividis")
            ax.set(title=title, xticks=[], yticks=[])
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
