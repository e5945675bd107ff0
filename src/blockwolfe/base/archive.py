"""One file: an npz of arrays and a JSON header. No pickle, ever.

It is written in one step (see `files`). The header carries a digest of all arrays; a file that
was cut or altered is refused. Against a file that was *made* to do harm a digest is no help, so
sizes are looked at before anything is read (see `unzipping`), and whoever reads a header asks for
each value with all that must be true of it (see `schema`).
"""

from __future__ import annotations

import hashlib
import json
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.files import kind_of, write_atomically
from blockwolfe.base.unzipping import Archive
from blockwolfe.errors import ModelFileError

__all__ = ["Kind", "apart", "is_kind", "read_archive", "together", "write_archive"]

_ARRAY = "array of the file"  # in the header, before the name of an array


class Kind(NamedTuple):
    """What a file holds: its name in the header, its version, and its name in sentences."""

    format: str
    version: int
    noun: str


def write_archive(
    path: Path, kind: Kind, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> str:
    """Write header and arrays so that the file is whole or not there; the digest."""
    header = {"format": kind.format, "version": kind.version, **header}
    header["digest"] = _digest(header, arrays)
    text = np.array(json.dumps(header))
    write_atomically(path, lambda file: np.savez_compressed(file, header=text, **arrays))  # type: ignore[arg-type]
    return str(header["digest"])


def read_archive(path: Path, kind: Kind) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays; anything that is not exactly what was written is refused."""
    _check_regular(path)
    try:
        with Archive(path) as archive:
            header = archive.header()
            _check_header(path, kind, header)
            arrays = archive.arrays()
        is_whole = _digest(header, arrays) == header.get("digest")
    except _UNREADABLE as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{path} is not a blockwolfe {kind.noun}, or it is truncated or altered "
            f"({type(error).__name__}); save the {kind.noun} again."
        ) from error
    if not is_whole:
        raise ModelFileError(
            f"{path} was altered after it was written; save the {kind.noun} again."
        )
    return header, {name: _as_kept_here(array) for name, array in arrays.items()}


def apart(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """The value with its arrays, at any depth of dicts, moved to `arrays` and named instead.

    >>> arrays = {}
    >>> apart({"n": 1, "w": np.zeros(2)}, "run", arrays)
    {'n': 1, 'w': {'array of the file': 'run.w'}}
    >>> together(_, arrays)
    {'n': 1, 'w': array([0., 0.])}
    """
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {_ARRAY: name}
    if isinstance(value, dict):
        return {key: apart(part, f"{name}.{key}", arrays) for key, part in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def together(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The other way."""
    if not isinstance(value, dict):
        return value
    if _ARRAY in value:
        return arrays[value[_ARRAY]]
    return {key: together(part, arrays) for key, part in value.items()}


def _check_regular(path: Path) -> None:
    kind = kind_of(path)
    if kind is None:
        raise ModelFileError(f"{path} does not exist.")
    if kind:
        raise ModelFileError(f"{path} is {kind}; expected a file.")


def _as_kept_here(array: np.ndarray) -> np.ndarray:
    """Row by row, and in the byte order of this machine: as compiled code reads it."""
    return np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")


def is_kind(path: Path, kind: Kind) -> bool:
    """Whether a file says that it holds such a thing; it may be damaged all the same."""
    if kind_of(path) != "":
        return False
    try:
        with Archive(path) as archive:
            return bool(archive.header()["format"] == kind.format)
    except _UNREADABLE:
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
    RuntimeError,  # (also RecursionError: a header nested too deeply)
    OverflowError,
    MemoryError,
    TypeError,
    struct.error,
    SyntaxError,  # (numpy reads the headers of arrays as Python literals)
    tokenize.TokenError,
)


_REMEDIES = {
    "blockwolfe-checkpoint": "The same training goes on from it; give the model that it wrote.",
    "blockwolfe-part": "It is the part of one shard; give the file that it is named after.",
    "blockwolfe-path": "It has weights for many lambdas: load_path reads it.",
}


def _check_header(path: Path, kind: Kind, header: Any) -> None:
    found = str(header.get("format"))
    if found != kind.format and found.startswith("blockwolfe-"):
        remedy = f" {_REMEDIES[found]}" if found in _REMEDIES else ""
        named = ascii(found[:60].replace("-", " "))[1:-1]
        raise ModelFileError(f"{path} is a {named}, not a {kind.noun}.{remedy}")
    if found != kind.format:
        raise ModelFileError(f"{path} is an npz file but not a blockwolfe {kind.noun}.")
    version = header.get("version")
    if type(version) is not int or not 1 <= version <= kind.version:
        raise ModelFileError(
            f"{path} has file version {ascii(version)[:20]}; this blockwolfe reads up to "
            f"{kind.version}. Upgrade blockwolfe to read it."
        )
