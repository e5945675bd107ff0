"""Features of tasks on graphs, and what all their oracles share.

Every such task has the same type of data and of scratch, so the loop is compiled once for all of
them. An oracle is three lines: `augment`, the structure's own maximum, and `finish`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.features import columns as cols
from blockwolfe.features.columns import Columns
from blockwolfe.structures.chain import FORBIDDEN
from blockwolfe.tasks.base import Corners, Features, Oracles
from blockwolfe.tasks.identity_functions import copy_parts, list_parts
from blockwolfe.tasks.projecting import ProjectScratch, project_scores

__all__ = [
    "FEATURES",
    "Options",
    "PartData",
    "PartScratch",
    "answer_all",
    "augment",
    "augment_by",
    "finish",
    "finish_means",
    "oracles",
    "project",
]


class Options(NamedTuple):
    """What structures need to know besides scores; each reads what concerns it."""

    max_iterations: int = 0  # of message passing
    is_exact: int = 1  # whether a search shall be exact (1) or may climb (0)
    longest: int = 0  # positions of the longest segment
    source_capacity: int = 0  # most links of a source
    target_capacity: int = 0  # most links of a target


class PartData(NamedTuple):
    """Training graphs and their losses.

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
    required: np.ndarray  # bool of every node: its part must be chosen; or no entries (cuts)
    options: Options


class PartScratch(NamedTuple):
    """What one thread needs."""

    augmented: np.ndarray  # (n_parts,): scores plus costs
    buffer: np.ndarray  # (d,); zero at rest
    ints: np.ndarray  # of the structure (int64)
    floats: np.ndarray  # of the structure (float64)


@jit
def score(data: PartData, i: int, w: Any, scale: float, theta: Any) -> None:
    """The scores theta of every part, times `scale`."""
    cols.score(data.columns, i, w, scale, theta)


@jit
def score_all(data: PartData, w: Any, start: Any, theta: Any) -> None:
    """Scores of all parts of all blocks, end to end; those of block i begin at start[i]."""
    for i in range(start.shape[0] - 1):
        score(data, i, w, 1.0, theta[start[i] : start[i + 1]])


@jit
def augment(data: PartData, i: int, theta: Any, augmented: Any) -> int:
    """Fill `augmented` with theta plus costs, `FORBIDDEN` where forbidden; how many parts.

    What an oracle of tasks on graphs begins with: `augmented` is ``scratch.augmented``.

    >>> import blockwolfe as bw
    >>> X, Y = [bw.tasks.Graph([[1.0], [2.0]], [])], [["a", "b"]]
    >>> blocks = bw.Problem(bw.tasks.Tree(bias=False), X, Y).blocks
    >>> scores = np.zeros(4)
    >>> augment(blocks.data, 0, np.array([5.0, 0.0, 0.0, 0.0]), scores)
    4
    >>> scores.reshape(2, 2)
    array([[5., 1.],
           [1., 0.]])
    """
    return int(augment_by(data, i, theta, 1.0, augmented))


@jit
def _add_costs(data: PartData, i: int, theta: Any, scale: float, augmented: Any) -> int:
    """Theta plus `scale` times costs; how many parts."""
    size = cols.n_parts(data.columns, i)
    for p in range(size):
        augmented[p] = theta[p]
    begin = data.cost_start[i]
    for p in range(data.cost_start[i + 1] - begin):
        augmented[p] += scale * data.cost[begin + p]
    return size


@jit
def augment_by(data: PartData, i: int, theta: Any, scale: float, augmented: Any) -> int:
    """As `augment`, with costs times `scale`: what an oracle of marginals begins with."""
    size = _add_costs(data, i, theta, scale, augmented)
    if data.forbidden.shape[0] > 0:
        begin = data.forbidden_start[i]
        for p in range(data.forbidden_start[i + 1] - begin):
            if data.forbidden[begin + p]:
                augmented[p] = FORBIDDEN
    return size


@jit
def finish(data: PartData, i: int, part: Any, size: int, value: Any) -> tuple[int, float, float]:
    """Values of one for the parts of a corner; how many there are, its loss, and no slack.

    What an oracle of tasks on graphs returns, after it has written the parts of its output.

    >>> import blockwolfe as bw
    >>> X, Y = [bw.tasks.Graph([[1.0], [2.0]], [])], [["a", "b"]]
    >>> blocks = bw.Problem(bw.tasks.Tree(bias=False), X, Y).blocks
    >>> finish(blocks.data, 0, np.array([1, 3], dtype=np.int32), 2, np.zeros(2))  # "b", "b"
    (2, 1.0, 0.0)
    """
    begin, n_costs = data.cost_start[i], data.cost_start[i + 1] - data.cost_start[i]
    loss = data.base[i]
    for s in range(size):
        value[s] = 1.0
        if part[s] < n_costs:
            loss += data.cost[begin + part[s]]
    return size, max(loss, 0.0), 0.0  # (below zero is rounding)


