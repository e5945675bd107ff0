"""Dual extragradient (Taskar, Lacoste-Julien and Jordan, 2006): its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from blockwolfe.base.checks import check_flag, check_integer, check_positive
from blockwolfe.base.memory import check_memory
from blockwolfe.errors import OptionError, unknown_option
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.extragradient.engine import CALLS, AverageEngine, LeanEngine
from blockwolfe.problem.blocks import Blocks
from blockwolfe.rules.registry import register
from blockwolfe.running.engine import Engine

__all__ = ["Extragradient"]

ORACLES = {"euclidean": "project", "entropy": "marginals"}
# A mean and the number of its part, with room to grow.
BYTES_PER_PART = 24.0


@register
@dataclass(frozen=True)
class Extragradient(Method):
    """Dual extragradient: steps of w and of the means of all outputs, towards their saddle point.

    A step looks at all examples twice, by the projection oracle (``geometry="euclidean"``) or by
    the expectation oracle (``"entropy"``); the average over all steps is returned, with its
    certificate. The size of steps adapts: no constant of the problem is needed. A dual point does
    not determine the sums that it keeps, so it takes no `start`.

    It keeps six vectors of the length of w, and the average mean of every example: a number for
    every part that has had weight. Without the means (``keep_means=False``) the iterates are the
    same, but there is no dual point, and so no gap.

    Parameters
    ----------
    geometry : "euclidean", which needs the oracle "project", or "entropy", which needs "marginals".
    radius : None, or a bound on the length of w in the place of the regulariser. Certificates are
        still those of the problem with `lam`; ``result.trace["restricted_gap"]`` has the gap of the
        problem with the radius.
    eta : size of the first step; None takes it from the size of features.
    keep_means : whether to keep the average mean of every example.
    certify_every : steps between certificates (each costs one oracle call per block).

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> bw.solve(problem, 1.0, "extragradient", tol=1e-3).status.name
    'CERTIFIED'
    >>> result = bw.solve(problem, 1.0, bw.Extragradient(radius=0.5), max_passes=100)
    >>> bool(result.trace["restricted_gap"][-1] < 1e-2)
    True
    """

    name: ClassVar[str] = "extragradient"
    takes_start: ClassVar[bool] = False
    sees_gaps: ClassVar[bool] = False
    switches: ClassVar[dict[str, dict[str, Any]]] = {
        "euclidean": {"geometry": "euclidean"},
        "entropy": {"geometry": "entropy"},
        "lean": {"keep_means": False},
    }

    geometry: str = "euclidean"
    radius: float | None = None
    eta: float | None = None
    keep_means: bool = True
    certify_every: int = 10

    def __post_init__(self) -> None:
        if self.geometry not in ORACLES:
            raise unknown_option("geometry", self.geometry, list(ORACLES))
        for name in ("radius", "eta"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name), hint=", or None")
        check_flag("keep_means", self.keep_means)
        check_integer("certify_every", self.certify_every, 1)

    @property
    def needs(self) -> tuple[str, ...]:
        """The oracle of means is that of the geometry."""
        return ("maximize", ORACLES[self.geometry])

    @property
    def has_dual(self) -> bool:
        """Where means are kept."""
        return self.keep_means

    @property
    def can_walk(self) -> bool:
        """Not with a radius, which goes with one lambda."""
        return self.radius is None

    @property
    def words(self) -> str:
        """In which geometry, and what takes the place of lambda."""
        within = "" if self.radius is None else f", |w| <= {self.radius:g}"
        return f"dual extragradient, {self.geometry}{within}"

    @property
    def full_pass_every(self) -> float:
        """As asked for; a step is as much work as so many passes."""
        return CALLS * float(self.certify_every)

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse bounds beside a radius, and means that do not fit."""
        if self.radius is not None and blocks.is_bounded:
            raise OptionError(
                f"method='extragradient' with radius={self.radius:g}: w has bounds (those given, "
                "or the task's own), and steps keep to a ball or to bounds, not to both; leave "
                "radius out."
            )
        if self.keep_means:
            check_memory(
                BYTES_PER_PART * float(blocks.parts_of.sum()),
                "means of every part of every example (method 'extragradient')",
                "Use 'extragradient+lean', which keeps none, or 'bcfw'.",
            )

    def start(self, setup: Setup) -> Engine:
        """Steps, one after another."""
        return AverageEngine(self, setup) if self.keep_means else LeanEngine(self, setup)
