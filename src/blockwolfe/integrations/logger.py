"""What callbacks that log a run have in common."""

from __future__ import annotations

from math import isnan
from typing import Any

from blockwolfe.base.checks import check_integer
from blockwolfe.results.result import Result
from blockwolfe.results.trace import TraceRow
from blockwolfe.running.events import Event

__all__ = ["Logger", "metrics_of"]

# Columns of the trace that are logged, by the name they are logged under.
METRICS = {
    "objective/primal": "primal",
    "objective/dual": "dual",
    "gap/certified": "gap",
    "gap/estimate": "gap_estimate",
    "loss/held_out": "held_out_loss",
    "work/seconds": "seconds",
    "work/oracle_calls": "oracle_calls",
    "work/certificate_calls": "certificate_calls",
    "work/cache_hits": "cache_hits",
    "work/n_active": "n_active",
}


def metrics_of(row: TraceRow) -> dict[str, float]:
    """The numbers of a row that are known; a gap is called certified only where it is a bound.

    >>> metrics_of(TraceRow(passes=3, dual=0.5, seconds=1.0))["objective/dual"]
    0.5
    """
    values = {name: float(getattr(row, column)) for name, column in METRICS.items()}
    if not row.valid:
        values["gap/not_certified"] = values.pop("gap/certified")
    return {name: value for name, value in values.items() if abs(value) < float("inf")}


class Logger:
    """A callback: every so many passes, and at every full pass, `write` gets the numbers.

    A copy, as scikit-learn's `clone` makes one, shares no open file with the original.
    """

    def __init__(self, every: int) -> None:
        check_integer("every", every, 1)
        self.every = every

    def __call__(self, event: Event) -> None:
        """Log the row of an event, if it is its turn."""
        row = event.row
        is_full = not isnan(row.gap)
        if row.passes == 0:
            self.begin({"lam": event.lam, "tol": event.tol})
        if is_full or row.passes % self.every == 0:
            self.write(metrics_of(row), row.passes, is_full)

    def log_result(self, result: Result) -> None:
        """Log how a run ended: its last row (which no event has), status and method."""
        row = result.trace[-1]
        self.write(metrics_of(row), row.passes, True)
        self.end({"status": result.status.name, "method": repr(result.method)})

    def __deepcopy__(self, memo: Any) -> Logger:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__getstate__())
        return made

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    # -- what subclasses do ----------------------------------------------------------------

    def begin(self, options: dict[str, float]) -> None:
        """A run has begun."""
        raise NotImplementedError

    def write(self, metrics: dict[str, float], step: int, is_full: bool) -> None:
        """Log numbers at a pass."""
        raise NotImplementedError

    def end(self, texts: dict[str, str]) -> None:
        """A run has ended."""
        raise NotImplementedError
