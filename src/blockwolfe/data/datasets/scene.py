"""Scenes: photographs with any of six labels (Boutell, Luo, Shen and Brown, 2004)."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np

from blockwolfe.data.datasets.dataset import Dataset, PathLike, check_split
from blockwolfe.data.datasets.fetch import check_content, find_file
from blockwolfe.errors import InputError

__all__ = ["load_scene"]

_SHA256 = "8740881684aa83793e5cacf95593f16a3398b40d775a96d0398c9bb98241caaf"
_LABELS = ("beach", "sunset", "fall foliage", "field", "mountain", "urban")


def load_scene(split: str = "train", data_home: PathLike | None = None) -> Dataset:
    """Photographs of scenes: 294 colour moments of a 7 x 7 grid, and which of six labels they have.

    split : "train" (1211 photographs) or "test" (1196).
    data_home : folder that holds ``scene/scene.npz``, with arrays ``X_train`` (1211, 294) and
        ``X_test`` (1196, 294) of float32 in [0, 1], and ``y_train`` and ``y_test`` (., 6) of 0 and
        1; by default the environment variable ``BLOCKWOLFE_DATA``, else the cache.

    X is an (n, 294) array and Y an (n, 6) array of 0 and 1, as `tasks.Multilabel` takes them.
    Data of Boutell, Luo, Shen and Brown, Learning multi-label scene classification, Pattern
    Recognition 37 (2004).

    >>> load_scene("dev")
    Traceback (most recent call last):
      ...
    blockwolfe.errors.OptionError: split='dev' is not known; valid: 'train', 'test'.
    """
    check_split(split)
    scenes = _read(find_file("scene", "scene.npz", data_home, check=_read))
    X, Y = (scenes.X_train, scenes.y_train) if split == "train" else (scenes.X_test, scenes.y_test)
    return Dataset(
        X=X.astype(np.float64),
        Y=Y.astype(np.int64),
        name=f"scene-{split}",
        description="Photographs with six labels, most with one and some with up to three.",
        label_names=_LABELS,
        feature_names=[f"colour_{j}" for j in range(X.shape[1])],
        n_features=X.shape[1],
        units=("photographs", "labels on or off"),
    )


class _Scenes(NamedTuple):
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def digest(self) -> str:
        """sha256 of the arrays, in this order, as bytes in C order and little endian."""
        types = ("<f4", "u1", "<f4", "u1")
        joined = b"".join(a.astype(kind).tobytes() for a, kind in zip(self, types, strict=True))
        return hashlib.sha256(joined).hexdigest()


def _read(path: Path) -> _Scenes:
    content = io.BytesIO(path.read_bytes())
    try:
        with np.load(content, allow_pickle=False) as arrays:
            scenes = _Scenes(*(np.asarray(arrays[name]) for name in _Scenes._fields))
    except Exception as error:  # a damaged zip file raises almost anything
        raise InputError(f"{path} cannot be read ({error}): it is truncated or altered.") from error
    check_content(scenes.digest(), _SHA256, path)
    return scenes
