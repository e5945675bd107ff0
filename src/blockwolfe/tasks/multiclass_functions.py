"""Functions of single labels, for steps over all labels of a block at once (see `Simplex`)."""

from __future__ import annotations

from typing import Any

from blockwolfe.base.compiled import jit
from blockwolfe.features.emissions import add_parts, score_parts
from blockwolfe.features.rows import Gathered, gather_rows
from blockwolfe.tasks.sequence_functions import SequenceData, score_rows

__all__ = ["add", "augment", "gather", "peek", "score_gathered"]


@jit
def augment(data: SequenceData, i: int, loss: Any, height: Any) -> None:
    """L_i of every label; and `height`, which has the scores, gets L_i + <w, phi>."""
    y, cost, scale, n_labels = data.labels[i], data.cost, data.scale[i], data.layout.n_labels
    if cost.shape[1] == 1:  # the cost of any miss
        miss, own = scale * cost[y, 0], height[y]
        for k in range(n_labels):
            loss[k] = miss
            height[k] += miss
        loss[y], height[y] = 0.0, own
    else:
        for k in range(n_labels):
            loss[k] = scale * cost[y, k]
            height[k] += loss[k]


@jit
def gather(data: SequenceData, block: Any, n: int, rows: Gathered) -> None:
    """Rows of the first few blocks of a list."""
    gather_rows(data.tokens, block, (0, n), rows)


@jit
def score_gathered(
    data: SequenceData, rows: Gathered, span: Any, labels: Any, w: Any, theta: Any
) -> None:
    """Scores of some labels of gathered rows."""
    score_rows(data, rows, span, labels, w, theta)


@jit
def peek(data: SequenceData, i: int, w: Any, part: Any, size: int, theta: Any) -> None:
    """theta[k] = <w, phi> of the listed labels."""
    score_parts(data.tokens, data.layout, i, w, part, size, theta)


@jit
def add(
    data: SequenceData, i: int, part: Any, delta: Any, size: int, coefficient: float, out: Any
) -> None:
    """Add coefficient F delta to `out`."""
    add_parts(data.tokens, data.layout, i, part, delta, size, coefficient, out)
