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

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import call, jit, uninterrupted
from blockwolfe.base.inner import inner
from blockwolfe.base.memory import has_room
from blockwolfe.base.ragged import offsets
from blockwolfe.dual.differences import Differences, added, differences, restricted, scored
from blockwolfe.dual.growth import live_rows
from blockwolfe.dual.line_search import bounded_step, free_step, step_along
from blockwolfe.dual.point import DualPoint
from blockwolfe.problem.state import dual_at, within_bounds
from blockwolfe.structures.choice import project

__all__ = ["Climb", "climb", "prepare", "put"]

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
# Seconds between two looks at whether it may go on.
PAUSE = 0.005
# Numbers of eight bytes that are kept of a stored corner, and of a weight, besides entries.
PER_CORNER, PER_WEIGHT = 24, 8


class _LeftError(Exception):
    """There is no time to go on."""


class Climb(NamedTuple):
    """What `climb` has found: weights of some rows of the stock, after so many iterations.

    Rows lie by block, beginning at `first`, with their losses, and their heights at the w that was
    found, up to a constant in every block: no heights where there was no room for an iteration.
    """

    n_done: int
    rows: np.ndarray
    first: np.ndarray
    alpha: np.ndarray
    loss: np.ndarray
    height: np.ndarray


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
        self.of = restricted(ascent.point, ascent.all, self.member, self.first)
        self._metric = np.maximum(alpha, FLOOR / n_members[self.block])
        self._scale = ascent.scale[self.block] * self._metric
        self._total = np.add.reduceat(self._metric, self.first[:-1])

    def descaled(self, residual: np.ndarray) -> np.ndarray:
        """The residual in the metric; it sums to zero in every block."""
        mean = np.add.reduceat(self._metric * residual, self.first[:-1]) / self._total
        return np.asarray(self._scale * (residual - mean[self.block]))


class _Ascent:
    """The restricted problem of some rows of a point's stock; the point is not changed."""

    def __init__(
        self,
        point: DualPoint,
        rows: tuple[np.ndarray, np.ndarray],
        entries: Differences,
        length: np.ndarray,
        may_go_on: Callable[[], bool],
    ) -> None:
        stock, blocks = point.arrays.stock, point.blocks
        self.point, (self.rows, self.first), self.all = point, rows, entries
        self._may_go_on, self._looked = may_go_on, -np.inf
        self.block = np.repeat(np.arange(len(blocks)), np.diff(self.first))
        self.weight, self.loss = blocks.weight[self.block], stock.loss[self.rows]
        self.factor = -blocks.weight / point.lam
        # (of blocks that no step was made in since the run began no length is known)
        known = length[length > 0.0]
        self.scale = 1.0 / np.where(length > 0.0, length, known.max() if len(known) else 1.0)

    def _look_up(self) -> None:
        """Before each sweep: over many corners one takes seconds, over few some microseconds."""
        now = time.perf_counter()
        if now < self._looked + PAUSE:
            return
        if not self._may_go_on():
            raise _LeftError
        self._looked = now

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
            self._look_up()
            move = added(self.point, face.of, step, self.factor)
            held = self._held(place, move)
            curvature, n_done = self.point.lam * inner(move, held), n_done + 1
            largest = float(np.abs(step).max())
            if not (curvature > 0.0 and size / curvature * largest < FLAT):
                # (any length will do, and the search finds one)
                found = found + step / largest if n_done == 1 else found
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
        self._look_up()
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
        return dual_at(blocks, place.raw, ell, lam)


