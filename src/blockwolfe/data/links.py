"""Inputs and outputs of matchings: candidate links with features, and true links of two kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.errors import InputError

__all__ = ["Alignment", "Links", "read_pairs"]

_LARGEST = 2**31 - 1  # (two such numbers make one of 64 bits)


@dataclass(frozen=True, eq=False)
class Links:
    """One input of a matching: the links that may be chosen, and a row of features for each.

    features : (n_links, n_features) array or sparse matrix.
    links : (n_links, 2) integers, source and target of each candidate, counted from 0; None means
        every pair, row by row: (0, 0), (0, 1), ...
    shape : (n_source, n_target).

    >>> Links(np.ones((6, 1)), shape=(2, 3)).shape
    (2, 3)
    """

    features: Any
    links: Any = None
    shape: Any = None


@dataclass(frozen=True, eq=False)
class Alignment:
    """A true output of two kinds of links: sure ones, and possible ones that are not wrong.

    Both are (n, 2) integers or any collection of pairs; a link may be listed in both.

    >>> len(Alignment(sure=[(0, 0), (1, 1)], possible=[(1, 2)]))
    2
    """

    sure: Any
    possible: Any = ()

    def __len__(self) -> int:
        """How many links are sure."""
        return len(self.sure)


def read_pairs(links: Any, name: str) -> np.ndarray:
    """Any collection of pairs as sorted (n, 2) of int64, checked; each pair once.

    >>> read_pairs({(1, 0), (0, 2)}, "Y[0]").tolist()
    [[0, 2], [1, 0]]
    """
    if isinstance(links, (set, frozenset)):
        links = list(links)
    try:
        pairs = np.asarray(links)
    except ValueError:
        pairs = np.empty(0, dtype=object)
    if pairs.dtype != object and not pairs.size:
        return np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InputError(
            f"{name} has shape {pairs.shape} and type {pairs.dtype}; expected pairs of integers "
            "(source, target), counted from 0: an (n, 2) array, a list or a set."
        )
    is_outside = ((pairs < 0) | (pairs > _LARGEST)).any(axis=1)
    if is_outside.any():
        bad = tuple(pairs[np.argmax(is_outside)].tolist())
        raise InputError(f"{name} has the link {bad}; expected integers from 0 to {_LARGEST}.")
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].astype(np.int64)
    is_repeated = (np.diff(pairs, axis=0) == 0).all(axis=1)
    if is_repeated.any():
        twice = tuple(pairs[np.argmax(is_repeated)].tolist())
        raise InputError(f"{name} has the link {twice} twice; list it once.")
    return pairs
