"""The `BlockFunctions` of tasks on graphs, all but the oracle itself.

Every such task has the same type of data, so the loop is compiled once for all of them. An
oracle is three lines: `augment`, the structure's own maximum, and `finish`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.features import columns as cols
from blockwolfe.features.columns import Columns
from blockwolfe.structures.chain import FORBIDDEN
from blockwolfe.tasks.base import BlockFunctions


class PartData(NamedTuple):
    """Training graphs, their losses, and scratch for one thread.

    The loss of a corner z of block i is base[i] + <cost of block i, z>; parts beyond the costs
    of a block cost nothing.
    """

    columns: Columns
    ends: np.ndarray  # (edges, 2) of int32: the nodes that each edge (link, arc) joins
    size: np.ndarray  # (n, 2) of int64: nodes of block i; of a matching, on either side
    cost: np.ndarray  # costs of parts, end to end; block i has cost_start[i]:cost_start[i+1]
    cost_start: np.ndarray
    base: np.ndarray
    forbidden: np.ndarray  # bool of every part, end to end; or no entries when none is
    forbidden_start: np.ndarray
    option: np.ndarray  # int64: what else a structure needs to know
    slack: np.ndarray  # (n,): written by oracles that bound their error (`TaskBlocks.has_bounds`)
    theta: np.ndarray  # scratch (n_parts,): scores
    augmented: np.ndarray  # scratch (n_parts,): scores plus costs
    buffer: np.ndarray  # scratch (d,); zero at rest
    ints: np.ndarray  # scratch of the structure (int64)
    floats: np.ndarray  # scratch of the structure (float64)


SCRATCH = ("theta", "augmented", "buffer", "ints", "floats")


@jit
def score(data: Any, i: int, w: Any) -> None:
    """Theta of every part."""
    cols.score(data.columns, i, w, data.theta)


@jit
def augment(data: Any, i: int) -> int:
    """Fill `data.augmented` with theta plus costs, `FORBIDDEN` where forbidden; how many parts."""
    size = cols.n_parts(data.columns, i)
    for p in range(size):
        data.augmented[p] = data.theta[p]
    begin = data.cost_start[i]
    for p in range(data.cost_start[i + 1] - begin):
        data.augmented[p] += data.cost[begin + p]
    if data.forbidden.shape[0] > 0:
        begin = data.forbidden_start[i]
        for p in range(data.forbidden_start[i + 1] - begin):
            if data.forbidden[begin + p]:
                data.augmented[p] = FORBIDDEN
    return size


@jit
def finish(data: Any, i: int, part: Any, size: int, value: Any) -> tuple[int, float]:
    """Values of one for the parts of a corner, how many there are, and its loss."""
    begin, n_costs = data.cost_start[i], data.cost_start[i + 1] - data.cost_start[i]
    loss = data.base[i]
    for s in range(size):
        value[s] = 1.0
        if part[s] < n_costs:
            loss += data.cost[begin + part[s]]
    return size, max(loss, 0.0)  # (below zero is rounding)


@jit
def read(data: Any, i: int, w: Any, part: Any, size: int, out: Any) -> None:
    """Scores of some parts, after `score`."""
    for s in range(size):
        out[s] = data.theta[part[s]]


@jit
def peek(data: Any, i: int, w: Any, part: Any, size: int, out: Any) -> None:
    """Scores of some parts straight from w."""
    cols.score_parts(data.columns, i, w, part, size, out)


@jit
def sqnorm(data: Any, i: int, part: Any, delta: Any, size: int) -> float:
    """|F delta|^2."""
    return float(cols.sqnorm(data.columns, i, part, delta, size, data.buffer))


@jit
def add(data: Any, i: int, part: Any, delta: Any, size: int, coefficient: float, out: Any) -> None:
    """Out += coefficient F delta."""
    cols.add_parts(data.columns, i, part, delta, size, coefficient, out)


@jit
def spread(data: Any, i: int, moved: Any, image: Any, index: Any, value: Any) -> int:
    """Coefficient F delta as pairs: formed in `image`, then taken out of it."""
    part, delta, size, coefficient = moved
    cols.add_parts(data.columns, i, part, delta, size, coefficient, image)
    return int(cols.take_out(data.columns, i, (part, size), image, index, value))


@jit
def answer_all(maximize: Any, data: Any, w: Any, corners: Any, size: Any) -> None:
    """The oracle's corner of every block; corner i has size[i] parts from corners.start[i] on."""
    for i in range(size.shape[0]):
        begin, end = corners.start[i], corners.start[i + 1]
        score(data, i, w)
        found = maximize(data, i, w, corners.part[begin:end], corners.value[begin:end])
        size[i] = found[0]


def functions(maximize: Any) -> BlockFunctions:
    """The seven functions around one structure's oracle."""
    return BlockFunctions(score, maximize, read, peek, sqnorm, add, spread)
