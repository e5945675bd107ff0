"""`solve`: run a method on a problem until it is certified or a budget ends."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.errors import InputError
from blockwolfe.methods.engines import Engine, make_engine
from blockwolfe.methods.events import Event, ProgressLine, checked_callbacks, wants_stop
from blockwolfe.methods.limits import Clock, Limits
from blockwolfe.methods.loop import ORACLE_CALLS, STEPS, VIOLATIONS, VISITS
from blockwolfe.methods.settings import BCFW, Method, as_method
from blockwolfe.problem.certificate import Certificate
from blockwolfe.problem.evaluate import HeldOut, probe_oracle
from blockwolfe.problem.problem import Problem, check_lam
from blockwolfe.problem.state import check_state, dual_value
from blockwolfe.results.result import Counts, Result
from blockwolfe.results.status import Status
from blockwolfe.results.trace import Trace, TraceRow
from blockwolfe.seeds import generator

__all__ = ["solve"]

# Between two certificates the dual must gain this share of the gap's terms, or the run has stalled.
STALLED_GAIN = 1e-15


def solve(
    problem: Problem,
    lam: float,
    method: Any = "auto",
    tol: float = 1e-3,
    *,
    max_passes: int | None = None,
    max_oracle_calls: int | None = None,
    time_limit: float | None = None,
    start: Any = None,
    random_state: Any = None,
    callbacks: Any = (),
    held_out: Any = None,
    verbose: int = 0,
) -> Result:
    """Minimise (1) to a certified gap of at most `tol`.

    Parameters
    ----------
    problem : the task with its data.
    lam : regularisation strength, > 0.
    method : "auto", "bcfw", "fw", a name with options such as "bcfw+uniform+averaging",
        or a method object.
    tol : stop when the certified gap P - D is at most this (absolute).
    max_passes, max_oracle_calls, time_limit : budgets. Oracle calls include those of
        certificates, and the last n of them are kept for the final one; so is time for it.
    start : a `State` of the same problem (`result.last_state`) to go on from, at any lambda.
    random_state : seed; the same seed gives the same run.
    callbacks : functions of one `Event` per pass; returning True stops the run.
    held_out : (X, Y) on which the mean task loss is traced with every certificate.
    verbose : 1 shows a live progress line.

    Ctrl-C ends the run and returns what has been reached, with its certificate.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> result = bw.solve(problem, lam=0.1, tol=1e-6)
    >>> result.status.name, result.certificate.gap <= 1e-6
    ('CERTIFIED', True)
    """
    if not isinstance(problem, Problem):
        raise InputError(
            f"problem is a {type(problem).__name__}; expected blockwolfe.Problem(task, X, Y)."
        )
    lam, chosen = check_lam(lam), as_method(method)
    limits = Limits.checked(tol, max_passes, max_oracle_calls, time_limit, len(problem))
    functions = checked_callbacks(callbacks)
    seed = generator(random_state)
    evaluate = HeldOut(problem.task, held_out) if held_out is not None else None
    blocks = problem.blocks
    state = problem.initial_state() if start is None else check_state(blocks, start)
    if evaluate is not None:
        evaluate(np.zeros(blocks.n_features))  # data that does not fit is refused before any work
    engine = make_engine(chosen, blocks, state, lam, seed)
    with problem.lock, ProgressLine(max_passes) if verbose else nullcontext() as line:
        probe_oracle(blocks)
        engine.prepare()
        watching = (*functions, line) if line is not None else functions
        solver = _Solver(engine, chosen, limits, watching, evaluate)
        return solver.solve(certify_first=start is not None)


class _Solver:
    """One run: passes, certificates, trace, stopping."""

    def __init__(
        self, engine: Engine, method: Method, limits: Limits, callbacks: Any, evaluate: Any
    ) -> None:
        self.engine, self.run, self.method = engine, engine.run, method
        self.limits, self.callbacks, self.evaluate = limits, callbacks, evaluate
        self.n_blocks = len(self.run.blocks)
        self.clock, self.trace = Clock(), Trace()
        self.passes = 0
        self.certificate: Certificate | None = None
        self.is_current = False  # whether the certificate is of the present point
        self._certified_at = self._visits_certified = 0  # passes and visits at the last certificate
        self._patience = 1  # passes to wait after a gap estimate that promised too much
        self._seconds_to_certify = 0.0

    # -- the run ---------------------------------------------------------------------------

    def solve(self, certify_first: bool) -> Result:
        """Pass after pass until there is a reason to stop."""
        try:
            status = self._first_row(certify_first)
            while status is None:
                status = self._budget_spent() or self._next_pass()
            if not self.is_current:
                status = self._last_row(status)
        except KeyboardInterrupt:
            status = self._interrupted()
        return self._result(status)

    def _first_row(self, certify_first: bool) -> Status | None:
        if certify_first or self.engine.is_free_to_certify:
            self._certify()
        return self._add_row()

    def _next_pass(self) -> Status | None:
        self.is_current = False
        self.engine.advance(self._visits_left(), self._has_time)
        self.passes += 1
        if not self._is_due():
            return self._add_row()
        before, visits_before = self.certificate, self._visits_certified
        self._certify_and_wait()
        is_stalled = before is not None and self._has_stalled(before, visits_before)
        return self._add_row() or (Status.STALLED if is_stalled else None)

    def _last_row(self, status: Status) -> Status:
        """A run always ends with a certificate in its last row."""
        self._certify()
        return self._add_row(replace_last=True, tell=False) or status

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
        if self.run.tally[VIOLATIONS]:  # the oracle was caught giving less than a known output
            certificate = replace(certificate, exact=False)
        self.certificate = certificate
        self._seconds_to_certify = self.clock() - began
        self._certified_at, self.is_current = self.passes, True
        self._visits_certified = int(self.run.tally[VISITS])

    def _certify_and_wait(self) -> None:
        was_promised = self.engine.gap_estimate <= self.limits.tol
        self._certify()
        self._patience = self._patience * 2 if was_promised else 1

    def _has_stalled(self, before: Certificate, visits_before: int) -> bool:
        """Whether visits to all blocks with a gap have gained nothing since a certificate."""
        now = self.certificate
        if now is None or not self.method.is_monotone:
            return False
        is_open = before.block_gaps > 0.0
        if isinstance(self.method, BCFW) and (self.run.last_visit[is_open] < visits_before).any():
            return False
        return now.dual - before.dual <= STALLED_GAIN * (abs(now.primal) + abs(now.dual))

    def _is_due(self) -> bool:
        if self.engine.is_free_to_certify:
            return True
        waited = self.passes - self._certified_at
        if isinstance(self.method, BCFW) and waited >= self.method.certify_every:
            return self._can_afford_certificate()
        is_promising = self.engine.gap_estimate <= self.limits.tol and waited >= self._patience
        return is_promising and self._can_afford_certificate()

    # -- budgets ------------------------------------------------------------------------------

    def _calls(self) -> int:
        return int(self.run.tally[ORACLE_CALLS]) + self.engine.certificate_calls

    def _visits_left(self) -> int:
        if self.limits.max_oracle_calls is None:
            return self.n_blocks
        reserved = self.n_blocks  # for the final certificate
        return min(self.n_blocks, self.limits.max_oracle_calls - self._calls() - reserved)

    def _can_afford_certificate(self) -> bool:
        limit = self.limits.max_oracle_calls
        return limit is None or self._calls() + 2 * self.n_blocks <= limit

    def _has_time(self) -> bool:
        """Whether there is time for more, with the final certificate still to come."""
        if self.limits.time_limit is None:
            return True
        visits, spent = int(self.run.tally[VISITS]), self.clock()
        to_certify = self._seconds_to_certify or (spent * self.n_blocks / visits if visits else 0.0)
        return spent + to_certify < self.limits.time_limit

    def _budget_spent(self) -> Status | None:
        limits = self.limits
        if limits.max_passes is not None and self.passes >= limits.max_passes:
            return Status.MAX_PASSES
        if self._visits_left() <= 0:
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
        if self.is_current and row.gap <= self.limits.tol:
            return Status.CERTIFIED if row.exact else Status.INEXACT_ORACLE
        return Status.STOPPED_BY_CALLBACK if stops else None

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
                "held_out_loss": self._held_out_loss(),
            }
        elif not self.run.has_average:
            v = self.run.w * self.run.lam
            numbers = {"dual": dual_value(v, float(self.run.ell.sum()), self.run.lam)}
        seconds_per_call = self._seconds_to_certify / self.n_blocks
        return TraceRow(
            passes=self.passes,
            visits=int(tally[VISITS]),
            oracle_calls=int(tally[ORACLE_CALLS]),
            certificate_calls=self.engine.certificate_calls,
            seconds=self.clock(),
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

    # -- the end ---------------------------------------------------------------------------------

    def _result(self, status: Status) -> Result:
        run, tally = self.run, self.run.tally
        state = run.state(averaged=run.has_average)
        certificate = self.certificate
        if certificate is None or not self.is_current:
            certificate = Certificate.unknown(self.n_blocks, run.lam)
        return Result(
            w=state.v / run.lam,
            certificate=certificate,
            status=status,
            trace=self.trace,
            state=state,
            last_state=run.state() if run.has_average else state,
            counts=Counts(
                n_blocks=self.n_blocks,
                visits=int(tally[VISITS]),
                steps=int(tally[STEPS]),
                oracle_calls=int(tally[ORACLE_CALLS]),
                certificate_calls=self.engine.certificate_calls,
            ),
            seconds=self.clock(),
            lam=run.lam,
            tol=self.limits.tol,
            method=self.method,
        )
