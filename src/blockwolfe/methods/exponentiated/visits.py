"""Visits to Gibbs distributions: one call of the expectation oracle, one step of a block.

The dual weights of block i are

    alpha_i(y) in proportion to exp(scale_i L_i(y) + <potential_i, z(y)>)

held by their logarithms, part by part. An exponentiated gradient step of size eta multiplies them
by exp(eta H_i(y; w)), which adds eta to scale_i and eta theta to potential_i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.rounding import ROUNDING
from blockwolfe.dual.directions import lay_mean, move_mean
from blockwolfe.dual.line_search import bounded_step, clip_weights, free_step
from blockwolfe.dual.work import Work

__all__ = ["Gibbs", "GibbsWork", "visit_gibbs"]

# What becomes of eta after a step that was taken, and after one that was not.
LONGER, SHORTER = 1.2, 0.5
# An eta beyond this has long made its distribution a single output.
MOST = 1e12


class Gibbs(NamedTuple):
    """The distributions of all blocks; that of block i has potentials from `start[i]` on."""

    start: np.ndarray
    n_parts: np.ndarray
    potential: np.ndarray
    scale: np.ndarray
    eta: np.ndarray
    is_there: np.ndarray  # whether the block's point is its Gibbs distribution: at first it is not


class GibbsWork(NamedTuple):
    """Of one thread: potentials that are tried, and the means that the oracle gives for them."""

    trial: np.ndarray
    part: np.ndarray
    value: np.ndarray


@jit
def _try(gibbs: Gibbs, i: int, theta: np.ndarray, trial: np.ndarray) -> None:
    """The potentials after a step of the block's present size."""
    begin, eta = gibbs.start[i], gibbs.eta[i]
    for p in range(gibbs.n_parts[i]):
        trial[p] = gibbs.potential[begin + p] + eta * theta[p]


@jit
def _slope(theta: np.ndarray, work: Work, moved: int) -> tuple[float, float]:
    """<theta, delta>, and the size of the terms that it is made of."""
    part, delta, total, size = work.direction.part, work.direction.delta, 0.0, 0.0
    for s in range(moved):
        term = delta[s] * theta[part[s]]
        total += term
        size += abs(term)
    return total, size


@jit
def _is_still(delta: np.ndarray, moved: int) -> bool:
    """Whether a step changes no bit of the mean: the weights of all outputs but one are zero.

    Their logarithms are not. Where there is a gap such a step is taken, and the next one longer,
    until the others are back; else the block would stay where it is for ever.
    """
    largest = 0.0
    for s in range(moved):
        largest = max(largest, abs(delta[s]))
    return largest == 0.0


@jit
def _judge(
    gibbs: Gibbs, i: int, best: float, enough: float, is_noise: bool, trial: np.ndarray
) -> bool:
    """Whether to take the step, given the best one along the line; eta goes by the answer.

    A block that is not on its Gibbs distribution yet goes there whatever the dual. One that has
    nothing to gain but rounding stays, and keeps its eta for when it has.
    """
    is_taken = not gibbs.is_there[i] or (best >= enough and not is_noise)
    if is_taken:
        begin, eta = gibbs.start[i], gibbs.eta[i]
        for p in range(gibbs.n_parts[i]):
            gibbs.potential[begin + p] = trial[p]
        gibbs.scale[i] += eta
    if not is_noise:
        gibbs.eta[i] = min(gibbs.eta[i] * (LONGER if best >= enough else SHORTER), MOST)
    gibbs.is_there[i] = True
    return is_taken


@jit
def visit_gibbs(
    order: np.ndarray, span: Any, lam: float, weight: np.ndarray, marginals: Any, features: Any,
    is_bounded: bool, data: Any, scratch: Any, marginal_scratch: Any, gibbs: Gibbs, point: Any,
    notes: Any, own: GibbsWork, work: Any,
) -> int:  # fmt: skip
    """Make the visits span[0]:span[1] of an order."""
    means, counts, theta, w = point.means, notes.counts, work.theta, point.w
    part, delta = work.direction.part, work.direction.delta
    for position in range(span[0], span[1]):
        i = order[position]
        features.score(data, i, w, 1.0, theta)
        _try(gibbs, i, theta, own.trial)
        scale = gibbs.scale[i] + gibbs.eta[i]
        size, loss, log_partition = marginals(
            data, i, own.trial, scale, marginal_scratch, own.part, own.value
        )
        notes.last_visit[i] = counts.visits
        counts.visits += 1
        counts.oracle_calls += 1
        if not np.isfinite(log_partition + loss):  # (scores overflow)
            gibbs.eta[i] *= SHORTER
            continue
        moved = lay_mean(means, i, own.part, own.value, 0, size, work)
        ell_change = weight[i] * loss - point.ell[i]
        slope, terms = _slope(theta, work, moved)
        slope, terms = weight[i] * slope + ell_change, weight[i] * (terms + loss) + point.ell[i]
        n_moved = 0
        if is_bounded:
            move = (part, delta, moved, -weight[i] / lam)
            n_moved = features.spread(data, i, move, work.image, work.coordinate, work.move)
            best = bounded_step(point.box, work.coordinate, work.move, n_moved, slope / lam, 1.0)
        else:
            length = weight[i] * weight[i] * features.sqnorm(data, i, part, delta, moved, scratch)
            best = free_step(lam, slope, length, 1.0)
        # (the dual is a parabola along the line: at twice the best step it is where it was)
        enough, is_noise = 1.0 if is_bounded else 0.5, slope <= ROUNDING * terms
        if notes.gap[i] > 0.0 and _is_still(delta, moved):
            best, is_noise = enough, False
        if _judge(gibbs, i, best, enough, is_noise, own.trial):
            point.ell[i] += ell_change
            move_mean(means.mean, means.start[i], work.direction, moved, 1.0)
            if is_bounded:
                clip_weights(point.box, work.coordinate, work.move, n_moved, 1.0, w)
            else:
                features.add(data, i, part, delta, moved, -weight[i] / lam, w)
            counts.steps += 1
    return span[1]
