"""The expectation oracle on all blocks: means of corners under Gibbs distributions.

    p_i(y) in proportion to exp(scale L_i(y) + <theta_i, z(y)>)

    mean_i = sum_y p_i(y) z(y)    loss_i = sum_y p_i(y) L_i(y)    log_partition_i = log of the sum

With theta_i = F_i^T w / mu and scale = 1 / mu, mu log_partition_i is the hinge of block i smoothed
by mu, plus the score of the true output, and (mean_i, loss_i) is its gradient: the maximum in the
limit of small mu. A method on the exponentiated gradient holds theta_i and scale themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.pace import Pace
from blockwolfe.base.ragged import starts
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import Store
from blockwolfe.tasks.base import Corners

__all__ = [
    "Expectation",
    "Expectations",
    "MarginalWork",
    "expectation",
    "expectations",
    "prepare",
]


class Expectation(NamedTuple):
    """Of one block: the means of its parts, its loss, the logarithm of the sum."""

    part: np.ndarray
    mean: np.ndarray
    loss: float
    log_partition: float


class Expectations(NamedTuple):
    """Of some blocks in turn: that at position s has `length[s]` parts from `start[s]` on.

    The true output's parts come first, as in every `Store`; others only where their mean is not
    zero.
    """

    start: np.ndarray
    length: np.ndarray
    part: np.ndarray
    mean: np.ndarray
    loss: np.ndarray
    log_partition: np.ndarray

    def store(self, weight: np.ndarray) -> Store:
        """As a dual point, where these are all blocks: `ell` is weight times loss."""
        return Store(self.start, self.length, self.part, self.mean, weight * self.loss)


class MarginalWork(NamedTuple):
    """What one thread needs besides the scratch of the oracle."""

    theta: np.ndarray  # scores by part; no entries where they are w itself
    part: np.ndarray  # what the oracle gives
    value: np.ndarray
    mean: np.ndarray  # by part; zero at rest

    @classmethod
    def of(cls, blocks: Blocks) -> MarginalWork:
        """For all blocks of a problem."""
        most = int(blocks.marginal_size.max(initial=0))
        return cls(
            theta=np.zeros(0 if blocks.is_identity else blocks.n_parts),
            part=np.zeros(most, dtype=np.int32),
            value=np.zeros(most),
            mean=np.zeros(blocks.n_parts),
        )


def expectation(blocks: Blocks, i: int, theta: np.ndarray, scale: float = 1.0) -> Expectation:
    """Of block i at any scores of its parts; what compiled loops get from `blocks.marginals`.

    >>> import blockwolfe as bw
    >>> blocks = bw.Problem(bw.tasks.Multiclass(2), [[0.0], [1.0]], [0, 1]).blocks
    >>> found = expectation(blocks, 0, np.log([1.0, 3.0]), scale=0.0)
    >>> found.part, found.mean.round(6), round(found.loss, 6), round(found.log_partition, 6)
    (array([0, 1], dtype=int32), array([0.25, 0.75]), 0.75, 1.386294)
    """
    scratch, most = blocks.marginal_scratch(), int(blocks.marginal_size[i])
    part, value = np.zeros(most, dtype=np.int32), np.zeros(most)
    theta = np.ascontiguousarray(theta, dtype=np.float64)
    asked = (blocks.packed_data, i, theta, float(scale), scratch, part, value)
    size, loss, log_partition = blocks.marginals(*asked)
    return Expectation(part[:size], value[:size], float(loss), float(log_partition))


def expectations(
    blocks: Blocks,
    w: np.ndarray,
    scale: float = 1.0,
    *,
    order: np.ndarray | None = None,
    own: tuple[MarginalWork, Any] | None = None,
    pace: Pace | None = None,
) -> Expectations:
    """Of some or all blocks at theta = F_i^T w, by compiled calls.

    Smoothed by mu they are those at ``w / mu`` with ``scale = 1 / mu``. `own` is
    ``(MarginalWork.of(blocks), blocks.marginal_scratch())``, to be used again and again.
    In slices, between which Ctrl-C is heard and `pace` may raise `OutOfTimeError`.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(2, bias=False), [[0.0], [1.0]], [0, 1])
    >>> found = expectations(problem.blocks, np.array([np.log(3.0), 0.0]), scale=0.0)
    >>> found.loss.round(6), found.part, found.mean.round(6)
    (array([0.5 , 0.75]), array([0, 1, 1, 0], dtype=int32), array([0.5 , 0.5 , 0.25, 0.75]))
    """
    order = np.arange(len(blocks)) if order is None else np.asarray(order, dtype=np.int64)
    oracle = blocks.marginals
    work, scratch = (MarginalWork.of(blocks), blocks.marginal_scratch()) if own is None else own
    out, pace, done = _room(blocks, order), Pace() if pace is None else pace, 0
    args = (blocks.packed_data, order, blocks.truth, w, float(scale), work, scratch, out)
    kind = (blocks.kind, str(oracle._numba_type_))
    seam = (oracle, blocks.features.score, blocks.is_identity)
    while done < len(order):
        until = pace.until(done, len(order))
        call(_fill, kind, (done, until), *seam, *args)
        done = until
        pace.note(done)
    return out


def prepare(blocks: Blocks, own: tuple[MarginalWork, Any]) -> None:
    """Compile what `expectations` runs, by running it on no block."""
    oracle, none, w = blocks.marginals, np.zeros(0, dtype=np.int64), np.zeros(blocks.n_features)
    args = (blocks.packed_data, none, blocks.truth, w, 1.0, *own, _room(blocks, none))
    kind = (blocks.kind, str(oracle._numba_type_))
    call(_fill, kind, (0, 0), oracle, blocks.features.score, blocks.is_identity, *args)


def _room(blocks: Blocks, order: np.ndarray) -> Expectations:
    """All parts of a block, at most: those found, and those of the true output."""
    n_true = np.diff(blocks.truth.start)
    most = np.minimum(blocks.marginal_size + n_true, blocks.parts_of)[order]
    n_entries, n_blocks = int(most.sum()), len(order)
    return Expectations(
        start=starts(most),
        length=np.zeros(n_blocks, dtype=np.int64),
        part=np.zeros(n_entries, dtype=np.int32),
        mean=np.zeros(n_entries),
        loss=np.zeros(n_blocks),
        log_partition=np.zeros(n_blocks),
    )


@jit
def _fill(
    span: Any,
    marginals: Any,
    score: Any,
    is_identity: bool,
    data: Any,
    order: Any,
    truth: Corners,
    w: Any,
    scale: float,
    work: MarginalWork,
    scratch: Any,
    out: Expectations,
) -> None:
    """Ask the oracle of the blocks at positions span[0]:span[1] of the order."""
    theta = w if is_identity else work.theta
    for s in range(span[0], span[1]):
        i = order[s]
        if not is_identity:
            score(data, i, w, 1.0, theta)
        size, loss, total = marginals(data, i, theta, scale, scratch, work.part, work.value)
        out.loss[s], out.log_partition[s] = loss, total
        true_parts = truth.part[truth.start[i] : truth.start[i + 1]]
        out.length[s] = _list_true_first(true_parts, size, work, out, out.start[s])


@jit
def _list_true_first(true_parts: Any, size: int, work: MarginalWork, out: Any, begin: int) -> int:
    """Copy the means in `work`, those of the true output's parts first; how many there are."""
    n = true_parts.shape[0]
    for s in range(size):
        work.mean[work.part[s]] = work.value[s]
    for s in range(n):
        p = true_parts[s]
        out.part[begin + s], out.mean[begin + s] = p, work.mean[p]
        work.mean[p] = 0.0
    for s in range(size):
        p = work.part[s]
        if work.mean[p] != 0.0:
            out.part[begin + n], out.mean[begin + n] = p, work.mean[p]
            work.mean[p] = 0.0
            n += 1
    return n
