"""One file: an npz of arrays and a JSON header. No pickle, ever.

It is written in one step (see `files`). The header carries a digest of all arrays; a file that
was cut or altered is refused.
"""

from __future__ import annotations

import hashlib
import json
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.files import write_atomically
from blockwolfe.errors import ModelFileError

__all__ = ["Kind", "is_kind", "read_archive", "write_archive"]


class Kind(NamedTuple):
    """What a file holds: its name in the header, its version, and its name in sentences."""

    format: str
    version: int
    noun: str


def write_archive(
    path: Path, kind: Kind, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Write header and arrays so that the file is whole or not there."""
    header = {"format": kind.format, "version": kind.version, **header}
    header["digest"] = _digest(header, arrays)
    text = np.array(json.dumps(header))
    write_atomically(path, lambda file: np.savez_compressed(file, header=text, **arrays))  # type: ignore[arg-type]


def read_archive(path: Path, kind: Kind) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays; anything that is not exactly what was written is refused."""
    if not path.is_file():
        raise ModelFileError(f"{path} does not exist.")
    try:
        with np.load(path, allow_pickle=False) as archive:
            text = str(archive["header"][()]) if "header" in archive.files else "{}"
            header = json.loads(text)
            _check_header(path, kind, header)
            arrays = {name: archive[name] for name in archive.files if name != "header"}
    except (*_UNREADABLE, TypeError) as error:  # (TypeError: one array, in no npz)
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{path} is not a blockwolfe {kind.noun}, or it is truncated or altered "
            f"({type(error).__name__}); save the {kind.noun} again."
        ) from error
    if _digest(header, arrays) != header.get("digest"):
        raise ModelFileError(
            f"{path} was altered after it was written; save the {kind.noun} again."
        )
    return header, arrays


def is_kind(path: Path, kind: Kind) -> bool:
    """Whether a file says that it holds such a thing; it may be damaged all the same."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return bool(json.loads(str(archive["header"][()]))["format"] == kind.format)
    except (*_UNREADABLE, TypeError):
        return False


def _digest(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    content = {name: value for name, value in header.items() if name != "digest"}
    sha = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        sha.update(f"{name} {array.dtype.str} {array.shape}".encode())
        sha.update(array.reshape(-1).view(np.uint8).data)
    return sha.hexdigest()


# What zipfile, numpy and json raise on damaged files (RuntimeError: a flag that means encryption).
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    OSError,
    ValueError,
    RuntimeError,
    SyntaxError,  # (numpy reads the headers of arrays as Python literals)
    tokenize.TokenError,
)


_REMEDIES = {
    "blockwolfe-checkpoint": "The same training goes on from it; give the model that it wrote.",
    "blockwolfe-path": "It has weights for many lambdas: load_path reads it.",
}


def _check_header(path: Path, kind: Kind, header: Any) -> None:
    found = str(header.get("format")) if isinstance(header, dict) else ""
    if found != kind.format and found.startswith("blockwolfe-"):
        remedy = f" {_REMEDIES[found]}" if found in _REMEDIES else ""
        raise ModelFileError(f"{path} is a {found.replace('-', ' ')}, not a {kind.noun}.{remedy}")
    if found != kind.format:
        raise ModelFileError(f"{path} is an npz file but not a blockwolfe {kind.noun}.")
    if not isinstance(header.get("version"), int) or header["version"] > kind.version:
        raise ModelFileError(
            f"{path} has file version {header.get('version')!r}; this blockwolfe reads up to "
            f"{kind.version}. Upgrade blockwolfe to read it."
        )
