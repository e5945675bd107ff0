"""Scores, edges and links as users have them: checked, and made into what compiled code takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.errors import InputError

__all__ = ["check_ends", "check_pairs", "check_scores", "integer_pairs"]


def check_scores(
    values: Any, name: str, axes: tuple[str, ...] = ("n",), *, is_finite: bool = True
) -> np.ndarray:
    """A contiguous array of float64 with one axis for each of `axes`, which name them in errors.

    With `is_finite=False` scores of minus infinity, for what is forbidden, are fine too.

    >>> check_scores([1, 2], "unary")
    array([1., 2.])
    """
    expected = f"({', '.join(axes)}{',' * (len(axes) == 1)})"
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is no array of numbers; expected shape {expected}.") from error
    if array.ndim != len(axes):
        raise InputError(f"{name} has shape {array.shape}; expected {expected}.")
    is_good = np.isfinite(array) if is_finite else array < np.inf
    if not is_good.all():
        place = [int(at[0]) for at in np.nonzero(~is_good)]
        wanted = "finite scores" if is_finite else "scores that are finite or -inf"
        raise InputError(f"{name}{place} is {array[tuple(place)]}; expected {wanted}.")
    return np.ascontiguousarray(array)


def integer_pairs(pairs: Any, name: str, each: str) -> np.ndarray:
    """Rows of two integers, as an (m, 2) array of int64; `each` says in errors what the two are.

    >>> integer_pairs([[0, 2]], "links", "a source and a target each")
    array([[0, 2]])
    """
    try:
        rows = np.asarray(pairs)
    except ValueError as error:
        raise InputError(f"{name} is not an array: its rows have unequal length.") from error
    if not rows.size:
        return np.zeros((0, 2), dtype=np.int64)
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise InputError(
            f"{name} has shape {rows.shape} and type {rows.dtype}; expected integers of shape "
            f"(n, 2): {each}."
        )
    return np.ascontiguousarray(rows, dtype=np.int64)


def check_pairs(
    pairs: Any, shape: tuple[int, int], name: str, each: str, expected: str
) -> np.ndarray:
    """`integer_pairs` from (0, 0) to below `shape`; `expected` says in errors what that means."""
    rows = integer_pairs(pairs, name, each)
    is_outside = ((rows < 0) | (rows >= shape)).any(axis=1)
    if is_outside.any():
        e = int(np.argmax(is_outside))
        raise InputError(f"{name}[{e}] is {tuple(rows[e].tolist())}; expected {expected}.")
    return rows


def check_ends(edges: Any, n_nodes: int, name: str = "edges") -> np.ndarray:
    """Pairs of different nodes below `n_nodes`, as a contiguous (m, 2) array of int32.

    >>> check_ends([[0, 2]], 3)
    array([[0, 2]], dtype=int32)
    """
    expected = f"two different nodes of 0..{n_nodes - 1}"
    shape = (n_nodes, n_nodes)
    ends = check_pairs(edges, shape, name, "the two nodes of each edge", expected)
    is_loop = ends[:, 0] == ends[:, 1]
    if is_loop.any():
        e = int(np.argmax(is_loop))
        raise InputError(f"{name}[{e}] joins node {ends[e, 0]} to itself; remove it.")
    return ends.astype(np.int32)
