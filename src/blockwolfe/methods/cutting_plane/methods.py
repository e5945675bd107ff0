"""Cutting-plane methods: their options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from blockwolfe.base.checks import check_integer
from blockwolfe.errors import OptionError, unknown_option
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.cutting_plane.n_slack import NSlackEngine
from blockwolfe.methods.cutting_plane.one_slack import OneSlackEngine
from blockwolfe.problem.blocks import Blocks
from blockwolfe.rules.registry import register
from blockwolfe.running.engine import Engine

__all__ = ["BundleMethod", "CuttingPlane"]

SLACKS = ("one", "n")
CACHED_PLANES = 20  # (measured: docs/decisions.md)


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

    prune_after: int | None
    cached_planes: int

    @property
    def is_monotone(self) -> bool:
        """A plane more never makes the best mixture worse."""
        return True

    @property
    def full_pass_every(self) -> float:
        """Every iteration is one."""
        return 1.0


def _check_planes(method: PlaneMethod) -> None:
    check_integer("prune_after", method.prune_after, 1, or_none=True)
    check_integer("cached_planes", method.cached_planes, 0)


def _one_slack(method: PlaneMethod, setup: Setup, can_pair: bool) -> Engine:
    return OneSlackEngine(
        method,
        setup,
        prune_after=method.prune_after,
        cached_planes=method.cached_planes,
        can_pair=can_pair,
    )


@register
@dataclass(frozen=True)
class CuttingPlane(PlaneMethod):
    """Cutting planes: all oracles at one w, then the best w for all planes found so far.

    With ``slack="one"`` a full pass gives one plane, the mean over all examples. This is fully
    corrective batch Frank-Wolfe: few iterations, each of one oracle call per example. Between full
    passes there are planes of stored corners, for which no oracle is called. Memory is that of the
    corners in use, each once, and a number per plane and example.
    With ``slack="n"`` every example keeps corners of its own, and they are optimised together:
    fewer iterations still, more work in between, and bounds on w are respected.

    It stops at the gap of its present w, which every iteration certifies; `BundleMethod` stops at
    that of the best w seen.

    Parameters
    ----------
    slack : "one", or "n" for one per example.
    prune_after : planes made since it had weight after which a plane is forgotten; None keeps all.
        With ``slack="n"``, iterations after which a corner is.
    cached_planes : with ``slack="one"``, most planes of stored corners between two full passes, as
        SVM-struct's cache makes them; 0 for none. (With ``slack="n"`` all stored corners are
        optimised between full passes.)

    >>> CuttingPlane(slack="n")
    CuttingPlane(slack='n', prune_after=50, cached_planes=20)
    """

    name: ClassVar[str] = "cutting_plane"
    switches: ClassVar[dict[str, dict[str, Any]]] = {"one": {"slack": "one"}, "n": {"slack": "n"}}

    slack: str = "one"
    prune_after: int | None = 50
    cached_planes: int = CACHED_PLANES

    def __post_init__(self) -> None:
        if self.slack not in SLACKS:
            raise unknown_option("slack", self.slack, list(SLACKS))
        _check_planes(self)

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
        return _one_slack(self, setup, can_pair=False)


@register
@dataclass(frozen=True)
class BundleMethod(PlaneMethod):
    """The bundle method (BMRM): the planes of `CuttingPlane`, and a stopping rule of its own.

    The planes are a model of the loss from below, and the dual is the minimum of that model. It
    stops when the least primal among all w seen is within `tol` of it, and returns that w: never
    later than `CuttingPlane`, whose last w may be worse than an earlier one.

    ``prune_after`` and ``cached_planes`` are those of `CuttingPlane`.

    >>> BundleMethod(prune_after=None)
    BundleMethod(prune_after=None, cached_planes=20)
    """

    name: ClassVar[str] = "bundle"
    words: ClassVar[str] = "bundle method"

    prune_after: int | None = 50
    cached_planes: int = CACHED_PLANES

    def __post_init__(self) -> None:
        _check_planes(self)

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse bounds."""
        _check_free(self.name, blocks)

    def start(self, setup: Setup) -> Engine:
        """Planes, one after another."""
        return _one_slack(self, setup, can_pair=True)
