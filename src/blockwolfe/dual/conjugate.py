"""Conjugate gradients over the weights of all stored corners: the dual restricted to them.

With weights alpha_iy >= 0, sum one in every block, and heights h_iy at w(alpha), the dual has the
gradient weight_i h_iy. Its face at alpha are the corners with a weight, and those without one
that are above the mean of their block. On the face, and as if weights could be negative, the
dual is a quadratic: some iterations of conjugate gradients give a direction x. Back to the
simplices it goes by projection, with the length halved while that gains, and an exact search on
the segment from alpha to the point that was found: the dual never decreases.

Corners of small weight should move little, or the direction leaves the simplices at once. So the
metric is that of alpha itself, d_y = alpha_y (r_y - sum_y alpha_y r_y), with a floor on alpha for
those that enter.

Under bounds the dual is piecewise quadratic: directions are about those of the present piece, in
which coordinates of w at a bound do not move, and the search is the exact one along all pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import call, jit, uninterrupted
from blockwolfe.base.inner import inner
from blockwolfe.base.ragged import offsets
from blockwolfe.dual.differences import Differences, added, differences, scored
from blockwolfe.dual.growth import live_rows
from blockwolfe.dual.line_search import free_step, step_along
from blockwolfe.dual.point import DualPoint
from blockwolfe.problem.state import dual_value, within_bounds
from blockwolfe.structures.choice import project

__all__ = ["ascend"]

# Weights below this share of an even one are taken for that much in the metric.
FLOOR = 0.02
# Iterations on one face: it changes before a direction is known to more.
MOST_ON_FACE = 40
# A direction is good enough when its residual has fallen to this share.
RESIDUAL = 0.1
# Share of its curvature that a coordinate of w keeps at a bound: with none, directions in which
# all coordinates are at theirs would be as long as can be.
HELD = 0.1
# A direction is flat along which weights, which are at most one, would move by more than this.
FLAT = 1e6
# Lengths that are tried, each half of the one before.
MOST_LENGTHS = 6
# A direction that gains less than this share of the restricted gap gives way to the gradient, if
# that gains more: projected, a direction of conjugate gradients need not go up.
LITTLE = 0.01


class _Place(NamedTuple):
    """Where the ascent is: weights of all stored corners, and w with its values before bounds."""

    alpha: np.ndarray
    raw: np.ndarray
    w: np.ndarray


class _Segment(NamedTuple):
    """A feasible change of alpha, what it does to `raw`, and how far to go along it."""

    change: np.ndarray
    move: np.ndarray
    gamma: float
    gain: float


@jit
def _project(first: np.ndarray, alpha: np.ndarray) -> None:
    """The nearest point of every block's simplex."""
    for i in range(first.shape[0] - 1):
        project(alpha[first[i] : first[i + 1]])


class _Face:
    """Some stored corners of all blocks, and the projected metric among them."""

    def __init__(self, ascent: _Ascent, place: _Place, is_member: np.ndarray) -> None:
        n_members = np.add.reduceat(is_member.astype(np.int64), ascent.first[:-1])
        self.member = np.flatnonzero(is_member)
        self.first, self.block = offsets(n_members), ascent.block[self.member]
        self.weight, alpha = ascent.weight[self.member], place.alpha[self.member]
        self.of = differences(
            ascent.point, ascent.lists, ascent.rows[self.member], self.first, alpha
        )
        self._metric = np.maximum(alpha, FLOOR / n_members[self.block])
        self._scale = ascent.scale[self.block] * self._metric
        self._total = np.add.reduceat(self._metric, self.first[:-1])

    def descaled(self, residual: np.ndarray) -> np.ndarray:
        """The residual in the metric; it sums to zero in every block."""
        mean = np.add.reduceat(self._metric * residual, self.first[:-1]) / self._total
        return np.asarray(self._scale * (residual - mean[self.block]))


