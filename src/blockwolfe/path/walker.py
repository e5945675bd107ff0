"""One walk along the path: a run that is solved, shrunk to a smaller lambda, and solved on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from blockwolfe.base.compiled import call, jit
from blockwolfe.base.inner import inner
from blockwolfe.base.nonzero import is_nonzero
from blockwolfe.dual.growth import CapTooSmallError
from blockwolfe.dual.shrink import shrink, true_slots
from blockwolfe.errors import OptionError
from blockwolfe.methods.bcfw.passes import NO_CAP
from blockwolfe.methods.bcfw.rules import ORACLE_CALLS, VIOLATIONS, VISITS
from blockwolfe.methods.engine import Engine
from blockwolfe.path.result import Breakpoint, Path
from blockwolfe.path.start import begin_at_loss, first_lam
from blockwolfe.problem.certificate import Certificate, dot, gather
from blockwolfe.problem.state import dual_value
from blockwolfe.results.status import Status
from blockwolfe.running.checkpoint import Saved, Writer
from blockwolfe.running.events import wants_stop
from blockwolfe.running.limits import Clock, Limits

__all__ = ["Walker"]

# Visits between two looks at the gap estimate, as a share of a pass: from one breakpoint to the
# next there is little to do.
SHARE = 0.25
# Kept back of eps, so that rounding cannot take a gap above it.
MARGIN = 1e-9


@jit
def _fill_slopes(
    seam: Any,
    data: Any,
    w: Any,
    weight: Any,
    truth: Any,
    store: Any,
    work: Any,
    out: Any,
) -> None:
    """out[i] = ell_i - <w, V_i>, without an oracle call."""
    for i in range(weight.shape[0]):
        begin, size = store.start[i], store.length[i]
        part, theta = store.part[begin : begin + size], w if seam.is_identity else work.theta
        if not seam.is_identity:
            seam.features.peek(data, i, w, part, size, theta)
        gather(theta, part, size, work.slot_theta)
        first, n_true = truth.start[i], truth.start[i + 1] - truth.start[i]
        true_score = dot(truth.value, work.slot_theta, first, n_true)
        mean_score = dot(store.mean, work.slot_theta, begin, size)
        out[i] = store.ell[i] - weight[i] * (true_score - mean_score)


class Walker:
    """Breakpoint after breakpoint until there is a reason to stop."""

    def __init__(
        self,
        engine: Engine,
        path: Path,
        limits: Limits,
        ends: tuple[float | None, float | None],
        callbacks: Any,
        writer: Writer | None,
    ) -> None:
        self.engine, self.run, self.path = engine, engine.run, path
        self.limits, self.callbacks, self.writer = limits, callbacks, writer
        self.lam_min, self.lam_max = ends
        self.n_blocks = len(self.run.blocks)
        self.clock = Clock()
        self.certificate: Certificate | None = None
        self._truth = true_slots(self.run.blocks)
        self._passes_since = 0.0  # passes of visits since the last full pass
        self._n_certified = 0  # certificates made at the present lambda
        self._wait = 0.0  # passes to wait after an estimate that promised too much
        self._rho = 1.0  # the next lambda over this one
        self._stops = False  # whether a callback asked to stop
        self._last_dual, self._last_gap = -np.inf, np.inf  # of the last certificate here

    # -- the walk ----------------------------------------------------------------------------

    def walk(self, saved: Saved | None) -> Path:
        """The path, as far as it goes."""
        status: Status | None = None
        try:
            status = self._begin() if saved is None else self._restore(saved)
            while status is None:
                status = self._solve_here() or self._take_down()
                if status is None:
                    self._go_on()
                    status = Status.STOPPED_BY_CALLBACK if self._stops else None
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except CapTooSmallError:
            status = Status.CACHE_FULL
        self.path.truncate(len(self.path.breakpoints))
        if not self.path.breakpoints and status is not self._ending():
            self.path.start = None  # it serves only lambdas above a first breakpoint
        self.path.status = status
        if self.writer is not None:
            self._save(self.writer)
        return self.path

    def _begin(self) -> Status | None:
        if self.lam_max is not None:
            return self._judge(self._certify())
        begin_at_loss(self.run, self.engine.workers)
        lam, self.path.start = first_lam(self.run, self.engine.workers, self.limits.tol)
        self.engine.certificate_calls += self.n_blocks  # (of the maximum over scores)
        if self.path.states is not None:
            self.path.start_state = self.run.state()
        if lam == 0.0 and self.run.blocks.bounds_error:
            raise OptionError(
                "the outputs of largest loss leave w = 0, and the oracle may not have found them; "
                "give lam_max, the largest lambda you want."
            )
        if lam == 0.0:  # w = 0 serves every lambda
            return self._ending()
        if self._is_below(lam):
            raise OptionError(
                f"lam_min={self.lam_min:g} is above the first breakpoint, {lam:.6g}: for every "
                "larger lambda the weights are a multiple of those there. Give a smaller lam_min "
                "or eps."
            )
        if self.run.blocks.bounds_error:  # (the largest losses may not have been found)
            self.path.start = None
        return self._judge(self._certify())

    def _judge(self, certificate: Certificate) -> Status | None:
        """Why an exact walk cannot go on from here, if it cannot."""
        return Status.INEXACT_ORACLE if self.path.exact and not certificate.valid else None

    def _is_below(self, lam: float) -> bool:
        return self.lam_min is not None and lam <= self.lam_min

    def _ending(self) -> Status:
        return Status.CERTIFIED if self.path.exact else Status.ESTIMATED

    # -- at one lambda --------------------------------------------------------------------------

    def _solve_here(self) -> Status | None:
        """Visits until the gap is at most kappa eps."""
        while not self._is_solved():
            reason = self._budget_spent()
            if reason is not None:
                return reason
            self.engine.advance(max(1, int(SHARE * self.n_blocks)), self._may_go_on)
            self.certificate = None
            self._passes_since += SHARE
            if self._is_due():
                reason = self._renew()
                if reason is not None:
                    return reason
        return None

    def _is_solved(self) -> bool:
        if self.path.exact:
            return self.certificate is not None and self.certificate.gap <= self.limits.tol
        return self.engine.gap_estimate <= self.limits.tol

    def _is_due(self) -> bool:
        is_long = self._passes_since >= self.engine.method.full_pass_every
        if is_long or self.engine.is_free_to_certify:
            return True
        is_promising = self.engine.gap_estimate <= self.limits.tol
        return self.path.exact and is_promising and self._passes_since >= self._wait

    def _renew(self) -> Status | None:
        """A full pass; why the walk cannot go on, if it cannot."""
        before, estimate = self._last_gap, self.engine.gap_estimate
        certificate = self._certify()
        reason = self._judge(certificate)
        if reason is not None:
            return reason
        is_short = certificate.gap > self.limits.tol
        self._wait = (
            2.0 * max(self._wait, SHARE) if is_short and estimate <= self.limits.tol else 0.0
        )
        self._n_certified += 1
        gains = certificate.dual - self._last_dual > certificate.resolution
        self._last_dual, self._last_gap = certificate.dual, certificate.gap
        is_stalled = self._n_certified > 2 and not gains and certificate.gap >= before
        return Status.STALLED if is_short and is_stalled else None

    def _certify(self) -> Certificate:
        self.certificate = self.engine.certify()
        if self.run.tally[VIOLATIONS] and not self.run.blocks.bounds_error:
            self.path.exact = False
        self._passes_since = 0.0
        return self.certificate

    # -- from one lambda to the next -----------------------------------------------------------

    def _take_down(self) -> Status | None:
        """Keep the w of this breakpoint; whether the path ends here."""
        run, path = self.run, self.path
        gap, slope = self._gap_and_slope()
        room = path.eps * (1.0 - MARGIN) - gap
        self._rho = 0.0 if slope <= room else 1.0 - room / slope
        lam_end = self._rho * run.lam
        if self._is_below(lam_end):
            lam_end = float(self.lam_min or 0.0)
        dual = dual_value(run.blocks, run.v, float(run.ell.sum()), run.lam)
        point = Breakpoint(
            lam=run.lam,
            lam_end=lam_end,
            gap=gap,
            slope=slope,
            primal=dual + gap,
            dual=dual,
            nnz=int(is_nonzero(run.w).sum()),
            norm=math.sqrt(inner(run.w, run.w)),
            seconds=self.clock(),
            passes=self._passes(),
            visits=int(run.tally[VISITS]),
        )
        path.append(point, run.w, run.state() if path.states is not None else None)
        self._stops = self._tell(point)
        is_last = self._rho == 0.0 or self._is_below(self._rho * run.lam)
        return self._ending() if is_last else None

    def _gap_and_slope(self) -> tuple[float, float]:
        """The gap here, and what it gains while lam goes to zero at the same w."""
        run = self.run
        if self.certificate is not None:
            hinge = inner(run.weight, run.hinge)
            return self.certificate.gap, hinge - self.certificate.gap
        return self.engine.gap_estimate, float(self._slopes().sum())

    def _slopes(self) -> np.ndarray:
        run, blocks = self.run, self.run.blocks
        out = np.zeros(self.n_blocks)
        args = (blocks.seam, blocks.data, run.w, run.weight, blocks.truth, run.store())
        call(_fill_slopes, blocks.kind, *args, run.work, out)
        return out

    def _go_on(self) -> None:
        """Shrink to the next lambda, with the gaps that SPEC (5) gives there."""
        run, rho = self.run, self._rho
        if self.certificate is not None:
            gap = rho * self.certificate.block_gaps + (1.0 - rho) * run.weight * run.hinge
        else:  # an estimate that is stale already is only ever raised
            gap = run.gap + (1.0 - rho) * np.maximum(self._slopes(), 0.0)
        cache = getattr(self.engine.method, "cache", None)
        max_corners = cache.max_corners if cache and cache.max_corners else NO_CAP
        shrink(run, rho, self._truth, max_corners, cache.max_bytes if cache else None)
        run.renew_gaps(gap, float(gap.sum()))
        self.certificate, self._wait, self._n_certified = None, 0.0, 0
        self._last_dual, self._last_gap = -np.inf, np.inf
        self.engine.forget()
        self._save_if_due()

    # -- budgets and callbacks ---------------------------------------------------------------------

    def _passes(self) -> float:
        calls = int(self.run.tally[ORACLE_CALLS]) + self.engine.certificate_calls
        return calls / self.n_blocks

    def _may_go_on(self) -> bool:
        limit = self.limits.time_limit
        return limit is None or self.clock() < limit

    def _budget_spent(self) -> Status | None:
        if self.limits.max_passes is not None and self._passes() >= self.limits.max_passes:
            return Status.MAX_PASSES
        return None if self._may_go_on() else Status.TIME_LIMIT

    def _tell(self, point: Breakpoint) -> bool:
        with self.clock:
            return wants_stop(self.callbacks, point)

    # -- checkpoints (which keep no states) --------------------------------------------------

    def _save_if_due(self) -> None:
        if self.writer is not None and self.writer.is_due():
            self._save(self.writer)

    def _save(self, writer: Writer) -> None:
        with self.clock:
            header, arrays = self.path.packed()
            walk = {"lam": self.run.lam, "path": header, "seconds": self.clock()}
            walk["passes_since"] = self._passes_since
            writer.write(walk | arrays, self.engine)

    def _restore(self, saved: Saved) -> Status | None:
        walk = saved.solver
        if self.lam_max is None and not len(walk["point_lam"]):
            return self._begin()  # that walk had not begun
        self._passes_since = walk.get("passes_since", 0.0)
        saved.put_into(self.engine)
        self.run.lam = walk["lam"]
        self.clock.advance(walk["seconds"])
        was = Path.unpacked(self.path.task, walk["path"], walk)
        self.path.start, self.path.weights = was.start, was.weights
        self.path.breakpoints = was.breakpoints
        points = self.path.breakpoints
        if was.status is self._ending() and self.path.lam_min <= (self.lam_min or 0.0):
            return was.status
        if points and points[-1].lam == self.run.lam:  # not left yet: it is made anew
            self.path.truncate(len(points) - 1)
        return None
