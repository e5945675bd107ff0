"""Cutting-plane methods: their options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from blockwolfe.base.checks import check_integer
from blockwolfe.errors import OptionError, unknown_option
from blockwolfe.methods.base import Engine, Method, Setup
from blockwolfe.methods.cutting_plane.n_slack import NSlackEngine
from blockwolfe.methods.cutting_plane.one_slack import OneSlackEngine
from blockwolfe.methods.registry import register
from blockwolfe.problem.blocks import Blocks

__all__ = ["BundleMethod", "CuttingPlane"]

SLACKS = ("one", "n")


def _check_free(name: str, blocks: Blocks) -> None:
    """Refuse bounds on w: the dual of a mixture of planes is then no quadratic."""
    if blocks.is_bounded:
        raise OptionError(
            f"method={name!r}: w has bounds (those given, or the task's own), under which the dual "
            "of a mixture of planes is no longer a quadratic in its weights; use "
            "CuttingPlane(slack='n') or BCFW(), which work under bounds."
        )


class PlaneMethod(Method):
    """Base of methods whose every iteration is a full pass that adds to what is known."""

    @property
    def is_monotone(self) -> bool:
        """A plane more never makes the best mixture worse."""
        return True

    @property
    def full_pass_every(self) -> float:
        """Every iteration is one."""
        return 1.0


@register
@dataclass(frozen=True)
class CuttingPlane(PlaneMethod):
    """Cutting planes: all oracles at one w, then the best w for all planes found so far.

    With ``slack="one"`` a full pass gives one plane, the mean over all examples. This is fully
    corrective batch Frank-Wolfe: few iterations, each of one oracle call per example. Memory is
    that of the corners in use, each once, and a number per plane and example.
    With ``slack="n"`` every example keeps corners of its own, and they are optimised together:
    fewer iterations still, more work in between, and bounds on w are respected.

    It stops at the gap of its present w, which every iteration certifies; `BundleMethod` stops at
    that of the best w seen.

    Parameters
    ----------
    slack : "one", or "n" for one per example.
    prune_after : iterations without weight after which a plane (or, with ``slack="n"``, a corner)
        is forgotten; None keeps all.

    >>> CuttingPlane(slack="n")
    CuttingPlane(slack='n', prune_after=50)
    """

    name: ClassVar[str] = "cutting_plane"
    switches: ClassVar[dict[str, dict[str, Any]]] = {"one": {"slack": "one"}, "n": {"slack": "n"}}

    slack: str = "one"
    prune_after: int | None = 50

    def __post_init__(self) -> None:
        if self.slack not in SLACKS:
            raise unknown_option("slack", self.slack, list(SLACKS))
        check_integer("prune_after", self.prune_after, 1, or_none=True)

    @property
    def words(self) -> str:
        """With how many slacks."""
        return "cutting planes, " + ("one slack" if self.slack == "one" else "n slacks")

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse bounds where there is one slack."""
        if self.slack == "one":
            _check_free(self.name, blocks)

    def start(self, setup: Setup) -> Engine:
        """Planes, one after another."""
        if self.slack == "n":
            return NSlackEngine(self, setup, self.prune_after)
        return OneSlackEngine(self, setup, self.prune_after, can_pair=False)


@register
@dataclass(frozen=True)
class BundleMethod(PlaneMethod):
    """The bundle method (BMRM): the planes of `CuttingPlane`, and a stopping rule of its own.

    The planes are a model of the loss from below, and the dual is the minimum of that model. It
    stops when the least primal among all w seen is within `tol` of it, and returns that w: never
    later than `CuttingPlane`, whose last w may be worse than an earlier one.

    ``prune_after`` is the number of iterations without weight after which a plane is forgotten.

    >>> BundleMethod(prune_after=None)
    BundleMethod(prune_after=None)
    """

    name: ClassVar[str] = "bundle"
    words: ClassVar[str] = "bundle method"

    prune_after: int | None = 50

    def __post_init__(self) -> None:
        check_integer("prune_after", self.prune_after, 1, or_none=True)

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse bounds."""
        _check_free(self.name, blocks)

    def start(self, setup: Setup) -> Engine:
        """Planes, one after another."""
        return OneSlackEngine(self, setup, self.prune_after, can_pair=True)
