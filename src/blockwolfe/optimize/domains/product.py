"""Products of domains: one block of coordinates for each."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from blockwolfe.errors import InputError
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains.base import Domain

__all__ = ["Product"]


class Product(Domain):
    """All points whose blocks are in these sets; the coordinates of the first come first.

    A product within a product counts by its own blocks.

    Parameters
    ----------
    domains : list of Domain
        The set of every block; a set may come several times.

    Attributes
    ----------
    offsets : int64 array
        Block i has the coordinates offsets[i] to offsets[i + 1] - 1.

    Examples
    --------
    >>> from blockwolfe.optimize.domains import Box, Simplex
    >>> product = Product([Simplex(2), Simplex(2), Box(0.0, 1.0, n=1)])
    >>> product
    Product([2 x Simplex(2), Box(shape=(1,))])
    >>> product.offsets
    array([0, 2, 4, 5])
    >>> product.minimize(np.array([1.0, 0.0, 0.0, 1.0, -1.0]))
    Atom([0. 1. 1. 0. 1.])
    """

    def __init__(self, domains: Iterable[Domain]) -> None:
        self._blocks = tuple(_leaves(domains))
        self.offsets = np.cumsum([0, *(block.size for block in self._blocks)], dtype=np.int64)
        super().__init__((int(self.offsets[-1]),), all(block.is_polytope for block in self._blocks))
        self.has_projection = all(block.has_projection for block in self._blocks)
        self.inexactness = max((block.inexactness for block in self._blocks), default=0.0)

    @property
    def blocks(self) -> tuple[Domain, ...]:
        """The sets, in the order of their coordinates."""
        return self._blocks

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The atoms of all blocks, one after another."""
        parts = self._split(self._vector("gradient", gradient))
        return Atom.joined(
            [block.minimize(part) for block, part in zip(self._blocks, parts, strict=True)]
        )

    def start(self) -> Atom:
        """Where every block begins."""
        return Atom.joined([block.start() for block in self._blocks])

    def project(self, x: np.ndarray) -> np.ndarray:
        """Every block's projection."""
        if not self.has_projection:
            return super().project(x)
        parts = self._split(self._vector("x", x))
        return np.concatenate(
            [block.project(part) for block, part in zip(self._blocks, parts, strict=True)]
        )

    def distance(self, x: np.ndarray) -> float:
        """The norm of the blocks' distances."""
        parts = self._split(self._vector("x", x))
        far = [block.distance(part) for block, part in zip(self._blocks, parts, strict=True)]
        return float(np.linalg.norm(far))

    def _split(self, x: np.ndarray) -> list[np.ndarray]:
        return [x[begin:end] for begin, end in pairwise(self.offsets.tolist())]

    def __repr__(self) -> str:
        runs = [(name, len(list(run))) for name, run in groupby(map(repr, self._blocks))]
        shown = [name if n == 1 else f"{n} x {name}" for name, n in runs[:4]]
        more = [f"... {len(runs) - 4} more"] if len(runs) > 4 else []
        return f"Product([{', '.join(shown + more)}])"


def _leaves(domains: Any) -> list[Domain]:
    """The sets of a product, with those of products within it in their place."""
    if isinstance(domains, Domain) or not isinstance(domains, Iterable):
        raise InputError(f"domains={domains!r} is no list; expected a list of domains.")
    leaves: list[Domain] = []
    for i, domain in enumerate(domains):
        if not isinstance(domain, Domain):
            raise InputError(
                f"domains[{i}] is a {type(domain).__name__}; expected a domain such as Simplex(3)."
            )
        leaves += domain.blocks
    if not leaves:
        raise InputError("domains is empty; expected at least one domain.")
    return leaves
