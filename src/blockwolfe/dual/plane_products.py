"""Inner products of planes with one v, by the scores of their stored corners (see `planes`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.look import meet
from blockwolfe.dual.stock import Stock

__all__ = ["add_up", "best_corners", "score_corners"]


@jit
def _score_lists(stock: Stock, i: int, rows: Any, theta: np.ndarray, score: np.ndarray) -> None:
    """<theta, z> of the stored corners of block i."""
    part, at, size = rows
    is_unit = stock.value.shape[0] == 0
    for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
        total = 0.0
        for e in range(at[row], at[row] + size[row]):
            total += theta[part[e]] if is_unit else stock.value[e] * theta[part[e]]
        score[row] = total


@jit
def _meet_all(stock: Stock, i: int, rows: Any, look: Any) -> int:
    """The parts of all stored corners of block i, each once."""
    part, at, size = rows
    look.number[0] += 1
    n_met = 0
    for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
        n_met = meet(part, stock.value[:0], at[row], size[row], 1.0, look, n_met)
    return n_met


@jit
def score_corners(
    is_identity: bool, features: Any, data: Any, v: Any, stock: Any, rows: Any, work: Any,
    score: Any,
) -> None:  # fmt: skip
    """The scores at v of all stored corners."""
    look, scores = work
    theta = v if is_identity else scores
    for i in range(stock.start.shape[0]):
        if not is_identity:
            n_met = _meet_all(stock, i, rows, look)
            features.peek(data, i, v, look.met, n_met, theta)
        _score_lists(stock, i, rows, theta, score)


@jit
def add_up(
    weight: np.ndarray, start: np.ndarray, rows: np.ndarray, score: np.ndarray, out: np.ndarray
) -> None:
    """out[t] = sum_i weight_i (score of plane 0 - score of plane t)."""
    for t in range(rows.shape[0]):
        total = 0.0
        for i in range(rows.shape[1]):
            true = score[start[i] + rows[0, i]]
            total += weight[i] * (true - score[start[i] + rows[t, i]])
        out[t] = total


@jit
def best_corners(weight: np.ndarray, stock: Stock, score: np.ndarray, row: np.ndarray) -> float:
    """The highest stored corner of every block, by its number there.

    Returns how much a step towards all of them gains at first: the sum of the block gaps, with
    these in the place of the oracle's corners.
    """
    slope = 0.0
    for i in range(row.shape[0]):
        first, best, mean = stock.start[i], stock.start[i], 0.0
        for k in range(first, first + stock.n_rows[i]):
            height = stock.loss[k] + score[k]
            mean += stock.weight[k] * height
            if height > stock.loss[best] + score[best]:
                best = k
        slope += weight[i] * (stock.loss[best] + score[best] - mean)
        row[i] = best - first
    return slope
