"""Acceleration by proximal points (Lin, Mairal, Harchaoui 2015, "Catalyst").

Where lambda is small, a step in one block moves w far, the next block undoes most of it, and passes
are many. So visits work on

    P(w) + (s - 1) lam / 2 |w - y|^2

with a centre y and a strength s > 1. Its dual has the same blocks, s lam in the place of lam, and
w = v / (s lam) + rest, with rest = (1 - 1 / s) y. Every few passes the centre moves to w and as far
beyond as is best for gradients (Nesterov): y = w + beta (w - w before), the more the larger s is.

Any w beside any dual point makes a certificate: with the block gaps g_i at w,

    P(w) - D(alpha) = sum_i g_i + lam / 2 |w - v / lam|^2

whose last term, the distance, goes to zero as the centre comes to rest. D at lam is not what visits
climb, and may fall meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer, is_real
from blockwolfe.base.inner import pieces
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.dual.pulled import PulledPoint
from blockwolfe.errors import OptionError
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import Pull, dual_at

__all__ = ["Catalyst", "Centre", "check_catalyst", "curvature_of"]

# Acceleration costs more than it saves (docs/decisions.md) at strengths below the first; where more
# of the length of a pass's steps is left at its end than the second; where there are more weights
# for each block than the third.
LEAST, MOST_LEFT, MOST_WEIGHTS = 2.0, 0.5, 1000
# What a strength that is too large is divided by.
WEAKER = 1.5
# The least gap estimate so far is to fall by a tenth in so many passes, or the strength is too
# large.
PATIENCE, FALLS = 60, 0.9


@dataclass(frozen=True)
class Catalyst:
    """Visits at a larger lambda around a centre that moves: fewer passes where lambda is small.

    The dual may fall from one certificate to the next, so that a run that a budget ends a little
    later may have a larger gap; what is certified is as true as ever.

    Parameters
    ----------
    every : passes from one move of the centre to the next.
    strength : lambda of the visits, as a multiple of the problem's. None takes it from the lengths
        of steps, the root of mean |d_i|^2 / (weight_i lam) in units of the losses, and begins where
        a pass undoes most of its own steps; not where it would be below 2, or weights are very
        many.

    >>> Catalyst(every=3).every
    3
    """

    every: int = 5
    strength: float | None = None

    def __post_init__(self) -> None:
        check_integer("every", self.every, 1)
        s = self.strength
        if s is not None and not (is_real(s) and 1.0 < float(s) < float("inf")):
            raise OptionError(f"strength={s!r} must be a finite number > 1, or None.")


def check_catalyst(blocks: Blocks) -> None:
    """Refuse a kernel, whose w is no vector that could be a centre."""
    if blocks.kernel is not None:
        raise OptionError(
            "catalyst=Catalyst() needs w itself, and with a kernel there is none; leave one of "
            "the two out."
        )


class Centre:
    """The centre of one run: `point.rest` and `point.lam` are its work."""

    def __init__(self, lam: float) -> None:
        self.lam = lam  # of the problem
        self.strength = 1.0  # 1: not at work
        self.distance = 0.0  # lam / 2 |w - v / lam|^2, as last measured
        self._is_over = False  # whether it will not be at work again
        self._before = np.zeros(0)  # w at the last move; not at work, as the last pass began
        self._climbed = 0.0  # there
        self._n_passes = 0  # begun since the last move, or since the start
        self._measured_at = -1  # how many visits there were when the distance was measured
        self._mark = (float("inf"), 0)  # a gap estimate, and passes since it was that

    @property
    def is_at_work(self) -> bool:
        """Whether visits are at another lambda than the problem."""
        return self.strength > 1.0

    def may_begin(self, left: float) -> bool:
        """Whether all blocks were seen, and it is not known that it does not pay."""
        return left < float("inf") and not self.is_at_work and not self._is_over

    # -- before a pass -----------------------------------------------------------------------------

    def before_pass(
        self,
        settings: Catalyst,
        point: PulledPoint,
        left: float,
        visits: int,
        curvature: Callable[[], float],
    ) -> None:
        """Begin, or move, where it is time; a pass is counted when it begins.

        `left` is the sum of all block gaps as last seen, infinite until then; `visits` are those so
        far; `curvature()` is mean |d_i|^2 / weight_i of long steps, over the unit of the losses.
        """
        if self.may_begin(left):
            if settings.strength is not None:
                self._begin(point, float(settings.strength))
            else:
                self._consider(point, float(np.sqrt(curvature() / point.lam)))
        elif not self.is_at_work:
            return
        elif self._n_passes >= settings.every:
            self.measure(point, visits)
            self._adapt(point, left)
            if self.is_at_work:
                self._move(point)
        self._n_passes += 1

    def _consider(self, point: PulledPoint, strength: float) -> None:
        """Begin, where the pass before has undone most of its own steps."""
        is_large = len(point.raw) > MOST_WEIGHTS * len(point.blocks)
        if is_large or not LEAST <= strength < float("inf"):
            self._is_over, self._before = True, np.zeros(0)
        elif len(self._before) and self._share_left(point) < MOST_LEFT:
            self._begin(point, strength)
        else:
            self._before, self._climbed = point.raw.copy(), point.climbed()

    def _share_left(self, point: PulledPoint) -> float:
        """|sum of steps|^2 over the sum of their |.|^2, which by (4) is 2 lam times their gain."""
        gain, total = point.climbed() - self._climbed, 0.0
        for part in pieces(len(point.raw)):
            total += float(np.square(point.raw[part] - self._before[part]).sum())
        return 0.5 * point.lam * total / gain if gain > 0.0 else float("inf")

    def _begin(self, point: PulledPoint, strength: float) -> None:
        """Around the present w, which stays."""
        self.lam, self.strength = point.lam, 1.0
        point.rest = np.zeros_like(point.raw)
        self._change(point, strength)
        self._before, self._n_passes, self._mark = point.w.copy(), 0, (float("inf"), 0)

    def _adapt(self, point: PulledPoint, left: float) -> None:
        """Weaker, where the centre is what the gap is waiting for, or where passes gain little.

        So a run that gets no further is left, at last, by its acceleration.
        """
        estimate, (least, n_passes) = left + self.distance, self._mark
        has_fallen, n_passes = estimate <= FALLS * least, n_passes + self._n_passes
        is_slow = n_passes >= PATIENCE and not has_fallen
        self._mark = (estimate if has_fallen else least, 0 if has_fallen or is_slow else n_passes)
        if self.distance > left or is_slow:
            self._take(point, self.strength / WEAKER)

    def _take(self, point: PulledPoint, strength: float) -> None:
        if strength < LEAST:
            self.leave(point)
        else:
            self._change(point, strength)

    def _change(self, point: PulledPoint, strength: float) -> None:
        """Another strength, at the same w: the centre goes where that asks for."""
        assert point.rest is not None
        raw, rest, share = point.raw, point.rest, self.strength / strength
        for part in pieces(len(rest)):
            rest[part] = raw[part] - share * (raw[part] - rest[part])
        point.lam, self.strength, self._measured_at = strength * self.lam, strength, -1

    def _move(self, point: PulledPoint) -> None:
        """The centre to w and beyond; w follows it, as the dual point stays."""
        assert point.rest is not None
        q = self.strength**-0.5
        beta, share = (1.0 - q) / (1.0 + q), 1.0 - 1.0 / self.strength
        w, raw, rest, before = point.w, point.raw, point.rest, self._before
        for part in pieces(len(w)):
            now = w[part].copy()
            moved = share * (now + beta * (now - before[part]))
            raw[part] += moved - rest[part]  # (without bounds, w)
            rest[part], before[part] = moved, now
        if point.blocks.is_bounded:
            point.place(raw)
        self._n_passes, self._measured_at = 0, -1

    def leave(self, point: PulledPoint) -> None:
        """Be at v / lam again, for good."""
        self._is_over = True
        if self.is_at_work:
            v = point.v
            point.lam, point.rest, self.strength, self.distance = self.lam, None, 1.0, 0.0
            point.put(v)
        self._before = np.zeros(0)

    def forget_distance(self) -> None:
        """The point is another one, after whatever number of visits."""
        self._measured_at = -1

    # -- at rest -----------------------------------------------------------------------------------

    def pull(self, point: PulledPoint) -> Pull | None:
        """What makes w of v, for a state."""
        return Pull(self.lam, self.strength, point.rest.copy()) if point.rest is not None else None

    def take_up(self, point: PulledPoint, pull: Pull, v: np.ndarray) -> None:
        """Be where another run has left off."""
        point.rest, point.lam = pull.rest.copy(), pull.strength * pull.lam
        self.lam, self.strength, self._measured_at = pull.lam, pull.strength, -1
        point.put(v)
        self._before = point.w.copy()

    # -- what it leaves ----------------------------------------------------------------------------

    def measure(self, point: PulledPoint, visits: int) -> None:
        """The distance, where there were visits since; under bounds, the more general form of (6).

        That is lam / 2 |.|^2 - <v, .> at w less its least value.
        """
        if not self.is_at_work or self._measured_at == visits:
            return
        assert point.rest is not None
        w, raw, rest, blocks = point.w, point.raw, point.rest, point.blocks
        total = 0.0
        for part in pieces(len(w)):
            free = self.strength * (raw[part] - rest[part])  # v / lam
            away = w[part] - free
            total += float(np.square(away).sum())
            if blocks.is_bounded:
                cut = np.clip(free, blocks.lower[part], blocks.upper[part]) - free
                total -= float(np.square(cut).sum())
        self.distance, self._measured_at = max(0.5 * self.lam * total, 0.0), visits

    def dual(self, point: PulledPoint) -> float:
        """D at lambda of the problem."""
        ell, raw, rest = point.total_ell, point.raw, point.rest
        if rest is None or point.blocks.is_bounded:
            return dual_at(point.blocks, point.v / self.lam, ell, self.lam)
        square = sum(float(np.square(raw[part] - rest[part]).sum()) for part in pieces(len(raw)))
        return ell - 0.5 * self.lam * self.strength**2 * square

    # -- checkpoints -------------------------------------------------------------------------------

    def to_save(self, point: PulledPoint) -> dict[str, Any]:
        """Everything that a checkpoint must hold."""
        return {
            "lam": self.lam if self.is_at_work else point.lam,
            "strength": self.strength,
            "distance": self.distance,
            "is_over": self._is_over,
            "n_passes": self._n_passes,
            "measured_at": self._measured_at,
            "mark_gap": self._mark[0],
            "mark_passes": self._mark[1],
            "before": self._before,
            "dual": self._climbed,
            "rest": np.zeros(0) if point.rest is None else point.rest,
        }

    def restore(self, saved: dict[str, Any], point: PulledPoint) -> None:
        """Go on as before `to_save`; the point has its own lambda and w back already."""
        read = Reader(saved, "centre")
        self.lam, self.strength = read.number("lam", least=0.0), read.number("strength", least=1.0)
        size = point.blocks.n_features if self.is_at_work else 0
        if point.lam != (self.strength * self.lam if self.is_at_work else self.lam):
            raise Misfit("centre.strength is not that of the point.")
        rest = read.array("rest", np.float64, (size,))
        point.rest = rest if self.is_at_work else None
        most, at_work = float("inf") if self.is_at_work else 0.0, self.is_at_work
        self.distance = read.number("distance", least=0.0, most=most, or_nan=at_work)
        self._is_over = read.flag("is_over")
        self._before, self._climbed = read.array("before", np.float64, (None,)), read.number("dual")
        if len(self._before) != size and (size or len(self._before) != point.blocks.n_features):
            raise Misfit("centre.before has not as many weights as the problem.")
        self._n_passes = read.integer("n_passes")
        self._measured_at = read.integer("measured_at", least=-1)
        self._mark = (read.number("mark_gap", or_nan=True), read.integer("mark_passes"))


def curvature_of(sqnorms: np.ndarray, weight: np.ndarray) -> float:
    """The sum of |d_i|^2 / weight_i over all blocks with a weight."""
    counts = weight > 0.0
    with np.errstate(over="ignore"):
        return float(np.sum(sqnorms[counts] / weight[counts]))
