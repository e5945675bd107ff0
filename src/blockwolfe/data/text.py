"""Files of text: packed or not, as lines, with errors that say where."""

from __future__ import annotations

import codecs
import gzip
import os
from pathlib import Path

from blockwolfe.errors import InputError

__all__ = ["shortened", "text_lines", "unpack", "unpacked"]


def unpacked(path: Path) -> bytes:
    """The content of a file, gzip or plain; recognised by its first bytes, not by its name.

    A server may send a ``.gz`` file with ``Content-Encoding: gzip``, which leaves plain
    text under the name of the packed file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.gz"
    ...     n_bytes = path.write_bytes(gzip.compress(b"text"))
    ...     unpacked(path)
    b'text'
    """
    return unpack(path.read_bytes(), path)


def unpack(content: bytes, path: str | os.PathLike[str]) -> bytes:
    """The same of bytes that are there already; `path` names them in errors.

    >>> unpack(gzip.compress(b"text"), "-")
    b'text'
    """
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except Exception as error:  # damaged gzip raises EOFError, zlib.error, OSError, ...
        raise InputError(f"{path} cannot be unpacked ({error}): it is truncated or altered.") from (
            error
        )


def shortened(line: str) -> str:
    """At most 80 characters of a line, for an error about it."""
    return line if len(line) <= 80 else f"{line[:77]}..."


def text_lines(content: bytes, path: Path) -> list[str]:
    """The lines of UTF-8 text; an `InputError` names the line that is not."""
    content = content.removeprefix(codecs.BOM_UTF8)  # (what some editors begin a file with)
    try:
        # not splitlines(), which also breaks at characters that a word may contain
        return content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"line {number} of {path} is not UTF-8 text ({error.reason}).") from error
