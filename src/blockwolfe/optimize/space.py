"""Where a run takes place: the blocks of a domain in one flat vector, and where it begins."""

from __future__ import annotations

from dataclasses import dataclass
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

__all__ = ["Place", "Setup", "Space"]


class Place(NamedTuple):
    """One block: its coordinates in x, and its set."""

    number: int
    at: slice
    domain: Domain

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The oracle's atom; what it cannot be is refused."""
        return self._checked(self.domain.minimize(gradient))

    def start(self) -> Atom:
        """Where the block begins."""
        return self._checked(self.domain.start())

    def _checked(self, atom: Any) -> Atom:
        if not isinstance(atom, Atom) or atom.size != self.domain.size:
            found = f"an atom of size {atom.size}" if isinstance(atom, Atom) else repr(atom)
            raise OracleError(
                f"the oracle of block {self.number} ({self.domain!r}) returned {found[:100]}; "
                f"expected an Atom of size {self.domain.size}. Run check_domain on it."
            )
        return atom


def excess(domain: Domain, x: np.ndarray) -> float:
    """How far a point is outside of a set; 0 where that is rounding, or cannot be told."""
    distance = domain.distance(x)
    most = ROUNDING**0.5 * (1.0 + float(np.abs(x).max(initial=0.0)))
    return distance if distance > most else 0.0


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
            "start is a point, but steps of this method go by the atoms that a point is a mean of; "
            "give a result of a method that has them, or use 'fw' or 'bcfw+forward'."
        )

    def point(self) -> np.ndarray:
        """Where any other method begins."""
        if self.start is None or isinstance(self.start, list):
            return np.concatenate([active.mean() for active in self.active_sets()])
        return np.array(self.start, dtype=np.float64)
