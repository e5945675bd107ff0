"""What `minimize` returns, and what its callbacks see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blockwolfe.base.markup import table
from blockwolfe.optimize.active_set import ActiveSet
from blockwolfe.results.result import RunResult
from blockwolfe.results.status import Status
from blockwolfe.results.trace import TraceRow

__all__ = ["REMEDIES", "OptimizeEvent", "OptimizeResult"]

REMEDIES = {
    Status.MAX_PASSES: "Raise max_passes or tol, or try a method with atoms, such as 'pairwise'.",
    Status.MAX_ORACLE_CALLS: "Raise max_oracle_calls or tol; 'fcfw' needs the fewest calls.",
    Status.TIME_LIMIT: "Raise time_limit or tol.",
    Status.STALLED: "Raise tol, or scale the problem: steps gain less than rounding here.",
    Status.INEXACT_ORACLE: "Make the linear oracle exact (check_domain tests it).",
    Status.INTERRUPTED: "Go on with start=result.",
}


@dataclass(frozen=True)
class OptimizeEvent:
    """One pass has ended: its trace row and a copy of x at that moment, read-only.

    A callback is any function of an event; it returns True to stop the run.

    >>> from blockwolfe import optimize
    >>> def stop(event):
    ...     return event.x.max() < 0.6
    >>> run = optimize.minimize(optimize.SquaredNorm(), optimize.Simplex(4), callbacks=[stop])
    >>> run.status.name, float(run.x.max())
    ('STOPPED_BY_CALLBACK', 0.5)
    """

    row: TraceRow
    x: np.ndarray
    tol: float


@dataclass(frozen=True, kw_only=True, repr=False)
class OptimizeResult(RunResult):
    """A point, its certificate, and how it was reached.

    `certificate.primal` is f(x), `certificate.dual` a lower bound on the minimum, `certificate.gap`
    their difference and `certificate.block_gaps` what each block has of it. `blocks` are the
    entries of x in the sets of a product. `active_sets` hold the atoms of which each block is a
    mean (None where the method keeps none); `minimize(..., start=result)` goes on from there.
    `passes_in_all` are those of this run and of the runs that it went on from.

    >>> from blockwolfe import optimize
    >>> result = optimize.minimize(optimize.SquaredNorm(), optimize.Simplex(4))
    >>> result.x
    array([0.25, 0.25, 0.25, 0.25])
    >>> result.value, result.status.name
    (0.125, 'CERTIFIED')
    """

    x: np.ndarray
    blocks: list[np.ndarray]
    active_sets: list[ActiveSet] | None
    passes_in_all: float

    @property
    def value(self) -> float:
        """f(x)."""
        return self.certificate.primal

    def _repr_html_(self) -> str:
        """The summary, for notebooks."""
        return table(self.rows(), caption="Result")
