"""Files that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from blockwolfe.errors import InputError

__all__ = ["check_folder", "write_atomically"]


def check_folder(path: Path) -> None:
    """An `InputError` unless a file can be made at `path`: its folder is there, it is no folder."""
    if not path.parent.is_dir():
        raise InputError(f"cannot save to {path}: the folder {path.parent} does not exist.")
    if path.is_dir():
        raise InputError(f"cannot save to {path}: it is a folder; give the name of a file in it.")


def write_atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Let `write` fill a file beside `path`, then move it there in one step.

    A crash or a full disk leaves either the old file or none.
    """
    check_folder(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp makes files that only the owner can read
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
