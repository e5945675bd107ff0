"""Snakes on small grids: which pixels they cover, or which part of the snake each pixel is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from blockwolfe.base.ragged import offsets
from blockwolfe.data.datasets.arrays import load_arrays
from blockwolfe.data.datasets.dataset import Dataset, PathLike, check_split
from blockwolfe.data.graphs import Graph, grid_edges

__all__ = ["load_snakes"]

_SHA256 = {
    "train": "cf9f33b8cf0d8de0f3f1ee0ea86e2c034b7f93acf897ebe71d490023d13e278a",
    "test": "b74c754f6c778a3eac20528855e051bd1f507408531e39ab99223ca7ef1b191b",
}
_COLOURS = np.array([[0, 0, 255], [0, 255, 0], [0, 255, 255], [255, 0, 0], [255, 255, 0]])
_NAMES = ("blue", "green", "cyan", "red", "yellow", "outside")
_NEAR = (("here", 0, 0), ("above", -1, 0), ("left", 0, -1), ("right", 0, 1), ("below", 1, 0))


def load_snakes(
    split: str = "train", data_home: PathLike | None = None, binary: bool = True
) -> Dataset:
    """Pictures of 4..10 by 4..11 pixels with a snake of ten pixels each, on 4-connected grids.

    A pixel has 30 features: the colour (one of five, or outside the picture) of itself and of its
    four neighbours. The colour of a pixel of the snake shows where the snake goes next.

    split : "train" (200 pictures) or "test" (100 pictures).
    data_home : folder that holds ``snakes/snakes.npz``; by default the environment variable
        ``BLOCKWOLFE_DATA``.
    binary : True has labels 0 (background) and 1 (snake); False 0 and 1..10 along the snake.

    Data of S. Nowozin and others (2011).

    >>> load_snakes("dev")
    Traceback (most recent call last):
      ...
    blockwolfe.errors.OptionError: split='dev' is not known; valid: 'train', 'test'.
    """
    check_split(split)
    kinds = {f"X_{split}": "u1", f"Y_{split}": "u1", f"shape_{split}": "<i4"}
    colours, labels, shapes = load_arrays("snakes", "snakes.npz", data_home, kinds, _SHA256[split])
    codes = (colours[:, None, :] == _COLOURS[None]).all(axis=2).argmax(axis=1)
    labels = labels.astype(np.int64)
    offset = offsets(shapes.prod(axis=1))
    spans = [slice(a, b) for a, b in pairwise(offset.tolist())]
    return Dataset(
        X=[
            Graph(_around(codes[at].reshape(shape)), grid_edges(*shape))
            for at, shape in zip(spans, shapes.tolist(), strict=True)
        ],
        Y=[np.minimum(labels[at], 1) if binary else labels[at] for at in spans],
        name=f"snakes-{split}",
        description="Small pictures with a snake of ten pixels each.",
        label_names=("background", "snake")
        if binary
        else ("background", *(str(place) for place in range(1, 11))),
        feature_names=[f"{name}_{where}" for where, _, _ in _NEAR for name in _NAMES],
        n_features=len(_NEAR) * len(_NAMES),
        units=("pictures", "pixels"),
    )


def _around(codes: np.ndarray) -> np.ndarray:
    """Indicators of the colours of each pixel and its neighbours."""
    height, width = codes.shape
    padded = np.pad(codes, 1, constant_values=len(_COLOURS))
    seen = [padded[1 + r : 1 + r + height, 1 + c : 1 + c + width].ravel() for _, r, c in _NEAR]
    return np.hstack([np.eye(len(_NAMES))[near] for near in seen])
