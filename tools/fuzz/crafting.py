"""Files made to do harm: any value of a genuine one is changed, and its digest made to fit."""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from blockwolfe.base.archive import _digest

__all__ = ["craft"]

Header = dict[str, Any]
Arrays = dict[str, Any]

_NASTY: tuple[Any, ...] = (
    0, 1, -1, 2, 7, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.5, 1e-300, 1e308,
    float("nan"), float("inf"), float("-inf"), "", "x", "\x1b[31m", "../../etc/passwd", "\ud800",
    None, True, False, [], {}, [[]], [1], [1, 2, 3, 4], {"a": 1}, {"Chain": {}}, {"tuple": []},
    {"array of the file": "header"}, {"array of the file": ["x"]},
)  # fmt: skip
_NUMBERS = (
    0.0, 1.0, -1.0, 2.0, 0.5, 1e-300, 1e300, np.nan, np.inf, -np.inf, 127, 2**31 - 1, 2**31, 2**62,
)  # fmt: skip
_TYPES = (
    "f4", "f2", ">f8", "i1", "i4", "i8", "u1", "u8", ">i8", "?", "c16", "U3", "S3", "M8[s]", "V8",
    "longdouble",
)  # fmt: skip

ran: list[bool] = []  # whether something in a file was ever executed


class Harmful:
    """What a pickle would execute."""

    def __reduce__(self) -> Any:
        return ran.append, (True,)


def craft(rng: np.random.Generator, content: bytes) -> tuple[bytes, str]:
    """Another file with one to three changes, and what they were."""
    if rng.random() < 0.03:
        return _bomb(rng, content)
    with np.load(io.BytesIO(content)) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays.pop("header")[()]))
    changes = [_change(rng, header, arrays) for _ in range(int(rng.choice([1, 1, 1, 2, 3])))]
    return packed(rng, header, arrays), "; ".join(changes)


def packed(rng: np.random.Generator, header: Header, arrays: Arrays) -> bytes:
    """As the library writes it, with a digest that fits."""
    try:
        header["digest"] = _digest(header, arrays)
    except (TypeError, ValueError):  # (types that have none)
        header["digest"] = ""
    file = io.BytesIO()
    save = np.savez if rng.random() < 0.3 else np.savez_compressed
    save(file, header=np.array(json.dumps(header)), **arrays)
    return file.getvalue()


def _change(rng: np.random.Generator, header: Header, arrays: Arrays) -> str:
    if rng.random() < 0.45 or not arrays:
        return _change_header(rng, header)
    name = str(rng.choice(list(arrays)))
    way = str(rng.choice(list(_OF_ARRAYS)))
    arrays_or_none = _OF_ARRAYS[way](rng, arrays, name)
    return f"{name}: {way}{arrays_or_none or ''}"


# -- the header ----------------------------------------------------------------


def _change_header(rng: np.random.Generator, header: Header) -> str:
    """Change, drop or add one value, anywhere in the header."""
    places = list(_places(header))
    inside, key, path = places[int(rng.integers(len(places)))]
    way = str(rng.choice(["set", "set", "set", "drop", "add", "near", "like"]))
    shown = f"header {path}: {way}"
    if way == "drop":
        del inside[key]
    elif way == "add":
        value = _NASTY[int(rng.integers(len(_NASTY)))]
        if isinstance(inside, dict):
            inside[str(rng.choice(["x", "predict", "layout_", "task_", "_prepared", "own"]))] = (
                value
            )
        else:
            inside.append(value)
    elif way == "like":  # (a value from elsewhere)
        other, other_key, _ = places[int(rng.integers(len(places)))]
        inside[key] = json.loads(json.dumps(other[other_key]))
    elif way == "near" and isinstance(inside[key], (int, float)):
        inside[key] = inside[key] + int(rng.choice([-1, 1, 2, 100, 10**9]))
    else:
        inside[key] = _NASTY[int(rng.integers(len(_NASTY)))]
        shown += f" {inside[key]!r:.40}"
    return shown


def _places(value: Any, path: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Every value within: what holds it, its key, and where that is."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key, f"{path}.{key}"
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key], f"{path}.{key}")


# -- arrays ----------------------------------------------------------------


