"""What a solver returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.markup import table
from blockwolfe.base.words import counted
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.counts import Counts
from blockwolfe.results.status import Status
from blockwolfe.results.trace import Trace

__all__ = ["REMEDIES", "Result", "RunResult"]


REMEDIES = {
    Status.MAX_PASSES: "Raise max_passes, or tol, or lam; features of very unequal scale are slow.",
    Status.MAX_ORACLE_CALLS: "Raise max_oracle_calls, or tol, or lam.",
    Status.TIME_LIMIT: "Raise time_limit, or tol, or lam.",
    Status.CACHE_FULL: "Raise max_corners or max_bytes of the cache, or leave them out.",
    Status.STALLED: "Raise tol or lam, or scale features: steps gain less than rounding here.",
    Status.INEXACT_ORACLE: "Use an exact decoder (check_task tests it), or take "
    "estimates. (Nor is anything certified where a kernel is not positive semidefinite.)",
    Status.SHARD_LOST: "See the ShardLostError; a checkpoint lets the next run go on.",
    Status.INTERRUPTED: "Go on with start=result.last_state, in solve or in fit.",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class RunResult:
    """What every run tells: how good its point is, and how it was reached."""

    certificate: Certificate
    status: Status
    trace: Trace
    counts: Counts
    seconds: float
    tol: float
    method: Any
    note: str = ""  # what an automatic method chose, and why
    remedy: str = ""  # what to try when the run was not certified

    @property
    def message(self) -> str:
        """The ending in one sentence, with gap and tolerance."""
        return (
            f"{self.status.sentence} ({self.certificate.figure}, {self.certificate.kind}; "
            f"tol {self.tol:.3g})"
        )

    @property
    def is_certified(self) -> bool:
        """Whether the gap is at most `tol` and valid: the oracle was exact, or proved bounds."""
        return self.status is Status.CERTIFIED

    def rows(self) -> list[tuple[str, str]]:
        """Name and value of what a summary says of the run."""
        certificate, counts = self.certificate, self.counts
        return [
            ("method", f"auto: {self.note}" if self.note else self.method.words),
            ("ending", f"{self.status.name}: {self.status.sentence}"),
            ("gap", self._gap_in_words()),
            ("optimum", certificate.bounds),
            (
                "work",
                f"{counted(counts.visits, 'visit')}, "
                f"{counts.effective_passes:.1f} effective passes, {self.seconds:.2f} s",
            ),
            *self._rounds_in_words(),
        ]

    def _rounds_in_words(self) -> list[tuple[str, str]]:
        """Of shards, where there are any: communication is the median over passes."""
        timed = [row for row in self.trace if row.slowest_shard >= 0]
        if not timed:
            return []
        share = np.median([row.communication_share for row in timed])
        most = int(np.bincount([row.slowest_shard for row in timed]).argmax())
        text = f"{timed[-1].rounds}, {share:.0%} communication, shard {most} mostly slowest"
        return [("rounds", text)]

    def _gap_in_words(self) -> str:
        certificate = self.certificate
        if certificate.is_primal_only:
            return f"not known   ({certificate.kind})"
        is_share = certificate.is_finite and certificate.primal > 0.0 and certificate.gap >= 0.0
        share = f"; {certificate.gap / certificate.primal:.2%} of the primal" if is_share else ""
        relative = "" if certificate.unit == 1.0 else f"relative {certificate.relative_gap:.4g}; "
        kind = f"{certificate.kind}; {relative}tol {self.tol:.4g}{share}"
        return f"{certificate.gap:.4g}   ({kind})"

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.status.name}, {self.certificate!r}, {self.seconds:.2f} s)"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(RunResult):
    """Weights, certificate, and how they were reached.

    `w`, `state` and `certificate` belong together (`certify(problem, state, lam, w=w)` makes the
    last one anew): with averaging they are those of the weighted average, and `last_state` is the
    last iterate, from which a run can go on. A method without a dual point has neither state, and
    its certificate has a primal alone.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> bw.solve(problem, lam=0.1, tol=1e-6).status.name
    'CERTIFIED'
    """

    w: np.ndarray
    state: Any  # a `State`, or None
    last_state: Any
    lam: float

    def _repr_html_(self) -> str:
        """The summary, for notebooks."""
        return table([("lam", f"{self.lam:.6g}"), *self.rows()], caption="Result")
