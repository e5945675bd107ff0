"""Noisy binary pictures made here, without any file."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer, is_real
from blockwolfe.base.seeds import generator
from blockwolfe.data.datasets.dataset import Dataset
from blockwolfe.data.graphs import Graph, grid_edges
from blockwolfe.errors import OptionError

__all__ = ["synthetic_grids"]


def synthetic_grids(
    n: int = 20, height: int = 24, width: int = 32, noise: float = 1.0, random_state: Any = 0
) -> Dataset:
    """Pictures of a few discs seen through noise, on 4-connected grids; labels 0 and 1 (a disc).

    A pixel's one feature is -1 (outside) or 1 (inside a disc) plus Gaussian noise of standard
    deviation `noise`; an edge has a constant and exp(-|difference of its pixels|), both >= 0.

    random_state : seed; the same seed gives the same pictures.

    >>> grids = synthetic_grids(3, height=4, width=5)
    >>> grids
    Dataset('synthetic-grids': 3 pictures, 60 pixels, 2 labels, 1 feature)
    >>> grids.X[0].nodes.shape, grids.X[0].edges.shape
    ((20, 1), (31, 2))
    """
    for argument, value in {"n": n, "height": height, "width": width}.items():
        check_integer(argument, value, 1)
    if not is_real(noise) or not 0 <= noise < np.inf:
        raise OptionError(f"noise={noise!r} must be a number >= 0.")
    rng, edges = generator(random_state), grid_edges(height, width)
    X, Y = [], []
    for _ in range(n):
        y = _discs(rng, height, width).ravel().astype(np.int64)
        seen = 2.0 * y - 1.0 + noise * rng.normal(size=len(y))
        likeness = np.exp(-np.abs(seen[edges[:, 0]] - seen[edges[:, 1]]))
        X.append(Graph(seen[:, None], edges, np.stack([np.ones(len(edges)), likeness], axis=1)))
        Y.append(y)
    return Dataset(
        X=X,
        Y=Y,
        name="synthetic-grids",
        description="Pictures of a few discs seen through noise.",
        label_names=("outside", "inside"),
        feature_names=["brightness"],
        n_features=1,
        units=("pictures", "pixels"),
    )


def _discs(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    row, column = np.mgrid[:height, :width]
    is_inside = np.zeros((height, width), dtype=bool)
    for _ in range(rng.integers(1, 4)):
        radius = rng.uniform(0.12, 0.32) * max(2, min(height, width))
        y, x = rng.uniform(0, height), rng.uniform(0, width)
        is_inside |= (row - y) ** 2 + (column - x) ** 2 <= radius**2
    return is_inside
