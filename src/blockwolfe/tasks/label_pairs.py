"""Which pairs of labels have a weight of their own: none, a tree, all, or those given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import minimum_spanning_tree

from blockwolfe.errors import InputError, OptionError, unknown_option
from blockwolfe.structures.tree import check_forest

__all__ = ["chow_liu", "find_pairs", "is_forest"]

_NAMED = ("independent", "tree", "full")


def find_pairs(pairs: Any, Y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The pairs as (m, 2) of int32: numbers of labels, each pair once with the smaller first."""
    n_labels = len(classes)
    if not isinstance(pairs, (str, Iterable)):
        raise OptionError(
            f"pairs={pairs!r}; expected 'independent', 'tree', 'full' or a list of pairs of labels."
        )
    if not isinstance(pairs, str):
        return _given(pairs, classes)
    if pairs not in _NAMED:
        raise unknown_option("pairs", pairs, _NAMED)
    if pairs == "independent":
        return np.zeros((0, 2), dtype=np.int32)
    if pairs == "tree":
        return chow_liu(Y)
    return np.stack(np.triu_indices(n_labels, 1), axis=1).astype(np.int32)


def _given(pairs: Any, classes: np.ndarray) -> np.ndarray:
    names = classes.tolist()
    found: list[tuple[int, int]] = []
    for pair in pairs:
        ends = list(pair) if not isinstance(pair, str) and np.ndim(pair) == 1 else [pair]
        if len(ends) != 2 or ends[0] == ends[1]:
            raise OptionError(f"pairs has {pair!r}; expected two different labels.")
        unknown = [label for label in ends if label not in names]
        if unknown:
            raise OptionError(f"pairs has the label {unknown[0]!r}, which is not among {names}.")
        a, b = sorted(names.index(label) for label in ends)
        if (a, b) in found:
            raise OptionError(f"pairs has the pair {pair!r} twice; a pair has one weight.")
        found.append((a, b))
    return np.array(found, dtype=np.int32).reshape(-1, 2)


def chow_liu(Y: np.ndarray) -> np.ndarray:
    """The tree over labels with the largest sum of mutual informations in Y (n, L), as edges.

    >>> chow_liu(np.array([[0, 0, 1], [1, 0, 1], [0, 1, 0], [1, 1, 0]]))
    array([[0, 1],
           [1, 2]], dtype=int32)
    """
    n_labels = Y.shape[1]
    information = _mutual_information(Y)
    # The spanning tree of scipy is of least weight, and an edge of weight zero is none.
    weight = np.triu(information.max() + 1.0 - information, 1)
    tree = minimum_spanning_tree(sp.csr_array(weight)).tocoo()
    edges = np.stack([tree.row, tree.col], axis=1)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    return np.asarray(edges[order], dtype=np.int32).reshape(n_labels - 1, 2)


def _mutual_information(Y: np.ndarray) -> np.ndarray:
    """Between all labels, (L, L), in nats."""
    values = [1.0 - Y, Y.astype(np.float64)]
    total = np.zeros((Y.shape[1], Y.shape[1]))
    for own in values:
        for others in values:
            joint = own.T @ others / len(Y)
            apart = np.outer(own.mean(axis=0), others.mean(axis=0))
            ratio = np.divide(joint, apart, out=np.ones_like(joint), where=joint > 0)
            total += joint * np.log(ratio)
    return total


def is_forest(n_labels: int, pairs: np.ndarray) -> bool:
    """Whether the pairs close no cycle.

    >>> is_forest(3, np.array([[0, 1], [1, 2]])), is_forest(2, np.array([[0, 1], [0, 1]]))
    (True, False)
    """
    try:
        check_forest(n_labels, pairs)
    except InputError:
        return False
    return True
