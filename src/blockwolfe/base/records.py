"""Records of arrays (nested NamedTuples) as flat dicts for files: fields are listed once."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["flattened"]


def flattened(record: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Arrays of a record by their names, those of records inside it as ``outer.inner``.

    >>> from typing import NamedTuple
    >>> class Inner(NamedTuple):
    ...     a: np.ndarray
    >>> class Outer(NamedTuple):
    ...     b: np.ndarray
    ...     inner: Inner
    >>> list(flattened(Outer(np.zeros(1), Inner(np.ones(2)))))
    ['b', 'inner.a']
    """
    flat: dict[str, np.ndarray] = {}
    for name, value in record._asdict().items():
        if hasattr(value, "_asdict"):
            flat |= flattened(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
