"""What all methods with a dual point have in common: the point, a ledger, certificates, walking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockwolfe.base.compiled import rehearsal
from blockwolfe.base.inner import inner
from blockwolfe.base.schema import Reader
from blockwolfe.dual.point import DualPoint
from blockwolfe.dual.shrink import shrink
from blockwolfe.dual.walking import block_slopes, first_lam, state_of_corners
from blockwolfe.methods.base import Setup, WalkingEngine
from blockwolfe.methods.diagnostics import gap_numbers
from blockwolfe.methods.ledger import Ledger
from blockwolfe.problem.certificate import examine
from blockwolfe.problem.pairing import primal_at
from blockwolfe.problem.state import (
    State,
    Store,
    are_within_bounds,
    initial_state,
    weights_of,
)
from blockwolfe.problem.sweep import Asking, Sweep, prepare, sweep
from blockwolfe.results.certificate import Certificate, PrimalValue
from blockwolfe.results.counts import Counts

__all__ = ["DualEngine", "inside"]


class DualEngine(WalkingEngine):
    """A method at work on a dual point."""

    def __init__(self, setup: Setup, has_average: bool, keeps_corners: bool) -> None:
        self.blocks, self.workers = setup.blocks, setup.workers
        self.point = DualPoint(setup.blocks, setup.state, setup.lam, has_average, keeps_corners)
        self.ledger = Ledger(len(setup.blocks))
        self.own = setup.blocks.own()  # work and scratch of full passes; visits share the scratch
        self.n_blocks = len(setup.blocks)
        self.certificate_calls = 0
        self._average_w = self.point.arrays.w
        self._open = np.zeros(self.n_blocks, dtype=np.bool_)  # with a gap at the last certificate
        self._visits_certified = 0
        self._visits_tidied = -1  # at the last tidying; -1: none since weights were scaled

    def prepare(self) -> None:
        """Compile whatever will run, so that no measured second goes into compiling."""
        with rehearsal():
            self._tidy_point()
            self._prepare_passes()
        # (what takes longest is compiled first; all else meanwhile, beside this process)
        self._prepare_visits()
        self._tidy()
        self._prepare_passes()

    def _prepare_visits(self) -> None:
        return

    def _prepare_passes(self) -> None:
        prepare(self.blocks, self.point.store(), *self.own)

    # -- certificates --------------------------------------------------------------------------

    def certify(self) -> Certificate:
        """A full pass at the dual point, which is no visit and counted apart."""
        certificate, _ = self._full_pass()
        self.certificate_calls += self.n_blocks
        return certificate

    def _full_pass(
        self, keep: bool = False, asking: Asking | None = None
    ) -> tuple[Certificate, Sweep]:
        """Certify the point (with averaging: the average); renews w and, if it can, the gaps."""
        point, means, weights = self.point, self.tidied(), self._weights_at()
        certificate, v, found = examine(
            self.blocks, means, self.lam, *self.own, keep, self.workers, weights, asking
        )
        if point.has_average:
            self._average_w = weights_of(self.blocks, v, point.lam)
            point.rebuild(self.workers)
        else:
            point.put(v)
        self.take(found, certificate.gap)
        return self._noted(certificate), found

    def _weights_at(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """The weights to certify, by v, where they are not v / lam within bounds."""
        return None if self.point.rest is None else self.point.weights

    def tidied(self) -> Store:
        """The means that a certificate is of: with averaging, the average."""
        self._tidy()
        return self.point.store(self._n_averaged, workers=self.workers)

    def take(self, found: Sweep, gap: float) -> None:
        """Hinges of a full pass at `tidied` and, unless they are of the average, block gaps."""
        self.ledger.put(hinge=found.hinge)
        if not self.point.has_average:
            # (of the corners that were found: slack of bounds is no progress to be made)
            own = gap - inner(self.blocks.weight, found.answers.slack)
            self.ledger.renew_gaps(found.answers.gap, own)

    def primal_at(self, w: np.ndarray) -> PrimalValue:
        """P at some w by a full pass."""
        value = primal_at(self.blocks, self.tidied(), w, self.lam, *self.own, self.workers)
        self.certificate_calls += self.n_blocks
        return value

    def allows(self, w: np.ndarray) -> bool:
        """By the bounds of the problem."""
        return are_within_bounds(self.blocks, w)

    @property
    def can_pair(self) -> bool:
        """Unless it is an average already."""
        return not self.point.has_average

    def _tidy(self) -> None:
        """Once after the last visit: a certificate that was interrupted is made from the same."""
        visits = int(self.ledger.counts.visits)
        if self._visits_tidied != visits:
            self._tidy_point()
            self._visits_tidied = visits

    def _tidy_point(self) -> None:
        self.point.tidy(self.ledger.notes.last_visit)

    def _noted(self, certificate: Certificate) -> Certificate:
        """A certificate that was just made, as what it is worth."""
        self.note_certified()
        return certificate.as_estimate() if self.is_caught else certificate

    def note_certified(self) -> None:
        """A certificate was just made: which blocks had a gap then."""
        self._open = self.ledger.gap > 0.0
        self._visits_certified = int(self.ledger.counts.visits)

    @property
    def is_caught(self) -> bool:
        """Whether a visit has seen its oracle give less than a known output."""
        # (a rough oracle may give less: it claims no maximum)
        claims = self.blocks.rough is None and not self.blocks.bounds_error
        return claims and bool(self.ledger.counts.violations)

    @property
    def _n_averaged(self) -> int:
        return int(self.ledger.counts.visits) if self.point.has_average else 0

    # -- what it knows -------------------------------------------------------------------------

    @property
    def lam(self) -> float:  # type: ignore[override]
        """Lambda of the point."""
        return self.point.lam

    @property
    def w(self) -> np.ndarray:
        """The weights of the present iterate."""
        return self.point.arrays.w

    @property
    def certified_w(self) -> np.ndarray:
        """With averaging, those of the average."""
        return self._average_w if self.point.has_average else self.w

    @property
    def counts(self) -> Counts:
        """How much work was done."""
        # (all at once: each look at a record by name takes microseconds)
        visits, steps, drops, cache_hits, oracle_calls, *_ = self.ledger.counts.tolist()
        work = (visits, steps, drops, cache_hits, oracle_calls)
        return Counts(self.n_blocks, *work, self.certificate_calls, self.n_sweeps)

    @property
    def n_sweeps(self) -> int:
        """Sweeps over all stored corners."""
        return 0

    @property
    def gap_estimate(self) -> float:
        """Sum of the block gaps as last seen; infinite until all were seen."""
        return float(self.ledger.gap.sum())

    @property
    def has_visited_open(self) -> bool:
        """Whether every block that had a gap at the last certificate was visited since."""
        return not (self.ledger.notes.last_visit[self._open] < self._visits_certified).any()

    def row_numbers(self, is_certified: bool) -> dict[str, float]:
        """Active sets; the state of the estimates, or the dual where no certificate tells it."""
        numbers = {"n_active": self.point.n_active()}
        if is_certified:
            return numbers | gap_numbers(self.ledger)
        return numbers if self.point.has_average else numbers | {"dual": self.dual()}

    def state(self, fingerprint: str | None = None) -> State:
        """The point of the certificate: with averaging, the average."""
        return self.point.state(self._n_averaged, fingerprint)

    def last_state(self, fingerprint: str | None = None) -> State:
        """The last iterate."""
        return self.point.state(fingerprint=fingerprint)

    # -- walking -------------------------------------------------------------------------------

    @property
    def hinge(self) -> np.ndarray:
        """Upper bounds on H_i(w), from the last full pass."""
        return self.ledger.notes.hinge

    @property
    def gaps(self) -> np.ndarray:
        """The gap of every block as last seen."""
        return self.ledger.gap

    def dual(self) -> float:
        """D of the present iterate."""
        return self.point.dual()

    def slopes(self) -> np.ndarray:
        """ell_i - <w, V_i> of every block, without an oracle call."""
        return block_slopes(self.point)

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """Go to rho times lambda at the same w; `gap` are the block gaps (or estimates) there."""
        cache = getattr(self.method, "cache", None)
        max_corners = cache.max_corners if cache else None
        shrink(self.point, rho, max_corners, cache.max_bytes if cache else None)
        self.ledger.renew_gaps(gap, float(gap.sum()))
        self._visits_tidied = -1

    def begin_at_loss(self, tol: float) -> tuple[float, np.ndarray]:
        """Begin where all weight is on the outputs of largest loss."""
        self.move_to_loss()
        point, store = self.point, initial_state(self.blocks).store()
        point.rebuild(self.workers)
        v, ell = point.v, float(point.arrays.ell.sum())

        def hinge_at(w: np.ndarray) -> np.ndarray:
            return sweep(self.blocks, store, w, *self.own, workers=self.workers).hinge

        lam, wt = first_lam(self.blocks, v, ell, hinge_at, tol)
        self.certificate_calls += self.n_blocks  # (of the maximum over scores)
        if wt.any():
            point.lam = lam if lam > 0.0 else 1.0
            point.put(v)
        return lam, wt

    def move_to_loss(self) -> None:
        """All weight to the outputs of largest loss: one oracle call per block at w = 0."""
        blocks, point, counts = self.blocks, self.point, self.ledger.counts
        w, store = np.zeros(blocks.n_features), initial_state(blocks).store()
        found = sweep(blocks, store, w, *self.own, keep=True, workers=self.workers)
        self.has_largest_losses = found.is_exact or not blocks.bounds_error
        state = state_of_corners(blocks, found.answers)
        self.point = DualPoint(blocks, state, point.lam, point.has_average, point.keeps_corners)
        counts.visits += self.n_blocks
        counts.oracle_calls += self.n_blocks

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """The point, the ledger, and what the last certificate left."""
        return {
            **{f"point.{name}": value for name, value in self.point.to_save().items()},
            **{f"ledger.{name}": value for name, value in self.ledger.to_save().items()},
            "certificate_calls": self.certificate_calls,
            "average_w": self._average_w,
            "open": self._open,
            "visits_certified": self._visits_certified,
            "visits_tidied": self._visits_tidied,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        read = Reader(saved)
        self.point.restore(inside(saved, "point."))
        self.ledger.restore(inside(saved, "ledger."))
        self.certificate_calls = read.integer("certificate_calls")
        self._average_w = read.array("average_w", np.float64, (self.blocks.n_features,))
        self._open = read.array("open", np.bool_, (self.n_blocks,))
        self._visits_certified = read.integer("visits_certified")
        self._visits_tidied = read.integer("visits_tidied", least=-1)
        self.point.check_ell(is_tidy=self._visits_tidied == int(self.ledger.counts.visits))


def inside(saved: dict[str, Any], prefix: str) -> dict[str, Any]:
    """What was saved by names that begin so."""
    return {n.removeprefix(prefix): value for n, value in saved.items() if n.startswith(prefix)}
