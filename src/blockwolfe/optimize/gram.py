"""Products <s, H t> of all pairs of atoms, for a Hessian H that is the same everywhere.

A new atom costs one row, whose entries are computed one by one: a number is then the same whichever
other atoms there are, so that a run which goes on from a file makes the same steps to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from blockwolfe.optimize.atom_scores import roomier
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.objectives.matrices import dot_rows

__all__ = ["Gram"]

# Two vectors of an atom: the first of s times the second of t is <s, H t>.
Factors = Callable[[Atom], tuple[np.ndarray, np.ndarray]]


class _Known(NamedTuple):
    """The products of some atoms, and what a further row is made from."""

    rows: dict[bytes, int]
    images: np.ndarray  # second vectors; there may be room for more
    products: np.ndarray


class Gram:
    """The matrix of <s_k, H s_l>, of which what is known is not computed again.

    >>> gram = Gram(lambda atom: (2.0 * atom.dense(), atom.dense()))
    >>> gram.of([Atom.unit(2, 0), Atom.full([1.0, 3.0])])
    array([[ 2.,  2.],
           [ 2., 20.]])
    """

    def __init__(self, factors: Factors) -> None:
        self._factors = factors
        self._known = _Known({}, np.zeros((0, 0)), np.zeros((0, 0)))

    def of(self, atoms: list[Atom]) -> np.ndarray:
        """The products of these atoms, in their order; those of others are forgotten.

        (What is known changes all at once: Ctrl-C may come at any moment.)
        """
        known = self._first_of(atoms)
        for atom in atoms[len(known.rows) :]:
            known = self._with(known, atom)
        self._known = known
        return known.products

    def _first_of(self, atoms: list[Atom]) -> _Known:
        """As many of the first ones as are known, in the order in which they came."""
        known, rows = self._known, [-1]
        for atom in atoms:
            row = known.rows.get(atom.key, -1)
            if row <= rows[-1]:  # (not known, or forgotten meanwhile and here again)
                break
            rows.append(row)
        del rows[0]
        if len(rows) == len(known.rows):
            return known
        named = {atom.key: row for row, atom in enumerate(atoms[: len(rows)])}
        return _Known(named, known.images[rows], known.products[np.ix_(rows, rows)])

    def _with(self, known: _Known, atom: Atom) -> _Known:
        n, (own, image) = len(known.rows), self._factors(atom)
        images = known.images if n else np.zeros((0, len(image)))
        images = roomier(images, n + 1)
        images[n] = image
        products, row = np.empty((n + 1, n + 1)), np.empty(n + 1)
        dot_rows(images, np.arange(n + 1), own, row)
        products[:n, :n], products[n], products[:, n] = known.products, row, row
        return _Known(known.rows | {atom.key: n}, images, products)