class _Ascent:
    """The restricted problem of a point; nothing of the point is changed."""

    def __init__(self, point: DualPoint, length: np.ndarray) -> None:
        stock, blocks = point.arrays.stock, point.blocks
        self.point, self.rows, self.first = point, live_rows(stock), offsets(stock.n_rows)
        self.lists = point.lists(np.arange(len(blocks)), with_idle=True)
        self.block = np.repeat(np.arange(len(blocks)), stock.n_rows)
        self.weight, self.loss = blocks.weight[self.block], stock.loss[self.rows]
        self.factor = -blocks.weight / point.lam
        # (of blocks that no step was made in since the run began no length is known)
        known = length[length > 0.0]
        self.scale = 1.0 / np.where(length > 0.0, length, known.max() if len(known) else 1.0)
        self.all = self._differences()

    def _differences(self) -> Differences:
        alpha = self.point.arrays.stock.weight[self.rows]
        return differences(self.point, self.lists, self.rows, self.first, alpha)

    def begin(self) -> _Place:
        """Where the point is."""
        arrays = self.point.arrays
        return _Place(arrays.stock.weight[self.rows], self.point.raw, arrays.w)

    def heights(self, w: np.ndarray) -> np.ndarray:
        """Heights of all stored corners, up to a constant in every block."""
        return self.loss + scored(self.point, self.all, w)

    def gap(self, place: _Place, height: np.ndarray) -> tuple[float, np.ndarray]:
        """What the restricted dual lacks at most; and the mean height of every block."""
        mean = np.add.reduceat(place.alpha * height, self.first[:-1])
        best = np.maximum.reduceat(height, self.first[:-1])
        return inner(self.point.blocks.weight, best - mean), mean

    # -- a direction -----------------------------------------------------------------------------

    def direction(self, place: _Place, height: np.ndarray, mean: np.ndarray, most: int) -> Any:
        """About the maximum on the face, as a change of alpha; and how many iterations it took."""
        face = _Face(self, place, (place.alpha > 0.0) | (height > mean[self.block]))
        residual, found = (self.weight * height)[face.member], np.zeros(len(face.member))
        scaled = face.descaled(residual)
        size = aim = inner(residual, scaled)
        step, n_done = scaled, 0
        while n_done < most and size > RESIDUAL**2 * aim:
            move = added(self.point, face.of, step, self.factor)
            held = self._held(place, move)
            curvature, n_done = self.point.lam * inner(move, held), n_done + 1
            if not size * np.abs(step).max() < FLAT * curvature:
                # (any length will do, and the search finds one)
                found = found + step / np.abs(step).max() if n_done == 1 else found
                break
            gamma, before = size / curvature, size
            found = found + gamma * step
            residual = residual + gamma * face.weight * scored(self.point, face.of, held)
            scaled = face.descaled(residual)
            size = inner(residual, scaled)
            step = scaled + (size / before) * step
        change = np.zeros(len(place.alpha))
        change[face.member] = found
        return change, n_done

    def _held(self, place: _Place, move: np.ndarray) -> np.ndarray:
        """The move of w: coordinates at a bound count little, but none has no curvature at all."""
        is_bounded = self.point.blocks.is_bounded
        return np.where(place.raw == place.w, move, HELD * move) if is_bounded else move

    # -- the way back ----------------------------------------------------------------------------

    def segment(self, place: _Place, height: np.ndarray, change: np.ndarray) -> _Segment | None:
        """The best of some lengths, each projected and searched; None where no one gains."""
        best: _Segment | None = None
        for _ in range(MOST_LENGTHS):
            found = self._searched(place, height, change)
            if best is not None and (found is None or found.gain <= best.gain):
                return best
            best, change = found, 0.5 * change
        return best

    def uphill(self, height: np.ndarray) -> np.ndarray:
        """The gradient, scaled by block: projected, it goes up from wherever that is possible."""
        return np.asarray(self.point.lam * self.scale[self.block] * self.weight * height)

    def _searched(self, place: _Place, height: np.ndarray, change: np.ndarray) -> _Segment | None:
        alpha = place.alpha + change
        call(_project, "project", self.first, alpha)
        change = alpha - place.alpha
        slope = inner(self.weight * height, change)
        if not slope > 0.0:
            return None
        move = added(self.point, self.all, change, self.factor)
        gamma, before = self._step(place, slope, move), self._dual(place)
        found = _Segment(change, move, gamma, 0.0)
        return found._replace(gain=self._dual(self.moved(place, found)) - before)

    def _step(self, place: _Place, slope: float, move: np.ndarray) -> float:
        point, lam = self.point, self.point.lam
        if not point.blocks.is_bounded:
            return float(free_step(lam, slope, lam * lam * inner(move, move), 1.0))
        return step_along(point.arrays.box._replace(raw=place.raw), move, slope / lam)

    def moved(self, place: _Place, segment: _Segment) -> _Place:
        """After the step; w is summed up, and made anew when the ascent ends."""
        alpha = np.maximum(place.alpha + segment.gamma * segment.change, 0.0)
        raw = place.raw + segment.gamma * segment.move
        return _Place(alpha, raw, within_bounds(self.point.blocks, raw))

    def _dual(self, place: _Place) -> float:
        blocks, lam = self.point.blocks, self.point.lam
        ell = inner(self.weight * place.alpha, self.loss)
        return dual_value(blocks, lam * place.raw, ell, lam)


def ascend(
    point: DualPoint, length: np.ndarray, most: int, tol: float, may_go_on: Callable[[], bool]
) -> int | None:
    """Up to `most` iterations, until the restricted gap is `tol`; how many, None if left early.

    `length` are the largest |d|^2 seen of each block, by which they are scaled. The point changes
    at the end, all at once, unless that would take its dual down by rounding; where `may_go_on`
    says no in between, it does not change at all.
    """
    ascent = _Ascent(point, length)
    place, n_done = ascent.begin(), 0
    height = ascent.heights(place.w)
    while n_done < most:
        gap, mean = ascent.gap(place, height)
        if not gap > tol:
            break
        if not may_go_on():
            return None
        change, n_made = ascent.direction(place, height, mean, min(most - n_done, MOST_ON_FACE))
        n_done += n_made
        segment = ascent.segment(place, height, change)
        if segment is None or segment.gain < LITTLE * gap:
            segment = _better(segment, ascent.segment(place, height, ascent.uphill(height)))
        if segment is None or not segment.gain > 0.0:
            break
        place = ascent.moved(place, segment)
        height = ascent.heights(place.w)
    if n_done:
        _put(point, ascent.rows, place.alpha)
    return n_done


def _better(a: _Segment | None, b: _Segment | None) -> _Segment | None:
    return b if a is None or (b is not None and b.gain > a.gain) else a


def _put(point: DualPoint, rows: np.ndarray, alpha: np.ndarray) -> None:
    """Weights of the stored corners, with w and ell made from them; not if the dual would fall."""
    stock, before, dual = point.arrays.stock, point.arrays, point.dual()
    weight = stock.weight.copy()
    weight[rows] = alpha
    with uninterrupted():
        point.arrays = before._replace(stock=stock._replace(weight=weight), ell=before.ell.copy())
        point.drop_older(np.zeros(len(point.blocks), dtype=np.int64))  # (sums to one; none dropped)
        point.rebuild()
        if not point.dual() >= dual:
            point.arrays = before
