"""The walk over lambdas: a goal that solves at one, keeps its w, and goes on to a smaller one.

From one breakpoint to the next w stays, and the gap grows as in the mathematics, (5).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.inner import inner
from blockwolfe.base.nonzero import is_nonzero
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.errors import OptionError
from blockwolfe.methods.base import WalkingEngine
from blockwolfe.path.result import Breakpoint, Path
from blockwolfe.problem.blocks import Blocks
from blockwolfe.results.status import Status
from blockwolfe.running.driver import Driver
from blockwolfe.running.goals import Goal

__all__ = ["Walk"]

# Kept back of eps, so that rounding cannot take a gap above it.
MARGIN = 1e-9


class Walk(Goal[Path]):
    """Breakpoint after breakpoint, down to the smallest lambda."""

    share = 0.25  # from one breakpoint to the next there is little to do
    stays_at_lambda = False
    ends_with_certificate = False  # what was certified are the breakpoints

    def __init__(
        self,
        engine: WalkingEngine,
        blocks: Blocks,
        path: Path,
        ends: tuple[float | None, float | None],
    ) -> None:
        self._engine, self._blocks, self.path = engine, blocks, path
        self._lam_min, self._lam_max = ends
        self._has_begun = False

    @property
    def needs_certificates(self) -> bool:
        """A heuristic path goes by estimates."""
        return self.path.exact

    def passes_made(self, driver: Driver[Path]) -> float:
        """Effective passes: at many lambdas there is more certifying than visiting."""
        return self._engine.counts.effective_passes

    # -- the beginning and the end ---------------------------------------------------------------

    @property
    def has_begun(self) -> bool:
        """Whether the first lambda was certified."""
        return self._has_begun

    def begin(self, driver: Driver[Path]) -> Status | None:
        """Where the path begins: at `lam_max`, or at the first breakpoint."""
        self._engine.begin_walk()
        if self._lam_max is None:
            lam, self.path.start = self._engine.begin_at_loss(driver.limits.gap)
            if self.path.states is not None:
                self.path.start_state = self._engine.state()
            if lam == 0.0 and self._engine.has_largest_losses:  # w = 0 serves every lambda
                return self._end
            self._check_first(lam)
            if not self._engine.has_largest_losses:
                self.path.start = None
        driver.certify()
        self._has_begun = True
        return self.after_pass(driver)

    def _check_first(self, lam: float) -> None:
        if lam == 0.0:
            raise OptionError(
                "the outputs of largest loss leave w = 0, and the oracle may not have found them; "
                "give lam_max, the largest lambda you want."
            )
        if self._is_below(lam):
            raise OptionError(
                f"lam_min={self._lam_min:g} is above the first breakpoint, {lam:.6g}: for every "
                "larger lambda the weights are a multiple of those there. Give a smaller lam_min "
                "or eps."
            )

    def resume(self, driver: Driver[Path]) -> Status | None:
        """At once to the end, where it was reached; else on, to a smaller lambda if need be."""
        path = self.path
        if path.status is self._end and path.lam_min <= (self._lam_min or 0.0):
            return path.status
        if path.breakpoints and path.breakpoints[-1].lam == self._engine.lam:
            path.truncate(len(path) - 1)  # not left yet: it is made anew
        return self.after_pass(driver)

    def outcome(self, driver: Driver[Path], status: Status) -> Path:
        """The path, as far as it goes."""
        path = self.path
        path.truncate(len(path.breakpoints))
        if not path.breakpoints and status is not self._end:
            path.start = None  # it serves only lambdas above a first breakpoint
        path.status = status
        return path

    @property
    def _end(self) -> Status:
        """The ending of a walk that went all the way."""
        return Status.CERTIFIED if self.path.exact else Status.ESTIMATED

    def _is_below(self, lam: float) -> bool:
        return self._lam_min is not None and lam <= self._lam_min

    # -- at one lambda, and on to the next -------------------------------------------------------

    def after_pass(self, driver: Driver[Path]) -> Status | None:
        """Where the gap is small enough: keep w, and go on."""
        reason = self._judge(driver)
        while reason is None and self._is_solved(driver):
            reason = self._take_down(driver)
        return reason

    def _judge(self, driver: Driver[Path]) -> Status | None:
        """Why an exact walk cannot go on from here, if it cannot."""
        certificate = driver.current
        if certificate is not None and not certificate.is_finite:
            return Status.STALLED  # (a sum overflows, and no smaller lambda can mend that)
        if certificate is None or certificate.valid or not self.path.exact:
            return None
        if not self._blocks.is_exact:
            return Status.INEXACT_ORACLE
        self.path.exact = False  # it claimed to be exact and was caught: estimates from here on
        return None

    def _is_solved(self, driver: Driver[Path]) -> bool:
        if self.path.exact:
            return driver.current is not None and driver.current.reaches(driver.limits.tol)
        return self._engine.gap_estimate <= driver.limits.gap

    def _take_down(self, driver: Driver[Path]) -> Status | None:
        """Keep the w of this breakpoint, and go on; why the path ends here, if it does."""
        engine, path = self._engine, self.path
        point, rho = self._breakpoint(driver)
        path.append(point, engine.certified_w, engine.state() if path.states is not None else None)
        stops = driver.tell(point)
        if rho == 0.0 or self._is_below(rho * engine.lam):
            return self._end
        self._go_on(driver, rho)
        return Status.STOPPED_BY_CALLBACK if stops else None

    def _breakpoint(self, driver: Driver[Path]) -> tuple[Breakpoint, float]:
        """What is known here, and the share of lam at which this w has a gap of eps."""
        engine, counts = self._engine, self._engine.counts
        gap, slope = self._gap_and_slope(driver)
        room = self.path.eps * (1.0 - MARGIN) - gap
        rho = 0.0 if slope <= room else 1.0 - room / slope
        lam_end = rho * engine.lam
        dual, w = engine.dual(), engine.certified_w
        point = Breakpoint(
            lam=engine.lam,
            lam_end=float(self._lam_min or 0.0) if self._is_below(lam_end) else lam_end,
            gap=gap,
            slope=slope,
            primal=dual + gap,
            dual=dual,
            nnz=int(is_nonzero(w).sum()),
            norm=self._blocks.norm(w),
            seconds=driver.clock(),
            passes=counts.effective_passes,
            visits=counts.visits,
        )
        return point, rho

    def _gap_and_slope(self, driver: Driver[Path]) -> tuple[float, float]:
        """The gap here, and what it gains while lam goes to zero at the same w."""
        if driver.current is not None:
            gap = driver.current.gap
            return gap, inner(self._blocks.weight, self._engine.hinge) - gap
        return self._engine.gap_estimate, float(self._engine.slopes().sum())

    def _go_on(self, driver: Driver[Path], rho: float) -> None:
        """To rho times lambda, with the gaps that (5) gives there."""
        engine = self._engine
        if driver.current is not None:
            hinge = self._blocks.weight * engine.hinge
            gap = rho * driver.current.block_gaps + (1.0 - rho) * hinge
        else:  # an estimate that is stale already is only ever raised
            gap = engine.gaps + (1.0 - rho) * np.maximum(engine.slopes(), 0.0)
        driver.change_lambda(lambda: engine.shrink(rho, gap))

    # -- checkpoints (which keep no states) ------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """The path so far."""
        header, arrays = self.path.packed()
        return {"header": header, "arrays": arrays}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on with that path."""
        read, here = Reader(saved, "goal"), self.path
        parts = read.inside("header").values, read.inside("arrays").values
        found = Path.unpacked(here.task, *parts, self._blocks.n_features)
        is_claimed = found.exact and not here.exact
        if (found.eps, found.kappa) != (here.eps, here.kappa) or is_claimed:
            raise Misfit("the path there was asked for with other options.")
        self.path, self._has_begun = found, True
