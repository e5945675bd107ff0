"""Visits of the extragradient method: of one block, the means of both half steps.

With W and E the sums of all steps so far (`saddle`), the two half steps of block i are

    z_i = mean at scores truth_i + F_i^T W, with loss times E           (euclidean)
          mean at scores F_i^T W, with loss times E                     (entropy)
    u_i = mean at scores z_i + eta F_i^T w, with loss times eta         (euclidean)
          mean at scores F_i^T (W + eta w), with loss times E + eta     (entropy)

where *mean* is the projection oracle or the expectation oracle: each maximises scale L + <theta, .>
less |z|^2 / 2 or plus the entropy. Distances are measured from the true output, a corner, near
which few corners make up a projection; the entropy knows no such point. Of the means only sums
are kept, and the average of u_i where there is room for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.dual.directions import lay_mean, move_mean
from blockwolfe.dual.growth import Means
from blockwolfe.tasks.base import Corners

__all__ = ["Average", "MeanWork", "Sums", "visit_saddle"]

# Scores beyond this are no longer asked about: what is made of them may overflow.
LARGEST = 1e100
# Places in `Sums.number`.
VALUE, LOSS, N_OVERFLOWS = 0, 1, 2


class Sums(NamedTuple):
    """What visits read, and what they add up."""

    potential: np.ndarray  # W
    w: np.ndarray  # the weights of the first half step
    at_z: np.ndarray  # sum_i weight_i F_i z_i
    at_u: np.ndarray  # sum_i weight_i F_i u_i
    number: np.ndarray  # values of the oracle at z, loss at u, and how many scores overflow


class Average(NamedTuple):
    """The average of u; without entries where none is kept."""

    means: Means
    ell: np.ndarray


class MeanWork(NamedTuple):
    """Of one thread: scores of both half steps, and the mean that the oracle gives."""

    theta: np.ndarray
    push: np.ndarray
    part: np.ndarray
    value: np.ndarray


@jit
def _is_small(theta: np.ndarray, size: int, scale: float) -> bool:
    """Whether no score is beyond what sums can bear."""
    largest = scale
    for p in range(size):
        largest = max(largest, abs(theta[p]))
        if theta[p] != theta[p]:
            return False
    return largest <= LARGEST


@jit
def _euclidean_value(own: MeanWork, size: int) -> float:
    """<theta, z> - |z|^2 / 2."""
    total = 0.0
    for s in range(size):
        total += (own.theta[own.part[s]] - 0.5 * own.value[s]) * own.value[s]
    return total


@jit
def _true_value(own: MeanWork, truth: Corners, i: int, is_euclidean: bool) -> float:
    """The same of the true output; with the entropy, its score."""
    total, half = 0.0, 0.5 if is_euclidean else 0.0
    for s in range(truth.start[i], truth.start[i + 1]):
        total += (own.theta[truth.part[s]] - half * truth.value[s]) * truth.value[s]
    return total


@jit
def _add_truth(own: MeanWork, truth: Corners, i: int) -> None:
    for s in range(truth.start[i], truth.start[i + 1]):
        own.theta[truth.part[s]] += truth.value[s]


@jit
def _fill_push(own: MeanWork, size: int, n_parts: int, eta: float, is_euclidean: bool) -> None:
    """From F_i^T w to the scores of the second half step."""
    for p in range(n_parts):
        own.push[p] = eta * own.push[p] + (0.0 if is_euclidean else own.theta[p])
    for s in range(size if is_euclidean else 0):
        own.push[own.part[s]] += own.value[s]


@jit
def _average(
    average: Average, i: int, size: int, ell: float, share: float, own: MeanWork, work: Any
) -> None:
    """Move the average of block i towards the mean in `own`."""
    means = average.means
    moved = lay_mean(means, i, own.part, own.value, 0, size, work)
    move_mean(means.mean, means.start[i], work.direction, moved, share)
    average.ell[i] += share * (ell - average.ell[i])


@jit
def visit_saddle(
    span: Any, step: Any, is_euclidean: bool, blocks: Any, oracle: Any, features: Any, data: Any,
    scratch: Any, sums: Sums, average: Average, own: MeanWork, work: Any,
) -> None:  # fmt: skip
    """Visit the blocks span[0]:span[1]; `step` is (eta, E, share of u in its average)."""
    (eta, scale, share), (weight, truth, n_parts) = step, blocks
    for i in range(span[0], span[1]):
        features.score(data, i, sums.potential, 1.0, own.theta)
        features.score(data, i, sums.w, 1.0, own.push)
        is_small = _is_small(own.theta, n_parts[i], scale)
        if not (is_small and _is_small(own.push, n_parts[i], eta)):
            sums.number[N_OVERFLOWS] += 1.0
            continue
        if is_euclidean:
            _add_truth(own, truth, i)
        size, loss, value = oracle(data, i, own.theta, scale, scratch, own.part, own.value)
        if is_euclidean:
            value = scale * loss + _euclidean_value(own, size)
        value -= _true_value(own, truth, i, is_euclidean)
        sums.number[VALUE] += weight[i] * value
        features.add(data, i, own.part, own.value, size, weight[i], sums.at_z)
        _fill_push(own, size, n_parts[i], eta, is_euclidean)
        if not _is_small(own.push, n_parts[i], scale + eta):
            sums.number[N_OVERFLOWS] += 1.0
            continue
        loss_scale = eta if is_euclidean else scale + eta
        size, loss, _ = oracle(data, i, own.push, loss_scale, scratch, own.part, own.value)
        features.add(data, i, own.part, own.value, size, weight[i], sums.at_u)
        sums.number[LOSS] += weight[i] * loss
        if average.ell.shape[0]:
            _average(average, i, size, weight[i] * loss, share, own, work)
