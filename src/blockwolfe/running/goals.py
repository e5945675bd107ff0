"""What a run is for. Here: one lambda, to a certified gap; `path.walk` has the walk over many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from blockwolfe.base.schema import Reader
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.certificate import Certificate
from blockwolfe.problem.state import State, weights_of
from blockwolfe.results.restoring import checked_trace
from blockwolfe.results.result import REMEDIES, Result
from blockwolfe.results.status import Status
from blockwolfe.results.trace import Trace, TraceRow
from blockwolfe.running.early_stopping import Watch
from blockwolfe.running.events import Event

if TYPE_CHECKING:
    from blockwolfe.running.driver import Driver

__all__ = ["Goal", "Solve"]

Outcome = TypeVar("Outcome")

# Visits without an oracle call that count like one with it, where passes are limited.
HITS_PER_CALL = 5.0


class Goal(ABC, Generic[Outcome]):
    """What a run is for: what it begins with, what is noted after each pass, and when it ends.

    The driver asks; a goal that needs a certificate, or has something to tell, asks the driver.
    """

    share: ClassVar[float] = 1.0  # of a pass, between two looks at the gap estimate
    stays_at_lambda: ClassVar[bool] = True
    ends_with_certificate: ClassVar[bool] = True  # for which calls and time are kept back
    final_passes: int = 1  # full passes for which oracle calls are kept back
    pairs: bool = False  # whether the weights of least primal are returned, else the dual point's

    @property
    def needs_certificates(self) -> bool:
        """Whether only a certificate can tell that the tolerance is reached."""
        return True

    def passes_made(self, driver: Driver[Outcome]) -> float:
        """What `max_passes` is compared with."""
        return driver.memory.passes

    @property
    @abstractmethod
    def has_begun(self) -> bool:
        """Whether there is anything to go on from."""

    @abstractmethod
    def begin(self, driver: Driver[Outcome]) -> Status | None:
        """Before the first pass; why the run ends there, if it does."""

    @abstractmethod
    def resume(self, driver: Driver[Outcome]) -> Status | None:
        """The same after a checkpoint."""

    @abstractmethod
    def after_pass(self, driver: Driver[Outcome]) -> Status | None:
        """After every pass, and its certificate if it has one; why the run ends, if it does."""

    def has_concluded(self, driver: Driver[Outcome]) -> bool:
        """Whether nothing is left to do after the last pass."""
        return driver.memory.is_current and driver.is_told

    def conclude(self, driver: Driver[Outcome]) -> Status | None:
        """Where something is left to do at the end; a better ending, if there is one."""
        return None

    def leave(self, driver: Driver[Outcome]) -> None:
        """At a second Ctrl-C, in place of `conclude`: at once."""
        return

    @abstractmethod
    def outcome(self, driver: Driver[Outcome], status: Status) -> Outcome:
        """What the run has found."""

    @abstractmethod
    def to_save(self) -> dict[str, Any]:
        """What a checkpoint must hold of it."""

    @abstractmethod
    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""


class Solve(Goal[Result]):
    """One lambda, to a certified gap of at most tol, with a row of the trace for every pass."""

    def __init__(
        self,
        blocks: Blocks,
        evaluate: Any,
        certify_first: bool,
        pairs: bool = True,
        watch: Watch | None = None,
    ) -> None:
        self._blocks, self._evaluate, self._certify_first = blocks, evaluate, certify_first
        self.pairs, self._watch = pairs, watch
        self.final_passes = 1 if watch is None else 2  # (one more, at the weights that it kept)
        self.trace = Trace()
        self._kept: Certificate | None = None  # of those weights

    @property
    def has_begun(self) -> bool:
        """Whether there is a first row."""
        return len(self.trace) > 0

    def begin(self, driver: Driver[Result]) -> Status | None:
        """The first row, with a certificate where that may be all that is needed."""
        if self._certify_first or driver.engine.is_free_to_certify:
            driver.certify()
        return self.after_pass(driver)

    def resume(self, driver: Driver[Result]) -> Status | None:
        """Whether that run had reached this tolerance already."""
        return self._ending(driver)

    def after_pass(self, driver: Driver[Result]) -> Status | None:
        """One more row, shown to the callbacks."""
        self._look(driver)
        row = self._row(driver)
        self._put(row)
        stops = self._tell(driver, row)
        if self._watch is not None and self._watch.is_over:
            return Status.EARLY_STOPPED
        return self._ending(driver) or (Status.STOPPED_BY_CALLBACK if stops else None)

    def _look(self, driver: Driver[Result]) -> None:
        """Watch held-out data, once for each pass."""
        passes, watch = self.passes_made(driver), self._watch
        if watch is None or driver.memory.passes == 0 or not watch.is_due(passes):
            return
        # (cutting planes are not averaged: each of their w is the best for all planes so far)
        watched = driver.engine.w if driver.pairing is None else driver.pairing.average
        with driver.clock:
            watch.look(watched, passes)

    def passes_made(self, driver: Driver[Result]) -> float:
        """Visits that need no oracle call cost less, and count less."""
        counts = driver.engine.counts
        saved = (1.0 - 1.0 / HITS_PER_CALL) * counts.cache_hits / counts.n_blocks
        return driver.memory.passes - saved

    def has_concluded(self, driver: Driver[Result]) -> bool:
        """With a watch, not before the weights that it kept have their certificate."""
        return super().has_concluded(driver) and self._watched_w(driver) is None

    def conclude(self, driver: Driver[Result]) -> Status | None:
        """A run always ends with a certificate in its last row, of the weights it returns."""
        if not driver.memory.is_current:
            driver.certify()
        watched = self._watched_w(driver)
        if watched is not None:
            self._kept = driver.certify_beside(watched)
        if self._kept is None:
            driver.look_at_average()
        self._put(self._row(driver))
        return None if self._kept is not None else self._ending(driver)

    def _watched_w(self, driver: Driver[Result]) -> np.ndarray | None:
        """The weights of least held-out loss; None where the gap reached tol before it stopped."""
        watch = self._watch
        if watch is None or (self._ending(driver) is not None and not watch.is_over):
            return None
        return watch.best_w

    def leave(self, driver: Driver[Result]) -> None:
        """A trace is never empty."""
        if not self.has_begun:
            self.trace.append(self._row(driver))

    def _put(self, row: TraceRow) -> None:
        """As the last row, in place of one of the same moment."""
        last = self.trace[-1] if self.has_begun else None
        if last is not None and (last.passes, last.visits) == (row.passes, row.visits):
            self.trace.replace_last(row)
        else:
            self.trace.append(row)

    def _ending(self, driver: Driver[Result]) -> Status | None:
        certificate = driver.current
        if certificate is None or not certificate.reaches(driver.limits.tol):
            return None
        return Status.CERTIFIED if certificate.valid else Status.INEXACT_ORACLE

    # -- rows ----------------------------------------------------------------------------------

    def _row(self, driver: Driver[Result]) -> TraceRow:
        engine, counts = driver.engine, driver.engine.counts
        certificate = self._kept or driver.current
        numbers: dict[str, Any] = {**engine.row_numbers(certificate is not None)}
        if certificate is not None:
            names = ("primal", "dual", "gap", "exact", "slack")
            numbers |= {name: getattr(certificate, name) for name in names}
        if certificate is not None or self._watch is not None:
            numbers["held_out_loss"] = self._held_out_loss(driver)
        return TraceRow(
            passes=driver.memory.passes,
            visits=counts.visits,
            oracle_calls=counts.oracle_calls,
            certificate_calls=counts.certificate_calls,
            cache_hits=counts.cache_hits,
            seconds=driver.clock(),
            oracle_seconds=driver.oracle_seconds,
            gap_estimate=engine.gap_estimate,
            note=engine.note,
            **numbers,
        )

    def _held_out_loss(self, driver: Driver[Result]) -> float:
        if self._watch is not None:
            return self._watch.loss if self._kept is None else self._watch.best_loss
        if self._evaluate is None:
            return float("nan")
        with driver.clock:
            return float(self._evaluate(driver.reported_w))

    def _tell(self, driver: Driver[Result], row: TraceRow) -> bool:
        """Tell the callbacks; whether one of them wants to stop."""
        if not driver.callbacks:
            return False
        with driver.clock:
            w = driver.reported_w.copy()
            w.flags.writeable = False
        return driver.tell(Event(row, w, driver.engine.lam, driver.limits.gap))

    # -- the end ---------------------------------------------------------------------------------

    def outcome(self, driver: Driver[Result], status: Status) -> Result:
        """Weights, certificate, and how they were reached."""
        engine, last = driver.engine, driver.engine.last_state()
        certificate, state, w = self._final(driver, last)
        return Result(
            w=w,
            certificate=certificate,
            status=status,
            trace=self.trace,
            state=state,
            last_state=last,
            counts=engine.counts,
            seconds=driver.clock(),
            lam=engine.lam,
            tol=driver.limits.tol,
            method=engine.chosen,
            note=engine.note,
            remedy=self._remedy(driver, certificate, status),
        )

    def _final(
        self, driver: Driver[Result], last: State | None
    ) -> tuple[Certificate, State | None, np.ndarray]:
        """What belongs together: certificate, state, and weights. Without time, of earlier."""
        if self._kept is not None and self._watch is not None and self._watch.best_w is not None:
            return self._kept, last, self._watch.best_w
        if driver.is_late and driver.kept is not None:
            return driver.kept.certificate, driver.kept.state, driver.kept.w
        engine = driver.engine
        certificate = driver.current or Certificate.unknown(engine.n_blocks, engine.lam)
        state = engine.state() if driver.method.is_averaged else last
        if state is None:  # of a method without a dual point
            return certificate, state, driver.reported_w.copy()
        if driver.current is not None:  # (not always those of the dual point)
            return certificate, state, driver.reported_w.copy()
        return certificate, state, weights_of(self._blocks, state.v, engine.lam)

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
        return REMEDIES.get(status, "")

    # -- checkpoints -----------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """The trace."""
        return {"trace": self.trace.to_dict()}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on with that trace."""
        self.trace = checked_trace(Reader(saved, "goal").given("trace"))
