"""Files that are whole or not there.

A file is written beside its place under a name of its own, and moved there in one step. A process
that is killed meanwhile leaves that temporary file behind; the next write to the same place
removes it. Whether its writer still lives is told by a lock, which the system frees with the
process (and which no reused process number can take for another's). File systems shared by several
machines may not pass locks on, so of another machine's files only those are removed that nobody
has written to for a day.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import platform
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from blockwolfe.errors import BlockwolfeError, InputError

try:
    import fcntl
except ImportError:  # on Windows a file that is open cannot be removed, which is as good
    fcntl = None  # type: ignore[assignment]

__all__ = ["check_folder", "kind_of", "write_atomically"]

_SUFFIX = ".unfinished"
FOREIGN_SECONDS = 24 * 3600.0  # without a write, until another machine's file is taken for stale
LONGEST_NAME = 100  # bytes of the file's name in that of its temporary file (255 are allowed)

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


def kind_of(path: Path) -> str | None:
    """What is at a path that is no regular file; "" for a regular one, None where nothing is.

    >>> kind_of(Path("/")), kind_of(Path("no-such-file"))
    ('a folder', None)
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no regular file")


def check_folder(path: Path) -> None:
    """An `InputError` unless a file can be at `path`: its folder is there, nothing else is."""
    target = _followed(path)
    if not target.parent.is_dir():
        raise InputError(f"cannot save to {path}: the folder {target.parent} does not exist.")
    if kind := kind_of(target):
        raise InputError(f"cannot save to {path}: it is {kind}; give the name of a file.")


def write_atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Let `write` fill a file beside `path`, then move it there in one step.

    A crash or a full disk leaves either the old file or none. A link stays a link: what it leads
    to is written. Where the system refuses, the `InputError` says why.
    """
    check_folder(path)
    try:
        _write_and_move(_followed(path), write)
    except BlockwolfeError:
        raise
    except OSError as error:
        raise InputError(
            f"cannot save to {path}: {error.strerror or error}; {_remedy(error)}"
        ) from error


def _followed(path: Path) -> Path:
    """Where links lead to; a link to nothing leads to the file that will be made."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _remedy(error: OSError) -> str:
    if error.errno in _NO_ROOM:
        return "make room there, or give a path on another disk."
    if error.errno in _NOT_ALLOWED:
        return "give a path in a folder that you may write to."
    return "give another path."


def _write_and_move(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    file = _opened_beside(path)
    try:
        with file:
            _remove_stale(path, os.fstat(file.fileno()).st_mtime)
            write(file)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o666 & ~_umask())  # mkstemp makes files for their owner alone
            if fcntl is None:
                file.close()
            os.replace(file.name, path)  # (with the lock still held)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(file.name)
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


# -- temporary files, and those of processes that were killed ----------------------------------


def _opened_beside(path: Path) -> IO[bytes]:
    """A new temporary file, locked."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=_prefix(path), suffix=_SUFFIX)
        # (by name: what `fdopen` opens by number has a number for a name)
        file = open(name, "wb", opener=lambda *_, handle=handle: handle)  # noqa: SIM115
        if _is_locked_now(handle) is not False and os.path.exists(name):
            return file
        file.close()  # another process saw it before it was locked, and took it for stale


def _prefix(path: Path) -> str:
    name = os.fsencode(path.name)[:LONGEST_NAME].decode(errors="ignore")
    return f".{name}.{_host()}."


@functools.cache
def _host() -> str:
    """What tells this machine from others."""
    try:
        number = Path("/etc/machine-id").read_text()
    except (OSError, ValueError):
        number = ""
    name = f"{platform.node()} {number}"
    return hashlib.blake2b(name.encode(errors="replace"), digest_size=6).hexdigest()


def _is_locked_now(handle: int) -> bool | None:
    """Whether this process has just locked a file; None where that cannot be done."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _remove_stale(path: Path, now: float) -> None:
    """Remove what killed processes left of writes to `path`; `now` by the clock of the folder."""
    for found, is_own in _unfinished(path):
        with contextlib.suppress(OSError):  # (gone already, or not ours to remove)
            is_old = now - found.stat().st_mtime > FOREIGN_SECONDS
            if fcntl is None:
                if is_own or is_old:
                    found.unlink()
            else:
                _remove_unlocked(found, is_own, is_old)


def _remove_unlocked(path: Path, is_own: bool, is_old: bool) -> None:
    """Remove a temporary file whose lock is free, and hold the lock while that is done."""
    handle = os.open(path, os.O_RDWR)
    try:
        is_free = _is_locked_now(handle)
        if is_free is not False and (is_old or (is_own and is_free)):
            path.unlink()
    finally:
        os.close(handle)


def _unfinished(path: Path) -> Iterator[tuple[Path, bool]]:
    """Temporary files of writes to `path`, and whether this machine made them."""
    own = _prefix(path)
    name = re.escape(own.removesuffix(f"{_host()}."))
    pattern = re.compile(rf"{name}[0-9a-f]{{12}}\.[a-z0-9_]{{8}}{re.escape(_SUFFIX)}")
    with os.scandir(path.parent) as listed:
        for entry in listed:
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                yield Path(entry.path), entry.name.startswith(own)
