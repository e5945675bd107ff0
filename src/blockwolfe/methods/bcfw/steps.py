"""Step rules: small objects that say how a visit moves its block (SPEC section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from blockwolfe.base.checks import check_flag, check_integer, check_share
from blockwolfe.methods.bcfw import rules

__all__ = ["FW", "Away", "BestOf", "BlendedPairwise", "Corrective", "Pairwise", "Step"]


@dataclass(frozen=True)
class Step:
    """Base of the step rules.

    >>> isinstance(Pairwise(), Step)
    True
    """

    code: ClassVar[int]
    needs_corners: ClassVar[bool] = True

    @property
    def line_search(self) -> bool:
        """Whether steps are exact, so that the dual never decreases."""
        return True


@dataclass(frozen=True)
class FW(Step):
    """The Frank-Wolfe step towards the oracle's corner.

    ``line_search=False`` takes the predefined size 2n/(k+2n) instead of the exact one.

    >>> FW().line_search
    True
    """

    code = rules.FW_STEP
    needs_corners = False
    line_search: bool = True

    def __post_init__(self) -> None:
        check_flag("line_search", self.line_search)


@dataclass(frozen=True)
class Pairwise(Step):
    """Moves weight from the worst active corner to the oracle's: linear in practice.

    >>> Pairwise()
    Pairwise()
    """

    code = rules.PAIRWISE_STEP


@dataclass(frozen=True)
class Away(Step):
    """Frank-Wolfe, or away from the worst active corner where that slope is larger.

    >>> Away()
    Away()
    """

    code = rules.AWAY_STEP


@dataclass(frozen=True)
class BestOf(Step):
    """The largest gain of the Frank-Wolfe, pairwise and away steps: keeps the rate of BCFW.

    Under bounds the gains compared are those of the safe step.

    >>> BestOf()
    BestOf()
    """

    code = rules.BEST_STEP


@dataclass(frozen=True)
class BlendedPairwise(Step):
    """Pairwise inside the active set while its slope is at least the gap, else Frank-Wolfe.

    >>> BlendedPairwise()
    BlendedPairwise()
    """

    code = rules.BLENDED_STEP


@dataclass(frozen=True)
class Corrective(Step):
    """A pairwise step, then the block is optimised over its stored corners.

    Further pairwise steps between the best and the worst stored corner, at most `max_steps`
    a visit, while their slope is above `share` of the visit's gap.

    >>> Corrective(max_steps=5).max_steps
    5
    """

    code = rules.CORRECTIVE_STEP
    max_steps: int = 10
    share: float = 0.1

    def __post_init__(self) -> None:
        check_integer("max_steps", self.max_steps, 1)
        check_share("share", self.share)
