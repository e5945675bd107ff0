"""One run of `bw.optimize` as rows: value above the minimum and gap, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe import optimize
from experiments.core.plan import Budget
from experiments.core.table import Table, thinned

__all__ = ["SLACK", "above_rounding", "minimum", "steps", "tail_rate"]

SLACK = 1e-12  # rounding of values


def minimum(objective: Any, domain: Any) -> float:
    """The smallest value, between a certificate's bounds: their middle."""
    found = optimize.minimize(
        objective, domain, "fcfw", tol=1e-13, max_passes=20_000, time_limit=60.0, random_state=0
    )
    return float(found.certificate.primal - 0.5 * max(found.certificate.gap, 0.0))


def steps(
    objective: Any,
    domain: Any,
    method: Any,
    seed: int,
    budget: Budget,
    lowest: float,
    most_rows: int = 30,
    **options: Any,
) -> list[dict[str, Any]]:
    """Visits, value above the minimum and gap (as the method knows it) along a run."""
    rows: list[dict[str, Any]] = []

    def keep(event: Any) -> None:
        value = objective.value(event.x) - lowest
        rows.append({
            "steps": event.row.visits, "above": value, "gap": event.row.gap_estimate,
        })  # fmt: skip

    optimize.minimize(
        objective, domain, method, tol=1e-13, random_state=seed, callbacks=keep, **budget.limits,
        **options,
    )  # fmt: skip
    return thinned(rows, most_rows)


def above_rounding(table: Table) -> Table:
    """For drawing: what is at the minimum, but for rounding, is drawn at that."""
    return Table([{**row, "above": max(row["above"], SLACK)} for row in table.rows], table.header)


def tail_rate(x: np.ndarray, above: np.ndarray, least: float = 1e-11) -> float:
    """Slope of log(above) over x in the later half of what lies above `least`.

    >>> x = np.arange(1.0, 50.0)
    >>> round(tail_rate(x, 0.5**x * 8), 3), round(tail_rate(np.log(x), 1 / x), 3)
    (-0.693, -1.0)
    """
    known = above > least
    x, above = x[known], above[known]
    if len(x) < 4:
        return float("nan")
    late = x >= 0.5 * (x[0] + x[-1])
    late[-4:] = True
    return float(np.polyfit(x[late], np.log(above[late]), 1)[0])
