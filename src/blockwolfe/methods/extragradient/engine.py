"""Dual extragradient at work: passes of visits, then a step; with and without the average's means.

Both engines share `SaddleWork`, and so the same iterates. One keeps the average of all means, a
dual point with a certificate; the other only sums of the length of w, and no dual point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.base.compiled import call, uninterrupted
from blockwolfe.base.inner import inner
from blockwolfe.base.pace import Pace
from blockwolfe.base.schema import Reader
from blockwolfe.dual.growth import no_means
from blockwolfe.dual.work import make_work
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.dual_engine import DualEngine
from blockwolfe.methods.extragradient.saddle import Saddle, WeightSide
from blockwolfe.methods.extragradient.visits import Average, MeanWork, visit_saddle
from blockwolfe.methods.primal import PrimalEngine
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.certificate import primal_of
from blockwolfe.problem.state import dual_value, rebuild_v
from blockwolfe.problem.sweep import sweep
from blockwolfe.results.certificate import Certificate, faced

__all__ = ["AverageEngine", "LeanEngine", "SaddleWork", "weight_side"]

# Outputs of a projection. Where losses are equal, as at the first steps, means are of very many.
FEW_CORNERS = 50
CALLS = 2  # of the oracle of means, in every visit


def weight_side(blocks: Blocks, lam: float, radius: float | None) -> WeightSide:
    """Where w may be, in units in which distances of w are about one, like those of means."""
    if radius is not None:
        return WeightSide(0.0, 1.0 / radius**2, radius, blocks.lower, blocks.upper)
    return WeightSide(lam, lam, None, blocks.lower, blocks.upper)


def first_eta(blocks: Blocks, side: WeightSide) -> float:
    """sqrt(sigma) over about the norm of the map from means to v: 1 / a Lipschitz constant."""
    square = inner(blocks.weight, blocks.column_norm**2)
    return float(np.clip(np.sqrt(side.sigma / square), 1e-6, 1e6)) if square > 0.0 else 1.0


class SaddleWork:
    """Steps and visits of one run, and what visits need."""

    def __init__(
        self, blocks: Blocks, lam: float, eta: float | None, radius: float | None, geometry: str
    ) -> None:
        self.blocks, self.radius = blocks, radius
        self.is_euclidean = geometry == "euclidean"
        side = weight_side(blocks, lam, radius)
        self.saddle = Saddle(blocks, first_eta(blocks, side) if eta is None else eta, side)
        self._work, self._pace = make_work(blocks), Pace()
        sizes = blocks.parts_of if self.is_euclidean else blocks.marginal_size
        self.mean_size, most = sizes, int(sizes.max())
        part, value = np.zeros(most, dtype=np.int32), np.zeros(most)
        self._own = MeanWork(np.zeros(blocks.n_parts), np.zeros(blocks.n_parts), part, value)
        euclidean = self.is_euclidean
        self._oracle = blocks.project if euclidean else blocks.marginals
        self._scratch = (
            blocks.projection_scratch(FEW_CORNERS) if euclidean else blocks.marginal_scratch()
        )

    def begin(self, lam: float) -> None:
        """From the beginning, at a lambda, with the eta that was reached."""
        self.saddle.begin(weight_side(self.blocks, lam, self.radius))

    def run(
        self, may_go_on: Callable[[], bool], average: Average, note: Callable[[int, int], None]
    ) -> None:
        """A pass over all blocks, or the rest of one that was left, and its step.

        `note(begin, end)` is told of visits, and of the step after the last, when they are made.
        """
        saddle, n_blocks = self.saddle, len(self.blocks)
        while may_go_on():
            begin, until = saddle.done, self._pace.until(saddle.done, n_blocks)
            with uninterrupted():  # (visits and what follows belong together)
                self.visit(until, average)
                if until == n_blocks:
                    saddle.finish()
                note(begin, until)
            self._pace.note(until)
            if until == n_blocks:
                return

    def visit(self, until: int, average: Average) -> None:
        """The blocks from `saddle.done` on."""
        blocks, saddle, oracle = self.blocks, self.saddle, self._oracle
        step = (float(saddle.eta), float(saddle.E), float(saddle.share))
        of_blocks = (blocks.weight, blocks.truth, blocks.parts_of)
        what = ((saddle.done, until), step, self.is_euclidean, of_blocks, oracle)
        given = (*what, blocks.features, blocks.packed_data, self._scratch, saddle.sums())
        kind = (blocks.kind, str(oracle._numba_type_))
        call(visit_saddle, kind, *given, average, self._own, self._work)
        saddle.done = until


class AverageEngine(DualEngine):
    """Its dual point is the average of all second half steps."""

    def __init__(self, method: Any, setup: Setup) -> None:
        super().__init__(setup, has_average=False, keeps_corners=False)
        self.method: Method = method
        self.radius: float | None = method.radius
        given = (method.eta, method.radius, method.geometry)
        self.steps = SaddleWork(self.blocks, setup.lam, *given)
        self.restricted_gap = float("nan")  # at the last certificate

    @property
    def saddle(self) -> Saddle:
        """The steps so far."""
        return self.steps.saddle

    def prepare(self) -> None:
        """Compile the visits as well."""
        super().prepare()
        self.steps.visit(self.saddle.done, self._average())

    def _average(self) -> Average:
        return Average(self.point.arrays.means, self.point.arrays.ell)

    # -- steps ---------------------------------------------------------------------------------

    @property
    def fewest_visits(self) -> int:
        """Of a pass, which is all or nothing; each costs as much as two oracle calls."""
        return CALLS * (self.n_blocks - self.saddle.done)

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """Visit all blocks, then make the step."""
        if self.saddle.is_fresh:
            self.steps.begin(self.lam)
        self.point.make_room_for_means(self.steps.mean_size)
        self.steps.run(may_go_on, self._average(), self._note)

    def _note(self, begin: int, end: int) -> None:
        counts, n = self.ledger.counts, end - begin
        self.ledger.notes.last_visit[begin:end] = int(counts.visits) + np.arange(n)
        counts.visits += n
        counts.oracle_calls += CALLS * n
        counts.steps += int(end == self.n_blocks and not self.saddle.is_fresh)

    # -- what it knows -------------------------------------------------------------------------

    @property
    def w(self) -> np.ndarray:
        """The average of w, which may be better than that of the average dual point."""
        return self.saddle.average_w

    @property
    def certified_w(self) -> np.ndarray:
        """Those of the average dual point; with a radius, the average of w."""
        return self.w if self.radius is not None else self.point.arrays.w

    @property
    def can_pair(self) -> bool:
        """With the average of w, unless it is certified anyway."""
        return self.radius is None

    def dual(self) -> float:
        """D of the average."""
        self.point.rebuild()  # (visits move its means, and leave v to be added up)
        return super().dual()

    def row_numbers(self, is_certified: bool) -> dict[str, float]:
        """And, after a certificate, the gap of the problem with a radius."""
        numbers = super().row_numbers(is_certified)
        return numbers | {"restricted_gap": self.restricted_gap} if is_certified else numbers

    def certify(self) -> Certificate:
        """A full pass at the weights of the average; with a radius, at the average of w."""
        certificate = self._full_pass()[0] if self.radius is None else self._certify_average()
        self.certificate_calls += self.n_blocks
        return certificate

    def _certify_average(self) -> Certificate:
        """P at the average of w, D at the average of means; and the gap between both balls."""
        blocks, store, w, lam = self.blocks, self.point.store(), self.w, self.lam
        v, ell = rebuild_v(blocks, store, self.workers), float(store.ell.sum())
        found = sweep(blocks, store, w, *self.own, workers=self.workers)
        self.ledger.put(hinge=found.hinge)
        self.point.put(v)
        hinge, length = inner(blocks.weight, found.hinge), float(np.sqrt(inner(v, v)))
        self.restricted_gap = hinge + (self.radius or 0.0) * length - ell
        value, dual = primal_of(blocks, found, w, lam, ell), dual_value(blocks, v, ell, lam)
        gaps = found.answers.gap + blocks.weight * found.slack
        # w is not that of the dual point: what it lacks to the least of lam/2 |w|^2 - <w, v> is
        # shared out, so that block gaps add up to the gap.
        gaps = gaps + blocks.weight * max(value.primal - dual - float(gaps.sum()), 0.0)
        self.ledger.renew_gaps(gaps, value.primal - dual)
        numbers = (value.primal, dual, value.primal - dual, gaps, lam)
        known = (value.exact, value.resolution, value.slack)
        return self._noted(faced(Certificate(*numbers, *known)))

    # -- walking -------------------------------------------------------------------------------

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """And begin anew there: sums over steps at another lambda are of no use."""
        super().shrink(rho, gap)
        self.steps.begin(self.lam)

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """And the steps so far."""
        return super().to_save() | self.saddle.to_save() | {"restricted_gap": self.restricted_gap}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        self.restricted_gap = Reader(saved).number("restricted_gap", or_nan=True)
        self.saddle.restore(saved, weight_side(self.blocks, self.lam, self.radius))


class LeanEngine(PrimalEngine):
    """The same steps, of which only sums as long as w are kept."""

    def __init__(self, method: Any, setup: Setup) -> None:
        super().__init__(method, setup)
        given = (method.eta, method.radius, method.geometry)
        self.steps = SaddleWork(self.blocks, setup.lam, *given)
        self._average = Average(no_means(0), np.zeros(0))

    def prepare(self) -> None:
        """Compile the visits as well."""
        super().prepare()
        self.steps.visit(self.steps.saddle.done, self._average)

    @property
    def fewest_visits(self) -> int:
        """Of a pass, which is all or nothing; each costs as much as two oracle calls."""
        return CALLS * (self.n_blocks - self.steps.saddle.done)

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """Visit all blocks, then make the step."""
        self.steps.run(may_go_on, self._average, self._note)

    def _note(self, begin: int, end: int) -> None:
        is_step = end == self.n_blocks and not self.steps.saddle.is_fresh
        self.count(visits=end - begin, oracle_calls=CALLS * (end - begin), steps=int(is_step))
        self.w = self.steps.saddle.average_w

    def to_save(self) -> dict[str, Any]:
        """And the steps so far."""
        return super().to_save() | self.steps.saddle.to_save()

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        side = weight_side(self.blocks, self.lam, self.steps.radius)
        self.steps.saddle.restore(saved, side)
