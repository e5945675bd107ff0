"""Leeds Sports Pose: real joints of real people, with SYNTHETIC appearance maps."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.data.datasets.dataset import Dataset, PathLike, check_split
from blockwolfe.data.datasets.fetch import check_content, find_file
from blockwolfe.data.datasets.figures import LSP_ARCS, LSP_JOINTS, appearance_maps, on_grid
from blockwolfe.errors import InputError

__all__ = ["load_lsp"]

_SHA256 = "a972b9bea7c9d8b1a5c76d1522731ceca3787bfb1ab9a4f4797796bc7e64fded"
_N_TRAIN = 1000
_BODY = 0.8  # body length, as a share of the grid's side


def load_lsp(
    split: str = "train",
    data_home: PathLike | None = None,
    *,
    size: int = 40,
    random_state: int = 0,
) -> Dataset:
    """Annotated joints of Leeds Sports Pose on a small grid, with SYNTHETIC appearance maps.

    The joints are real; the pictures are not here, so the maps that X holds are made up around the
    true joints, with the errors of a detector (see `appearance_maps`): figures measured on them
    say how well structure corrects such errors, not how well anyone reads pictures.

    X has score maps (14, size, size), Y the joints (14, 2) as columns and rows of the grid. All
    people have about the same body length: head, trunk, thigh and shank, mean of both sides.

    split : "train" (images 1..1000) or "test" (images 1001..2000).
    data_home : folder that holds ``lsp/lsp_joints.npz``; by default the environment variable
        ``BLOCKWOLFE_DATA``. There is nothing to download.
    size : pixels of a side of the grid, at least 12.
    random_state : seed of the maps; each image has its own, so splits do not share noise.

    Data of S. Johnson and M. Everingham (BMVC 2010).

    >>> load_lsp("dev")
    Traceback (most recent call last):
      ...
    blockwolfe.errors.OptionError: split='dev' is not known; valid: 'train', 'test'.
    """
    check_split(split)
    check_integer("size", size, 12)
    people = _read_people(find_file("lsp", "lsp_joints.npz", data_home, check=_read_people))
    images = range(_N_TRAIN) if split == "train" else range(_N_TRAIN, len(people.xy))
    X, Y = [], []
    for image in images:
        joints = people.xy[image].astype(np.float64)
        placed = on_grid(joints / _body_length(joints), size, _BODY * size)
        rng = np.random.default_rng([random_state, image])
        X.append(appearance_maps(placed, people.occluded[image], size, rng))
        Y.append(placed)
    return Dataset(
        X=X,
        Y=Y,
        name=f"lsp-synthetic-maps-{split}",
        description=(
            "Joints of Leeds Sports Pose on a grid; the appearance maps are SYNTHETIC, made "
            "around the true joints."
        ),
        label_names=LSP_JOINTS,
        feature_names=None,
        n_features=1,
        units=("images", "joints"),
    )


def _body_length(joints: np.ndarray) -> float:
    """Head, then trunk, thigh and shank as means of left and right."""
    length = {arc: float(np.linalg.norm(joints[arc[0]] - joints[arc[1]])) for arc in LSP_ARCS}
    both = ((8, 2), (9, 3), (2, 1), (3, 4), (1, 0), (4, 5))
    return length[12, 13] + sum(length[arc] for arc in both) / 2.0


class _People(NamedTuple):
    xy: np.ndarray
    occluded: np.ndarray

    def digest(self) -> str:
        """sha256 of the arrays, in this order, as bytes in C order and little endian."""
        joined = self.xy.astype("<f4").tobytes() + self.occluded.astype("u1").tobytes()
        return hashlib.sha256(joined).hexdigest()


def _read_people(path: Path) -> _People:
    content: Any = io.BytesIO(path.read_bytes())
    try:
        with np.load(content, allow_pickle=False) as arrays:
            people = _People(*(np.asarray(arrays[name]) for name in _People._fields))
            digest = people.digest()
    except Exception as error:  # a damaged zip file raises almost anything
        raise InputError(f"{path} cannot be read ({error}): it is truncated or altered.") from error
    check_content(digest, _SHA256, path)
    return people
