"""One run from its first row to its result: passes, certificates, trace, stopping."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from blockwolfe.dual.growth import CapTooSmallError
from blockwolfe.methods.bcfw.diagnostics import gap_numbers
from blockwolfe.methods.bcfw.rules import (
    CACHE_HITS,
    DROPS,
    ORACLE_CALLS,
    STEPS,
    VIOLATIONS,
    VISITS,
)
from blockwolfe.methods.engine import Engine
from blockwolfe.methods.settings import Method
from blockwolfe.problem.certificate import Certificate
from blockwolfe.problem.state import dual_value, weights_of
from blockwolfe.results.result import REMEDIES, Counts, Result
from blockwolfe.results.status import Status
from blockwolfe.results.trace import Trace, TraceRow
from blockwolfe.running.checkpoint import Saved, Writer
from blockwolfe.running.events import Event, wants_stop
from blockwolfe.running.limits import Clock, Limits

__all__ = ["Solver"]

# A run has stalled when between two certificates the dual gained nothing that floating point can
# tell, and the gap is either rounding noise (this many times the resolution of the numbers) ...
NOISE = 100.0
# ... or no longer falls by this factor. Near the optimum the gap is of the order of the root of
# what the dual lacks, so that a dual that gains nothing visible can still hide a gap of 1e-8.
STALLED_GAP = 0.9
# With a cache most visits are cheap: visits that count like one oracle call when the time of the
# next full pass is reckoned.
VISITS_PER_CALL = 2

# What a checkpoint keeps of the solver besides trace and certificate.
_SAVED = (
    "passes",
    "is_current",
    "_certified_at",
    "_visits_certified",
    "_calls_certified",
    "_open",
    "_patience",
    "_seconds_to_certify",
)


class Solver:
    """One run: passes, certificates, trace, stopping."""

    def __init__(
        self,
        engine: Engine,
        method: Method,
        limits: Limits,
        callbacks: Any,
        evaluate: Any,
        writer: Writer | None = None,
    ) -> None:
        self.engine, self.run, self.method = engine, engine.run, method
        self.limits, self.callbacks, self.evaluate = limits, callbacks, evaluate
        self.writer = writer
        self.n_blocks = len(self.run.blocks)
        self.clock, self.trace = Clock(), Trace()
        self.passes = 0
        self.certificate: Certificate | None = None
        self.is_current = False  # whether the certificate is of the present point
        self._certified_at = self._visits_certified = 0  # passes and visits at the last certificate
        self._calls_certified = 0  # oracle calls of visits at the last certificate
        self._open = np.zeros(self.n_blocks, dtype=np.bool_)  # blocks with a gap, at that time
        self._remedy = ""
        self._patience = 1  # passes to wait after a gap estimate that promised too much
        self._seconds_to_certify = 0.0

    # -- the run ---------------------------------------------------------------------------

    def solve(self, certify_first: bool) -> Result:
        """Pass after pass until there is a reason to stop."""
        try:
            status = self._where_it_was() if len(self.trace) else self._first_row(certify_first)
            while status is None:
                status = self._budget_spent() or self._next_pass()
            if not self.is_current:
                status = self._last_row(status)
        except KeyboardInterrupt:
            status = self._interrupted()
        if self.writer is not None:
            self._save(self.writer)
        return self._result(status)

    def _where_it_was(self) -> Status | None:
        """After a checkpoint: whether that run had reached this tolerance already."""
        return self._ending() if self.is_current else None

    def _first_row(self, certify_first: bool) -> Status | None:
        if certify_first or self.engine.is_free_to_certify:
            self._certify()
        return self._add_row()

    def _next_pass(self) -> Status | None:
        self.is_current = False
        try:
            self.engine.advance(self._visits_left(), self._may_go_on)
        except CapTooSmallError as full:
            self._remedy = str(full)
            return Status.CACHE_FULL
        self.passes += 1
        if not self._is_due():
            return self._add_row()
        before, visits_before, was_open = self.certificate, self._visits_certified, self._open
        is_long = self.passes - self._certified_at >= self.method.full_pass_every
        self._certify_and_wait()
        is_stalled = before is not None and self._has_stalled(
            before, was_open, visits_before, is_long
        )
        return self._add_row() or (Status.STALLED if is_stalled else None)

    def _last_row(self, status: Status) -> Status:
        """A run always ends with a certificate in its last row."""
        self._certify()
        return self._add_row(replace_last=self._same_visits(), tell=False) or status

    def _interrupted(self) -> Status:
        try:
            self._certify()
            self._add_row(replace_last=self._same_visits(), tell=False)
        except KeyboardInterrupt:  # a second Ctrl-C: leave without the final pass
            if not len(self.trace):
                self._add_row(tell=False)
        return Status.INTERRUPTED

    # -- certificates -----------------------------------------------------------------------

    def _certify(self) -> None:
        began = self.clock()
        certificate = self.engine.certify()
        if self.run.tally[VIOLATIONS] and not self.run.blocks.bounds_error:
            certificate = certificate.as_estimate()  # caught giving less than a known output
        self.certificate = certificate
        self._seconds_to_certify = self.clock() - began
        self._certified_at, self.is_current = self.passes, True
        self._visits_certified = int(self.run.tally[VISITS])
        self._calls_certified = int(self.run.tally[ORACLE_CALLS])
        self._open = self.run.gap > 0.0

    def _certify_and_wait(self) -> None:
        was_promised = self.engine.gap_estimate <= self._target()
        self._certify()
        if self._ending() is None:
            self.engine.refresh()
        self._patience = self._patience * 2 if was_promised else 1

    def _has_stalled(
        self, before: Certificate, was_open: np.ndarray, visits_before: int, is_long: bool
    ) -> bool:
        """Whether visits to all blocks with a gap have gained nothing since a certificate."""
        now = self.certificate
        if now is None or not self.method.is_monotone:
            return False
        by_blocks = not self.engine.is_free_to_certify
        if by_blocks and (self.run.last_visit[was_open] < visits_before).any():
            return False
        gains = now.dual - before.dual > now.resolution
        is_noise = now.gap <= NOISE * now.resolution
        return not gains and (is_noise or (is_long and now.gap > STALLED_GAP * before.gap))

    def _is_due(self) -> bool:
        if self.engine.is_free_to_certify:
            return True
        if self._work_since_certificate() >= self.method.full_pass_every:
            return self._can_afford_certificate()
        waited = self.passes - self._certified_at
        is_promising = self.engine.gap_estimate <= self._target() and waited >= self._patience
        return is_promising and self._can_afford_certificate()

    def _work_since_certificate(self) -> float:
        """Passes since the last certificate; those over stored corners count less."""
        visits = int(self.run.tally[VISITS]) - self._visits_certified
        calls = int(self.run.tally[ORACLE_CALLS]) - self._calls_certified
        return max(calls, visits / VISITS_PER_CALL) / self.n_blocks

    def _target(self) -> float:
        """The next gap to reach: the largest target that the last certificate is above."""
        known = self.certificate.gap if self.certificate is not None else np.inf
        return max((t for t in self.limits.targets if t < known), default=self.limits.tol)

    # -- budgets ------------------------------------------------------------------------------

    def _calls(self) -> int:
        return int(self.run.tally[ORACLE_CALLS]) + self.engine.certificate_calls

    def _visits_left(self) -> int:
        if self.limits.max_oracle_calls is None:
            return self.n_blocks
        reserved = self.n_blocks  # for the final certificate
        left = self.limits.max_oracle_calls - self._calls() - reserved
        if self.engine.is_free_to_certify:  # a step goes by the certificate before it
            return self.n_blocks if left >= 0 else 0
        return min(self.n_blocks, left)

    def _can_afford_certificate(self) -> bool:
        limit = self.limits.max_oracle_calls
        needed = 2 * self.n_blocks + self.engine.calls_to_refresh  # with the final certificate
        return limit is None or self._calls() + needed <= limit

    def _only_hits(self) -> bool:
        """Whether a cache lives on its hits, with no calls left for the full pass that is due."""
        since = self._work_since_certificate()
        return since >= 2 * self.method.full_pass_every and not self._can_afford_certificate()

    def _has_time(self) -> bool:
        """Whether there is time for more, with the final certificate still to come."""
        if self.limits.time_limit is None:
            return True
        visits, spent = int(self.run.tally[VISITS]), self.clock()
        to_certify = self._seconds_to_certify or (spent * self.n_blocks / visits if visits else 0.0)
        return spent + to_certify < self.limits.time_limit

    def _may_go_on(self) -> bool:
        """Asked between chunks of visits: a moment to write a checkpoint."""
        self._save_if_due()
        return self._has_time()

    def _budget_spent(self) -> Status | None:
        limits = self.limits
        if limits.max_passes is not None and self.passes >= limits.max_passes:
            return Status.MAX_PASSES
        if self._visits_left() <= 0 or self._only_hits():
            return Status.MAX_ORACLE_CALLS
        if not self._has_time():
            return Status.TIME_LIMIT
        return None

    # -- rows -----------------------------------------------------------------------------------

    def _add_row(self, replace_last: bool = False, tell: bool = True) -> Status | None:
        row = self._row()
        if replace_last and len(self.trace):
            self.trace.replace_last(row)
        else:
            self.trace.append(row)
        stops = tell and self._tell(row)
        return self._ending() or (Status.STOPPED_BY_CALLBACK if stops else None)

    def _ending(self) -> Status | None:
        certificate = self.certificate
        if not self.is_current or certificate is None or not certificate.gap <= self.limits.tol:
            return None
        return Status.CERTIFIED if certificate.valid else Status.INEXACT_ORACLE

    def _tell(self, row: TraceRow) -> bool:
        """Tell the callbacks; whether one of them wants to stop."""
        if not self.callbacks:
            return False
        with self.clock:
            w = self._reported_w().copy()
            w.flags.writeable = False
            return wants_stop(self.callbacks, Event(row, w, self.run.lam, self.limits.tol))

    def _row(self) -> TraceRow:
        tally, certificate = self.run.tally, self.certificate if self.is_current else None
        numbers: dict[str, Any] = {}
        if certificate is not None:
            numbers = {
                "primal": certificate.primal,
                "dual": certificate.dual,
                "gap": certificate.gap,
                "exact": certificate.exact,
                "slack": certificate.slack,
                "held_out_loss": self._held_out_loss(),
                **gap_numbers(self.run),
            }
        elif not self.run.has_average:
            run = self.run
            numbers = {"dual": dual_value(run.blocks, run.v, float(run.ell.sum()), run.lam)}
        seconds_per_call = self._seconds_to_certify / self.n_blocks
        return TraceRow(
            passes=self.passes,
            visits=int(tally[VISITS]),
            oracle_calls=int(tally[ORACLE_CALLS]),
            certificate_calls=self.engine.certificate_calls,
            cache_hits=int(tally[CACHE_HITS]),
            seconds=self.clock(),
            n_active=self.run.n_active(),
            note=self.engine.note,
            oracle_seconds=seconds_per_call * self._calls() if seconds_per_call else np.nan,
            gap_estimate=self.engine.gap_estimate,
            **numbers,
        )

    def _reported_w(self) -> np.ndarray:
        if self.run.has_average and self.is_current:
            return self.run.average_w
        return self.run.w

    def _held_out_loss(self) -> float:
        if self.evaluate is None:
            return float("nan")
        with self.clock:
            return float(self.evaluate(self._reported_w()))

    def _same_visits(self) -> bool:
        return len(self.trace) > 0 and self.trace[-1].visits == int(self.run.tally[VISITS])

    # -- checkpoints ------------------------------------------------------------------------------

    def _save_if_due(self) -> None:
        if self.writer is not None and self.writer.is_due():
            self._save(self.writer)

    def _save(self, writer: Writer) -> None:
        with self.clock:
            solver = {name: getattr(self, name) for name in _SAVED} | {"seconds": self.clock()}
            solver |= {f"trace.{name}": column for name, column in self.trace.to_dict().items()}
            if self.certificate is not None:
                solver |= {f"certificate.{k}": v for k, v in asdict(self.certificate).items()}
            writer.write(solver, self.engine)

    def restore(self, saved: Saved) -> None:
        """Go on from a checkpoint."""
        parts: dict[str, dict[str, Any]] = {"trace": {}, "certificate": {}}
        for name, value in saved.solver.items():
            if name in _SAVED:
                setattr(self, name, value)
            elif "." in name:
                room, column = name.split(".")
                parts[room][column] = value
        self.trace = Trace.from_dict(parts["trace"])
        if parts["certificate"]:
            self.certificate = Certificate(**parts["certificate"])
        self.clock.advance(saved.solver["seconds"])
        saved.put_into(self.engine)

    # -- the end ---------------------------------------------------------------------------------

    def _result(self, status: Status) -> Result:
        run, tally = self.run, self.run.tally
        state = run.state(averaged=run.has_average)
        certificate = self.certificate
        if certificate is None or not self.is_current:
            certificate = Certificate.unknown(self.n_blocks, run.lam)
        return Result(
            w=weights_of(run.blocks, state.v, run.lam),
            certificate=certificate,
            status=status,
            trace=self.trace,
            state=state,
            last_state=run.state() if run.has_average else state,
            counts=Counts(
                n_blocks=self.n_blocks,
                visits=int(tally[VISITS]),
                steps=int(tally[STEPS]),
                drops=int(tally[DROPS]),
                cache_hits=int(tally[CACHE_HITS]),
                oracle_calls=int(tally[ORACLE_CALLS]),
                certificate_calls=self.engine.certificate_calls,
            ),
            seconds=self.clock(),
            lam=run.lam,
            tol=self.limits.tol,
            method=self.engine.method,
            note=self.engine.note,
            remedy=self._remedy or self._about_slack(certificate) or REMEDIES.get(status, ""),
        )

    def _about_slack(self, certificate: Certificate) -> str:
        """Where the bounds of an approximate oracle alone keep the gap above `tol`."""
        if not certificate.slack > self.limits.tol:
            return ""
        return (
            f"The bounds of the approximate oracle leave {certificate.slack:.3g} of the gap: use a "
            "tighter or an exact decoder, or raise tol."
        )
