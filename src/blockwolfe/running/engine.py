"""What a run knows of a method: a few facts about it, and the engine that puts it to work.

The driver (`running.driver`) knows no method by name. All it knows is `Engine`: a point, `advance`,
`certify`, counts, a gap estimate, states where there are any, and what a checkpoint must hold. That
is as true of an SVM's weights as of a point of any other problem (`optimize`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from blockwolfe.results.certificate import Certificate, PrimalValue
from blockwolfe.results.counts import Counts
from blockwolfe.rules.registry import Choice

__all__ = ["BaseMethod", "CapTooSmallError", "Engine"]


class CapTooSmallError(Exception):
    """Memory that was capped does not suffice; the message says what to do."""


class BaseMethod(Choice):
    """What a run asks of the method at work."""

    sees_gaps: ClassVar[bool] = True  # whether its visits tell the gaps of blocks, to sample by
    # Words that may follow the name: each sets options, as in "fw+predefined". Names of steps and
    # samplings may follow too where the method has an option of that family.
    switches: ClassVar[dict[str, dict[str, Any]]] = {}

    @property
    def is_monotone(self) -> bool:
        """Whether what it optimises can never get worse: the dual of the returned point, or f."""
        return False

    @property
    def can_stall(self) -> bool:
        """Whether a point that gains nothing for long shows that no more is to be gained."""
        return self.is_monotone

    @property
    def full_pass_every(self) -> float:
        """Passes between full passes, which certify and renew the gap estimates."""
        return 10.0

    @property
    def is_averaged(self) -> bool:
        """Whether what is returned is an average of iterates, not the last one."""
        return bool(getattr(self, "averaging", False))


class Engine(ABC):
    """A method at work on one problem, at one lambda at a time.

    Most of it has defaults; what every engine must define:

    >>> sorted(Engine.__abstractmethods__)
    ['advance', 'certify', 'counts', 'restore', 'to_save', 'w']
    """

    method: BaseMethod  # as chosen; an automatic one says here what it uses
    is_free_to_certify: ClassVar[bool] = False  # whether every pass ends with a certificate anyway
    certifies_early: ClassVar[bool] = False  # whether a certificate is as good as visits are
    may_lose_parts: bool = False  # whether it may end in a ShardLostError at any moment
    sweep_share: float = 0.2  # what a sweep over stored corners counts for, as a share of a pass
    note: str = ""  # what an automatic method chose, and why
    lam: float
    n_blocks: int

    # -- the work ------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Compile whatever will run, so that no measured second goes into compiling."""
        return

    def aim_at(self, gap: float) -> None:
        """The gap to reach, if weights beside those of its dual point may reach it; else 0."""
        return

    def end(self) -> None:
        """Let go of what it has started; called when the run is over, in whatever way."""
        return

    @abstractmethod
    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """One pass of at most `max_visits` visits, left early when `may_go_on()` turns false.

        `may_go_on` is also the moment at which a checkpoint is written: ask where `to_save` holds
        all there is. Raises `CapTooSmallError` where memory that was capped does not suffice.
        """

    @abstractmethod
    def certify(self) -> Certificate:
        """The certificate of the point that would be returned now.

        An estimate where an oracle was caught giving less than a known output; of a method without
        a dual point `Certificate.primal_only`.
        """

    def certify_below(self, gap: float) -> Certificate:
        """Likewise; where it finds out midway that the gap is above that, it may be left.

        Then it raises `LeftError`.
        """
        return self.certify()

    def primal_at(self, w: np.ndarray) -> PrimalValue | None:
        """P at some w by a full pass, which is counted; None where the method has no dual point."""
        return None

    @property
    def can_pair(self) -> bool:
        """Whether another w may be returned beside its dual point, if its primal is smaller."""
        return False

    @property
    def primal_w(self) -> np.ndarray | None:
        """A primal point of the method's own, which may be better than that of its dual point.

        Results pair the two (where `can_pair`); None: an average of `w` is tried in its place.
        """
        return None

    def allows(self, w: np.ndarray) -> bool:
        """Whether w, from a file, is within the bounds of the problem."""
        return True

    @property
    def pair_estimate(self) -> float:
        """What the gap between that primal point and the dual point is at most, if it is known."""
        return float("inf")

    @property
    def calls_to_refresh(self) -> int:
        """Oracle calls that `refresh` makes."""
        return 0

    def refresh(self) -> None:
        """Renew the gap estimates after a certificate that did not; costs another full pass."""
        return

    # -- what it knows -------------------------------------------------------------------------

    @property
    @abstractmethod
    def w(self) -> np.ndarray:
        """The weights of the present iterate."""

    @property
    def certified_w(self) -> np.ndarray:
        """The weights that the last certificate is of: with averaging, the average."""
        return self.w

    @property
    @abstractmethod
    def counts(self) -> Counts:
        """How much work was done."""

    @property
    def chosen(self) -> BaseMethod:
        """What results say was at work: the method, or what an automatic one uses."""
        return self.method

    @property
    def gap_estimate(self) -> float:
        """Sum of the block gaps as last seen; infinite while it is not known."""
        return float("inf")

    @property
    def has_visited_open(self) -> bool:
        """Whether every block that had a gap at the last certificate was visited since."""
        return True

    @property
    def is_settled(self) -> bool:
        """Whether it will go on as it does: before, no standstill is the end of all progress."""
        return True

    @property
    def fewest_visits(self) -> int:
        """Visits of the shortest pass: of a method that asks all oracles at once, all blocks."""
        return 1

    def row_numbers(self, is_certified: bool) -> dict[str, float]:
        """Columns of the trace that the engine alone knows, after a certificate or without one."""
        return {}

    def state(self) -> Any:
        """The dual point of the certificate; None where the method has none."""
        return None

    def last_state(self) -> Any:
        """The last iterate, from which a run can go on: with averaging, not `state`."""
        return self.state()

    # -- checkpoints ---------------------------------------------------------------------------

    @abstractmethod
    def to_save(self) -> dict[str, Any]:
        """Everything that a checkpoint must hold: plain values, and arrays by name."""

    def note_saved(self) -> None:
        """What `to_save` gave last is on disk now, in the place of what was there before."""
        return

    @abstractmethod
    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
