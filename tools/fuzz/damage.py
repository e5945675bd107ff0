"""Files damaged as disks, networks and editors damage them: bytes changed, lost or added."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["damage"]

_DIRECTORY, _LOCAL, _END = b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"


def damage(rng: np.random.Generator, content: bytes) -> tuple[bytes, str]:
    """The bytes after one to three kinds of damage, and what was done."""
    names, found = [], bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        name = str(rng.choice(list(_WAYS)))
        names.append(name)
        found = _WAYS[name](rng, found) or bytearray(b"\0")
    return bytes(found), "bytes: " + ", ".join(names)


def _flipped(rng: np.random.Generator, content: bytearray) -> bytearray:
    for _ in range(int(rng.integers(1, 9))):
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    return content


def _replaced(rng: np.random.Generator, content: bytearray) -> bytearray:
    at, size = int(rng.integers(len(content))), int(rng.integers(1, 65))
    content[at : at + size] = rng.bytes(size) if rng.random() < 0.5 else b"\0" * size
    return content


def _cut(rng: np.random.Generator, content: bytearray) -> bytearray:
    at = int(rng.integers(len(content)))
    return content[:at] if rng.random() < 0.7 else content[at:]


def _without(rng: np.random.Generator, content: bytearray) -> bytearray:
    at, size = int(rng.integers(len(content))), int(rng.integers(1, 65))
    del content[at : at + size]
    return content


def _longer(rng: np.random.Generator, content: bytearray) -> bytearray:
    more = rng.bytes(int(rng.integers(1, 200)))
    return content + more if rng.random() < 0.5 else bytearray(more) + content


def _twice(rng: np.random.Generator, content: bytearray) -> bytearray:
    at, size = int(rng.integers(len(content))), int(rng.integers(1, 2_000))
    return content[: at + size] + content[at:]


def _records(rng: np.random.Generator, content: bytearray) -> bytearray:
    """Fields of the zip file's own records: sizes, ways of compressing, flags, offsets."""
    places = [at for mark in (_DIRECTORY, _LOCAL, _END) for at in _all(content, mark)]
    if places:
        at = int(rng.choice(places)) + int(rng.integers(4, 46))
        size = int(rng.choice([1, 2, 4]))
        values = [b"\xff" * size, b"\0" * size, rng.bytes(size), b"\x01" + b"\0" * (size - 1)]
        content[at : at + size] = values[int(rng.integers(len(values)))]
    return content


def _all(content: bytearray, mark: bytes) -> list[int]:
    places, at = [], content.find(mark)
    while at >= 0:
        places.append(at)
        at = content.find(mark, at + 1)
    return places


_WAYS: dict[str, Callable[[np.random.Generator, bytearray], bytearray]] = {
    "flipped": _flipped,
    "replaced": _replaced,
    "cut": _cut,
    "without": _without,
    "longer": _longer,
    "twice": _twice,
    "records": _records,
}
