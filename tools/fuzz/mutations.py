"""Changes to files that strangers, editors, networks and disks make."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

__all__ = ["mutated", "mutated_arrays"]

NUMBERS = [
    "0", "-1", "-0", "+1", "1e400", "-1e400", "1e-400", "1e50", "1e51", "nan", "NaN", "inf",
    "Infinity", "0x10", "1_000", "٣", "\uff13", "²", "1.5", "007", "2147483647", "2147483648",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551615",
    "99999999999999999999", "9" * 400, "9" * 5000, "1" + "0" * 309, "true", "null",
]  # fmt: skip
WORDS = [
    "", " ", "\t", "#", ":", ",", "-", "?", "|||", "_", "=", "\\", "'", '"', "[", "]", "{", "}",
    "[/b]", "[red]", "$x$", "<b>", "&amp;", "%s", "{0}", "None", "null", "O", "<edge>", "constant",
    "qid:1", "qid:", "0:1", "1:", ":1", "1-2", "1.1", "0-0", "0?0", "\x1b[31m", "\x9b31m", "\x7f",
    "\r", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2028", "\u202e", "\u200b", "\ufeff", "\0",
    "\ud800", "\U0010ffff", "e\u0301", "\\ud800", "\\u0000", '\\u001b', "\u3000", "x" * 5000,
    "[" * 2000, '{"a":' * 2000, '{"a": 1, "a": 2}', "[]", "{}", '[""]', "[[]]", "[null]", '""',
]  # fmt: skip
_NUMBER = re.compile(r"[0-9]+")
_TOKEN = re.compile(r"[^\s,:|\-\[\]{}\"]+")


def mutated(content: bytes, draw: Random) -> bytes:
    """The content after one to three changes."""
    for _ in range(draw.choice([1, 1, 2, 3])):
        content = draw.choice(_CHANGES)(content, draw)
    return content


def _span(content: Any, draw: Random) -> tuple[int, int]:
    a = draw.randint(0, len(content))
    return a, min(len(content), a + draw.choice([1, 1, 2, 5, 20]))


def _flip(content: bytes, draw: Random) -> bytes:
    if not content:
        return content
    at = draw.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]


def _delete(content: bytes, draw: Random) -> bytes:
    a, b = _span(content, draw)
    return content[:a] + content[b:]


def _repeat(content: bytes, draw: Random) -> bytes:
    a, b = _span(content, draw)
    return content[:b] + draw.choice([1, 1, 3, 500]) * content[a:b] + content[b:]


def _insert(content: bytes, draw: Random) -> bytes:
    at = draw.randint(0, len(content))
    return content[:at] + _bytes(draw.choice(WORDS + NUMBERS)) + content[at:]


def _truncate(content: bytes, draw: Random) -> bytes:
    return content[: draw.randint(0, len(content))]


def _replaced(pattern: re.Pattern[str], words: list[str]) -> Callable[[bytes, Random], bytes]:
    def change(content: bytes, draw: Random) -> bytes:
        text = content.decode("utf-8", "surrogateescape")
        found = list(pattern.finditer(text))
        if not found:
            return content
        at = draw.choice(found)
        return _bytes(text[: at.start()] + draw.choice(words) + text[at.end() :])

    return change


def _swap_tokens(content: bytes, draw: Random) -> bytes:
    text = content.decode("utf-8", "surrogateescape")
    found = list(_TOKEN.finditer(text))
    if len(found) < 2:
        return content
    a, b = sorted(draw.sample(found, 2), key=lambda token: token.start())
    between = text[a.end() : b.start()]
    return _bytes(text[: a.start()] + b[0] + between + a[0] + text[b.end() :])


def _lines(content: bytes, draw: Random) -> bytes:
    """Lines in another order, twice, left out, or cut apart."""
    lines = content.split(b"\n")
    a, b = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(4)
    if kind == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif kind == 1:
        lines.insert(a, lines[b])
    elif kind == 2:
        del lines[a]
    else:
        lines.insert(a, b"")
    return b"\n".join(lines)


def _dress(content: bytes, draw: Random) -> bytes:
    """The same in other clothes, most of them sound."""
    return draw.choice([
        lambda: content.replace(b"\n", b"\r\n"),
        lambda: b"\xef\xbb\xbf" + content,
        lambda: content.decode("utf-8", "replace").encode("utf-16"),
        lambda: gzip.compress(content),
        lambda: gzip.compress(content)[: draw.randint(2, 40)],
        lambda: gzip.compress(content) + gzip.compress(content),
        lambda: b"",
        lambda: b"\n\n" + content + b"\n\n",
    ])()  # fmt: skip


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


_CHANGES: list[Callable[[bytes, Random], bytes]] = [
    _flip,
    _delete,
    _repeat,
    _insert,
    _truncate,
    _lines,
    _swap_tokens,
    _replaced(_NUMBER, NUMBERS),
    _replaced(_NUMBER, NUMBERS),
    _replaced(_TOKEN, WORDS + NUMBERS),
    _dress,
]

_VALUES: list[Any] = [
    np.nan, np.inf, -np.inf, 1e51, 1e308, -1, 0, 1.5, 2**31, 2**63 - 1, "x", True, 1j, b"x",
]  # fmt: skip
_TYPES = ["i1", "u1", "u8", "i8", "f2", "f4", "f8", "U3", "S3", "c16", "?", "M8[s]", ">f8", ">i4"]


def mutated_arrays(content: bytes, draw: Random) -> bytes:
    """An npz file with one array changed."""
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    name = draw.choice(list(arrays))
    with np.errstate(all="ignore"):
        changed = draw.choice(_ARRAY_CHANGES)(arrays.pop(name), draw)
    if changed is not None:
        arrays[name] = changed
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _value(array: np.ndarray, draw: Random) -> np.ndarray:
    value = np.asarray(draw.choice(_VALUES))
    kind = array.dtype if value.dtype.kind not in "fcUS" else np.result_type(array, value)
    made = array.astype(kind)
    if made.size:
        made.flat[draw.randrange(made.size)] = value.astype(kind)
    return made


def _type(array: np.ndarray, draw: Random) -> np.ndarray:
    try:
        return array.astype(draw.choice(_TYPES))
    except (TypeError, ValueError):
        return array


_ARRAY_CHANGES: list[Any] = [
    _value,
    _value,
    _type,
    lambda array, draw: None,
    lambda array, draw: array[: len(array) // 2],
    lambda array, draw: np.concatenate([array, array]),
    lambda array, draw: array[::-1],
    lambda array, draw: array.reshape(-1),
    lambda array, draw: array[None],
    lambda array, draw: np.asarray(array.size),
    lambda array, draw: np.zeros((0,) * draw.randint(1, 3)),
    lambda array, draw: np.zeros((len(array), 0)),
]
