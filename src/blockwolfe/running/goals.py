"""What a run is for: one problem to a certified gap (here), or a walk over many (`path.walk`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from blockwolfe.base.schema import Reader
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.restoring import checked_trace
from blockwolfe.results.result import REMEDIES
from blockwolfe.results.status import Status
from blockwolfe.results.trace import Trace, TraceRow

if TYPE_CHECKING:
    from blockwolfe.running.driver import Driver
    from blockwolfe.running.memory import Certified

__all__ = ["Goal", "ToTolerance"]

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

    def salvaged(self, driver: Driver[Outcome], known: Certified) -> Outcome | None:
        """What is left where a part of the engine is lost; `known` has no state."""
        return None

    @abstractmethod
    def to_save(self) -> dict[str, Any]:
        """What a checkpoint must hold of it."""

    @abstractmethod
    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""


class ToTolerance(Goal[Outcome]):
    """One problem, to a certified gap of at most tol, with a row of the trace for every pass."""

    def __init__(self, certify_first: bool = False) -> None:
        self._certify_first = certify_first
        self.trace = Trace()

    @property
    def has_begun(self) -> bool:
        """Whether there is a first row."""
        return len(self.trace) > 0

    def begin(self, driver: Driver[Outcome]) -> Status | None:
        """The first row, with a certificate where that may be all that is needed."""
        if self._certify_first or driver.engine.is_free_to_certify:
            driver.certify()
        return self.after_pass(driver)

    def resume(self, driver: Driver[Outcome]) -> Status | None:
        """Whether that run had reached this tolerance already."""
        return self._ending(driver)

    def after_pass(self, driver: Driver[Outcome]) -> Status | None:
        """One more row, shown to the callbacks."""
        row = self._row(driver)
        self._put(row)
        stops = self._tell(driver, row)
        return self._ending(driver) or (Status.STOPPED_BY_CALLBACK if stops else None)

    def passes_made(self, driver: Driver[Outcome]) -> float:
        """Visits that need no oracle call cost less, and count less; sweeps count like them."""
        counts = driver.engine.counts
        saved = (1.0 - 1.0 / HITS_PER_CALL) * counts.cache_hits / counts.n_blocks
        return driver.memory.passes - saved + driver.engine.sweep_share * counts.sweeps

    def conclude(self, driver: Driver[Outcome]) -> Status | None:
        """A run always ends with a certificate in its last row, of the point it returns."""
        if not driver.memory.is_current:
            driver.certify()
        driver.look_at_average()
        self._put(self._row(driver))
        return self._ending(driver)

    def leave(self, driver: Driver[Outcome]) -> None:
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

    def _ending(self, driver: Driver[Outcome]) -> Status | None:
        certificate = driver.current
        if certificate is None or not certificate.reaches(driver.limits.tol):
            return None
        return Status.CERTIFIED if certificate.valid else Status.INEXACT_ORACLE

    # -- rows ----------------------------------------------------------------------------------

    def _shown(self, driver: Driver[Outcome]) -> Certificate | None:
        """The certificate that a row shows."""
        return driver.current

    def _row(self, driver: Driver[Outcome]) -> TraceRow:
        engine, counts = driver.engine, driver.engine.counts
        certificate = self._shown(driver)
        numbers: dict[str, Any] = {**engine.row_numbers(certificate is not None)}
        if certificate is not None:
            names = ("primal", "dual", "gap", "exact", "slack")
            numbers |= {name: getattr(certificate, name) for name in names}
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

    def _tell(self, driver: Driver[Outcome], row: TraceRow) -> bool:
        """Tell the callbacks; whether one of them wants to stop."""
        if not driver.callbacks:
            return False
        with driver.clock:
            w = driver.reported_w.copy()
            w.flags.writeable = False
        return driver.tell(self._event(driver, row, w))

    @abstractmethod
    def _event(self, driver: Driver[Outcome], row: TraceRow, point: np.ndarray) -> Any:
        """What callbacks see."""

    # -- the end ---------------------------------------------------------------------------------

    def told(
        self, driver: Driver[Outcome], certificate: Certificate, status: Status
    ) -> dict[str, Any]:
        """What every result tells (`RunResult`)."""
        engine = driver.engine
        return {
            "certificate": certificate,
            "status": status,
            "trace": self.trace,
            "counts": engine.counts,
            "seconds": driver.clock(),
            "tol": driver.limits.tol,
            "method": engine.chosen,
            "note": engine.note,
            "remedy": self._remedy(driver, certificate, status),
        }

    def _remedy(self, driver: Driver[Outcome], certificate: Certificate, status: Status) -> str:
        if driver.remedy:
            return driver.remedy
        return REMEDIES.get(status, "")

    # -- checkpoints -----------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """The trace."""
        return {"trace": self.trace.to_dict()}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on with that trace."""
        self.trace = checked_trace(Reader(saved, "goal").given("trace"))
