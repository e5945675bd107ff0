"""Comparing two choices over many panels: the verdicts of sentences such as "A always helps"."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from experiments.core.drawing import band
from experiments.core.plan import Verdict
from experiments.core.table import Table

__all__ = ["at_the_end", "counted", "median_curve", "ratio"]


def median_curve(rows: Table, x: str, y: str) -> tuple[np.ndarray, np.ndarray]:
    """The median over seeds of the least value so far, as steps."""
    runs = [(run.numbers(x), np.fmin.accumulate(run.numbers(y))) for _, run in rows.groups("seed")]
    at, _, middle, _ = band(runs)
    return at, middle


def at_the_end(first: Table, other: Table, x: str, y: str = "gap") -> tuple[float, float]:
    """Both medians, at the largest effort that both have spent."""
    curves = [median_curve(rows, x, y) for rows in (first, other)]
    last = min((at[-1] for at, _ in curves if len(at)), default=np.nan)
    values = [
        float(middle[np.searchsorted(at, last, side="right") - 1])
        if len(at) and at[0] <= last
        else np.nan
        for at, middle in curves
    ]
    return values[0], values[1]


def ratio(first: Table, other: Table, x: str) -> float:
    """The gap of the first over that of the other, where both end; below 1 the first is better."""
    ours, theirs = at_the_end(first, other, x)
    return ours / theirs


def counted(
    compared: Iterable[tuple[str, float]], needed: Callable[[int, int], bool] = lambda a, b: a == b
) -> Verdict:
    """A verdict from ratios of gaps with their names: how many are below 1, and the extremes.

    >>> counted([("a", 0.5), ("b", 2.0)]).found
    'in 1 of 2; gap times 0.5 (a) to 2 (b), median 1.25'
    """
    known = [(value, name) for name, value in compared if np.isfinite(value)]
    if not known:
        return Verdict(None, "no runs reach a common effort")
    wins = sum(value < 1.0 for value, _ in known)
    (low, best), (high, worst) = min(known), max(known)
    middle = float(np.median([value for value, _ in known]))
    found = (
        f"in {wins} of {len(known)}; gap times {low:.3g} ({best}) to {high:.3g} ({worst}), "
        f"median {middle:.3g}"
    )
    return Verdict(needed(wins, len(known)), found)
