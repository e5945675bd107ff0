"""Comparing two choices over many panels: the verdicts of sentences such as "A always helps"."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from experiments.core.curves import between, curves_of
from experiments.core.plan import Verdict
from experiments.core.table import Table

__all__ = ["all_at_the_end", "at_the_end", "beyond_chance", "counted", "ratio"]


def all_at_the_end(
    first: Table, other: Table, x: str, y: str = "gap"
) -> tuple[np.ndarray, np.ndarray]:
    """The least values so far of both, seed by seed, at the largest effort that all have spent."""
    ours, theirs = (curves_of(rows, x, y) for rows in (first, other))
    last = min((at[-1] for at, _ in ours + theirs), default=np.nan)
    values = [
        np.array([between(at, value, last) if at[0] <= last else np.nan for at, value in curves])
        for curves in (ours, theirs)
    ]
    return values[0], values[1]


def at_the_end(first: Table, other: Table, x: str, y: str = "gap") -> tuple[float, float]:
    """The medians of `all_at_the_end`."""
    ours, theirs = all_at_the_end(first, other, x, y)
    return _median(ours), _median(theirs)


def _median(values: np.ndarray) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def beyond_chance(first: Table, other: Table, x: str, name: str) -> Verdict:
    """Judge that every run of the first ends with a smaller gap than every run of the other."""
    ours, theirs = all_at_the_end(first, other, x)
    return Verdict(
        bool(ours.max() < theirs.min()), f"gap {_spread(ours)}, with {name} {_spread(theirs)}"
    )


def _spread(values: np.ndarray) -> str:
    return f"{_median(values):.3g} ({values.min():.3g} to {values.max():.3g})"


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
