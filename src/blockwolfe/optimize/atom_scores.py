"""Scores of many atoms at one gradient, as one product.

Sparse atoms lie end to end, dense ones are rows of a matrix. Where every atom has one entry, as
those of a simplex or an l1 ball, the products of these entries are the scores themselves.
"""

from __future__ import annotations

import numpy as np

from blockwolfe.optimize.atoms import Atom

__all__ = ["AtomScores", "roomier"]


class AtomScores:
    """Atoms in the form in which all their scores are one product.

    >>> scores = AtomScores(3, [Atom.unit(3, 0), Atom.full([1.0, 1.0, 1.0])])
    >>> scores.at(np.array([1.0, 2.0, 3.0]))
    array([1., 6.])
    """

    def __init__(self, size: int, atoms: list[Atom]) -> None:
        dense = [atom.value for atom in atoms if atom.index is None]
        index = [atom.index for atom in atoms if atom.index is not None]
        value = [atom.value for atom in atoms if atom.index is not None]
        n_each = [len(each) for each in index]
        self._n_rows, self._n_sparse, self._n_entries = len(dense), len(index), sum(n_each)
        self._is_dense = np.array([atom.index is None for atom in atoms], dtype=bool)
        self._rows = np.array(dense) if dense else np.zeros((0, size))
        self._index = np.concatenate([np.zeros(0, dtype=np.int64), *index])
        self._value = np.concatenate([np.zeros(0), *value])
        # Of every listed entry: its sparse atom.
        self._owner = np.repeat(np.arange(len(index)), n_each)
        # Whether every atom has exactly one entry.
        self._are_units = not dense and all(n == 1 for n in n_each)

    def append(self, atom: Atom) -> None:
        """One more, after all others; room is doubled when it is used up."""
        if atom.index is None:
            self._rows = roomier(self._rows, self._n_rows + 1)
            self._rows[self._n_rows] = atom.value
            self._n_rows, self._are_units = self._n_rows + 1, False
        else:
            self._append_entries(atom.index, atom.value)
        n = self._n_rows + self._n_sparse
        self._is_dense = roomier(self._is_dense, n)
        self._is_dense[n - 1] = atom.index is None

    def _append_entries(self, index: np.ndarray, value: np.ndarray) -> None:
        begin, end = self._n_entries, self._n_entries + len(index)
        self._index, self._value = roomier(self._index, end), roomier(self._value, end)
        self._owner = roomier(self._owner, end)
        self._index[begin:end], self._value[begin:end] = index, value
        self._owner[begin:end] = self._n_sparse
        self._n_entries, self._n_sparse = end, self._n_sparse + 1
        self._are_units = self._are_units and len(index) == 1

    def keep(self, is_kept: np.ndarray) -> None:
        """Forget the other atoms."""
        n = self._n_entries
        if self._are_units:
            index, value = self._index[:n][is_kept], self._value[:n][is_kept]
            self._n_entries = self._n_sparse = len(index)
            self._index[: len(index)], self._value[: len(index)] = index, value
            return  # (an entry's owner is its number, and no atom is dense)
        is_dense = self._is_dense[: len(is_kept)]
        are_kept = is_kept[~is_dense]  # of the sparse ones
        stays = are_kept[self._owner[:n]]
        self._index, self._value = self._index[:n][stays], self._value[:n][stays]
        self._owner = (np.cumsum(are_kept) - 1)[self._owner[:n][stays]]
        self._rows = self._rows[: self._n_rows][is_kept[is_dense]]
        self._is_dense = is_dense[is_kept]
        self._n_rows, self._n_entries = len(self._rows), len(self._index)
        self._n_sparse = len(self._is_dense) - self._n_rows

    def at(self, gradient: np.ndarray) -> np.ndarray:
        """<gradient, atom> of every atom."""
        n = self._n_entries
        products = gradient[self._index[:n]] * self._value[:n]
        if self._are_units:
            return products
        sparse = np.bincount(self._owner[:n], products, minlength=self._n_sparse)
        if not self._n_rows:
            return np.asarray(sparse, dtype=np.float64)
        is_dense = self._is_dense[: self._n_rows + self._n_sparse]
        found = np.empty(len(is_dense))
        found[~is_dense] = sparse[: self._n_sparse]
        found[is_dense] = self._rows[: self._n_rows] @ gradient
        return found


def roomier(array: np.ndarray, n: int) -> np.ndarray:
    """The array with room for n entries along its first axis.

    >>> len(roomier(np.zeros(2), 3)), len(roomier(np.zeros(2), 1))
    (4, 2)
    """
    if n <= len(array):
        return array
    more = np.zeros((max(2 * len(array), n), *array.shape[1:]), dtype=array.dtype)
    more[: len(array)] = array
    return more
