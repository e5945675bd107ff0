"""The active set of a block: atoms whose weighted mean is the block's point.

Scores of all atoms at one gradient take one product (`atom_scores`). How steps move the weights is
the same as for the corners of an SVM (`rules.weights`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from typing import Any

import numpy as np

from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.optimize.atom_scores import AtomScores
from blockwolfe.optimize.atoms import Atom
from blockwolfe.rules.weights import move_weights

__all__ = ["ActiveSet"]

# A file's weights add up to one but for this.
ROUNDING = 1e-9
_NOTHING = np.zeros(1)


class ActiveSet:
    """Distinct atoms with weights > 0 that add up to one.

    >>> active = ActiveSet(3, [Atom.unit(3, 0), Atom.unit(3, 2)], [0.25, 0.75])
    >>> active.mean()
    array([0.25, 0.  , 0.75])
    >>> active.scores(np.array([4.0, 0.0, 2.0]))
    array([4., 2.])
    """

    def __init__(self, size: int, atoms: Iterable[Atom], weights: Any) -> None:
        self.size, self.atoms = size, list(atoms)
        self.weights = np.array(weights, dtype=np.float64)
        self._rows = {atom.key: row for row, atom in enumerate(self.atoms)}
        self._scores: AtomScores | None = None  # made when scores are asked for

    def __len__(self) -> int:
        return len(self.atoms)

    def copy(self) -> ActiveSet:
        """The same atoms and weights."""
        return ActiveSet(self.size, self.atoms, self.weights)

    def find(self, atom: Atom) -> int:
        """The row of an equal atom, or -1."""
        return self._rows.get(atom.key, -1)

    def add(self, atom: Atom) -> int:
        """The row of an atom, of weight zero if it is new."""
        row = self.find(atom)
        if row >= 0:
            return row
        self._rows[atom.key] = row = len(self.atoms)
        self.atoms.append(atom)
        self.weights = np.concatenate((self.weights, _NOTHING))
        if self._scores is not None:
            self._scores.append(atom)
        return row

    def scores(self, gradient: np.ndarray) -> np.ndarray:
        """<gradient, atom> of every atom."""
        if self._scores is None:
            self._scores = AtomScores(self.size, self.atoms)
        return self._scores.at(gradient)

    def move(self, kind: int, to: int, away: int, gamma: float, is_drop: bool) -> None:
        """The weights after a step; atoms that have none left are gone."""
        move_weights(self.weights, (0, len(self.weights)), kind, to, away, gamma, is_drop)
        self.drop_idle()

    def set_weights(self, weights: np.ndarray) -> None:
        """Other weights for the same atoms; those without are gone."""
        self.weights = np.asarray(weights, dtype=np.float64) / float(np.sum(weights))
        self.drop_idle()

    def drop_idle(self) -> None:
        """Forget atoms of weight zero."""
        if np.count_nonzero(self.weights) == len(self.weights):
            return
        is_kept = self.weights > 0.0
        self.atoms = list(compress(self.atoms, is_kept))
        self._rows = {atom.key: row for row, atom in enumerate(self.atoms)}
        self.weights = self.weights[is_kept]
        if self._scores is not None:
            self._scores.keep(is_kept)

    def rescale(self) -> None:
        """Make the weights add up to one, from which rounding errors of many steps take them."""
        total = float(self.weights.sum())
        # (closer than that they stay: twice in a row gives the same weights)
        if abs(total - 1.0) > len(self.weights) * np.finfo(float).eps:
            self.weights /= total

    def mean(self) -> np.ndarray:
        """The point, from nothing but atoms and weights, as shares of their sum."""
        x = np.zeros(self.size)
        shares = self.weights / self.weights.sum()
        for atom, share in zip(self.atoms, shares.tolist(), strict=True):
            atom.add_to(x, share)
        return x

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """Atoms end to end: how many entries each has (-1: all of them), and which."""
        n_listed = [-1 if atom.index is None else len(atom.index) for atom in self.atoms]
        index = [atom.index for atom in self.atoms if atom.index is not None]
        return {
            "weights": self.weights,
            "n_listed": np.array(n_listed, dtype=np.int64),
            "index": np.concatenate([np.zeros(0, dtype=np.int64), *index]),
            "value": np.concatenate([np.zeros(0), *(atom.value for atom in self.atoms)]),
        }

    @classmethod
    def restored(cls, size: int, saved: dict[str, Any]) -> ActiveSet:
        """From a file, which anybody may have written."""
        read = Reader(saved, "active_set")
        weights = read.array("weights", np.float64, (None,), least=0.0, most=1.0 + ROUNDING)
        listed = read.array("n_listed", np.int64, (len(weights),), least=-1, most=size)
        lengths = np.where(listed < 0, size, listed)
        value = read.array("value", np.float64, (int(lengths.sum()),))
        n_index = int(listed[listed > 0].sum())
        index = read.array("index", np.int64, (n_index,), least=0, most=max(size - 1, 0))
        if not weights.all() or abs(float(weights.sum()) - 1.0) > ROUNDING:
            raise Misfit("the weights of an active set are not above zero, or not one in all.")
        atoms, at, begin = [], 0, 0
        for n, length in zip(listed.tolist(), lengths.tolist(), strict=True):
            entries = value[at : at + length]
            if n < 0:
                atoms.append(Atom.full(entries))
            else:
                atoms.append(Atom.sparse(size, index[begin : begin + n], entries))
                begin += n
            at += length
        found = cls(size, atoms, weights)
        if len(found._rows) < len(atoms):
            raise Misfit("an active set has an atom twice.")
        return found
