"""Stochastic subgradient steps (Pegasos): a step of a known size after every oracle call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_flag
from blockwolfe.methods.base import Setup
from blockwolfe.methods.orders import VisitMethod
from blockwolfe.methods.subgradient.engine import VisitEngine
from blockwolfe.methods.subgradient.visits import Pull, sum_of_totals
from blockwolfe.rules.registry import register
from blockwolfe.running.engine import Engine

__all__ = ["StochasticSubgradient"]


@register
@dataclass(frozen=True)
class StochasticSubgradient(VisitMethod):
    """Stochastic subgradient steps (Pegasos): one oracle call, one step of size 1 / (lam k).

    Its average is a good model after few passes. There is no dual point, so it cannot say how far
    from the optimum it is; `blockwolfe.certify` can, beside the dual point of another method.

    Parameters
    ----------
    averaging : return the average of all iterates, weighted by k; else the last one.
    sampling : `Permutation()`, `Uniform()` or `Cyclic()`.
    certify_every : passes between two looks at the primal (each costs one oracle call per block).

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> result = bw.solve(problem, 1.0, "ssg", max_passes=50, random_state=0)
    >>> best = bw.solve(problem, 1.0, tol=1e-6)
    >>> bool(result.certificate.primal < best.certificate.primal + 0.01)
    True
    >>> bw.certify(problem, best.state, 1.0, w=result.w).gap < 0.01
    True
    """

    name: ClassVar[str] = "ssg"
    has_dual: ClassVar[bool] = False
    switches: ClassVar[dict[str, dict[str, Any]]] = {"last": {"averaging": False}}

    averaging: bool = True

    def __post_init__(self) -> None:
        check_flag("averaging", self.averaging)
        super().__post_init__()

    @property
    def words(self) -> str:
        """Whether it averages, and in what order."""
        averaging = ", averaging" if self.averaging else ""
        return f"stochastic subgradient steps, {self.sampling.words}{averaging}"

    def start(self, setup: Setup) -> Engine:
        """Visits, pass after pass."""
        return StochasticSteps(self, setup)


class StochasticSteps(VisitEngine):
    """After k visits w = total / (lam k), so that k w is a sum that visits add to."""

    def __init__(self, method: StochasticSubgradient, setup: Setup) -> None:
        bounds = setup.blocks.lower, setup.blocks.upper
        super().__init__(method, setup, method.sampling, Pull(1.0 / setup.lam, True, *bounds))

    def last_w(self) -> np.ndarray:
        """Under bounds, the total is w."""
        k = self.counts.visits
        if self.blocks.is_bounded or k == 0:
            return self.total.copy()
        return np.asarray(self.total / (self.lam * k))

    def average_w(self) -> np.ndarray:
        """2 / (k (k + 1)) sum_j j w_j."""
        k = self.counts.visits
        share = 2.0 / (k * (k + 1.0))
        if self.blocks.is_bounded:
            return self.within_bounds(share * self.late)  # (but for rounding it is there)
        return np.asarray(share / self.lam * sum_of_totals(self.sums, k))
