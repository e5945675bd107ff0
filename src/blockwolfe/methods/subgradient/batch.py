"""Batch subgradient steps: all oracles, then one step against the sum of what they found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_flag
from blockwolfe.base.compiled import uninterrupted
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.primal import PrimalEngine
from blockwolfe.rules.registry import register
from blockwolfe.running.engine import Engine

__all__ = ["Subgradient"]


@register
@dataclass(frozen=True)
class Subgradient(Method):
    """Batch subgradient steps of size beta = 2 / (lam (k + 2)), one for every pass.

    Without bounds these are the iterates of ``FrankWolfe(line_search=False)``, whose steps are
    gamma = lam beta; but no dual point is kept, and so there is no gap. Under bounds, w is
    projected after every step. ``averaging=True`` returns the weighted average of the iterates.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> steps = bw.solve(problem, 1.0, "subgradient", max_passes=9)
    >>> same = bw.solve(problem, 1.0, "fw+predefined", tol=0.0, max_passes=9)
    >>> bool(np.allclose(steps.w, same.last_state.v))  # (lam is 1)
    True
    """

    name: ClassVar[str] = "subgradient"
    has_dual: ClassVar[bool] = False
    switches: ClassVar[dict[str, dict[str, Any]]] = {"averaging": {"averaging": True}}

    averaging: bool = False

    def __post_init__(self) -> None:
        check_flag("averaging", self.averaging)

    @property
    def words(self) -> str:
        """Whether it averages."""
        return "batch subgradient steps" + (", averaging" if self.averaging else "")

    def start(self, setup: Setup) -> Engine:
        """Steps, one after another."""
        return BatchSteps(self, setup)


class BatchSteps(PrimalEngine):
    """All oracles, then one step."""

    kept = ("average",)

    def __init__(self, method: Subgradient, setup: Setup) -> None:
        super().__init__(method, setup)
        self.average = self.w

    @property
    def certified_w(self) -> np.ndarray:
        """With averaging, the average."""
        return self.average if self.method.is_averaged else self.w

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """One step of all blocks, if there is time for it."""
        if not may_go_on():
            return
        share = 2.0 / (self.counts.steps + 2.0)
        found = self._ask(self.w, keep=True)
        w = self.within_bounds((1.0 - share) * self.w + share / self.lam * self._psi(found))
        with uninterrupted():  # (all of the step or none)
            self.w, self.average = w, self.within_bounds(self.average + share * (w - self.average))
            self.count(visits=self.n_blocks, oracle_calls=self.n_blocks, steps=1)