def climb(
    point: DualPoint,
    length: np.ndarray,
    most: int,
    tol: float,
    may_go_on: Callable[[], bool],
    *,
    with_idle: bool = True,
    max_bytes: int | None = None,
) -> Climb | None:
    """Up to `most` iterations, until the restricted gap is `tol`; None where it was left early.

    `length` are the largest |d|^2 seen of each block, by which they are scaled. Corners without a
    weight get none unless `with_idle`. It is left where `may_go_on` says no. No iteration is made
    where that takes more than `max_bytes`, or more memory than is free.
    """
    rows = _members(point, with_idle)
    entries = _entries(point, rows, max_bytes)
    if entries is None:
        stock = point.arrays.stock
        return Climb(0, *rows, stock.weight[rows[0]], stock.loss[rows[0]], np.zeros(0))
    try:
        return _climb(_Ascent(point, rows, entries, length, may_go_on), most, tol)
    except _LeftError:
        return None


def _climb(ascent: _Ascent, most: int, tol: float) -> Climb:
    place, n_done = ascent.begin(), 0
    height = ascent.heights(place.w)
    while n_done < most:
        gap, mean = ascent.gap(place, height)
        if not gap > tol:
            break
        change, n_made = ascent.direction(place, height, mean, min(most - n_done, MOST_ON_FACE))
        n_done += n_made
        segment = ascent.segment(place, height, change)
        if segment is None or segment.gain < LITTLE * gap:
            segment = _better(segment, ascent.segment(place, height, ascent.uphill(height)))
        if segment is None or not segment.gain > 0.0:
            break
        place = ascent.moved(place, segment)
        height = ascent.heights(place.w)
    return Climb(n_done, ascent.rows, ascent.first, place.alpha, ascent.loss, height)


def _members(point: DualPoint, with_idle: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows of stored corners, all or those with a weight, and where those of each block begin."""
    stock = point.arrays.stock
    rows, first = live_rows(stock), offsets(stock.n_rows)
    if with_idle:
        return rows, first
    is_active = stock.weight[rows] > 0.0
    n_active = np.add.reduceat(is_active.astype(np.int64), first[:-1])
    return rows[is_active], offsets(n_active)


def _entries(
    point: DualPoint, rows: tuple[np.ndarray, np.ndarray], max_bytes: int | None
) -> Differences | None:
    """Of these corners; None where there is no room for a round."""
    vectors = PER_CORNER * len(rows[0]) + PER_WEIGHT * point.blocks.n_features
    fixed = 8 * vectors + point.list_bytes()
    if not has_room(fixed, max_bytes):
        return None
    lists = point.lists(np.arange(len(point.blocks)), with_idle=True)
    alpha = point.arrays.stock.weight[rows[0]]
    return differences(point, lists, *rows, alpha, lambda n: has_room(fixed + n, max_bytes))


def prepare(point: DualPoint) -> None:
    """Compile what rounds run, on no corners at all."""
    none, first, nothing = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(0)
    of = differences(point, point.lists(none), none, first, nothing)
    assert of is not None
    scored(point, of, point.arrays.w)
    added(point, of, nothing, nothing)
    call(_project, "project", first, nothing)
    free_step(point.lam, 0.0, 0.0, 1.0)
    if point.blocks.is_bounded:
        args = (point.arrays.box, none, nothing, 0, 0.0, 1.0)
        call(bounded_step, "bounded step", *args)


def _better(a: _Segment | None, b: _Segment | None) -> _Segment | None:
    return b if a is None or (b is not None and b.gain > a.gain) else a


def put(point: DualPoint, found: Climb) -> bool:
    """Go there, with w and ell made from the weights; not if the dual would fall by rounding.

    Whether the point is where it was found.
    """
    if not found.n_done:
        return True
    stock, before, dual = point.arrays.stock, point.arrays, point.dual()
    weight = stock.weight.copy()
    weight[found.rows] = found.alpha
    with uninterrupted():
        point.arrays = before._replace(stock=stock._replace(weight=weight), ell=before.ell.copy())
        point.drop_older(np.zeros(len(point.blocks), dtype=np.int64))  # (sums to one; none dropped)
        point.rebuild()
        if point.dual() >= dual:
            return True
        point.arrays = before
        return False
