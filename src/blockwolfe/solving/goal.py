"""What `solve` is for: one lambda, to a certified gap, perhaps watched on held-out data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import State, beside, weights_at
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.result import Result
from blockwolfe.results.status import Status
from blockwolfe.results.trace import TraceRow
from blockwolfe.running.events import Event
from blockwolfe.running.goals import ToTolerance
from blockwolfe.solving.early_stopping import Watch

if TYPE_CHECKING:
    from blockwolfe.running.driver import Driver
    from blockwolfe.running.memory import Certified

__all__ = ["Solve"]


class Solve(ToTolerance[Result]):
    """One lambda, to a certified gap of at most tol."""

    def __init__(
        self,
        blocks: Blocks,
        evaluate: Any,
        certify_first: bool,
        pairs: bool = True,
        watch: Watch | None = None,
    ) -> None:
        super().__init__(certify_first)
        self._blocks, self._evaluate = blocks, evaluate
        self.pairs, self._watch = pairs, watch
        self.final_passes = 1 if watch is None else 2  # (one more, at the weights that it kept)
        self._kept: Certificate | None = None  # of those weights

    def after_pass(self, driver: Driver[Result]) -> Status | None:
        """Stopped early where a watch says so."""
        self._look(driver)
        ending = super().after_pass(driver)
        is_over = self._watch is not None and self._watch.is_over
        return Status.EARLY_STOPPED if is_over else ending

    def _look(self, driver: Driver[Result]) -> None:
        """Watch held-out data, once for each pass."""
        passes, watch = self.passes_made(driver), self._watch
        if watch is None or driver.memory.passes == 0 or not watch.is_due(passes):
            return
        # (cutting planes are not averaged: each of their w is the best for all planes so far)
        watched = driver.engine.w if driver.pairing is None else driver.pairing.average
        with driver.clock:
            watch.look(watched, passes)

    def has_concluded(self, driver: Driver[Result]) -> bool:
        """With a watch, not before the weights that it kept have their certificate."""
        return super().has_concluded(driver) and self._watched_w(driver) is None

    def conclude(self, driver: Driver[Result]) -> Status | None:
        """With a watch, of the weights that it kept."""
        watched = self._watched_w(driver)
        if watched is None:
            return super().conclude(driver)
        if not driver.memory.is_current:
            driver.certify()
            watched = self._watched_w(driver)
        if watched is not None:
            self._kept = driver.certify_beside(watched)
        if self._kept is None:
            return super().conclude(driver)
        self._put(self._row(driver))
        return None

    def _watched_w(self, driver: Driver[Result]) -> np.ndarray | None:
        """The weights of least held-out loss; None where the gap reached tol before it stopped."""
        watch = self._watch
        if watch is None or (self._ending(driver) is not None and not watch.is_over):
            return None
        return watch.best_w

    # -- rows ----------------------------------------------------------------------------------

    def _shown(self, driver: Driver[Result]) -> Certificate | None:
        return self._kept or driver.current

    def _row(self, driver: Driver[Result]) -> TraceRow:
        row = super()._row(driver)
        if self._shown(driver) is None and self._watch is None:
            return row
        return replace(row, held_out_loss=self._held_out_loss(driver))

    def _held_out_loss(self, driver: Driver[Result]) -> float:
        if self._watch is not None:
            return self._watch.loss if self._kept is None else self._watch.best_loss
        if self._evaluate is None:
            return float("nan")
        with driver.clock:
            return float(self._evaluate(driver.reported_w))

    def _event(self, driver: Driver[Result], row: TraceRow, point: np.ndarray) -> Event:
        return Event(row, point, driver.engine.lam, driver.limits.gap)

    # -- the end ---------------------------------------------------------------------------------

    def outcome(self, driver: Driver[Result], status: Status) -> Result:
        """Weights, certificate, and how they were reached."""
        last = driver.engine.last_state()
        certificate, state, w = self._final(driver, last)
        told = self.told(driver, certificate, status)
        return Result(w=w, state=state, last_state=last, lam=driver.engine.lam, **told)

    def salvaged(self, driver: Driver[Result], known: Certified) -> Result:
        """The weights of the last certificate; their dual point is lost."""
        told = self.told(driver, known.certificate, Status.SHARD_LOST)
        return Result(w=known.w, state=None, last_state=None, lam=driver.engine.lam, **told)

    def _final(
        self, driver: Driver[Result], last: State | None
    ) -> tuple[Certificate, State | None, np.ndarray]:
        """What belongs together: certificate, state, and weights. Without time, of earlier."""
        if self._kept is not None and self._watch is not None and self._watch.best_w is not None:
            return self._kept, _pulled_to(last, self._watch.best_w), self._watch.best_w
        if driver.is_late and driver.kept is not None:
            kept = driver.kept
            return kept.certificate, _pulled_to(kept.state, kept.w), kept.w
        engine = driver.engine
        certificate = driver.current or Certificate.unknown(engine.n_blocks, engine.lam)
        state = engine.state() if driver.method.is_averaged else last
        if state is None or driver.current is not None:  # (no dual point, or weights beside it)
            w = driver.reported_w.copy()
            return certificate, _pulled_to(state, w), w
        return certificate, state, weights_at(self._blocks, state, engine.lam)

    def _remedy(self, driver: Driver[Result], certificate: Certificate, status: Status) -> str:
        tol = driver.limits.gap
        if driver.remedy:
            return driver.remedy
        if certificate.is_primal_only:
            return "This method certifies no gap; one with a dual point, such as 'auto', does."
        if not (certificate.is_finite or np.isnan(certificate.primal)):
            return "The numbers overflow: bounds, features or losses are too large; scale them."
        if certificate.slack > tol:  # the bounds alone keep the gap above tol
            return (
                f"The bounds of the approximate oracle leave {certificate.slack:.3g} of the gap: "
                "use a tighter or an exact decoder, or raise tol."
            )
        return super()._remedy(driver, certificate, status)


def _pulled_to(state: State | None, w: np.ndarray) -> State | None:
    return None if state is None else beside(state, w)
