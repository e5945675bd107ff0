"""JSON from strangers: what means two things, or nothing that can be written again, is refused."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["parse_json"]

_DEEPEST = 100  # brackets in brackets
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_BRACKET = re.compile(r"[\[{\]}]")


def parse_json(text: str) -> Any:
    r"""The value; a `ValueError` says what is wrong.

    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    ValueError: the key 'a' is there twice
    >>> parse_json('"\\ud800"')
    Traceback (most recent call last):
    ...
    ValueError: it has half of a surrogate pair
    """
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except RecursionError as error:
        raise _too_deep() from error
    if text.count("[") + text.count("{") > _DEEPEST:
        _check_depth(text)
    if "\\u" in text:
        _check_characters(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(k for k in names if names.count(k) > 1)!r} is there twice")
    return made


def _check_depth(text: str) -> None:
    """Functions that call themselves for what is inside would fail later."""
    depth = 0
    for found in _BRACKET.finditer(_STRING.sub("", text)):
        depth += 1 if found[0] in "[{" else -1
        if depth > _DEEPEST:
            raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"it is nested deeper than {_DEEPEST} levels")


def _check_characters(value: Any) -> None:
    """Escapes can make what UTF-8 cannot hold, and NUL, which arrays of strings drop at the end."""
    written = json.dumps(value, ensure_ascii=False)
    if "\\u0000" in written.replace("\\\\", ""):
        raise ValueError("it has a NUL character")
    try:
        written.encode()
    except UnicodeEncodeError as error:
        raise ValueError("it has half of a surrogate pair") from error
