"""Pictures of labellings of grids, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.errors import InputError

__all__ = ["LabellingDisplay"]


class LabellingDisplay:
    """Several labellings of one grid, such as the true labels and those of two models.

    pictures : a dict from titles to 2-d arrays of labels, all of one shape.

    Each title gives the share of pixels that agree with the first picture.

    >>> display = LabellingDisplay({"true": [[0, 1], [1, 1]], "found": [[0, 0], [1, 1]]})
    >>> display.agreement
    {'found': 0.75}
    """

    def __init__(self, pictures: dict[str, Any]) -> None:
        arrays = {title: np.asarray(picture) for title, picture in pictures.items()}
        shapes = {array.shape for array in arrays.values()}
        if len(shapes) != 1 or any(len(shape) != 2 for shape in shapes):
            found = ", ".join(map(str, sorted(shapes))) or "none"
            raise InputError(f"pictures have shapes {found}; expected one 2-d shape for all.")
        self.pictures = arrays
        first, *others = arrays
        self.agreement = {title: float(np.mean(arrays[title] == arrays[first])) for title in others}

    def plot(self, axes: Any = None) -> LabellingDisplay:
        """Draw them in a row; needs matplotlib."""
        import matplotlib.pyplot as plt

        n = len(self.pictures)
        if axes is None:
            _, axes = plt.subplots(1, n, figsize=(3 * n, 3.2), layout="constrained", squeeze=False)
            axes = axes[0]
        labels = np.unique(np.concatenate([p.ravel() for p in self.pictures.values()]))
        colours = {"vmin": 0, "vmax": max(len(labels) - 1, 1), "cmap": "tab10"}
        for ax, (title, picture) in zip(axes, self.pictures.items(), strict=True):
            ax.imshow(np.searchsorted(labels, picture), interpolation="nearest", **colours)
            share = f"\n{self.agreement[title]:.0%} right" if title in self.agreement else "\n"
            ax.set(title=title + share, xticks=[], yticks=[])
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
