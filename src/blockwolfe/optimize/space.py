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
from blockwolfe.optimize.regrouping import regrouped

__all__ = ["Place", "Setup", "Space", "Start"]


class Place(NamedTuple):
    """One block: its coordinates in x, and its set."""

    number: int
    at: slice
    domain: Domain

    def minimize(self, gradient: np.ndarray) -> Atom:
        """The oracle's atom; what it cannot be is refused.

        The gradient may be x itself, or move with it: no oracle may write to it.
        """
        return self._checked(called_read_only(self._named, self.domain.minimize, gradient))

    def minimize_among(self, gradient: np.ndarray, numbers: np.ndarray) -> Atom:
        """The same, among some of the atoms."""
        among = partial(self.domain.minimize_among, numbers=numbers)
        return self._checked(called_read_only(self._named, among, gradient))

    def check_least(self, gradient: np.ndarray, found: Atom, known: Atom, which: str) -> None:
        """Refuse what the oracle found where an atom that it gave is better, beyond rounding."""
        lacking = found.dot(gradient) - known.dot(gradient)
        if not lacking > 0.0:
            return
        size = max(known.size_of_dot(gradient), found.size_of_dot(gradient))
        if lacking > (10.0 * ROUNDING + self.domain.inexactness) * size:
            raise OracleError(
                f"{self._named()} returned a point that is worse, by {lacking:.3g}, than {which}: "
                "it does not minimise <gradient, s>. Is its sign right? Run check_domain on it."
            )

    def _named(self) -> str:
        return f"the oracle of block {self.number} ({self.domain!r})"

    def start(self) -> Atom:
        """Where the block begins."""
        return self._checked(self.domain.start())

    def _checked(self, atom: Any) -> Atom:
        if not isinstance(atom, Atom) or atom.size != self.domain.size:
            found = f"an atom of size {atom.size}" if isinstance(atom, Atom) else repr(atom)
            raise OracleError(
                f"{self._named()} returned {found[:100]}; "
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
class Start:
    """A point that a run begins at, the atoms that it is a mean of, and the passes it took.

    `atoms` are active sets, one for every block of any cut of the coordinates into blocks; None
    where they are not known.
    """

    x: np.ndarray
    atoms: list[ActiveSet] | None
    passes: float


@dataclass(frozen=True)
class Setup:
    """What an engine is made from; `start` is None where the domain says where to begin."""

    objective: Objective
    space: Space
    start: Start | None
    rng: np.random.Generator

    def active_sets(self) -> list[ActiveSet]:
        """Where a method with active sets begins."""
        places = self.space.places
        if self.start is None:
            return [ActiveSet(place.domain.size, [place.start()], [1.0]) for place in places]
        if self.start.atoms is None:
            raise InputError(
                "start is a point, or a result of a method that keeps no atoms, but steps of this "
                "method go by the atoms of which each block is a mean. Go on from a result of a "
                "method with atoms, such as 'pairwise', or use 'fw' or 'bcfw', which need none."
            )
        found = regrouped(self.start.atoms, [place.domain.size for place in places])
        try:
            self.space.check_atoms(found)
        except Misfit as error:
            raise InputError(f"start is a result of another domain: {error}") from error
        return found

    def point(self) -> np.ndarray:
        """Where any other method begins."""
        if self.start is None:
            return np.concatenate([active.mean() for active in self.active_sets()])
        return self.start.x.copy()

    @property
    def visits_before(self) -> int:
        """Visits that led to `start`, as predefined steps count them.

        A point that was given counts as one pass at least: the first step of a run is 1, and would
        forget it.
        """
        return 0 if self.start is None else round(max(self.start.passes, 1.0) * len(self.space))
