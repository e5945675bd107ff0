"""Where a run takes place: the blocks of a domain in one flat vector, and where it begins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.ragged import offsets
from blockwolfe.base.rounding import ROUNDING
from blockwolfe.base.schema import Misfit
from blockwolfe.errors import InputError, OracleError
from blockwolfe.optimize.active_set import ActiveSet
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains.base import Domain
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.reading import called_read_only

__all__ = ["Place", "Setup", "Space"]


class Place(NamedTuple):
    """One block: its coordinates in x, and its set."""

    number: int
    at: slice
    domain: Domain

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The oracle's atom; what it cannot be is refused.

        The gradient may be x itself, or move with it: no oracle may write to it.
        """
        return self._checked(called_read_only(self._oracle, self.domain.minimize, gradient))

    def minimize_among(self, gradient: np.ndarray, numbers: np.ndarray) -> Atom:
        """The same, among some of the atoms."""
        among = partial(self.domain.minimize_among, numbers=numbers)
        return self._checked(called_read_only(self._oracle, among, gradient))

    @property
    def _oracle(self) -> str:
        return f"the oracle of block {self.number} ({self.domain!r})"

    def start(self) -> Atom:
        """Where the block begins."""
        return self._checked(self.domain.start())

    def _checked(self, atom: Any) -> Atom:
        if not isinstance(atom, Atom) or atom.size != self.domain.size:
            found = f"an atom of size {atom.size}" if isinstance(atom, Atom) else repr(atom)
            raise OracleError(
                f"{self._oracle} returned {found[:100]}; "
                f"expected an Atom of size {self.domain.size}. Run check_domain on it."
            )
        return atom


def excess(domain: Domain, x: np.ndarray) -> float:
    """How far a point is outside of a set; 0 where that is rounding, or cannot be told.

    Block by block: one that cannot tell, or is large, hides none of the others.
    """
    begin, most = 0, 0.0
    for block in domain.blocks:
        part, begin = x[begin : begin + block.size], begin + block.size
        distance = block.distance(part)
        if distance > 0.0:
            sizes = np.abs(part).max(initial=0.0), np.abs(block.start().value).max(initial=0.0)
            most = max(most, distance) if distance > ROUNDING**0.5 * max(sizes) else most
    return most


class Space:
    """The blocks of a domain, or the whole domain as the only one."""

    def __init__(self, domain: Domain, is_split: bool) -> None:
        self.domain, domains = domain, domain.blocks if is_split else (domain,)
        begin = offsets([each.size for each in domains]).tolist()
        self.places = [
            Place(i, slice(begin[i], begin[i + 1]), each) for i, each in enumerate(domains)
        ]

    def __len__(self) -> int:
        return len(self.places)

    @property
    def size(self) -> int:
        """Length of x."""
        return self.domain.size

    def excess(self, x: np.ndarray) -> float:
        """How far x is outside of the domain; 0 where that is rounding, or cannot be told."""
        return excess(self.domain, x)

    def check_atoms(self, active: list[ActiveSet]) -> None:
        """Refuse atoms that are none: a point that steps move to must be in the set."""
        for place, each in zip(self.places, active, strict=True):
            for atom in each.atoms:
                distance = excess(place.domain, atom.dense())
                if distance > 0.0:
                    raise Misfit(
                        f"an atom of block {place.number} is outside of {place.domain!r}, by "
                        f"{distance:.3g}."
                    )


@dataclass(frozen=True)
class Setup:
    """What an engine is made from: `start` is None, a point, or one active set for every block."""

    objective: Objective
    space: Space
    start: Any
    rng: np.random.Generator

    def active_sets(self) -> list[ActiveSet]:
        """Where a method with active sets begins."""
        if self.start is None:
            return [
                ActiveSet(place.domain.size, [place.start()], [1.0]) for place in self.space.places
            ]
        if isinstance(self.start, list):
            return [each.copy() for each in self.start]
        raise InputError(
            "start is a point, or a result whose atoms are not of these blocks, but steps of this "
            "method go by the atoms of which each block is a mean. Go on from a result by blocks "
            "('bcfw+...') with a method by blocks, from one of the whole domain with another, or "
            "use 'fw', which needs no atoms."
        )

    def point(self) -> np.ndarray:
        """Where any other method begins."""
        if self.start is None or isinstance(self.start, list):
            return np.concatenate([active.mean() for active in self.active_sets()])
        return np.array(self.start, dtype=np.float64)
