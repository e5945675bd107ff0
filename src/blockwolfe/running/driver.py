"""One run of any method, from its beginning to its end, whatever its goal.

When to certify, how long to wait after an estimate that promised too much, whether a run has
stalled, Ctrl-C, checkpoints: all of that is decided here, and only here. Of a method the driver
knows its `Engine`, of the purpose of the run its `Goal`, of what it may still do its `Budget`.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, Generic

import numpy as np

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.pace import LeftError, OutOfTimeError
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.errors import ShardLostError
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.pairing import beside
from blockwolfe.results.restoring import are_same, certificate_of, record_of
from blockwolfe.results.status import Status
from blockwolfe.running.budget import Budget
from blockwolfe.running.checkpoint import Saved, Writer
from blockwolfe.running.clock import Clock
from blockwolfe.running.engine import BaseMethod, CapTooSmallError, Engine
from blockwolfe.running.events import Callback, wants_stop
from blockwolfe.running.goals import Goal, Outcome
from blockwolfe.running.limits import Limits
from blockwolfe.running.memory import Certified, Memory
from blockwolfe.running.pairing import Pairing
from blockwolfe.running.stalling import Mark

__all__ = ["Driver"]

MOST_SECONDS = 1e10  # that a run can have taken: 300 years
# With a cache most visits are cheap: visits that count like one oracle call when the time of the
# next full pass is reckoned.
VISITS_PER_CALL = 2
# Where a certificate is as good as visits, so many may be made in a pass of calls.
WAITS_PER_PASS = 2.0
MOST_PATIENCE = 1024  # passes to wait, however often gap estimates have promised too much

INTERRUPTED = "blockwolfe: interrupted; one pass more for the certificate (Ctrl-C leaves it out)"


class Driver(Generic[Outcome]):
    """An engine, a goal, and what is between them."""

    def __init__(
        self,
        engine: Engine,
        goal: Goal[Outcome],
        method: BaseMethod,
        limits: Limits,
        callbacks: tuple[Callback, ...] = (),
        writer: Writer | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.engine, self.goal, self.method = engine, goal, method
        self.limits, self.callbacks, self.writer = limits, callbacks, writer
        self.clock, self.memory, self.mark = clock or Clock(), Memory(), Mark()
        engine.aim_at(limits.gap if goal.pairs else 0.0)
        self.pairing = Pairing(len(engine.w)) if goal.pairs and engine.can_pair else None
        n_final = max(goal.final_passes, 1 if self.pairing is None else 2)
        self.budget = Budget(engine, goal, limits, self.clock, n_final)
        self.certificate: Certificate | None = None  # the last one at this lambda
        self.own: Certificate | None = None  # the last one, before it was paired
        self.remedy = ""  # what an engine said that could not go on
        self.is_late = False  # whether the final certificate had to be given up ...
        self.kept: Certified | None = None  # ... and what there is in its place
        self.salvage: Certified | None = None  # where parts may be lost: the last, without a state
        self._is_hurried = False  # whether only what must be is still done
        self._is_moving = False  # whether the engine is between two lambdas
        self._is_saved = False  # whether the file is to stay as it is

    # -- the run ---------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Pass after pass until there is a reason to stop."""
        try:
            return self._run()
        except ShardLostError as lost:
            lost.result = None if self.salvage is None else self.goal.salvaged(self, self.salvage)
            raise

    def _run(self) -> Outcome:
        try:
            status = self._until_there_is_a_reason()
            if status is Status.CACHE_FULL:
                self._keep_as_it_is()
            if self.goal.ends_with_certificate and not self.goal.has_concluded(self):
                status = self._conclude() or status
        except KeyboardInterrupt:
            status = self._interrupted()
        try:
            return self.goal.outcome(self, status)
        finally:  # (also where making the outcome is interrupted, or lacks memory)
            if not self._is_saved:
                self._save_unless_moving()

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
        if not self.goal.has_begun:
            return self.goal.begin(self)
        memory = self.memory
        has_stalled = memory.has_stalled and not memory.is_made
        return self.goal.resume(self) or (Status.STALLED if has_stalled else None)

    def _next_pass(self) -> Status | None:
        memory = self.memory
        if not memory.is_made:  # (a checkpoint may lie between a pass and what follows)
            memory.is_current = False
            with suppress(OutOfTimeError):  # (what was begun is left, before any change)
                self.engine.advance(self.budget.visits_left(), self._may_go_on)
            if self.pairing is not None:
                visits, own = self.engine.counts.visits, self.engine.primal_w
                self.pairing.note(self.engine.w, visits, own)
            memory.passes, memory.is_made = memory.passes + 1, True
            memory.has_stalled = False
        if memory.lacks_refresh:
            self._refresh()
        if memory.is_renewing or self._is_due():
            self._renew()
        ending = self.goal.after_pass(self)
        self.memory.is_made = False
        # (a goal that has gone on to another lambda has left the certificate behind)
        memory.has_stalled = memory.has_stalled and memory.is_current
        return ending or (Status.STALLED if memory.has_stalled else None)

    def _conclude(self) -> Status | None:
        """The final certificate, if there is time; a better ending, if there is one."""
        try:
            return self.goal.conclude(self)
        except OutOfTimeError:
            self.is_late, self.remedy = True, self.budget.remedy(self.kept is not None)
            self.goal.leave(self)
            return Status.TIME_LIMIT

    def _interrupted(self) -> Status:
        self._is_hurried = True
        try:
            self._keep_as_it_is()
            if self.goal.ends_with_certificate:
                if not self.memory.is_current:
                    print(INTERRUPTED, file=sys.stderr, flush=True)
                self._conclude()
        except KeyboardInterrupt:  # a second Ctrl-C, or workers that hang: no final pass
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
        if self.best_w is not None:
            return self.best_w
        return self.engine.certified_w if self.memory.is_current else self.engine.w

    @property
    def best_w(self) -> np.ndarray | None:
        """The weights of the primal of the present certificate, where they are not its own."""
        if self.pairing is None or self.pairing.best is None or self.current is None:
            return None
        is_theirs = self.current.valid and self.current.primal == self.pairing.best.primal
        return self.pairing.best_w if is_theirs else None

    @property
    def oracle_seconds(self) -> float:
        """All calls, each taken to cost as much as those of the last certificate."""
        seconds = self.memory.seconds_to_certify / self.engine.n_blocks
        return seconds * self.budget.calls() if seconds else float("nan")

    def certify(self, below: float = np.inf) -> Certificate:
        """A full pass, and perhaps one at the average: after Ctrl-C only that may be left.

        Raises `LeftError` where it was left, since the gap is not `below`.
        """
        own, pairing = self.own, self.pairing
        if own is None or self.current is None:
            with self.budget.certifying():
                is_any = below == np.inf
                own = self.engine.certify() if is_any else self.engine.certify_below(below)
            own = replace(own, unit=self.limits.unit)
        found = self._taken(own)
        has_own = self.engine.primal_w is not None
        may_reach = pairing is not None and pairing.may_reach(own, self._target(), has_own)
        if pairing is not None and may_reach and self.budget.has_calls_to_certify():
            found = self._looked(pairing, own)
        if self.budget.may_be_late():
            self.kept = Certified(found, self.engine.state(), self.reported_w.copy())
        if self.engine.may_lose_parts:
            self.salvage = Certified(found, None, self.reported_w.copy())
        return found

    def _taken(self, own: Certificate) -> Certificate:
        """The certificate of the present point, paired with the best weights known."""
        memory, counts = self.memory, self.engine.counts
        with uninterrupted():  # (what belongs together)
            self.own = found = own
            if self.pairing is not None:
                found = self.pairing.add(own, self.engine.certified_w)
            self.certificate, memory.is_current = found, True
            memory.seconds_to_certify = self.budget.last_certificate
            memory.passes_certified, memory.visits_certified = memory.passes, counts.visits
            memory.calls_certified = counts.oracle_calls
        return found

    def certify_beside(self, w: np.ndarray) -> Certificate | None:
        """The certificate of other weights, beside the present dual point; None without a budget.

        (A full pass, after that of `certify`.)
        """
        if self.own is None or not self.budget.has_calls_to_look():
            return None
        with self.budget.certifying():
            value = self.engine.primal_at(w)
        return None if value is None else beside(self.own, value)

    def look_at_average(self) -> None:
        """At the end of a run: the average may be better than all that is known."""
        pairing, own = self.pairing, self.own
        if pairing is None or own is None or self.is_told or not self.budget.has_calls_to_look():
            return
        self._looked(pairing, own)

    @property
    def is_told(self) -> bool:
        """Whether no average is left that a full pass might be worth."""
        return self.pairing is None or self._is_hurried or not self.pairing.has_news

    def _looked(self, pairing: Pairing, own: Certificate) -> Certificate:
        """The certificate after a full pass at the average, if there is time for it."""
        value = None
        with suppress(OutOfTimeError), self.budget.certifying():
            value = self.engine.primal_at(pairing.average)
        with uninterrupted():  # (what belongs together)
            found = pairing.looked(own, self.engine.certified_w, value)
            self.certificate = found
        return found

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
        self.memory.passes_begun, self.mark = self.memory.passes, Mark()
        self._is_moving = False

    # -- certificates --------------------------------------------------------------------------

    def _is_due(self) -> bool:
        """Whether the pass that has ended is to be followed by a certificate."""
        if self.engine.is_free_to_certify:
            return True
        if not (self.budget.has_calls_to_certify() and self.budget.has_time_to_certify()):
            return False
        if self._work_since_certificate() >= self.method.full_pass_every:
            return True
        if self.goal.ends_with_certificate and not self.budget.has_time():
            return True
        waited: float = self.memory.passes - self.memory.passes_certified
        if self.engine.certifies_early:
            waited = WAITS_PER_PASS * self._work_since_certificate()
        is_promising = self.goal.needs_certificates and self._is_promising()
        return is_promising and waited >= self.memory.patience

    def _is_promising(self) -> bool:
        if self.pairing is None:
            return self.engine.gap_estimate <= self._target()
        estimate = self.pairing.share * self.engine.gap_estimate
        return min(estimate, self.engine.pair_estimate) <= self._target()

    def _target(self) -> float:
        """The next gap to reach: the largest target that the last certificate is above."""
        known = self.certificate.gap if self.certificate is not None else np.inf
        return self.limits.next_gap(known)

    def _work_since_certificate(self) -> float:
        """Passes since the last certificate; those over stored corners count less."""
        counts, memory = self.engine.counts, self.memory
        visits = counts.visits - memory.visits_certified
        calls = counts.oracle_calls - memory.calls_certified
        return max(calls, visits / VISITS_PER_CALL) / self.engine.n_blocks

    def _renew(self) -> None:
        """A certificate that was due, and what follows from it; Ctrl-C may come at any moment."""
        memory = self.memory
        if not memory.is_renewing:
            memory.was_promised = self._is_promising()
            memory.had_visited_open = self.engine.has_visited_open
            memory.is_renewing = True
        may_leave = memory.was_promised and self.budget.has_time_to_certify(2)
        try:
            now = self.certify(self._target() if may_leave else np.inf)
        except LeftError:  # (of use to the engine all the same)
            memory.is_renewing = False
            return
        with uninterrupted():
            patience = min(2 * memory.patience, MOST_PATIENCE)
            is_broken = memory.was_promised and not self.engine.certifies_early
            memory.patience = patience if is_broken else 1
            memory.lacks_refresh = not now.reaches(self.limits.tol)
            memory.has_stalled = memory.lacks_refresh and self._shows_stalling(now)
            memory.is_renewing = False
        if memory.lacks_refresh:
            self._refresh()

    def _shows_stalling(self, now: Certificate) -> bool:
        memory, method = self.memory, self.method
        if not method.can_stall:
            return not (now.is_finite or now.is_primal_only)
        if now.is_finite and not self.engine.is_settled:
            self.mark = Mark()
            return False
        passes = self.goal.share * (memory.passes - memory.passes_begun)
        has_stalled = self.mark.has_stalled(now, passes, method.full_pass_every)
        return has_stalled and memory.had_visited_open

    def _refresh(self) -> None:
        """Where there is time: it may take as long as a certificate."""
        if self.budget.has_time_to_certify(2):
            self.engine.refresh()
        self.memory.lacks_refresh = False

    # -- budgets -------------------------------------------------------------------------------

    def _only_hits(self) -> bool:
        """Whether a cache has only hits, with no calls left for the full pass that is due."""
        if self.budget.has_calls_to_certify():
            return False
        return self._work_since_certificate() >= 2 * self.method.full_pass_every

    def _may_go_on(self) -> bool:
        """Asked between chunks of visits: a moment to write a checkpoint."""
        if self.writer is not None and self.writer.is_due():
            self._save(self.writer)
        is_left = self.engine.certifies_early and self._is_due()
        return self.budget.has_time() and not is_left

    def _budget_spent(self) -> Status | None:
        if self.memory.is_made:  # (what follows the last pass comes first)
            return None
        limit = self.limits.max_passes
        if limit is not None and self.goal.passes_made(self) >= limit:
            return Status.MAX_PASSES
        if self.budget.visits_left() <= 0 or self._only_hits():
            return Status.MAX_ORACLE_CALLS
        return None if self.budget.has_time() else Status.TIME_LIMIT

    # -- checkpoints -----------------------------------------------------------------------------

    def _save_unless_moving(self) -> None:
        if self.writer is not None and not self._is_moving:
            self._save(self.writer)

    def _keep_as_it_is(self) -> None:
        """The last checkpoint: a final certificate renews estimates that steps go by."""
        self._save_unless_moving()
        self._is_saved = self.writer is not None

    def _save(self, writer: Writer) -> None:
        with self.clock:
            known = None if self.certificate is None else asdict(self.certificate)
            driver = {
                "seconds": self.clock(),
                "memory": asdict(self.memory),
                "mark": asdict(self.mark),
                "certificate": known,
                "pairing": None if self.pairing is None else self.pairing.to_save(),
                "has_begun": self.goal.has_begun,
                "goal": self.goal.to_save(),
            }
            writer.write(driver, self.engine)

    def restore(self, saved: Saved) -> None:
        """Go on from a checkpoint; one of a run that had not begun holds nothing to go on from."""
        read, lam = Reader(saved.driver, "driver"), self.engine.lam
        if not read.flag("has_begun"):
            return
        self.memory = record_of(Memory, read.inside("memory"))
        self.mark = record_of(Mark, read.inside("mark"))
        self.certificate = self._certificate_in(read)
        if self.pairing is not None:
            self.pairing.restore(read.inside("pairing").values)
        self.clock.advance(read.number("seconds", least=0.0, most=MOST_SECONDS))
        self.budget.resume(self.memory.seconds_to_certify)
        self.goal.restore(read.inside("goal").values)
        self.engine.restore(copy.deepcopy(saved.engine))  # (a pass renews arrays in place)
        if self.goal.stays_at_lambda and self.engine.lam != lam:
            raise Misfit(f"the run is at lambda {self.engine.lam:g}; expected {lam:g}.")
        paired = [] if self.pairing is None else self.pairing.weights
        if not all(self.engine.allows(w) for w in [self.engine.certified_w, *paired]):
            # (there P may be below the optimum, and its certificate false)
            raise Misfit(
                "weights are outside of the bounds of the problem, or parts of them contradict "
                "each other."
            )

    def _certificate_in(self, read: Reader) -> Certificate | None:
        if read.given("certificate") is None:
            if self.memory.is_current:
                raise Misfit("the last certificate is missing.")
            return None
        inside, n_blocks = read.inside("certificate"), self.engine.n_blocks
        gaps = inside.array("block_gaps", np.float64, (n_blocks,), is_finite=False)
        return replace(certificate_of(inside, gaps), unit=self.limits.unit)

    def verify(self, saved: Saved) -> bool:
        """Whether certificate and best weights that were restored are worth what the file says.

        No file can vouch for a number. Full passes tell; nothing is counted, and the run stays
        where it was.
        """
        with self.clock:
            is_true = self.pairing is None or self.pairing.is_true(self.engine)
            is_true = is_true and self._is_certified_so()
            w = self.engine.certified_w.copy()
            self.engine.restore(saved.engine)
            if not np.array_equal(self.engine.certified_w, w):
                self.memory.is_current = False  # (of other weights than the file's: made again)
        return is_true

    def _is_certified_so(self) -> bool:
        if not self.memory.is_current or self.certificate is None:
            return True
        self.own = found = replace(self.engine.certify(), unit=self.limits.unit)
        if self.pairing is not None:
            found = self.pairing.add(self.own, self.engine.certified_w)
        return are_same(found, self.certificate)
