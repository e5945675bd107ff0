"""Files of text: packed or not, as lines, with errors that say where."""

from __future__ import annotations

import codecs
import gzip
import io
import os
from pathlib import Path

from blockwolfe.errors import InputError

__all__ = ["out_of_memory", "shortened", "text_lines", "unpack", "unpacked"]

# A packed file may grow to this size, or to so many times its own: text packs to a tenth or so.
_LARGEST = 2**30
_MOST_TIMES = 100


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
    most = max(_LARGEST, _MOST_TIMES * len(content))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            text = file.read(most + 1)
    except MemoryError as error:
        raise out_of_memory(path) from error
    except Exception as error:  # damaged gzip raises EOFError, zlib.error, OSError, ...
        raise InputError(f"{path} cannot be unpacked ({error}): it is truncated or altered.") from (
            error
        )
    if len(text) > most:
        raise InputError(
            f"{path} has {len(content)} bytes and unpacks to more than {most}, which text hardly "
            "does; if it is meant, unpack it with gunzip and give the plain file."
        )
    return text


def out_of_memory(path: str | os.PathLike[str]) -> InputError:
    """What to say of a file that may be sound, but is too large for this machine.

    >>> print(out_of_memory("a.txt"))
    a.txt does not fit into the memory that there is; use fewer examples or a larger machine.
    """
    return InputError(
        f"{path} does not fit into the memory that there is; use fewer examples or a larger "
        "machine."
    )


def shortened(line: str) -> str:
    """At most 80 characters of a line, for an error about it."""
    return line if len(line) <= 80 else f"{line[:77]}..."


def text_lines(content: bytes, path: Path) -> list[str]:
    """The lines of UTF-8 text; an `InputError` names the line that is not."""
    content = content.removeprefix(codecs.BOM_UTF8)  # (what some editors begin a file with)
    if b"\0" in content:  # (which arrays of strings drop from the end of a label)
        raise _no_text(content, content.index(b"\0"), path, "it has a NUL byte")
    try:
        # not splitlines(), which also breaks at characters that a word may contain
        return content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise _no_text(content, error.start, path, error.reason) from error
    except MemoryError as error:
        raise out_of_memory(path) from error


def _no_text(content: bytes, at: int, path: Path, why: str) -> InputError:
    number = content.count(b"\n", 0, at) + 1
    return InputError(f"line {number} of {path} is not UTF-8 text ({why}).")
