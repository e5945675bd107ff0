"""Atoms: the points that linear oracles return, sparse where they are.

A step of Frank-Wolfe needs three things of an atom: its product with a gradient, adding a multiple
of it to x, and a key that tells it from the other atoms of an active set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from blockwolfe.base.ragged import offsets
from blockwolfe.errors import InputError

__all__ = ["Atom"]

# A key is the non-zero entries themselves where there are few, 16 bytes for each, else a digest.
_FEW = 4
_DIGEST_BYTES = 20  # (no multiple of 16, so that no digest is the key of few entries)


@dataclass(frozen=True, eq=False, repr=False)
class Atom:
    """A point of a set, by all its entries or by those that are not zero.

    Made by `Atom.sparse`, `Atom.unit` and `Atom.full`, which check; the arrays are read-only.

    Parameters
    ----------
    index : int64 array or None
        Coordinates, sorted and distinct; None where `value` has them all.
    value : float64 array
        The entries at these coordinates.
    size : int
        How many coordinates the space has.

    Examples
    --------
    >>> atom = Atom.sparse(4, [2, 0], [5.0, -1.0])
    >>> atom
    Atom(size=4, {0: -1, 2: 5})
    >>> atom.dot(np.array([1.0, 1.0, 2.0, 1.0]))
    9.0
    >>> atom == Atom.full([-1.0, 0.0, 5.0, 0.0])
    True
    """

    index: np.ndarray | None
    value: np.ndarray
    size: int

    @classmethod
    def sparse(cls, size: int, index: Any, value: Any) -> Atom:
        """The atom with these entries and zeros elsewhere; `index` in any order."""
        index, value = np.array(index, dtype=np.int64), np.array(value, dtype=np.float64)
        if index.ndim != 1 or index.shape != value.shape:
            raise InputError(
                f"index has shape {index.shape} and value {value.shape}; expected one value for "
                "each coordinate of a flat list."
            )
        if (index[1:] <= index[:-1]).any():
            order = np.argsort(index, kind="stable")
            index, value = index[order], value[order]
            if (index[1:] == index[:-1]).any():
                raise InputError("index has a coordinate twice; add its values up first.")
        if len(index) and not 0 <= index[0] <= index[-1] < size:
            raise InputError(f"index has coordinates outside 0..{size - 1}.")
        return cls(_frozen(index), _frozen(value), size)

    @classmethod
    def unit(cls, size: int, j: int, value: float = 1.0) -> Atom:
        """The atom with one entry that is not zero.

        >>> Atom.unit(3, 1, 2.0).dense()
        array([0., 2., 0.])
        """
        if not 0 <= j < size:
            raise InputError(f"j={j} is no coordinate of {size}; expected 0..{size - 1}.")
        return cls(_frozen(np.array([j], dtype=np.int64)), _frozen(np.array([float(value)])), size)

    @classmethod
    def full(cls, value: Any) -> Atom:
        """The atom with all these entries, which are copied.

        >>> Atom.full([1.0, 2.0]).index is None
        True
        """
        copied = np.array(value, dtype=np.float64)
        if copied.ndim != 1:
            raise InputError(f"value has shape {copied.shape}; expected a flat vector (ravel it).")
        return cls(None, _frozen(copied), len(copied))

    @classmethod
    def owning(cls, value: np.ndarray) -> Atom:
        """As `full`, but without a copy: nobody else may write to this float64 vector."""
        return cls(None, _frozen(value), len(value))

    @classmethod
    def joined(cls, atoms: list[Atom]) -> Atom:
        """The atom of a product, one after another; sparse where all of them are.

        >>> Atom.joined([Atom.unit(2, 1), Atom.unit(3, 0)])
        Atom(size=5, {1: 1, 2: 1})
        """
        begins = offsets([atom.size for atom in atoms])
        listed = [
            atom.index + begin
            for atom, begin in zip(atoms, begins[:-1].tolist(), strict=True)
            if atom.index is not None
        ]
        if len(listed) < len(atoms):
            return cls.owning(np.concatenate([atom.dense() for atom in atoms]))
        value = np.concatenate([atom.value for atom in atoms])
        return cls(_frozen(np.concatenate(listed)), _frozen(value), int(begins[-1]))

    @cached_property
    def key(self) -> bytes:
        """Equal for equal points, however they are stored; -0.0 and 0.0 are the same."""
        at = np.flatnonzero(self.value)
        value = self.value[at]
        index = at if self.index is None else self.index[at]
        if len(at) <= _FEW:
            return index.tobytes() + value.tobytes()
        digest = blake2b(index.tobytes(), digest_size=_DIGEST_BYTES)
        digest.update(value.tobytes())
        return digest.digest()

    @cached_property
    def entry(self) -> tuple[int, float] | None:
        """Coordinate and value of the only entry; None where more are listed, or none is.

        >>> Atom.unit(3, 1, 2.0).entry
        (1, 2.0)
        """
        if self.index is None or len(self.index) != 1:
            return None
        return self.index.item(), self.value.item()

    def dot(self, gradient: np.ndarray) -> float:
        """The inner product with a dense vector."""
        if self.entry is not None:
            j, value = self.entry
            return float(gradient[j]) * value
        at_entries = gradient if self.index is None else gradient[self.index]
        return float(np.dot(at_entries, self.value))

    def size_of_dot(self, gradient: np.ndarray) -> float:
        """The size of the terms of which the product is the sum, before they cancel.

        >>> Atom.full([3.0, -3.0]).size_of_dot(np.array([1.0, 1.0]))
        6.0
        """
        at_entries = gradient if self.index is None else gradient[self.index]
        return float(np.dot(np.abs(at_entries), np.abs(self.value)))

    def dense(self) -> np.ndarray:
        """All entries, in a new array."""
        if self.index is None:
            return self.value.copy()
        x = np.zeros(self.size)
        x[self.index] = self.value
        return x

    def add_to(self, x: np.ndarray, scale: float = 1.0) -> None:
        """Add scale * atom to x, in place.

        >>> x = np.ones(3)
        >>> Atom.unit(3, 2).add_to(x, -1.0)
        >>> x
        array([1., 1., 0.])
        """
        if self.entry is not None:
            x[self.entry[0]] += scale * self.entry[1]
        elif self.index is None:
            x += scale * self.value
        else:
            x[self.index] += scale * self.value  # (coordinates are distinct)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Atom):
            return NotImplemented
        return self.size == other.size and self.key == other.key

    def __hash__(self) -> int:
        return hash((self.size, self.key))

    def __repr__(self) -> str:
        if self.index is None:
            return f"Atom({np.array2string(self.value, precision=4, threshold=8)})"
        pairs = zip(self.index[:8].tolist(), self.value[:8].tolist(), strict=True)
        shown = ", ".join(f"{j}: {value:g}" for j, value in pairs)
        more = ", ..." if len(self.index) > 8 else ""
        return f"Atom(size={self.size}, {{{shown}{more}}})"


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)  # (keys are computed once)
    return array
