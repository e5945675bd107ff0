"""Joints on a grid of pixels: Pose."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import blockwolfe as bw
from tools.fuzz.drawing.listed import Block, Drawn, Real
from tools.fuzz.drawing.numbers import Features, one_of

__all__ = ["pose"]


def pose(rng: np.random.Generator) -> Drawn:
    """Weights: appearance (joints x channels) | type | linear | square, these by arc and type.

    An arc of type t from a parent at p to a child at q has -r and -r^2 as its features by axis,
    r = (q - p - anchor) / unit.
    """
    n_joints = int(rng.integers(1, 4))
    n_channels, n = int(rng.integers(1, 3)), int(rng.integers(2, 5))
    arcs = [(int(rng.integers(c)), c) for c in range(1, n_joints) if rng.random() < 0.8]
    shapes = [(1, 3) if n_joints == 3 else one_of(rng, (2, 2), (1, 4), (2, 3)) for _ in range(n)]
    features = Features(rng)
    size = features.size if features.kind == "scaled" else 1.0
    maps = [rng.normal(size=(n_joints, n_channels, *shape)) * size for shape in shapes]
    X = [x if n_channels > 1 or rng.random() < 0.5 else x[:, 0] for x in maps]
    Y = [
        np.column_stack([rng.integers(w, size=n_joints), rng.integers(h, size=n_joints)])
        for h, w in shapes
    ]
    offsets = [{tuple(y[c] - y[p]) for y in Y} for p, c in arcs]
    n_types = int(rng.integers(1, 1 + min([2, *(len(seen) for seen in offsets)])))
    scale = None if rng.random() < 0.5 else float(rng.uniform(0.5, 3.0))
    task = bw.tasks.Pose(
        n_types, arcs=arcs, scale=scale, min_square=float(one_of(rng, 0.0, 1e-3, 0.1))
    )

    def list_blocks(fitted: Any) -> list[Block]:
        return [_block(fitted, x, y, n_types) for x, y in zip(maps, Y, strict=True)]

    def own_bounds(fitted: Any) -> list[tuple[slice, float, float]]:
        n_squares = 2 * len(arcs) * n_types
        d = n_joints * n_channels + 5 * len(arcs) * n_types
        return [(slice(d - n_squares, d), float(task.min_square), np.inf)]

    return Drawn(task, X, Y, list_blocks, _key, size, own_bounds)


def _key(y: Any) -> tuple[Any, ...]:
    return tuple(map(tuple, np.asarray(y).tolist()))


def _block(fitted: Any, x: np.ndarray, y: np.ndarray, n_types: int) -> Block:
    """All places of all joints, with all types of their arcs."""
    n_joints, height, width = x.shape[0], *x.shape[2:]
    pixels = list(itertools.product(range(width), range(height)))
    has_parent = [j in set(fitted.arcs_[:, 1].tolist()) for j in range(n_joints)]
    types = list(itertools.product(*(range(n_types if has else 1) for has in has_parent)))
    outputs = [
        tuple((*place, kind) for place, kind in zip(places, kinds, strict=True))
        for places in itertools.product(pixels, repeat=n_joints)
        for kinds in types
    ]
    kept = x.astype(np.float32).astype(Real)  # (maps are kept in single precision)
    return Block(
        np.array([_phi(fitted, kept, z, n_types) for z in outputs]),
        np.array([_loss(fitted, y, z) for z in outputs], dtype=Real),
        outputs.index(_true_output(fitted, y)),
        list(outputs),
    )


def _true_output(fitted: Any, y: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """With the nearest anchor as the type of every arc."""
    kinds = [0] * len(y)
    for (parent, child), anchors in zip(fitted.arcs_.tolist(), fitted.anchor_, strict=True):
        kinds[child] = int(np.argmin(((y[child] - y[parent] - anchors) ** 2).sum(axis=1)))
    return tuple((*place, kind) for place, kind in zip(y.tolist(), kinds, strict=True))


def _phi(fitted: Any, x: np.ndarray, z: Any, n_types: int) -> np.ndarray:
    appearance = [x[j, :, row, column] for j, (column, row, _) in enumerate(z)]
    n_arcs = len(fitted.arcs_)
    kinds = np.zeros((n_arcs, n_types), dtype=Real)
    linear, square = (np.zeros((n_arcs, n_types, 2), dtype=Real) for _ in range(2))
    for e, (parent, child) in enumerate(fitted.arcs_.tolist()):
        kind = z[child][2]
        kinds[e, kind] = 1
        for axis in range(2):
            away = Real(z[child][axis] - z[parent][axis]) - Real(fitted.anchor_[e, kind, axis])
            r = away / Real(fitted.unit_)
            linear[e, kind, axis], square[e, kind, axis] = -r, -r * r
    return np.concatenate([*appearance, kinds.ravel(), linear.ravel(), square.ravel()])


def _loss(fitted: Any, y: np.ndarray, z: Any) -> Real:
    """Mean over joints of min(1, squared distance / scale^2)."""
    scale = Real(fitted.scale_)
    away = [
        Real((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) / scale**2
        for a, b in zip(y.tolist(), z, strict=True)
    ]
    return sum((min(Real(1), one) for one in away), Real(0)) / len(away)
