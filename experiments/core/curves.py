"""Curves of runs: values between the looks, and medians of seeds with their extremes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from experiments.core.table import Table

__all__ = ["band", "between", "curves_of"]


def between(x: np.ndarray, y: np.ndarray, at: np.ndarray | float) -> np.ndarray:
    """Values of a curve between its points, which logarithmic axes join by straight lines.

    >>> between(np.array([1.0, 100.0]), np.array([1.0, 0.01]), 10.0).round(12)
    np.float64(0.1)
    >>> between(np.array([0.0, 2.0]), np.array([0.0, 4.0]), 1.0)
    np.float64(2.0)
    """
    if min(x) <= 0.0 or min(y) <= 0.0:
        return np.interp(at, x, y)
    return np.exp(np.interp(np.log(at), np.log(x), np.log(y)))


def curves_of(rows: Table, x: str, y: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each seed: the least value so far, where it is known."""
    runs = [(run.numbers(x), np.fmin.accumulate(run.numbers(y))) for _, run in rows.groups("seed")]
    return _known(runs)


def _known(runs: Iterable[tuple[np.ndarray, np.ndarray]]) -> list[tuple[np.ndarray, np.ndarray]]:
    kept = [(x[known], y[known]) for x, y in runs for known in [np.isfinite(x) & np.isfinite(y)]]
    return [(x, y) for x, y in kept if len(x)]


def band(runs: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, ...]:
    """Where to draw, and least, median and largest value there; as far as all runs go.

    >>> found = band([(np.array([1, 4]), np.array([8, 2])), (np.array([1, 2]), np.array([2, 1]))])
    >>> [values.round(12).tolist() for values in found]
    [[1.0, 2.0], [2.0, 1.0], [5.0, 2.5], [8.0, 4.0]]
    """
    kept = _known(runs)
    if not kept:
        return (np.array([]),) * 4
    first, last = max(x[0] for x, _ in kept), min(x[-1] for x, _ in kept)
    at = np.unique(np.concatenate([x for x, _ in kept]).astype(float))
    at = at[(at >= first) & (at <= last)]
    values = [between(x, y, at) for x, y in kept]
    return at, np.min(values, 0), np.median(values, 0), np.max(values, 0)
