"""Datasets that are kept as arrays in one npz file."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from blockwolfe.data.datasets.dataset import PathLike
from blockwolfe.data.datasets.fetch import check_content, find_file
from blockwolfe.errors import InputError

__all__ = ["load_arrays"]


def load_arrays(
    dataset: str, name: str, data_home: PathLike | None, kinds: Mapping[str, str], sha256: str
) -> list[np.ndarray]:
    """The arrays named in `kinds`, checked; `sha256` is of all of them as these kinds of bytes."""
    path = find_file(dataset, name, data_home)
    arrays = _read(path, list(kinds))
    joined = b"".join(a.astype(k).tobytes() for a, k in zip(arrays, kinds.values(), strict=True))
    check_content(hashlib.sha256(joined).hexdigest(), sha256, path)
    return arrays


def _read(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    content = io.BytesIO(path.read_bytes())
    try:
        with np.load(content, allow_pickle=False) as arrays:
            return [np.asarray(arrays[name]) for name in names]
    except Exception as error:  # a damaged zip file raises almost anything
        raise InputError(f"{path} cannot be read ({error}): it is truncated or altered.") from error
