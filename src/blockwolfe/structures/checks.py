"""Scores and edges as users have them: checked, and made into what compiled code takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.errors import InputError

__all__ = ["check_ends", "check_scores"]


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


def check_ends(edges: Any, n_nodes: int, name: str = "edges") -> np.ndarray:
    """Pairs of different nodes below `n_nodes`, as a contiguous (m, 2) array of int32.

    >>> check_ends([[0, 2]], 3)
    array([[0, 2]], dtype=int32)
    """
    try:
        ends = np.asarray(edges)
    except ValueError as error:
        raise InputError(f"{name} has rows of unequal length; expected integers (m, 2).") from error
    if not ends.size:
        return np.zeros((0, 2), dtype=np.int32)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise InputError(
            f"{name} has shape {ends.shape} of {ends.dtype}; expected integers (m, 2), the two "
            "nodes of each edge."
        )
    is_bad = ((ends < 0) | (ends >= n_nodes)).any(axis=1) | (ends[:, 0] == ends[:, 1])
    if is_bad.any():
        e = int(np.argmax(is_bad))
        raise InputError(
            f"{name}[{e}] is {tuple(ends[e].tolist())}; expected two different nodes of "
            f"0..{n_nodes - 1}."
        )
    return np.ascontiguousarray(ends, dtype=np.int32)
