"""Candidate links between two sides as users have them: checked, and listed."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from blockwolfe.errors import InputError, OptionError
from blockwolfe.structures.checks import check_pairs

__all__ = ["all_links", "check_capacity", "check_links", "check_shape"]


def check_capacity(capacity: Any, shape: tuple[int, int]) -> np.ndarray:
    """Capacity of every node, sources first, from one integer, or one (or an array) per side."""
    is_pair = isinstance(capacity, (tuple, list)) and len(capacity) == 2
    sides = capacity if is_pair else (capacity, capacity)
    filled = []
    for name, side, n in zip(("sources", "targets"), sides, shape, strict=True):
        array = np.asarray(side)
        is_right = array.dtype.kind in "iu" and array.shape in ((), (n,)) and (array >= 0).all()
        if isinstance(side, (bool, np.bool_)) or not is_right:
            raise OptionError(
                f"capacity of the {name} is {side!r}; expected an integer >= 0, or {n} of them: "
                "how many links a node may have."
            )
        filled.append(np.broadcast_to(array, (n,)))
    return np.concatenate(filled).astype(np.int64)


def check_links(links: Any, shape: tuple[int, int], name: str = "links") -> np.ndarray:
    """Pairs (source, target) as (links, 2) of int64, all within `shape` and all different."""
    expected = f"sources below {shape[0]} and targets below {shape[1]}, counted from 0"
    pairs = check_pairs(links, shape, name, "a source and a target each", expected)
    key = pairs[:, 0] * shape[1] + pairs[:, 1]
    order = np.argsort(key, kind="stable")
    is_repeated = np.diff(key[order]) == 0
    if is_repeated.any():
        e = int(order[1:][is_repeated].min())
        raise InputError(f"{name}[{e}] repeats the link {tuple(pairs[e].tolist())}; give it once.")
    return pairs


def all_links(shape: tuple[int, int]) -> np.ndarray:
    """Every pair (source, target), row by row."""
    return np.indices(shape, dtype=np.int64).reshape(2, -1).T


def check_shape(shape: Any, name: str = "shape") -> tuple[int, int]:
    """Numbers of sources and targets."""
    is_pair = isinstance(shape, (tuple, list)) and len(shape) == 2
    if not is_pair or not all(isinstance(n, numbers.Integral) and int(n) >= 0 for n in shape):
        raise InputError(f"{name} is {shape!r}; expected (n_source, n_target), integers >= 0.")
    return int(shape[0]), int(shape[1])
