"""What a method does between two rows of the trace: advance by a pass, and certify."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from blockwolfe.dual.run import Run
from blockwolfe.methods.settings import Method
from blockwolfe.problem.certificate import Certificate, prepare
from blockwolfe.problem.workers import Workers

__all__ = ["Engine"]


class Engine(ABC):
    """A method at work on one run."""

    is_free_to_certify: bool = False
    method: Method  # as chosen; an automatic one says here what it uses

    def __init__(self, run: Run, workers: Workers) -> None:
        self.run, self.workers = run, workers
        self.certificate_calls = 0
        self.note = ""  # what an automatic method chose, and why

    def prepare(self) -> None:
        """Compile whatever will run, so that no measured second goes into compiling."""
        if self.run.keeps_corners:
            self.run.tidy()
        prepare(self.run.blocks, self.run.store(), self.run.work, self.run.scratch)

    @abstractmethod
    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """One pass of at most `max_visits` visits, left early when `may_go_on()` turns false."""

    @abstractmethod
    def certify(self) -> Certificate:
        """The certificate of the point that would be returned now."""

    @property
    def calls_to_refresh(self) -> int:
        """Oracle calls that `refresh` makes."""
        return 0

    def refresh(self) -> None:
        """Renew the gap estimates after a certificate that did not; costs another full pass."""
        return

    def forget(self) -> None:
        """Leave the pass at work: the point was moved from outside."""
        return

    @abstractmethod
    def to_save(self) -> dict[str, Any]:
        """What a checkpoint must hold besides the run: plain values and arrays."""

    @abstractmethod
    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""

    @property
    def gap_estimate(self) -> float:
        """Sum of the block gaps as last seen; infinite until all were seen."""
        return float(self.run.gap.sum())
