"""Reading a zip of arrays that anybody may have made: sizes are checked before memory is taken.

A zip file says of each member how large it will be, and each array says its shape. Both are only
claims: they must agree, their sum must be within a limit, and nothing is read beyond it.
"""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from blockwolfe.errors import ModelFileError

__all__ = ["Archive", "most_bytes"]

# A file may grow to this in memory whatever its size, and beyond that by this factor. Weights are
# mostly zeros, and zeros are compressed a thousandfold, so that a factor alone would refuse models.
SMALL_BYTES = 1 << 30
LARGEST_RATIO = 100
MOST_MEMBERS = 10_000
MOST_HEADER_BYTES = 1 << 26  # (four a character)
MOST_NESTING = 50  # lists and objects of the header, one within another
MOST_DIMENSIONS = 8

_SUFFIX = ".npy"
_HEADER = "header"
# What arrays may be made of: truth values, integers, floats of at most eight bytes, and text.
_KINDS = "biufU"
_LARGEST_CHARACTER = 0x10FFFF
# (of the others a few bytes may unpack to any number at once)
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def most_bytes(n_bytes: int) -> int:
    """The memory that a file of so many bytes may ask for.

    >>> most_bytes(1000) == SMALL_BYTES, most_bytes(1 << 30) == 100 << 30
    (True, True)
    """
    return max(SMALL_BYTES, LARGEST_RATIO * n_bytes)


class Archive:
    """An npz file whose directory is sound; a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip = zipfile.ZipFile(path)
        try:
            self._members = self._checked_members(path.stat().st_size)
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()

    def _checked_members(self, n_bytes: int) -> dict[str, zipfile.ZipInfo]:
        listed = self._zip.infolist()
        if len(listed) > MOST_MEMBERS:
            raise self._refuse(f"{len(listed)} members", f"at most {MOST_MEMBERS}")
        members = {info.filename.removesuffix(_SUFFIX): info for info in listed}
        if len(members) < len(listed):
            raise ValueError("a name is there twice")
        if any(info.compress_type not in _COMPRESSIONS for info in listed):
            raise ValueError("another way of compressing")
        total, most = sum(info.file_size for info in listed), most_bytes(n_bytes)
        if total > most:
            raise self._refuse(f"{total:,} bytes when unpacked", f"at most {most:,}")
        return members

    def _refuse(self, found: str, expected: str) -> ModelFileError:
        return ModelFileError(
            f"{self.path} says that it has {found}; expected {expected}. It was not written by "
            "blockwolfe, or is altered; if you made it yourself, raise the limit in "
            "blockwolfe.base.unzipping."
        )

    # -- members -------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """The JSON header; empty where there is none."""
        if _HEADER not in self._members:
            return {}
        n_bytes = self._members[_HEADER].file_size
        if n_bytes > MOST_HEADER_BYTES:
            raise self._refuse(f"a header of {n_bytes:,} bytes", f"at most {MOST_HEADER_BYTES:,}")
        text = self._array(_HEADER)
        if text.shape != () or text.dtype.kind != "U":
            raise ValueError("the header is no text")
        found = json.loads(str(text[()]))
        if not isinstance(found, dict) or nesting(found) > MOST_NESTING:
            raise ValueError("the header is no object, or nested too deeply")
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays; the types and shapes of all are looked at before any is read."""
        names = [name for name in self._members if name != _HEADER]
        for name in names:
            self._check_claims(name)
        return {name: self._array(name) for name in names}

    def _check_claims(self, name: str) -> None:
        """Refuse an array whose type is none of ours, or whose shape is not the member's size."""
        info = self._members[name]
        with self._zip.open(info) as file:
            version = npy.read_magic(file)
            if version == (1, 0):
                shape, _, dtype = npy.read_array_header_1_0(file)
            elif version == (2, 0):
                shape, _, dtype = npy.read_array_header_2_0(file)
            else:
                raise ValueError(f"arrays of version {version}")
            n_bytes = math.prod(shape) * dtype.itemsize + file.tell()
        if dtype.kind not in _KINDS or dtype.itemsize == 0 or dtype.names is not None:
            raise ValueError(f"an array of type {dtype}")
        if dtype.kind != "U" and dtype.itemsize > 8:
            raise ValueError(f"an array of type {dtype}")
        if len(shape) > MOST_DIMENSIONS or n_bytes != info.file_size:
            raise ValueError(f"an array of shape {shape} that has another size")

    def _array(self, name: str) -> np.ndarray:
        self._check_claims(name)
        with self._zip.open(self._members[name]) as file:
            array = npy.read_array(file, allow_pickle=False)
            if file.read(1):  # (the end, at which the checksum is compared)
                raise ValueError("more than an array")
        _check_entries(array)
        return np.asarray(array)


def _check_entries(array: np.ndarray) -> None:
    """Refuse truth values that are neither, and characters that there are not."""
    bare = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C").reshape(-1)
    if array.dtype.kind == "b" and (bare.view(np.uint8) > 1).any():
        raise ValueError("truth values that are neither")
    if array.dtype.kind == "U" and bare.view(np.uint32).max(initial=0) > _LARGEST_CHARACTER:
        raise ValueError("characters that there are not")


def nesting(value: Any) -> int:
    """How many lists and objects lie one within another.

    >>> nesting({"a": [1, [2]]})
    3
    """
    depth, level = 0, [value]
    while level:
        inside = [v for v in level if isinstance(v, (dict, list))]
        level = [v for some in inside for v in (some.values() if isinstance(some, dict) else some)]
        depth += bool(inside)
    return depth
