"""What a method is: settings with a name, and an engine that puts them to work.

The driver (`running.driver`) knows no method by name. All it knows is `Engine`: weights, `advance`,
`certify`, counts, a gap estimate, states where there are any, and what a checkpoint must hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from blockwolfe.dual.growth import CapTooSmallError
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.certificate import Certificate
from blockwolfe.problem.certificate_record import PrimalValue
from blockwolfe.problem.state import State
from blockwolfe.problem.workers import Workers
from blockwolfe.results.result import Counts

__all__ = ["CapTooSmallError", "Choice", "Engine", "Method", "Setup", "WalkingEngine"]


class Setup(NamedTuple):
    """What an engine is made from."""

    blocks: Blocks
    state: State  # where to begin
    lam: float
    rng: np.random.Generator
    workers: Workers
    seconds_per_call: float = float("nan")  # of a user's oracle, from the first few calls


class Choice:
    """Base of methods, steps and samplings: a frozen dataclass of options, known by its name.

    `register` makes one known to strings such as "bcfw+gap", model files and the command line.
    """

    family: ClassVar[str]  # what it is a choice of: "method", "step" or "sampling"
    name: ClassVar[str]
    words: ClassVar[Any]  # it in a few words, for summaries: a string, or a property


class Method(Choice, ABC):
    """Base of the methods: options, and how to put them to work.

    >>> import blockwolfe as bw
    >>> isinstance(bw.BCFW(), Method), bw.BCFW().name
    (True, 'bcfw')
    """

    family: ClassVar[str] = "method"
    # What follows may also be properties, where it depends on options: ask a method, not its class.
    needs: ClassVar[Any] = ("maximize",)  # oracles that a task must offer: a tuple of names
    has_dual: ClassVar[Any] = True  # whether it has a dual point, and so a gap
    takes_start: ClassVar[bool] = True  # whether it can begin at any dual point
    can_walk: Any = True  # whether it can go from one lambda of a path to the next
    sees_gaps: ClassVar[bool] = True  # whether its visits tell the gaps of blocks, to sample by
    # Words that may follow the name: each sets options, as in "fw+predefined". Names of steps and
    # samplings may follow too where the method has an option of that family.
    switches: ClassVar[dict[str, dict[str, Any]]] = {}

    @property
    def is_monotone(self) -> bool:
        """Whether the dual of the returned point can never decrease."""
        return False

    @property
    def can_stall(self) -> bool:
        """Whether a dual that gains nothing for long shows that no more is to be gained."""
        return self.is_monotone

    @property
    def full_pass_every(self) -> float:
        """Passes between full passes, which certify and renew the gap estimates."""
        return 10.0

    @property
    def is_averaged(self) -> bool:
        """Whether what is returned is an average of iterates, not the last one."""
        return bool(getattr(self, "averaging", False))

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse, before any work, options that cannot work on this problem."""
        return

    @abstractmethod
    def start(self, setup: Setup) -> Engine:
        """The method at work."""


class Engine(ABC):
    """A method at work on one problem, at one lambda at a time.

    Most of it has defaults; what every engine must define:

    >>> sorted(Engine.__abstractmethods__)
    ['advance', 'certify', 'counts', 'restore', 'to_save', 'w']
    """

    method: Method  # as chosen; an automatic one says here what it uses
    is_free_to_certify: ClassVar[bool] = False  # whether every pass ends with a certificate anyway
    note: str = ""  # what an automatic method chose, and why
    lam: float
    n_blocks: int

    # -- the work ------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Compile whatever will run, so that no measured second goes into compiling."""
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
    def chosen(self) -> Method:
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
    def fewest_visits(self) -> int:
        """Visits of the shortest pass: of a method that asks all oracles at once, all blocks."""
        return 1

    def row_numbers(self, is_certified: bool) -> dict[str, float]:
        """Columns of the trace that the engine alone knows, after a certificate or without one."""
        return {}

    def state(self) -> State | None:
        """The dual point of the certificate; None where the method has none."""
        return None

    def last_state(self) -> State | None:
        """The last iterate, from which a run can go on: with averaging, not `state`."""
        return self.state()

    # -- checkpoints ---------------------------------------------------------------------------

    @abstractmethod
    def to_save(self) -> dict[str, Any]:
        """Everything that a checkpoint must hold: plain values, and arrays by name."""

    @abstractmethod
    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""


class WalkingEngine(Engine):
    """An engine with a dual point, which can be taken to a smaller lambda at the same w."""

    has_largest_losses: bool = True  # whether `begin_at_loss` has surely found them

    @property
    @abstractmethod
    def hinge(self) -> np.ndarray:
        """Upper bounds on H_i(w), from the last full pass."""

    @property
    @abstractmethod
    def gaps(self) -> np.ndarray:
        """The gap of every block as last seen."""

    @abstractmethod
    def dual(self) -> float:
        """D of the present iterate."""

    @abstractmethod
    def slopes(self) -> np.ndarray:
        """ell_i - <w, V_i> of every block, without an oracle call."""

    @abstractmethod
    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """Go to rho times lambda at the same w; `gap` are the block gaps (or estimates) there."""

    @abstractmethod
    def begin_at_loss(self, tol: float) -> tuple[float, np.ndarray]:
        """Begin where all weight is on the outputs of largest loss.

        Returns the lambda from which on that point has a gap of at most `tol` (0 where w = 0
        serves every lambda), where the engine then is, and lam w.
        """
