"""What a run may still do: visits, oracle calls and time, less what the final certificate needs.

`time_limit` is time at work (see `clock`). The time of a certificate is that of the last one, and
before the first it is reckoned from the oracle calls made so far: of a hundredth of a pass at
least, and without that first hundredth where there is more, since caches and memory are cold then.
Where not even one certificate can be had in time, all of it goes into visits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from blockwolfe.base.pace import OutOfTimeError
from blockwolfe.running.clock import Clock
from blockwolfe.running.engine import Engine
from blockwolfe.running.goals import Goal
from blockwolfe.running.limits import Limits

__all__ = ["Budget"]

# How much later than the limit a final certificate may end: seconds, or a share of the limit.
GRACE_SECONDS, GRACE_SHARE = 1.0, 0.03
# Share of the limit that more than one full pass at the end may take.
SHORT_SHARE = 0.2
# Share of a pass from which on its oracle calls tell what a certificate takes.
LEAST_SHARE = 0.01


class Budget:
    """The limits of a run, beside what it has used of them."""

    def __init__(
        self, engine: Engine, goal: Goal[Any], limits: Limits, clock: Clock, n_final: int = 1
    ) -> None:
        self.engine, self.goal, self.limits, self.clock = engine, goal, limits, clock
        self._n_final = n_final  # full passes with which a run ends, where there is time
        self.last_certificate = 0.0  # seconds that it took; 0 before the first
        self._is_certifying = False
        self._cold: tuple[float, int] | None = None  # seconds and calls of the first hundredth
        self._looked, self._step = clock(), 0.0  # when, and the longest of late between two looks

    def resume(self, last_certificate: float) -> None:
        """Go on after a checkpoint, with the clock set to where it was."""
        self.last_certificate, self._looked = last_certificate, self.clock()

    # -- oracle calls --------------------------------------------------------------------------

    def calls(self) -> int:
        """Oracle calls made, with those of certificates."""
        counts = self.engine.counts
        return counts.oracle_calls + counts.certificate_calls

    def visits_left(self) -> int:
        """Visits of the next pass: as many as the goal wants, if the budget has them."""
        n_blocks = self.engine.n_blocks
        wanted = max(1, int(self.goal.share * n_blocks))
        if self.limits.max_oracle_calls is None:
            return wanted
        kept_back = self.goal.final_passes * n_blocks
        left = self.limits.max_oracle_calls - self.calls() - kept_back
        if self.engine.is_free_to_certify:  # a step goes by the certificate before it
            return wanted if left >= 0 else 0
        return min(wanted, left) if left >= self.engine.fewest_visits else 0

    def has_calls_to_certify(self) -> bool:
        """Whether the calls suffice for a certificate now, and what comes at the end."""
        limit = self.limits.max_oracle_calls
        needed = (1 + self.goal.final_passes) * self.engine.n_blocks + self.engine.calls_to_refresh
        return limit is None or self.calls() + needed <= limit

    def has_calls_to_look(self) -> bool:
        """Whether the calls suffice for one more full pass, after the final certificate."""
        limit = self.limits.max_oracle_calls
        return limit is None or self.calls() + self.engine.n_blocks <= limit

    # -- time ----------------------------------------------------------------------------------

    def seconds_to_certify(self) -> float:
        """What a certificate takes, as far as that is known; else 0."""
        return self.last_certificate or self._by_calls()

    def _by_calls(self) -> float:
        n_blocks, calls, now = self.engine.n_blocks, self.engine.counts.oracle_calls, self.clock()
        if calls < max(1.0, LEAST_SHARE * n_blocks):
            return 0.0
        began, before = self._cold = self._cold or (now, calls)
        if calls - before < max(1.0, LEAST_SHARE * n_blocks):
            began, before = 0.0, 0
        return n_blocks * (now - began) / (calls - before)

    def has_time(self) -> bool:
        """Whether there is time for more, with the final certificate still to come."""
        limit = self.limits.time_limit
        if limit is None:
            return True
        now = self._look()
        is_hopeless = not self.last_certificate and not self.has_time_to_certify()
        if now >= limit or not self.goal.ends_with_certificate or is_hopeless:
            return now < limit
        ready = now + self._kept_back(limit)
        return ready < limit and ready + self._step < limit + self._grace

    def _kept_back(self, limit: float) -> float:
        """Seconds for the end: of one full pass, and of all of them where they are short."""
        once = self.seconds_to_certify()
        return self._n_final * once if self._n_final * once <= SHORT_SHARE * limit else once

    def has_time_to_certify(self, n_times: int = 1) -> bool:
        """Whether so many certificates can be had in time."""
        limit = self.limits.time_limit
        end = self.clock() + n_times * self.seconds_to_certify()
        return limit is None or end <= limit + self._grace

    @property
    def _grace(self) -> float:
        if not self.goal.ends_with_certificate:
            return 0.0
        return max(GRACE_SECONDS, GRACE_SHARE * (self.limits.time_limit or 0.0))

    def _look(self) -> float:
        now = self.clock()
        self._step = max(now - self._looked, 0.5 * self._step)
        self._looked = now
        return now

    @contextmanager
    def certifying(self) -> Iterator[None]:
        """Inside, time is up when a certificate has to be given up."""
        began, self._is_certifying = self.clock(), True
        try:
            if not self.has_time_to_certify():
                raise OutOfTimeError
            yield
            self.last_certificate = self.clock() - began
        finally:
            self._is_certifying, self._looked = False, self.clock()

    def look_up(self) -> None:
        """Asked between slices of a sweep; raises where it is to be given up."""
        goes_on = self.has_time_to_finish() if self._is_certifying else self.has_time()
        if not goes_on:
            raise OutOfTimeError

    def has_time_to_finish(self) -> bool:
        """Whether the certificate that is being made may go on."""
        limit = self.limits.time_limit
        return limit is None or self.clock() <= limit + self._grace

    def may_be_late(self) -> bool:
        """Whether the certificate just made is worth keeping, since the final one may come late."""
        return self.limits.time_limit is not None and self.last_certificate > 0.5 * self._grace

    def remedy(self, has_certificate: bool) -> str:
        """What to do where there was no time for the final certificate."""
        seconds, limit = self.seconds_to_certify(), self.limits.time_limit
        takes = f"One takes about {seconds:.2g} s here" if seconds else "Not even one was made"
        what = "last_state" if has_certificate else "state"
        given = " The result is an earlier point, which has one." if has_certificate else ""
        return (
            f"No time was left for a final certificate.{given} {takes}: raise time_limit={limit:g},"
            f" use more cores (n_jobs), or certify(problem, result.{what}, lam) what was reached."
        )
