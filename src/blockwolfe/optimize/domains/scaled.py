"""What the sets of n entries and a radius have in common."""

from __future__ import annotations

from blockwolfe.base.checks import check_integer, check_positive
from blockwolfe.optimize.domains.base import Domain

__all__ = ["ScaledDomain", "and_radius"]


class ScaledDomain(Domain):
    """A set of vectors of `n` entries that grows with its `radius`."""

    def __init__(self, n: int, radius: float = 1.0, is_polytope: bool = True) -> None:
        check_integer("n", n, 1)
        self.n, self.radius = int(n), check_positive("radius", radius)
        super().__init__((self.n,), is_polytope)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n}{and_radius(self.radius)})"


def and_radius(radius: float) -> str:
    """The end of a list of arguments, where the radius is not 1.

    >>> and_radius(1.0), and_radius(2.5)
    ('', ', radius=2.5')
    """
    return "" if radius == 1.0 else f", radius={radius:g}"
