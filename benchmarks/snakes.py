"""The snakes of Nowozin and others (2011) as graphs with 11 labels, for the graph benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import blockwolfe as bw

N_LABELS = 11
OUTSIDE = 0  # code of the colour beyond the border


def snakes(home: Any, split: str, edges: str = "directed") -> tuple[list[Any], list[np.ndarray]]:
    """Pictures of one split as graphs, and the labels of their pixels (0 background, 1..10).

    A pixel has the colours of itself and its eight neighbours, one-hot. `edges` is "none",
    "plain" (neighbouring pixels), "directed" (with a feature for either direction), or "coloured"
    (for either direction, the colours of both pixels).
    """
    if home is None:
        raise SystemExit("the snakes are not here: set BLOCKWOLFE_DATA or give --data-home.")
    with np.load(Path(home) / "snakes" / "snakes.npz", allow_pickle=False) as arrays:
        pixels, labels = arrays[f"X_{split}"], arrays[f"Y_{split}"].astype(np.int64)
        shapes, offsets = arrays[f"shape_{split}"], arrays[f"offsets_{split}"]
    codes = 1 + (pixels > 0) @ np.array([4, 2, 1])
    known = np.array([OUTSIDE, *(1 + np.array([1, 2, 3, 4, 6]))])
    X, Y = [], []
    for (height, width), begin, end in zip(shapes, offsets[:-1], offsets[1:], strict=True):
        picture = codes[begin:end].reshape(height, width)
        X.append(graph_of(picture, known, edges))
        Y.append(labels[begin:end])
    return X, Y


def graph_of(picture: np.ndarray, known: np.ndarray, edges: str) -> bw.tasks.Graph:
    """One picture of colour codes."""
    height, width = picture.shape
    framed = np.pad(picture, 1, constant_values=OUTSIDE)
    around = [
        framed[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width].ravel()
        for dy in (-1, 0, 1)
        for dx in (-1, 0, 1)
    ]
    nodes = (np.stack(around, axis=1)[:, :, None] == known).reshape(height * width, -1) * 1.0
    if edges == "none":
        return bw.tasks.Graph(nodes, [])
    number = np.arange(height * width).reshape(height, width)
    across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    ends = np.concatenate([across, down])
    if edges == "plain":
        return bw.tasks.Graph(nodes, ends)
    direction = np.repeat(np.eye(2), [len(across), len(down)], axis=0)
    if edges == "directed":
        return bw.tasks.Graph(nodes, ends, direction)
    own = (picture.ravel()[:, None] == known) * 1.0
    colours = np.hstack([np.ones((len(ends), 1)), own[ends[:, 0]], own[ends[:, 1]]])
    features = (direction[:, :, None] * colours[:, None, :]).reshape(len(ends), -1)
    return bw.tasks.Graph(nodes, ends, features)
