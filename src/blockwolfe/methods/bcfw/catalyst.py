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

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer, is_real
from blockwolfe.base.inner import pieces
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.dual.point import DualPoint
from blockwolfe.errors import OptionError
from blockwolfe.methods.ledger import Ledger
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import dual_at

__all__ = ["Catalyst", "Centre", "check_catalyst"]

# Strengths below which acceleration costs more than it saves (docs/decisions.md).
LEAST = 3.0
# What a strength that is too large is divided by.
WEAKER = 1.5
# The least gap estimate so far is to fall by a tenth in so many passes, or the strength is too
# large.
PATIENCE, FALLS = 20, 0.9


@dataclass(frozen=True)
class Catalyst:
    """Visits at a larger lambda around a centre that moves: fewer passes where lambda is small.

    The dual may fall from one certificate to the next; what is certified is as true as ever.

    Parameters
    ----------
    every : passes from one move of the centre to the next.
    strength : how many times lambda visits take for theirs. None takes it from the lengths of
        steps: the root of mean |d_i|^2 / (weight_i lam), and none below 3, where it does not pay.

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
        self._before = np.zeros(0)  # w at the last move
        self._n_passes = 0  # since then
        self._mark = (float("inf"), 0)  # a gap estimate, and passes since it was that

    @property
    def is_at_work(self) -> bool:
        """Whether visits are at another lambda than the problem."""
        return self.strength > 1.0

    def may_begin(self, ledger: Ledger) -> bool:
        """Whether all blocks were seen, and it is not known that it does not pay."""
        is_seen = bool(np.isfinite(ledger.gap).all())
        return is_seen and not self.is_at_work and not self._is_over

    # -- before a pass -----------------------------------------------------------------------------

    def before_pass(self, settings: Catalyst, point: DualPoint, ledger: Ledger) -> None:
        """Begin, or move, where it is time."""
        if self.is_at_work and self._n_passes >= settings.every:
            self._adapt(point, float(ledger.gap.sum()))
            if self.is_at_work:
                self._move(point)
        elif self.may_begin(ledger):
            strength = settings.strength or _strength(point, ledger)
            if strength < LEAST and settings.strength is None:
                self._is_over = True
            else:
                self._begin(point, float(strength))

    def _begin(self, point: DualPoint, strength: float) -> None:
        """Around the present w, which stays."""
        self.lam, self.strength = point.lam, 1.0
        point.rest = np.zeros_like(point.raw)
        self._change(point, strength)
        self._before, self._n_passes, self._mark = point.arrays.w.copy(), 0, (float("inf"), 0)

    def _adapt(self, point: DualPoint, left: float) -> None:
        """Weaker, where the centre is what the gap is waiting for, or where passes gain little.

        So a run that gets no further is left, at last, by its acceleration.
        """
        estimate, (least, n_passes) = left + self.distance, self._mark
        has_fallen, n_passes = estimate <= FALLS * least, n_passes + self._n_passes
        is_slow = n_passes >= PATIENCE and not has_fallen
        self._mark = (estimate if has_fallen else least, 0 if has_fallen or is_slow else n_passes)
        if self.distance > left or is_slow:
            self._take(point, self.strength / WEAKER)

    def _take(self, point: DualPoint, strength: float) -> None:
        if strength < LEAST:
            self.leave(point)
        else:
            self._change(point, strength)

    def _change(self, point: DualPoint, strength: float) -> None:
        """Another strength, at the same w: the centre goes where that asks for."""
        assert point.rest is not None
        raw, rest, share = point.raw, point.rest, self.strength / strength
        for part in pieces(len(rest)):
            rest[part] = raw[part] - share * (raw[part] - rest[part])
        point.lam, self.strength = strength * self.lam, strength

    def _move(self, point: DualPoint) -> None:
        """The centre to w and beyond; w follows it, as the dual point stays."""
        assert point.rest is not None
        q = self.strength**-0.5
        beta, share = (1.0 - q) / (1.0 + q), 1.0 - 1.0 / self.strength
        w, raw, rest, before = point.arrays.w, point.raw, point.rest, self._before
        for part in pieces(len(w)):
            now = w[part].copy()
            moved = share * (now + beta * (now - before[part]))
            raw[part] += moved - rest[part]  # (without bounds, w)
            rest[part], before[part] = moved, now
        if point.blocks.is_bounded:
            point.place(raw)
        self._n_passes = 0

    def leave(self, point: DualPoint) -> None:
        """Be at v / lam again, for good."""
        self._is_over = True
        if self.is_at_work:
            v = point.v
            point.lam, point.rest, self.strength, self.distance = self.lam, None, 1.0, 0.0
            self._before = np.zeros(0)
            point.put(v)

    # -- after a pass ------------------------------------------------------------------------------

    def after_pass(self, point: DualPoint) -> None:
        """Count it, and measure the distance."""
        if self.is_at_work:
            self._n_passes += 1
            self.measure(point)

    def measure(self, point: DualPoint) -> None:
        """The distance; under bounds, lam / 2 |.|^2 - <v, .> at w less its least value."""
        if not self.is_at_work:
            return
        assert point.rest is not None
        w, raw, rest, box = point.arrays.w, point.raw, point.rest, point.arrays.box
        total = 0.0
        for part in pieces(len(w)):
            free = self.strength * (raw[part] - rest[part])  # v / lam
            away = w[part] - free
            total += float(np.square(away).sum())
            if point.blocks.is_bounded:
                cut = np.clip(free, box.lower[part], box.upper[part]) - free
                total -= float(np.square(cut).sum())
        self.distance = 0.5 * self.lam * total

    def dual(self, point: DualPoint) -> float:
        """D at lambda of the problem."""
        ell, raw, rest = float(point.arrays.ell.sum()), point.raw, point.rest
        if rest is None or point.blocks.is_bounded:
            return dual_at(point.blocks, point.v / self.lam, ell, self.lam)
        square = sum(float(np.square(raw[part] - rest[part]).sum()) for part in pieces(len(raw)))
        return ell - 0.5 * self.lam * self.strength**2 * square

    # -- checkpoints -------------------------------------------------------------------------------

    def to_save(self, point: DualPoint) -> dict[str, Any]:
        """Everything that a checkpoint must hold."""
        return {
            "lam": self.lam,
            "strength": self.strength,
            "distance": self.distance,
            "is_over": self._is_over,
            "n_passes": self._n_passes,
            "mark_gap": self._mark[0],
            "mark_passes": self._mark[1],
            "before": self._before,
            "rest": np.zeros(0) if point.rest is None else point.rest,
        }

    def restore(self, saved: dict[str, Any], point: DualPoint) -> None:
        """Go on as before `to_save`; the point has its own lambda and w back already."""
        read = Reader(saved, "centre")
        self.lam, self.strength = read.number("lam", least=0.0), read.number("strength", least=1.0)
        size = point.blocks.n_features if self.is_at_work else 0
        if point.lam != (self.strength * self.lam if self.is_at_work else self.lam):
            raise Misfit("centre.strength is not that of the point.")
        rest = read.array("rest", np.float64, (size,))
        point.rest = rest if self.is_at_work else None
        self.distance, self._is_over = read.number("distance", or_nan=True), read.flag("is_over")
        self._before = read.array("before", np.float64, (size,))
        self._n_passes = read.integer("n_passes")
        self._mark = (read.number("mark_gap", or_nan=True), read.integer("mark_passes"))


def _strength(point: DualPoint, ledger: Ledger) -> float:
    """The root of how many times lambda a mean step asks for."""
    weight, longest = point.blocks.weight, ledger.notes.longest
    counts = weight > 0.0
    return float(np.sqrt(np.mean(longest[counts] / weight[counts]) / point.lam))
