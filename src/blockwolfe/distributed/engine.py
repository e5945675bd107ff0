"""Rounds of all shards at work, joined by exact steps; one certificate for all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.schema import Reader
from blockwolfe.distributed.parts import Parts
from blockwolfe.distributed.rounds import rounds_by_work
from blockwolfe.distributed.runners import LostError, Runner
from blockwolfe.distributed.shard import Report
from blockwolfe.distributed.splitting import Dealt
from blockwolfe.distributed.states import in_order, join_states, join_sweeps
from blockwolfe.distributed.together import Together
from blockwolfe.distributed.watching import Log
from blockwolfe.dual.walking import first_lam
from blockwolfe.methods.base import Setup
from blockwolfe.methods.diagnostics import non_uniformity
from blockwolfe.problem.certificate import certificate_of, primal_of
from blockwolfe.problem.state import State, are_within_bounds
from blockwolfe.results.certificate import Certificate, PrimalValue

if TYPE_CHECKING:
    from blockwolfe.distributed.method import Sharded

__all__ = ["ShardedEngine"]


class ShardedEngine(Together):
    """One pass after another, each in a few rounds."""

    method: Sharded

    def __init__(
        self,
        method: Sharded,
        setup: Setup,
        run: Callable[[int, Callable[[int], Any]], Runner],
    ) -> None:
        super().__init__(method.inner, method.n_shards, setup, run)
        n_shards = len(self.members)
        self.method, self.may_lose_parts = method, method.has_workers
        self._certified_w, self._hinge = self.w, np.zeros(self.n_blocks)
        self._gap_numbers: dict[str, float] = {}
        self._sigma = min(method.sigma or math.inf, float(n_shards))
        self._n_rounds = method.rounds or rounds_by_work(setup.blocks, n_shards)
        self._left = np.zeros(n_shards, dtype=np.int64)  # visits of the pass at work
        self._rounds_left = 0
        writes_parts = method.has_workers and setup.checkpoint is not None
        self._parts = Parts(setup.checkpoint) if writes_parts else None
        self._log = Log(n_shards, self.runner.is_concurrent)

    # -- rounds ----------------------------------------------------------------------------------

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """A pass of every shard over its own blocks, in rounds."""
        if not self._rounds_left:
            if self._is_torn:
                self._mend()
            with uninterrupted():
                self._begin_pass(min(max_visits, self.n_blocks))
        while self._rounds_left and may_go_on():
            self._make_round()

    def _begin_pass(self, n_visits: int) -> None:
        catalyst, visits = self._catalyst, self.counts.visits
        if catalyst is not None:
            self._centre.before_pass(
                catalyst, self.point, self._gap_of_blocks, visits, self._curvature
            )
        self._left = _shared(n_visits, self._sizes, visits)
        self._rounds_left = -(-self._n_rounds * n_visits // self.n_blocks)
        self._log.begin_pass()

    def _make_round(self) -> None:
        if self._is_torn:
            self._mend()
        visits = -(-self._left // self._rounds_left)
        began = time.perf_counter()
        each = list(zip(visits.tolist(), self._left.tolist(), strict=True))
        common = (self.point.raw, self._centre.strength, self._sigma)
        try:
            reports: list[Report | None] = self.runner.ask("go", *common, each=each)
        except LostError as lost:  # (the others have done their work)
            reports = lost.answers
        except BaseException:  # (what some have done alone is taken back by all)
            with suppress(LostError):
                self.runner.ask("settle", 0.0)
            raise
        self._join(reports)
        self._log.add(reports, time.perf_counter() - began)
        self._left -= visits
        self._rounds_left -= 1

    def _join(self, reports: list[Report | None]) -> None:
        """The joint step of a round; a shard whose worker was lost stays where it was kept."""
        known = {k: report for k, report in enumerate(reports) if report is not None}
        self._is_torn = True
        if not known:
            self._mend()
            return
        found = list(known.values())
        c, rho = self.point.step(found, self.runner.share)
        shares = np.zeros(len(reports))
        shares[list(known)] = c
        try:
            self.runner.ask("settle", each=[(float(share),) for share in shares])
        except LostError:
            self._mend()
            return
        self.point.move(found, c, self._sigma, rho, self.runner.share)
        self._notes, self._is_torn = [report.notes for report in found], False
        if self.method.sigma is None:
            # (what was measured: at once where steps were too long, else bit by bit)
            sigma = max(rho, math.sqrt(self._sigma * max(rho, 1.0)))
            self._sigma = min(sigma, float(len(reports)))

    # -- certificates ----------------------------------------------------------------------------

    def certify(self) -> Certificate:
        """A full pass of all shards at one w, which is no visit and counted apart."""
        return self._mended(self._certify)

    def _certify(self) -> Certificate:
        sums = self.runner.ask("sums")
        v, average = sum(s.v for s in sums), sum(s.average for s in sums)
        ell = self._sum_of_ells(sums)
        w = self.point.weights(average)
        found = join_sweeps(self.members, self.runner.ask("examine", w))
        is_own = self.point.rest is None
        certificate = certificate_of(self.blocks, average, ell, found, self.lam, w, is_own)
        self.point.put_all(v, self.point.total_ell if self.method.is_averaged else ell)
        self._certified_w, self._is_torn = w, False
        self._hinge = found.hinge
        taken = self.runner.ask("take", self.point.raw)
        self._notes = [notes for notes, _, _ in taken]
        self._note_gaps(*(in_order(self.members, [t[j] for t in taken]) for j in (1, 2)))
        self._certificate_calls += self.n_blocks
        if self._parts is None:  # (else new workers begin at what is on disk)
            self.runner.keep()
        is_caught = any(notes.is_caught for notes in self._notes)
        return certificate.as_estimate() if is_caught else certificate

    def _note_gaps(self, gap: np.ndarray, longest: np.ndarray) -> None:
        chi = non_uniformity(gap) if np.isfinite(gap).all() else math.nan
        factor = chi**3 / non_uniformity(longest) if longest.any() else math.nan
        self._gap_numbers = {"chi": chi, "sampling_factor": factor}

    def primal_at(self, w: np.ndarray) -> PrimalValue:
        """P at some w by a full pass."""
        found = join_sweeps(self.members, self._mended(lambda: self.runner.ask("look_at", w)))
        self._certificate_calls += self.n_blocks
        return primal_of(self.blocks, found, w, self.lam)

    def allows(self, w: np.ndarray) -> bool:
        """By the bounds of the problem."""
        return are_within_bounds(self.blocks, w)

    @property
    def can_pair(self) -> bool:
        """Unless it is an average already."""
        return not self.method.is_averaged

    @property
    def calls_to_refresh(self) -> int:
        """One per block where a certificate is of the average, and estimates are of the iterate."""
        return sum(notes.calls_to_refresh for notes in self._notes)

    def refresh(self) -> None:
        """Renew the gap estimates of the iterates."""
        if self.calls_to_refresh:
            self._mended(lambda: self.runner.ask("refresh"))
            self._notes = self._mended(lambda: self.runner.ask("notes"))

    # -- what it knows ---------------------------------------------------------------------------

    @property
    def certified_w(self) -> np.ndarray:
        """With averaging, those of the average."""
        return self._certified_w if self.method.is_averaged else self.w

    def row_numbers(self, is_certified: bool) -> dict[str, float]:
        """Active sets, rounds; the state of estimates, or the dual without a certificate."""
        active = [notes.n_active for notes in self._notes]
        numbers = {"n_active": float(np.average(active, weights=self._sizes))}
        numbers |= self._log.numbers()
        if is_certified:
            return numbers | self._gap_numbers
        return numbers if self.method.is_averaged else numbers | {"dual": self.dual()}

    def state(self) -> State | None:
        """The point of the certificate: with averaging, the average; None: it stays with shards."""
        return self._joined(is_last=False)

    def last_state(self) -> State | None:
        """The last iterate, likewise."""
        return self._joined(is_last=True)

    def _joined(self, is_last: bool) -> State | None:
        if not isinstance(self.split, Dealt):
            return None
        states = self._mended(lambda: self.runner.ask("state", is_last))
        joined = join_states(self.blocks, self.members, states, sum(s.v for s in states))
        return replace(joined, pull=self._centre.pull(self.point))

    # -- walking ---------------------------------------------------------------------------------

    @property
    def hinge(self) -> np.ndarray:
        """Upper bounds on H_i(w), from the last full pass."""
        return self._hinge

    @property
    def gaps(self) -> np.ndarray:
        """The gap of every block as last seen."""
        return self._gaps_and_slopes(0)

    def slopes(self) -> np.ndarray:
        """ell_i - <w, V_i> of every block, without an oracle call."""
        return self._gaps_and_slopes(1)

    def _gaps_and_slopes(self, which: int) -> np.ndarray:
        found = self._mended(lambda: self.runner.ask("gaps", self.point.raw))
        return in_order(self.members, [each[which] for each in found])

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """Go to rho times lambda at the same w."""
        self.point.shrink(rho)
        self._has_walked = True
        each = [(gap[some],) for some in self.members]
        self._notes = self._mended(lambda: self.runner.ask("shrink", self.lam, each=each))

    def begin_at_loss(self, tol: float) -> tuple[float, np.ndarray]:
        """Begin where all weight is on the outputs of largest loss."""
        return self._mended(lambda: self._begin_at_loss(tol))

    def _begin_at_loss(self, tol: float) -> tuple[float, np.ndarray]:
        moved_there = self.runner.ask("move_to_loss")
        self.has_largest_losses = all(is_sure for _, is_sure in moved_there)
        sums = self.runner.ask("sums")
        v, ell = sum(s.v for s in sums), self._sum_of_ells(sums)
        lam, wt = first_lam(self.blocks, v, ell, self._hinge_at, tol)
        self.point.lam, self._has_walked = lam or 1.0, True
        self.runner.ask("call_lam", self.lam)
        self.point.put_all(v, ell)
        self._notes = [notes for notes, _ in moved_there]
        self._certificate_calls += self.n_blocks  # (of the maximum over scores)
        return lam, wt

    def _hinge_at(self, w: np.ndarray) -> np.ndarray:
        return join_sweeps(self.members, self.runner.ask("look_at", w)).hinge

    # -- checkpoints -----------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """The parts of all shards, and where the round is."""
        if self._is_torn:
            self._mend()
        parts = self._mended(self._saved_parts)
        return {
            "shards": parts,
            **self.point.to_save(),
            "centre": self._centre.to_save(self.point),
            "hinge": self._hinge,
            "certified_w": self._certified_w,
            "certificate_calls": self._certificate_calls,
            "sigma": self._sigma,
            "left": self._left,
            "rounds_left": self._rounds_left,
            "log": self._log.to_save(),
        }

    def _saved_parts(self) -> dict[str, Any]:
        """By shard: what it must save, or the file to which it has done so."""
        if self._parts is None:
            return {str(k): part for k, part in enumerate(self.runner.ask("to_save"))}
        fresh = [(part,) for part in self._parts.fresh(len(self.members))]
        self._parts.note(self.runner.ask("write", each=fresh))
        return self._parts.to_save()

    def note_saved(self) -> None:
        """New workers begin there; parts of the file before may go."""
        if self._parts is not None:
            self.runner.keep(self._parts.present)
            self._parts.remove_others()

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        read, parts, d = Reader(saved), Reader(saved).inside("shards"), self.blocks.n_features
        each: list[tuple[Any]]
        if self._parts is None:
            each = [(parts.inside(str(k)).values,) for k in range(len(self.members))]
        else:
            each = [(part,) for part in self._parts.restore(parts, len(self.members))]
        self._notes = self._mended(lambda: self.runner.ask("restore", each=each))
        self.runner.keep([part for (part,) in each])
        self.point.restore(read)
        self._centre.restore(read.inside("centre").values, self.point)
        self._has_walked = True
        self._hinge = read.array("hinge", np.float64, (self.n_blocks,))
        self._certified_w = read.array("certified_w", np.float64, (d,))
        self._certificate_calls = read.integer("certificate_calls")
        self._sigma = read.number("sigma", 1.0, float(len(self.members)))
        self._left = read.array("left", np.int64, (len(self.members),), least=0)
        self._rounds_left = read.integer("rounds_left")
        self._log.restore(read.inside("log"))


def _shared(n_visits: int, sizes: np.ndarray, first: int) -> np.ndarray:
    """Visits of each shard, after `first` visits: together in proportion to their blocks.

    Visits go through all blocks in steps of about 0.618 of their number, which spreads any few of
    them evenly: no shard is left out for long, however short passes are.

    >>> sizes = np.array([5, 4, 5])
    >>> [_shared(3, sizes, first).tolist() for first in (0, 3, 6)], _shared(14, sizes, 9).tolist()
    ([[2, 0, 1], [1, 1, 1], [1, 1, 1]], [5, 4, 5])
    """
    n_blocks = int(sizes.sum())
    step = next(k for k in range(int(0.618 * n_blocks), n_blocks + 2) if math.gcd(k, n_blocks) == 1)
    visited = np.arange(first, first + n_visits) % n_blocks * step % n_blocks
    shard = np.searchsorted(np.cumsum(sizes), visited, side="right")
    return np.bincount(shard, minlength=len(sizes))
