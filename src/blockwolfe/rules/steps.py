"""Step rules: small objects that say how a visit moves its block (the mathematics, "Steps").

A rule is one function of what it may choose from, compiled and handed to the loop as a value: a new
one needs no change in the loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

from numba import njit, typeof, types

from blockwolfe.base.checks import check_flag, check_integer, check_share
from blockwolfe.base.compiled import Piece, announced_compilation, jit
from blockwolfe.rules.registry import Choice, register
from blockwolfe.rules.weights import AWAY, FORWARD, PAIRWISE

__all__ = [
    "AWAY",
    "FORWARD",
    "FW",
    "LOCAL",
    "PAIRWISE",
    "Away",
    "BestOf",
    "BlendedPairwise",
    "Choices",
    "Corrective",
    "Pairwise",
    "Step",
]

LOCAL = 3  # pairwise, between the best and the worst corner of the active set


class Choices(NamedTuple):
    """What a step rule sees of a block: slopes of the dual along each direction, and more.

    `alpha_away` is the weight of the worst active corner. Gains (4) are those of exact steps, and
    are known only to rules with ``needs_gains = True``: each costs the length of a direction.
    """

    forward: float  # towards the oracle's corner (or a stored one that stands in for it)
    pairwise: float  # to that corner from the worst active one
    away: float  # away from the worst active one
    local: float  # from the worst to the best active one
    alpha_away: float
    forward_gain: float = 0.0
    pairwise_gain: float = 0.0
    away_gain: float = 0.0


_SIGNATURE = types.int64(typeof(Choices(*[0.0] * 8)))


@cache
def _piece(function: Any) -> Piece:
    compiled = function if hasattr(function, "py_func") else njit(function)
    with announced_compilation("the step rule"):
        return Piece(compiled, _SIGNATURE)


@dataclass(frozen=True)
class Step(Choice):
    """Base of the step rules: a name, and a function that chooses a direction.

    ``choose(choices)``, a static method of one `Choices` that Numba can compile, returns FORWARD
    (towards the corner that was found), PAIRWISE (to it from the worst active one), AWAY (from the
    worst active one) or LOCAL (from the worst to the best active one). Steps along a direction
    without a positive slope are not made, and FORWARD stands in for anything else, and for AWAY
    where one corner has all the weight.

    >>> isinstance(Pairwise(), Step), Pairwise().name
    (True, 'pairwise')
    """

    FORWARD: ClassVar[int] = FORWARD
    PAIRWISE: ClassVar[int] = PAIRWISE
    AWAY: ClassVar[int] = AWAY
    LOCAL: ClassVar[int] = LOCAL

    family: ClassVar[str] = "step"
    needs_corners: ClassVar[bool] = True  # whether blocks must store their corners
    needs_gains: ClassVar[bool] = False

    @staticmethod
    def choose(choices: Choices) -> int:
        """The direction to take."""
        raise NotImplementedError

    @property
    def line_search(self) -> bool:
        """Whether steps are exact, so that the dual never decreases."""
        return True

    @property
    def corrections(self) -> tuple[int, float]:
        """Further pairwise steps in one visit: at most so many, above this share of its gap."""
        return 0, 0.0

    @property
    def piece(self) -> Piece:
        """`choose` as the loop takes it."""
        return _piece(type(self).choose)


@jit
def _choose_forward(choices: Choices) -> int:
    return FORWARD


@jit
def _choose_pairwise(choices: Choices) -> int:
    return PAIRWISE


@jit
def _choose_away(choices: Choices) -> int:
    return AWAY if choices.away > choices.forward else FORWARD


@jit
def _choose_best(choices: Choices) -> int:
    """Between equal ones FORWARD, PAIRWISE, AWAY."""
    kind, most = FORWARD, choices.forward_gain
    if choices.pairwise_gain > most:
        kind, most = PAIRWISE, choices.pairwise_gain
    return AWAY if choices.away_gain > most else kind


@jit
def _choose_blended(choices: Choices) -> int:
    is_local = choices.local > 0.0 and choices.local >= choices.forward
    return LOCAL if is_local else FORWARD


@register
@dataclass(frozen=True)
class FW(Step):
    """The Frank-Wolfe step towards the oracle's corner.

    ``line_search=False`` takes the predefined size 2n/(k+2n) instead of the exact one.

    >>> FW().line_search
    True
    """

    name: ClassVar[str] = "forward"
    needs_corners: ClassVar[bool] = False
    choose = staticmethod(_choose_forward)
    line_search: bool = True

    def __post_init__(self) -> None:
        check_flag("line_search", self.line_search)

    @property
    def words(self) -> str:
        """Whether its sizes are predefined."""
        return "Frank-Wolfe steps" if self.line_search else "predefined steps"


@register
@dataclass(frozen=True)
class Pairwise(Step):
    """Moves weight from the worst active corner to the oracle's: linear in practice.

    >>> Pairwise()
    Pairwise()
    """

    name: ClassVar[str] = "pairwise"
    words: ClassVar[str] = "pairwise steps"
    choose = staticmethod(_choose_pairwise)


@register
@dataclass(frozen=True)
class Away(Step):
    """Frank-Wolfe, or away from the worst active corner where that slope is larger.

    >>> Away()
    Away()
    """

    name: ClassVar[str] = "away"
    words: ClassVar[str] = "away steps"
    choose = staticmethod(_choose_away)


@register
@dataclass(frozen=True)
class BestOf(Step):
    """The largest gain of the Frank-Wolfe, pairwise and away steps: keeps the rate of BCFW.

    Under bounds the gains compared are those of the safe step.

    >>> BestOf()
    BestOf()
    """

    name: ClassVar[str] = "best"
    words: ClassVar[str] = "best of three steps"
    needs_gains: ClassVar[bool] = True
    choose = staticmethod(_choose_best)


@register
@dataclass(frozen=True)
class BlendedPairwise(Step):
    """Pairwise inside the active set while its slope is at least the gap, else Frank-Wolfe.

    >>> BlendedPairwise()
    BlendedPairwise()
    """

    name: ClassVar[str] = "blended"
    words: ClassVar[str] = "blended pairwise steps"
    choose = staticmethod(_choose_blended)


@register
@dataclass(frozen=True)
class Corrective(Step):
    """A pairwise step, then the block is optimised over its stored corners.

    Further pairwise steps between the best and the worst stored corner, at most `max_steps`
    a visit, while their slope is above `share` of the visit's gap.

    >>> Corrective(max_steps=5).max_steps
    5
    """

    name: ClassVar[str] = "corrective"
    words: ClassVar[str] = "corrective steps"
    choose = staticmethod(_choose_pairwise)
    max_steps: int = 10
    share: float = 0.1

    def __post_init__(self) -> None:
        check_integer("max_steps", self.max_steps, 1)
        check_share("share", self.share)

    @property
    def corrections(self) -> tuple[int, float]:
        """As asked for."""
        return int(self.max_steps), float(self.share)
