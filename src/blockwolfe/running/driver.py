"""One run of any method, from its beginning to its end, whatever its goal.

When to certify, how long to wait after an estimate that promised too much, whether a run has
stalled, budgets, Ctrl-C, checkpoints: all of that is decided here, and only here. Of a method the
driver knows its `Engine`, of the purpose of the run its `Goal`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Generic

import numpy as np

from blockwolfe.methods.base import CapTooSmallError, Engine, Method
from blockwolfe.problem.certificate import Certificate
from blockwolfe.problem.processes import OutOfTimeError
from blockwolfe.results.status import Status
from blockwolfe.running.checkpoint import Saved, Writer
from blockwolfe.running.clock import Clock
from blockwolfe.running.events import Callback, wants_stop
from blockwolfe.running.goals import Goal, Outcome
from blockwolfe.running.limits import Limits

__all__ = ["Driver", "Memory"]

# A run has stalled when between two certificates the dual gained nothing that floating point can
# tell, and the gap is either rounding noise (this many times the resolution of the numbers) ...
NOISE = 100.0
# ... or no longer falls by this factor. Near the optimum the gap is of the order of the root of
# what the dual lacks, so that a dual that gains nothing visible can still hide a gap of 1e-8.
STALLED_GAP = 0.9
# With a cache most visits are cheap: visits that count like one oracle call when the time of the
# next full pass is reckoned.
VISITS_PER_CALL = 2
# How long after the time limit worker processes are waited for in a certificate.
GRACE_SECONDS = 1.0

INTERRUPTED = "blockwolfe: interrupted; one pass more for the certificate (Ctrl-C leaves it out)"


@dataclass
class Memory:
    """What the driver remembers of a run; a checkpoint keeps all of it."""

    passes: int = 0  # or shares of passes, where the goal looks more often
    is_current: bool = False  # whether the last certificate is of the present point
    passes_certified: int = 0  # passes, visits and their oracle calls at the last certificate
    visits_certified: int = 0
    calls_certified: int = 0
    patience: int = 1  # passes to wait after a gap estimate that promised too much
    seconds_to_certify: float = 0.0


class Driver(Generic[Outcome]):
    """An engine, a goal, and what is between them."""

    def __init__(
        self,
        engine: Engine,
        goal: Goal[Outcome],
        method: Method,
        limits: Limits,
        callbacks: tuple[Callback, ...] = (),
        writer: Writer | None = None,
    ) -> None:
        self.engine, self.goal, self.method = engine, goal, method
        self.limits, self.callbacks, self.writer = limits, callbacks, writer
        self.clock, self.memory = Clock(), Memory()
        self.certificate: Certificate | None = None  # the last one at this lambda
        self.remedy = ""  # what an engine said that could not go on
        self._is_moving = False  # whether the engine is between two lambdas
        self._is_certifying = False

    # -- the run ---------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Pass after pass until there is a reason to stop."""
        try:
            status = self._until_there_is_a_reason()
            if self.goal.ends_with_certificate and not self.memory.is_current:
                status = self.goal.conclude(self) or status
        except OutOfTimeError:  # in the final pass: there is no more to wait for
            self.goal.leave(self)
            status = Status.TIME_LIMIT
        except KeyboardInterrupt:
            status = self._interrupted()
        try:
            return self.goal.outcome(self, status)
        finally:  # (also where making the outcome is interrupted, or lacks memory)
            if self.writer is not None and not self._is_moving:
                self._save(self.writer)

    def _until_there_is_a_reason(self) -> Status:
        status = self._tried(self._begin)
        while status is None:
            status = self._budget_spent() or self._tried(self._next_pass)
        return status

    def _tried(self, step: Callable[[], Status | None]) -> Status | None:
        try:
            return step()
        except CapTooSmallError as full:
            self.remedy = str(full)
            return Status.CACHE_FULL
        except OutOfTimeError:
            return Status.TIME_LIMIT

    def _begin(self) -> Status | None:
        return self.goal.resume(self) if self.goal.has_begun else self.goal.begin(self)

    def _next_pass(self) -> Status | None:
        self.memory.is_current = False
        self.engine.advance(self._visits_left(), self._may_go_on)
        self.memory.passes += 1
        is_stalled = self._is_due() and self._renew()
        ending = self.goal.after_pass(self)
        # (a goal that has gone on to another lambda has left the certificate behind)
        return ending or (Status.STALLED if is_stalled and self.memory.is_current else None)

    def _interrupted(self) -> Status:
        try:
            if self.goal.ends_with_certificate:
                if not self.memory.is_current:
                    print(INTERRUPTED, file=sys.stderr, flush=True)
                self.goal.conclude(self)
        except (KeyboardInterrupt, OutOfTimeError):  # a second Ctrl-C, or workers that hang
            self.goal.leave(self)
        return Status.INTERRUPTED

    # -- what goals ask ------------------------------------------------------------------------

    @property
    def current(self) -> Certificate | None:
        """The certificate of the present point; None where it has none."""
        return self.certificate if self.memory.is_current else None

    @property
    def reported_w(self) -> np.ndarray:
        """The weights that the certificate is of; without one, those of the present iterate."""
        return self.engine.certified_w if self.memory.is_current else self.engine.w

    @property
    def oracle_seconds(self) -> float:
        """All calls, each taken to cost as much as those of the last certificate."""
        seconds = self.memory.seconds_to_certify / self.engine.n_blocks
        return seconds * self._calls() if seconds else float("nan")

    def certify(self) -> Certificate:
        """A full pass."""
        began, memory = self.clock(), self.memory
        self._is_certifying = True
        try:
            self.certificate = self.engine.certify()
        finally:
            self._is_certifying = False
        memory.seconds_to_certify = self.clock() - began
        counts = self.engine.counts
        memory.passes_certified, memory.is_current = memory.passes, True
        memory.visits_certified, memory.calls_certified = counts.visits, counts.oracle_calls
        return self.certificate

    def tell(self, event: Any) -> bool:
        """Tell the callbacks; whether one of them wants to stop."""
        with self.clock:
            return wants_stop(self.callbacks, event)

    def change_lambda(self, move: Callable[[], None]) -> None:
        """Let `move` take the engine to another lambda, where nothing is certified yet.

        Where that is interrupted or impossible, the engine is at neither, and is not saved.
        """
        self._is_moving = True
        move()
        self.certificate, self.memory.is_current, self.memory.patience = None, False, 1
        self._is_moving = False

    # -- certificates --------------------------------------------------------------------------

    def _is_due(self) -> bool:
        """Whether the pass that has ended is to be followed by a certificate."""
        if self.engine.is_free_to_certify:
            return True
        if self._work_since_certificate() >= self.method.full_pass_every:
            return self._can_afford_certificate()
        waited = self.memory.passes - self.memory.passes_certified
        is_promising = self.goal.needs_certificates and self._is_promising()
        return is_promising and waited >= self.memory.patience and self._can_afford_certificate()

    def _is_promising(self) -> bool:
        return self.engine.gap_estimate <= self._target()

    def _target(self) -> float:
        """The next gap to reach: the largest target that the last certificate is above."""
        known = self.certificate.gap if self.certificate is not None else np.inf
        return max((t for t in self.limits.targets if t < known), default=self.limits.tol)

    def _work_since_certificate(self) -> float:
        """Passes since the last certificate; those over stored corners count less."""
        counts, memory = self.engine.counts, self.memory
        visits = counts.visits - memory.visits_certified
        calls = counts.oracle_calls - memory.calls_certified
        return max(calls, visits / VISITS_PER_CALL) / self.engine.n_blocks

    def _renew(self) -> bool:
        """A certificate that was due; whether it shows that the run has stalled."""
        before, memory = self.certificate, self.memory
        waited = self.goal.share * (memory.passes - memory.passes_certified)
        has_visited_open, was_promised = self.engine.has_visited_open, self._is_promising()
        now = self.certify()
        memory.patience = 2 * memory.patience if was_promised else 1
        if now.gap <= self.limits.tol:
            return False
        self.engine.refresh()
        if before is None or not (self.method.is_monotone and has_visited_open):
            return False
        return _gains_nothing(before, now, waited >= self.method.full_pass_every)

    # -- budgets -------------------------------------------------------------------------------

    def _calls(self) -> int:
        counts = self.engine.counts
        return counts.oracle_calls + counts.certificate_calls

    def _visits_left(self) -> int:
        """Visits of the next pass: as many as the goal wants, if the budget has them."""
        n_blocks = self.engine.n_blocks
        wanted = max(1, int(self.goal.share * n_blocks))
        if self.limits.max_oracle_calls is None:
            return wanted
        left = self.limits.max_oracle_calls - self._calls() - n_blocks  # (the final certificate)
        if self.engine.is_free_to_certify:  # a step goes by the certificate before it
            return wanted if left >= 0 else 0
        return min(wanted, left) if left >= self.engine.fewest_visits else 0

    def _can_afford_certificate(self) -> bool:
        limit = self.limits.max_oracle_calls
        needed = 2 * self.engine.n_blocks + self.engine.calls_to_refresh  # with the final one
        return limit is None or self._calls() + needed <= limit

    def _only_hits(self) -> bool:
        """Whether a cache has only hits, with no calls left for the full pass that is due."""
        since = self._work_since_certificate()
        return since >= 2 * self.method.full_pass_every and not self._can_afford_certificate()

    def _has_time(self) -> bool:
        """Whether there is time for more, with the final certificate still to come."""
        if self.limits.time_limit is None:
            return True
        return self.clock() + self._seconds_kept_back() < self.limits.time_limit

    def _seconds_kept_back(self) -> float:
        if not self.goal.ends_with_certificate:
            return 0.0
        visits = self.engine.counts.visits
        by_visits = self.clock() * self.engine.n_blocks / visits if visits else 0.0
        return self.memory.seconds_to_certify or by_visits

    def look_up(self) -> None:
        """Called while worker processes are waited for; a certificate may take a moment more."""
        limit = self.limits.time_limit
        if limit is not None and self._is_certifying:
            limit += GRACE_SECONDS
        has_time = (
            self._has_time() if not self._is_certifying else limit is None or self.clock() < limit
        )
        if not has_time:
            raise OutOfTimeError

    def _may_go_on(self) -> bool:
        """Asked between chunks of visits: a moment to write a checkpoint."""
        if self.writer is not None and self.writer.is_due():
            self._save(self.writer)
        return self._has_time()

    def _budget_spent(self) -> Status | None:
        limit = self.limits.max_passes
        if limit is not None and self.goal.passes_made(self) >= limit:
            return Status.MAX_PASSES
        if self._visits_left() <= 0 or self._only_hits():
            return Status.MAX_ORACLE_CALLS
        return None if self._has_time() else Status.TIME_LIMIT

    # -- checkpoints -----------------------------------------------------------------------------

    def _save(self, writer: Writer) -> None:
        with self.clock:
            known = None if self.certificate is None else asdict(self.certificate)
            driver = {
                "seconds": self.clock(),
                "memory": asdict(self.memory),
                "certificate": known,
                "has_begun": self.goal.has_begun,
                "goal": self.goal.to_save(),
            }
            writer.write(driver, self.engine)

    def restore(self, saved: Saved) -> None:
        """Go on from a checkpoint; one of a run that had not begun holds nothing to go on from."""
        driver = saved.driver
        if not driver["has_begun"]:
            return
        self.memory = Memory(**driver["memory"])
        known = driver["certificate"]
        self.certificate = None if known is None else Certificate(**known)
        self.clock.advance(driver["seconds"])
        self.goal.restore(driver["goal"])
        self.engine.restore(saved.engine)


def _gains_nothing(before: Certificate, now: Certificate, is_long: bool) -> bool:
    """Whether neither dual nor gap have come closer, `is_long` telling of many passes between."""
    gains = now.dual - before.dual > now.resolution
    is_noise = now.gap <= NOISE * now.resolution
    return not gains and (is_noise or (is_long and now.gap > STALLED_GAP * before.gap))