@jit
def finish_means(
    data: PartData, i: int, scale: float, mean: Any, log_sum: float, part: Any, value: Any
) -> tuple[int, float, float]:
    """What an oracle of marginals returns, after it has found the means of all parts.

    `log_sum` is the logarithm of the sum over all outputs, of scores as `augment_by` makes them:
    without the part of the loss that all outputs have.
    """
    size = list_parts(mean, cols.n_parts(data.columns, i), part, value)
    return size, _mean_loss(data, i, mean), log_sum + scale * data.base[i]


@jit
def _mean_loss(data: PartData, i: int, mean: Any) -> float:
    """The loss of a mean of corners, in which it is linear."""
    begin, loss = data.cost_start[i], data.base[i]
    for p in range(data.cost_start[i + 1] - begin):
        loss += mean[p] * data.cost[begin + p]
    return max(loss, 0.0)  # (below zero is rounding)


@jit
def project(
    data: PartData,
    i: int,
    theta: Any,
    scale: float,
    scratch: ProjectScratch,
    part: Any,
    value: Any,
) -> tuple[int, float, float]:
    """The projection oracle of all structures whose maximum oracle takes any scores."""
    n_parts, room = cols.n_parts(data.columns, i), scratch.room
    _add_costs(data, i, theta, scale, room.theta)
    gap = project_scores(scratch, i, n_parts)
    return list_parts(room.mean, n_parts, part, value), _mean_loss(data, i, room.mean), gap


@jit
def peek(data: PartData, i: int, w: Any, part: Any, size: int, theta: Any) -> None:
    """Scores of some parts straight from w."""
    cols.score_parts(data.columns, i, w, part, size, theta)


@jit
def sqnorm(data: PartData, i: int, part: Any, delta: Any, size: int, scratch: PartScratch) -> float:
    """|F delta|^2."""
    return float(cols.sqnorm(data.columns, i, part, delta, size, scratch.buffer))


@jit
def add(
    data: PartData, i: int, part: Any, delta: Any, size: int, coefficient: float, out: Any
) -> None:
    """Add coefficient F delta to `out`."""
    cols.add_parts(data.columns, i, part, delta, size, coefficient, out)


@jit
def spread(data: PartData, i: int, moved: Any, image: Any, index: Any, value: Any) -> int:
    """Pairs that make up coefficient F delta: formed in `image`, then taken out of it."""
    part, delta, size, coefficient = moved
    cols.add_parts(data.columns, i, part, delta, size, coefficient, image)
    return int(cols.take_out(data.columns, i, (part, size), image, index, value))


@jit
def answer_all(
    score: Any,
    maximize: Any,
    data: PartData,
    w: Any,
    theta: Any,
    scratch: PartScratch,
    corners: Corners,
    size: Any,
) -> None:
    """The oracle's corner of every block; corner i has size[i] parts from corners.start[i] on."""
    for i in range(size.shape[0]):
        begin, end = corners.start[i], corners.start[i + 1]
        score(data, i, w, 1.0, theta)
        part, value = corners.part[begin:end], corners.value[begin:end]
        size[i], _, _ = maximize(data, i, theta, scratch, part, value)


FEATURES = Features(score, peek, sqnorm, add, spread)


def oracles(maximize: Any, marginals: Any = None, project: Any = None) -> Oracles:
    """Around one structure's jitted oracle, for `block_oracles` of a task on graphs.

    ``maximize(data, i, theta, scratch, code, value)`` begins with `augment`, writes the numbers of
    the parts of the best output into `code`, and returns what `finish` does.
    ``marginals(data, i, theta, scale, scratch, part, value)``, where there is one, begins with
    `augment_by`, and returns what `finish_means` does.
    ``project`` of this file is the projection oracle of every structure whose `maximize` is exact
    at scores of any sign.

    >>> oracles(augment).offered()
    ('maximize',)
    """
    return Oracles(maximize, copy_parts, marginals, project)
