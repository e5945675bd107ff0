"""Atoms of a product from those of its blocks, and back.

An atom of a product is one atom of every block. So a mean of such atoms is a mean of atoms in every
block, with the same weights. The other way there are many choices: here the unit interval is cut
into the weights of each block, heaviest first, and every piece between two cuts of any block is one
atom of the product. There are at most sum_i (m_i - 1) + 1 of them for blocks of m_i atoms.
"""

from __future__ import annotations

import numpy as np

from blockwolfe.base.ragged import offsets
from blockwolfe.optimize.active_set import ActiveSet
from blockwolfe.optimize.atoms import Atom

__all__ = ["regrouped"]

# Cuts that are nearer to each other than this are the same, but for rounding.
_NEAR = 1e-14


def regrouped(sets: list[ActiveSet], sizes: list[int]) -> list[ActiveSet]:
    """Active sets of the same mean, for blocks of these sizes; new objects.

    >>> halves = ActiveSet(2, [Atom.unit(2, 0), Atom.unit(2, 1)], [0.5, 0.5])
    >>> whole = regrouped([halves, halves], [4])
    >>> len(whole), whole[0].atoms[0], whole[0].mean()
    (1, Atom(size=4, {0: 1, 2: 1}), array([0.5, 0.5, 0.5, 0.5]))
    >>> [each.mean().tolist() for each in regrouped(whole, [2, 2])]
    [[0.5, 0.5], [0.5, 0.5]]
    """
    if [each.size for each in sets] == sizes:
        return [each.copy() for each in sets]
    whole = sets[0].copy() if len(sets) == 1 else _together(sets)
    return _apart(whole, sizes) if len(sizes) > 1 else [whole]


def _together(sets: list[ActiveSet]) -> ActiveSet:
    """The active set of a product whose blocks have these."""
    falling = [np.argsort(-each.weights, kind="stable") for each in sets]
    ends = [
        np.cumsum(each.weights[order]) / each.weights.sum()
        for each, order in zip(sets, falling, strict=True)
    ]
    cuts = np.unique(np.concatenate([end[:-1] for end in ends]))
    cuts = cuts[np.diff(cuts, prepend=0.0) > _NEAR]
    cuts = np.append(cuts[cuts < 1.0 - _NEAR], 1.0)
    weights = np.diff(cuts, prepend=0.0)
    middles = cuts - 0.5 * weights
    rows = [
        order[np.searchsorted(end[:-1], middles)] for order, end in zip(falling, ends, strict=True)
    ]
    atoms = [
        Atom.joined([each.atoms[row] for each, row in zip(sets, chosen, strict=True)])
        for chosen in zip(*(row.tolist() for row in rows), strict=True)
    ]
    return ActiveSet(sum(each.size for each in sets), atoms, weights)


def _apart(whole: ActiveSet, sizes: list[int]) -> list[ActiveSet]:
    """The active sets of the blocks; atoms that have a part in common add their weights up."""
    begins = offsets(sizes).tolist()
    found = []
    for begin, size in zip(begins[:-1], sizes, strict=True):
        block = ActiveSet(size, [], [])
        rows = [block.add(_part(atom, begin, size)) for atom in whole.atoms]
        block.set_weights(np.bincount(rows, whole.weights))
        found.append(block)
    return found


def _part(atom: Atom, begin: int, size: int) -> Atom:
    """An atom in the coordinates of one block."""
    if atom.index is None:
        return Atom.full(atom.value[begin : begin + size])
    first, last = np.searchsorted(atom.index, [begin, begin + size])
    return Atom.sparse(size, atom.index[first:last] - begin, atom.value[first:last])
