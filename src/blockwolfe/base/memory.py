"""How much memory there is, and the error for arrays that it has no room for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from blockwolfe.errors import OutOfMemoryError

__all__ = ["available_bytes", "check_memory", "has_room", "in_words", "memory_for"]

# What is smaller is not worth a look at the machine.
SMALL = 2**26

# Control groups, as those of containers: by the name of their kind, where limit and use are.
_GROUPS, _OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_KINDS = {
    "": ("memory.max", "memory.current"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Refuse, before anything is allocated, what needs more bytes than there are.

    >>> check_memory(1e18, "a matrix of all pairs", "Take fewer labels.")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.OutOfMemoryError: a matrix of all pairs needs about 9.09e+05 TiB of memory,
    but only ... are free here. Take fewer labels.
    """
    free = _free_for(needed)
    if free is not None and needed > free:
        raise OutOfMemoryError(
            f"{what} needs about {in_words(needed)} of memory, but only {in_words(free)} are free "
            f"here. {remedy}"
        )


def has_room(needed: float, cap: float | None = None) -> bool:
    """Whether so many bytes are within a cap, if there is one, and free as far as is known.

    >>> has_room(1000), has_room(1000, cap=999), has_room(1e18)
    (True, False, False)
    """
    free = _free_for(needed)
    return (cap is None or needed <= cap) and (free is None or needed <= free)


def _free_for(needed: float) -> int | None:
    return available_bytes() if needed > SMALL else None


@contextmanager
def memory_for(what: str, remedy: str) -> Iterator[None]:
    """Say it in our words when memory runs out inside this block.

    >>> with memory_for("training", "Take fewer features."):
    ...     raise MemoryError("no room for an array")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.OutOfMemoryError: memory ran out in training (no room for an array).
    Take fewer features.
    """
    try:
        yield
    except OutOfMemoryError:
        raise
    except MemoryError as error:
        found = f" ({error})" if str(error) else ""
        raise OutOfMemoryError(f"memory ran out in {what}{found}. {remedy}") from error


def in_words(n_bytes: float) -> str:
    """Bytes in the unit that suits.

    >>> in_words(3 * 2**30), in_words(1)
    ('3 GiB', '0.001 MiB')
    """
    size, units = n_bytes / 2**20, ["MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{max(size, 0.001):.3g} {units[0]}"


def available_bytes() -> int | None:
    """Bytes that this process may still take; None where nothing is known of them."""
    found = [_free_on_machine(), *_left_in_groups(), _left_of_limit()]
    return min((max(0, n) for n in found if n is not None), default=None)


def _free_on_machine() -> int | None:
    with suppress(ImportError):
        import psutil

        return int(psutil.virtual_memory().available)
    with suppress(OSError, IndexError, ValueError):
        return 1024 * _entry(Path("/proc/meminfo"), "MemAvailable:")
    with suppress(AttributeError, OSError, ValueError):
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return None


def _left_in_groups() -> Iterator[int]:
    """Of the control groups that hold this process."""
    lines = _OWN_GROUPS.read_text().splitlines() if _OWN_GROUPS.exists() else []
    for kind, own in [line.split(":", 2)[1:] for line in lines]:
        folder = _GROUPS / kind / own.lstrip("/")
        for group in [folder, *folder.parents] if kind in _KINDS else []:
            with suppress(OSError, IndexError, ValueError):  # (none here, or no limit: "max")
                limit, used = (int((group / name).read_text()) for name in _KINDS[kind])
                yield limit - used + _entry(group / "memory.stat", "inactive_file ")


def _left_of_limit() -> int | None:
    """Of the address space, where `ulimit -v` has a limit to it."""
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            used = int(Path("/proc/self/statm").read_text().split()[0])
            return limit - used * resource.getpagesize()
    return None


def _entry(path: Path, name: str) -> int:
    """The number after a name in a file of lines."""
    return int(path.read_text().split(name)[1].split()[0])
