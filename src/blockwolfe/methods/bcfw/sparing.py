"""Visits where every oracle call counts: few calls, and all that is known brought to its optimum.

After every few calls the weights of all stored corners are brought close to their joint optimum
(`dual.conjugate`), which needs no oracle. So each call is made at a w that knows all corners so
far, and at the block whose oracle is expected to find most beyond them. A full pass for a
certificate asks all blocks at one w: the corners that it finds are stored too, and are worth as
much as those of visits. It is left as soon as the answers show that the gap is too large.

Where any w may reach the tolerance, blocks are asked at a longer w than that of the dual point, if
that promises a smaller gap (`dual.ahead`). Certificates are then of the longer w.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.inner import inner
from blockwolfe.base.pace import LeftError
from blockwolfe.base.schema import Reader
from blockwolfe.dual.ahead import LONGEST, Ahead, at_length, at_own, look_ahead
from blockwolfe.dual.conjugate import Climb, climb, put
from blockwolfe.dual.planes import insert_found
from blockwolfe.methods.base import Setup
from blockwolfe.methods.bcfw.cache import Cache
from blockwolfe.methods.bcfw.conjugate import Conjugate
from blockwolfe.methods.bcfw.engine import BlockEngine
from blockwolfe.methods.bcfw.rules import FROM_ORACLE
from blockwolfe.methods.bcfw.settings import BCFW
from blockwolfe.problem.state import Pull, State, weights_of
from blockwolfe.problem.sweep import Answers, Asking, Sweep
from blockwolfe.results.certificate import Certificate
from blockwolfe.rules.sampling import Draws, MaxGap
from blockwolfe.rules.steps import Pairwise

__all__ = ["SparingEngine"]

# Rounds in a pass of calls, at most: one after each call where blocks are few.
ROUNDS_PER_PASS = 20
# Rounds end where stored corners lack this share of the estimated gap.
SHARE = 0.01
# Heights of stored corners are summed up over the steps of a round: so many digits are theirs.
CLOSE = 1e-9
TINY = float(np.finfo(np.float64).tiny)
# Share of the gap to reach that a longer w may take.
MOST_AHEAD = 0.5
RULES = BCFW(
    sampling=MaxGap(), step=Pairwise(), cache=Cache(), conjugate=Conjugate(1, n_iterations=100)
)


class SparingEngine(BlockEngine):
    """A few calls, a round, and so on; certificates that are steps as well."""

    certifies_early = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(RULES, setup, keeps_corners=True)
        n_jobs = self.workers.n_jobs
        self._every = max(1, self.n_blocks // ROUNDS_PER_PASS, n_jobs if n_jobs > 1 else 1)
        self._n_known = 0  # oracle calls of visits before the last round
        self._has_stored = False  # whether a certificate has stored corners since then
        # by how much the last answers were above stored corners; how that changes with the length
        self._excess, self._drift = np.full(self.n_blocks, np.inf), np.zeros(self.n_blocks)
        self._ahead = at_own(self.n_blocks)
        self.aim = 0.0  # a gap that a longer w may reach; 0: it may not
        self._first_length = self._length_of(setup.state)
        self._asked_at = np.zeros(self.n_blocks, dtype=np.int64)  # after how many calls
        self.sweep_share = 0.0  # (beside calls that take long)
        self.note = f"{self.method.words}; the oracle is slow"

    def _length_of(self, state: State) -> float:
        """How much longer the weights of a state are than those of its dual point."""
        pull, v = state.pull, state.v
        is_ours = pull is not None and pull.strength == 1.0 and pull.lam == self.lam
        if pull is None or not is_ours or self.blocks.is_bounded:
            return 1.0
        along = self.lam * self.blocks.inner(pull.rest, v) / max(self.blocks.inner(v, v), TINY)
        return float(np.clip(1.0 + along, 1.0, LONGEST))

    def prepare(self) -> None:
        """And rounds, which begin at once."""
        super().prepare()
        self._prepare_rounds()

    def aim_at(self, gap: float) -> None:
        """Begin at the weights of the state, if these may be longer."""
        self.aim = gap
        self._ahead = self._stored(self._first_length if gap > 0.0 else 1.0)

    # -- one pass -----------------------------------------------------------------------------

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """Calls and rounds in turn; ends with a round, unless it is left."""
        with uninterrupted():
            if not self._is_open:
                self._begin_pass(max_visits)
            # (certificates since it began have taken of the same budget)
            until = self._done + max_visits
            self._draws = Draws(self._draws.block[:until], self._draws.uniform[:until])
        until = self._until
        while (self._done < until or self._is_due) and may_go_on():
            if self._is_due:
                self._round(may_go_on)
            else:
                self._ask(until)
        self._is_open = self._done < len(self._draws.block) or self._is_due

    def _begin_pass(self, max_visits: int) -> None:
        """No stored corner stands in for a call: after a round none has much left to gain."""
        super()._begin_pass(max_visits)
        self._source = FROM_ORACLE

    @property
    def _n_new(self) -> int:
        """Oracle calls since the last round."""
        return int(self.ledger.counts["oracle_calls"]) - self._n_known

    @property
    def _is_due(self) -> bool:
        is_last = self._n_new > 0 and self._done == len(self._draws.block)
        return self._has_stored or is_last or self._n_new >= self._every

    def _ask(self, until: int) -> None:
        """One call, since it may take long; with workers, all up to the next round together."""
        most = self._every - self._n_new if self.workers.n_jobs > 1 else 1
        self._next_batch(min(most, until - self._done))

    @property
    def asked_w(self) -> np.ndarray:
        """As long as was found to be best after the last round."""
        return self._ahead.length * self.w if self._ahead.length > 1.0 else self.w

    @property
    def _sampled_gap(self) -> np.ndarray:
        """What a call is expected to find."""
        return self._excess if self.aim > 0.0 else super()._sampled_gap

    def _drawn(self, block: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """Of equal estimates, blocks that were asked longest ago."""
        chosen, by_gap = block.copy(), np.flatnonzero(block < 0)
        chosen[by_gap] = np.lexsort((self._asked_at, -self._sampled_gap))[: len(by_gap)]
        return chosen

    def _note_answers(self, order: np.ndarray, found: Answers) -> None:
        """And how far they are above what was known (as heights and losses are linear in w)."""
        super()._note_answers(order, found)
        self._asked_at[order] = int(self.ledger.counts.oracle_calls) + self.certificate_calls
        ahead, weight = self._ahead, self.blocks.weight[order]
        excess = np.maximum(found.gap - ahead.gaps[order], 0.0)
        drift = (excess - weight * (found.loss - ahead.loss[order])) / ahead.length
        self._excess[order], self._drift[order] = excess, np.where(excess > 0.0, drift, 0.0)

    def _round(self, may_go_on: Callable[[], bool]) -> None:
        gap, most = self._sampled_gap, RULES.conjugate.n_iterations if RULES.conjugate else 0
        known = self._ahead.gap if self.aim > 0.0 else 0.0
        tol = SHARE * (known + float(gap[np.isfinite(gap)].sum()))
        found = climb(self.point, self.ledger.notes.longest, most, tol, may_go_on)
        if found is not None:
            with uninterrupted():  # (the point moves, and the round is made: both or neither)
                is_there = put(self.point, found)
                self._rounds.n_sweeps += found.n_done
                self._n_known, self._has_stored = self._n_known + self._n_new, False
                self._go_ahead(self._looked_ahead(found) if is_there else self._stored())

    def _go_ahead(self, ahead: Ahead) -> None:
        """Ask at another length from now on."""
        excess = self._excess + (ahead.length - self._ahead.length) * self._drift
        self._excess, self._ahead = np.maximum(excess, 0.0), ahead

    def _looked_ahead(self, found: Climb) -> Ahead:
        """From a round on; not where weights are bounded, since a longer w may be out of bounds."""
        is_known = np.isfinite(self._excess).all() and len(found.height) > 0
        if not (is_known and self.aim > 0.0) or self.blocks.is_bounded:
            return self._known(found, 1.0)
        drift = float(self._drift.sum())
        return look_ahead(found, *self._scales, drift, MOST_AHEAD * self.aim)

    def _stored(self, length: float = 1.0) -> Ahead:
        """What stored corners tell where the point is."""
        found = climb(self.point, self.ledger.notes.longest, 0, 0.0, lambda: True)
        return at_own(self.n_blocks) if found is None else self._known(found, length)

    def _known(self, found: Climb, length: float) -> Ahead:
        if not len(found.height):
            return at_own(self.n_blocks)
        return at_length(found, *self._scales, length)

    @property
    def _scales(self) -> tuple[np.ndarray, float]:
        return self.blocks.weight, self.lam * self.blocks.inner(self.w, self.w)

    # -- certificates ---------------------------------------------------------------------------

    def certify(self) -> Certificate:
        """A full pass, whose corners are stored: the point stays, the next round goes by them."""
        return self._stored_pass()

    def certify_below(self, gap: float) -> Certificate:
        """Blocks asked longest ago come first: what they tell has changed most."""
        known = self._ahead

        def is_above(order: np.ndarray, found: Answers) -> bool:
            # (slack of bounds is left out: no step makes it smaller)
            more = np.maximum(found.gap - known.gaps[order], 0.0)
            return known.gap + float(more.sum()) > gap

        oldest_first = np.argsort(self._asked_at, kind="stable")
        at_once = self._every if self.workers.n_jobs > 1 else 1
        try:
            return self._stored_pass(Asking(oldest_first, at_once, is_above))
        except LeftError as left:
            self.ledger.counts.violations += self.blocks.is_exact and not left.found.is_valid
            self._check(left.order, left.found)
            self._store(left.order, left.found.answers)
            raise

    def _stored_pass(self, asking: Asking | None = None) -> Certificate:
        certificate, found = self._full_pass(keep=True, asking=asking)
        self._store(np.arange(self.n_blocks), found.answers)
        return certificate

    def take(self, found: Sweep, gap: float) -> None:
        """And what the answers say of the oracle; block gaps are those of the longer w."""
        self._check(np.arange(self.n_blocks), found)
        slack = inner(self.blocks.weight, found.answers.slack)
        super().take(found, float(found.answers.gap.sum()) + slack)

    def _check(self, order: np.ndarray, found: Sweep) -> None:
        """An answer below a stored corner, where heights of those are of this w, is no maximum."""
        if self.aim == 0.0 or self._n_new > 0 or self._has_stored or not self.blocks.is_exact:
            return
        known, weight = self._ahead.gaps[order], self.blocks.weight[order]
        rounding = CLOSE * (weight * found.magnitude + self.point.arrays.ell[order])
        self.ledger.counts.violations += int((found.answers.gap < known - rounding).sum())

    def _store(self, order: np.ndarray, found: Answers) -> None:
        """What a certificate has found, as if by visits that have not stepped yet."""
        with uninterrupted():
            self._note_answers(order, found)
            self.certificate_calls += len(order)
            insert_found(self.point, order, found, self.ledger.visits)
            self._has_stored = True
            self._plant_tree()

    def _weights_at(self) -> Callable[[np.ndarray], np.ndarray] | None:
        if not self._ahead.length > 1.0:
            return super()._weights_at()
        return lambda v: self._ahead.length * weights_of(self.blocks, v, self.lam)

    @property
    def certified_w(self) -> np.ndarray:
        """Those at which blocks are asked."""
        return self.asked_w

    @property
    def gap_estimate(self) -> float:
        """Not known between calls and the round that follows them."""
        if self._n_new > 0 or (self._has_stored and self.aim > 0.0):
            return float("inf")
        known = self._ahead.gap + float(self._excess.sum())
        return known if self.aim > 0.0 else super().gap_estimate

    @property
    def can_pair(self) -> bool:
        """A look at an average would cost a full pass."""
        return False

    @property
    def has_visited_open(self) -> bool:
        """A certificate stores a corner of every block."""
        return True

    def state(self, fingerprint: str | None = None) -> State:
        """With the weights that its certificate is of."""
        return self._lengthened(super().state(fingerprint))

    def last_state(self, fingerprint: str | None = None) -> State:
        """Likewise."""
        return self._lengthened(super().last_state(fingerprint))

    def _lengthened(self, state: State) -> State:
        if not self._ahead.length > 1.0:
            return state
        return replace(state, pull=Pull(self.lam, 1.0, self.asked_w - state.v / self.lam))

    def begin_at_loss(self, tol: float) -> tuple[float, np.ndarray]:
        """All weight is on what those calls have found: no round has more to gain."""
        found, self._ahead = super().begin_at_loss(tol), at_own(self.n_blocks)
        self._n_known += self._n_new
        return found

    def call_lam(self, lam: float) -> None:
        """Heights are others there."""
        super().call_lam(lam)
        self._ahead = at_own(self.n_blocks)

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """And a round at the new lambda."""
        super().shrink(rho, gap)
        self._has_stored = True

    # -- checkpoints ------------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """And what the last round knew, and calls have told since then."""
        ahead = {f"ahead.{name}": value for name, value in self._ahead._asdict().items()}
        return (
            super().to_save()
            | ahead
            | {
                "n_known": self._n_known,
                "has_stored": self._has_stored,
                "excess": self._excess,
                "drift": self._drift,
                "asked_at": self._asked_at,
            }
        )

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        read, n_blocks, is_bounded = Reader(saved), (self.n_blocks,), self.blocks.is_bounded
        self._n_known = read.integer("n_known", most=int(self.ledger.counts.oracle_calls))
        self._has_stored = read.flag("has_stored")
        self._excess = read.array("excess", np.float64, n_blocks, least=0.0, is_finite=False)
        self._drift = read.array("drift", np.float64, n_blocks)
        self._asked_at = read.array("asked_at", np.int64, n_blocks, least=0)
        self._ahead = Ahead(
            read.number("ahead.length", least=1.0, most=1.0 if is_bounded else LONGEST),
            read.number("ahead.gap"),
            read.array("ahead.gaps", np.float64, n_blocks),
            read.array("ahead.loss", np.float64, n_blocks),
        )
