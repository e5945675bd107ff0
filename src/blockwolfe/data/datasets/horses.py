"""Weizmann horses: superpixels of photographs, horse or background."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from blockwolfe.data.datasets.arrays import load_arrays
from blockwolfe.data.datasets.dataset import Dataset, PathLike, check_split
from blockwolfe.data.graphs import Graph

__all__ = ["load_horses"]

_KINDS = {
    "node_features": "<f2", "node_labels": "u1", "node_offsets": "<i4", "edges": "<i2",
    "edge_features": "<f2", "edge_offsets": "<i4", "feature_names": "<U14", "is_test": "u1",
}  # fmt: skip
_SHA256 = "402300f7dcb12a67d02eaa2b12a1def08db7b09df4b3124860bb3dfc09bdc790"
# Distances of neighbours in colour, histogram and gradient, divided by their means.
_TYPICAL = np.array([0.33, 0.28, 0.65])
EDGE_NAMES = ("constant", "length", "like_colour", "like_histogram", "like_gradient")


def load_horses(split: str = "train", data_home: PathLike | None = None) -> Dataset:
    """Photographs of horses as graphs of superpixels; labels 0 (background) and 1 (horse).

    A node has 71 features: colour, orientation, texture, position, contrast. An edge joins
    superpixels that touch and has 5 features, all >= 0: a constant, the length of the common
    boundary, and that length times exp(-distance / typical distance) for colour, histogram and
    gradient: large where neighbours look alike.

    split : "train" (278 pictures) or "test" (49 pictures).
    data_home : folder that holds ``weizmann_horses/superpixels.npz``; by default the environment
        variable ``BLOCKWOLFE_DATA``.

    Pictures of E. Borenstein and S. Ullman (2002).

    >>> load_horses("dev")
    Traceback (most recent call last):
      ...
    blockwolfe.errors.OptionError: split='dev' is not known; valid: 'train', 'test'.
    """
    check_split(split)
    nodes, labels, node_offset, edges, of_edges, edge_offset, names, is_test = load_arrays(
        "weizmann_horses", "superpixels.npz", data_home, _KINDS, _SHA256
    )
    nodes, labels = nodes.astype(np.float64), labels.astype(np.int64)
    likeness, edges = _likeness(of_edges.astype(np.float64)), edges.astype(np.int32)
    node_spans, edge_spans = list(pairwise(node_offset)), list(pairwise(edge_offset))
    kept = np.flatnonzero(is_test == (split == "test"))
    return Dataset(
        X=[
            Graph(nodes[slice(*node_spans[i])], edges[at], likeness[at])
            for i in kept
            for at in (slice(*edge_spans[i]),)
        ],
        Y=[labels[slice(*node_spans[i])] for i in kept],
        name=f"horses-{split}",
        description="Photographs of horses, segmented into some 165 superpixels each.",
        label_names=("background", "horse"),
        feature_names=[str(name) for name in names],
        n_features=nodes.shape[1],
        units=("pictures", "superpixels"),
    )


def _likeness(of_edges: np.ndarray) -> np.ndarray:
    length, distance = of_edges[:, :1], of_edges[:, 1:]
    likeness = length * np.exp(-distance / _TYPICAL)
    return np.hstack([np.ones_like(length), length, likeness])