def _entry(rng: np.random.Generator, arrays: Arrays, name: str) -> str | None:
    """One entry, or some, set to a number that may mean harm."""
    array = arrays[name].copy()
    number = _NUMBERS[int(rng.integers(len(_NUMBERS)))]
    if array.size and array.dtype.kind in "biuf":
        flat = array.reshape(-1)
        at = rng.integers(array.size, size=int(rng.choice([1, 1, max(1, array.size // 2)])))
        with np.errstate(all="ignore"):
            flat[at] = np.array(number).astype(array.dtype)
    elif array.size and array.dtype.kind == "U":
        array = array.copy()
        array.reshape(-1).view(np.uint32)[0] = int(rng.choice([0x110000, 0xD800, 0x1B, 0]))
    arrays[name] = array
    return f" {number}"


def _near(rng: np.random.Generator, arrays: Arrays, name: str) -> None:
    """Entries a little off."""
    array = arrays[name]
    if array.dtype.kind in "iu":
        arrays[name] = array + rng.integers(-1, 2, size=array.shape).astype(array.dtype)
    elif array.dtype.kind == "f":
        arrays[name] = array * rng.choice([1.0, 1.0, 1.1, -1.0, 2.0], size=array.shape)
    elif array.dtype.kind == "b":
        arrays[name] = ~array


def _shuffled(rng: np.random.Generator, arrays: Arrays, name: str) -> None:
    arrays[name] = rng.permutation(arrays[name]) if arrays[name].ndim else arrays[name]


def _typed(rng: np.random.Generator, arrays: Arrays, name: str) -> str | None:
    kind = str(rng.choice(_TYPES))
    try:
        with np.errstate(all="ignore"):
            arrays[name] = arrays[name].astype(kind)
    except (TypeError, ValueError):
        arrays[name] = np.zeros(arrays[name].shape, dtype=kind)
    return f" {kind}"


def _shaped(rng: np.random.Generator, arrays: Arrays, name: str) -> None:
    array = arrays[name]
    choices: list[Callable[[], Any]] = [
        lambda: array[..., :-1] if array.ndim else array[None],
        lambda: np.concatenate([array, array[-1:]]) if array.ndim else np.stack([array] * 2),
        lambda: array[None],
        lambda: array.reshape(-1)[:1].reshape(()) if array.size else array[None],
        lambda: array[:0] if array.ndim else array.reshape(1)[:0],
        lambda: np.asfortranarray(np.stack([array, array])),
        lambda: np.zeros((0, 2**40), dtype=array.dtype),
        lambda: np.concatenate([array.reshape(-1)] * 50),
    ]
    arrays[name] = choices[int(rng.integers(len(choices)))]()


def _swapped(rng: np.random.Generator, arrays: Arrays, name: str) -> str:
    other = str(rng.choice(list(arrays)))
    arrays[name], arrays[other] = arrays[other], arrays[name]
    return f" {other}"


def _dropped(rng: np.random.Generator, arrays: Arrays, name: str) -> None:
    del arrays[name]


def _added(rng: np.random.Generator, arrays: Arrays, name: str) -> None:
    arrays[f"{name}_more"] = arrays[name]


def _pickled(rng: np.random.Generator, arrays: Arrays, name: str) -> None:
    arrays[name] = np.array([Harmful()], dtype=object)


def _neither(rng: np.random.Generator, arrays: Arrays, name: str) -> None:
    """Truth values of 2 and more."""
    size = max(1, arrays[name].size)
    arrays[name] = rng.integers(0, 256, size=size).astype(np.uint8).view(np.bool_)


_OF_ARRAYS: dict[str, Callable[[np.random.Generator, Arrays, str], Any]] = {
    "entry": _entry,
    "entry again": _entry,
    "near": _near,
    "near again": _near,
    "shuffled": _shuffled,
    "typed": _typed,
    "shaped": _shaped,
    "swapped": _swapped,
    "dropped": _dropped,
    "added": _added,
    "pickled": _pickled,
    "neither": _neither,
}


# -- bombs ----------------------------------------------------------------


def _bomb(rng: np.random.Generator, content: bytes) -> tuple[bytes, str]:
    """Little that says it is much, or becomes it."""
    way = str(rng.choice(list(_BOMBS)))
    return _BOMBS[way](content), f"bomb: {way}"


def _with(content: bytes, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """The file with some members in the place of its own, or besides."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w", method) as new:
        for name in old.namelist():
            if name not in members:
                new.writestr(name, old.read(name))
        for name, data in members.items():
            new.writestr(name, data)
    return file.getvalue()


def _npy(shape: tuple[int, ...], descr: str = "<f8", data: bytes = b"") -> bytes:
    file = io.BytesIO()
    said = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, said)
    return file.getvalue() + data


@functools.cache
def _zeros() -> bytes:
    return _npy((1 << 23,), data=bytes(8 << 23))


def _expanding(content: bytes) -> bytes:
    """64 MiB of zeros under many names: 60 kB each."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
        info = zipfile.ZipInfo("zeros0.npy")
        info.compress_type = zipfile.ZIP_DEFLATED
        new.writestr(info, _zeros())
        at, end = info.header_offset, file.tell()
        packed_zeros = file.getvalue()[at:end]
        for k in range(1, 30):  # (the same compressed bytes again)
            again = zipfile.ZipInfo(f"zeros{k}.npy")
            again.compress_type, again.CRC = zipfile.ZIP_DEFLATED, info.CRC
            again.file_size, again.compress_size = info.file_size, info.compress_size
            again.header_offset = file.tell()
            file.write(again.FileHeader() + packed_zeros[-info.compress_size :])
            new.filelist.append(again)
            new.NameToInfo[again.filename] = again
            new.start_dir = file.tell()
            new._didModify = True  # type: ignore[attr-defined]
    return file.getvalue()


def _header_of(text: str) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array(text))
    return file.getvalue()


_BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "zeros": _expanding,
    "shape": lambda content: _with(content, {"coef.npy": _npy((1 << 40,))}),
    "product": lambda content: _with(content, {"coef.npy": _npy((1 << 40, 1 << 40))}),
    "negative": lambda content: _with(content, {"coef.npy": _npy((-1,))}),
    "text": lambda content: _with(content, {"coef.npy": _npy((1,), f"<U{1 << 28}")}),
    "nothing": lambda content: _with(content, {"coef.npy": _npy((1 << 60,), "<U0")}),
    "deep": lambda content: _with(content, {"header.npy": _header_of("[" * 100_000)}),
    "nested": lambda content: _with(
        content, {"header.npy": _header_of('{"a":' * 400 + "1" + "}" * 400)}
    ),
    "long": lambda content: _with(content, {"header.npy": _header_of("[1," * 5_000_000)}),
    "bzip": lambda content: _with(
        content, {"more.npy": _npy((8,), data=bytes(64))}, zipfile.ZIP_BZIP2
    ),
    "lzma": lambda content: _with(
        content, {"more.npy": _npy((8,), data=bytes(64))}, zipfile.ZIP_LZMA
    ),
    "many": lambda content: _with(content, {f"m{k}.npy": b"" for k in range(12_000)}),
    "literal": lambda content: _with(
        content, {"coef.npy": b"\x93NUMPY\x01\x00" + (9000).to_bytes(2, "little") + b"(" * 9000}
    ),
}
