"""One shard: some of the examples, and a method that works on them as if the others stood still.

It knows the weights of all shards only as it is told: `go` takes w, makes visits against a copy of
its own, and answers with what they have changed; `settle` says how much of that was taken. What it
keeps at rest is a dual point of its own blocks, whatever the others do, so that the points of all
shards together are one dual point at any moment.

*Sigma.* With `sigma` > 1 a shard goes by the dual with its quadratic term multiplied: as if so many
shards made the change that it makes. That is the very same work at lam / sigma, from the same w. By
Jensen's inequality changes that were made with sigma = K, the number of shards, can be added: the
dual then gains at least what all shards have gained by their own reckoning.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blockwolfe.base.inner import inner
from blockwolfe.base.schema import Reader
from blockwolfe.distributed.parts import Part
from blockwolfe.dual.returning import Whereabouts, go_back, whereabouts
from blockwolfe.methods.auto import Auto
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.bcfw.engine import BlockEngine
from blockwolfe.methods.catalyst import Catalyst
from blockwolfe.problem.blocks import Blocks, make_blocks
from blockwolfe.problem.state import (
    State,
    Store,
    dual_at,
    initial_state,
    rebuild_v,
    within_bounds,
)
from blockwolfe.problem.sweep import Sweep, sweep
from blockwolfe.problem.workers import Workers
from blockwolfe.results.counts import Counts

__all__ = ["Beginning", "Examples", "Notes", "Report", "Shard", "Sums"]


@dataclass(frozen=True)
class Examples:
    """The examples of a shard, as they travel to where it lives."""

    task: Any
    X: Any
    Y: Any
    weight: np.ndarray  # shares of all examples, not of the shard's
    lower: np.ndarray
    upper: np.ndarray

    def blocks(self, shelf: dict[str, Any]) -> Blocks:
        """In the form that methods work on."""
        made = make_blocks(self.task, self.X, self.Y, self.weight)
        return replace(made, lower=self.lower, upper=self.upper)


@dataclass(frozen=True)
class Beginning:
    """What a shard is made from."""

    examples: Any  # what has `blocks()`: `Examples`, or those that are loaded where they live
    inner: Method
    state: State | None  # of its own blocks; None: all weight on the true outputs
    lam: float
    seed: int

    def make(self, shelf: dict[str, Any]) -> Shard:
        """Where it lives."""
        return Shard(self, self.examples.blocks(shelf))


@dataclass(frozen=True)
class Notes:
    """What a shard knows about itself."""

    counts: Counts
    gap: float  # sum of the gaps of its blocks as last seen
    has_visited_open: bool
    n_active: float
    is_caught: bool
    calls_to_refresh: int
    sweep_share: float  # what a sweep over its corners counts for, as a share of a pass over them
    is_accelerated: bool  # whether its method ever asks for a centre
    catalyst: Catalyst | None  # what it asks for now
    curvature: float  # sum of |d_i|^2 / weight_i of a long step in each of its blocks
    words: str  # that method, and why


@dataclass(frozen=True)
class Report:
    """What a shard has done in a round."""

    change: np.ndarray  # of v, by its blocks
    ell: float  # likewise
    slope: float  # of the dual along the change, at the weights that the round began with
    square: float  # |change|^2
    gain: float  # of the dual, as far as the shard can tell
    seconds: float
    notes: Notes


@dataclass(frozen=True)
class Sums:
    """The sums over a shard's blocks of which the whole is made."""

    v: np.ndarray  # of the iterate
    average: np.ndarray  # of the average; where there is none, of the iterate as well
    ell: np.ndarray  # by block, of the average or the iterate


class Shard:
    """Some blocks at work; every method is a message with an answer."""

    def __init__(self, begun: Beginning, blocks: Blocks) -> None:
        self.blocks = blocks
        state = initial_state(self.blocks) if begun.state is None else begun.state
        v = rebuild_v(self.blocks, state.store())
        workers = Workers(self.blocks, 1)
        rng = np.random.default_rng(begun.seed)
        setup = Setup(self.blocks, replace(state, v=v), begun.lam, rng, workers)
        inner = begun.inner
        engine = inner.start_on_corners(setup) if isinstance(inner, Auto) else inner.start(setup)
        assert isinstance(engine, BlockEngine)
        self.engine, self._v, engine.led_at = engine, v, 1.0
        self._change = np.zeros(0)
        self._before: Whereabouts | None = None  # the point before a round that is not settled
        self._store: Store | None = None
        self._found: Sweep | None = None

    def prepare(self) -> None:
        """Compile whatever will run."""
        self.engine.prepare()

    def truth(self) -> tuple[np.ndarray, np.ndarray]:
        """The true outputs, by which parts are known to have the same numbers everywhere."""
        return np.diff(self.blocks.truth.start), self.blocks.truth.part

    # -- rounds ----------------------------------------------------------------------------------

    def go(
        self, raw: np.ndarray, strength: float, sigma: float, n_visits: int, max_visits: int
    ) -> Report:
        """So many visits at the weights `raw`, of a pass of which at most `max_visits` are left.

        They are at `strength` times lambda: that of the centre of all shards.
        """
        began, engine, point = time.perf_counter(), self.engine, self.engine.point
        lam, self._before = point.lam, whereabouts(point)
        ell, engine.stride = point.total_ell, n_visits
        point.lam, engine.led_at = strength * lam / sigma, strength
        point.place(raw)
        if engine.method.conjugate is not None:  # (rounds rebuild w from v; nothing else does)
            point.rest = raw - self._v / point.lam
        try:
            if n_visits:  # (without any it would begin a pass, and end it)
                engine.advance(max_visits, _always)
        finally:
            at, point.lam, point.rest, engine.stride = point.lam, lam, None, None
        self._change = point.raw - raw
        self._change *= at
        gained = point.total_ell - ell
        slope, square, gain = self._along(raw, gained, at)
        seconds = time.perf_counter() - began
        return Report(self._change, gained, slope, square, gain, seconds, self.notes())

    def _along(self, raw: np.ndarray, ell: float, lam: float) -> tuple[float, float, float]:
        """Of the change of a round at `raw`: slope, square, and the gain at this lambda."""
        change, blocks, w = self._change, self.blocks, within_bounds(self.blocks, raw)
        slope, square = ell - inner(w, change), inner(change, change)
        if not blocks.is_bounded:
            return slope, square, slope - square / (2.0 * lam)
        before, after = (dual_at(blocks, x, 0.0, lam) for x in (raw, self.engine.point.raw))
        return slope, square, ell + after - before

    def settle(self, coefficient: float) -> None:
        """That much of the last round was taken; none of it also where it was not finished."""
        before, self._before = self._before, None
        if before is None:
            return
        if coefficient != 1.0:
            cache, visits = self.engine.method.cache, self.engine.ledger.visits
            max_bytes = cache.max_bytes if cache is not None else None
            go_back(self.engine.point, before, 1.0 - coefficient, visits, max_bytes)
        if coefficient == 1.0:
            self._v += self._change
        elif coefficient > 0.0:
            self._v += coefficient * self._change

    def notes(self) -> Notes:
        """What it knows about itself."""
        engine = self.engine
        return Notes(
            engine.counts,
            engine.gap_estimate,
            engine.has_visited_open,
            engine.point.n_active(),
            engine.is_caught,
            engine.calls_to_refresh,
            engine.sweep_share,
            engine.is_accelerated,
            engine.method.catalyst,
            engine.curvature(),
            engine.note or engine.method.words,
        )

    # -- certificates ----------------------------------------------------------------------------

    def sums(self) -> Sums:
        """Its part of v and ell, free of the rounding of many steps."""
        self.settle(0.0)  # (of a round that was interrupted)
        point = self.engine.point
        self._store = store = self.engine.tidied()
        average = rebuild_v(self.blocks, store)
        self._v = rebuild_v(self.blocks, point.store()) if point.has_average else average.copy()
        return Sums(self._v.copy(), average, store.ell)

    def examine(self, w: np.ndarray) -> Sweep:
        """One oracle call per block at w; the answers are kept until `take`."""
        store = self.engine.tidied() if self._store is None else self._store
        self._found = sweep(self.blocks, store, w, *self.engine.own)
        return self._found

    def take(self, raw: np.ndarray) -> tuple[Notes, np.ndarray, np.ndarray]:
        """A certificate was made of what was examined, and the iterate is at `raw`.

        The gap estimates that follow, and the square of the longest direction of each block.
        """
        found, engine = self._found, self.engine
        assert found is not None
        engine.point.place(raw)
        engine.take(found, float((found.answers.gap + self.blocks.weight * found.slack).sum()))
        engine.note_certified()
        self._found = self._store = None
        return self.notes(), engine.ledger.gap, engine.ledger.notes.longest

    def look_at(self, w: np.ndarray) -> Sweep:
        """The same as `examine` at any w, from which nothing follows."""
        return sweep(self.blocks, self.engine.tidied(), w, *self.engine.own)

    def refresh(self) -> float:
        """Gap estimates of the iterate, after a certificate of the average; their sum."""
        self.engine.refresh()
        return self.engine.gap_estimate

    # -- walking ---------------------------------------------------------------------------------

    def move_to_loss(self) -> tuple[Notes, bool]:
        """All weight to the outputs of largest loss; whether they have surely been found."""
        self.settle(0.0)
        self.engine.move_to_loss()
        return self.notes(), self.engine.has_largest_losses

    def call_lam(self, lam: float) -> None:
        """The same dual point, at another lambda."""
        self.engine.call_lam(lam)

    def shrink(self, lam: float, gap: np.ndarray | None) -> Notes:
        """To a smaller lambda at the same w, where it is not there yet; None: its gaps as (5) says.

        A new worker may begin at any larger lambda, or at the true outputs, which are all the same
        at each.
        """
        engine, rho = self.engine, lam / self.engine.lam
        if rho < 1.0:
            hinge = self.blocks.weight * engine.hinge
            engine.shrink(rho, rho * engine.gaps + (1.0 - rho) * hinge if gap is None else gap)
            self._v = rho * self._v
        elif gap is not None:
            engine.ledger.renew_gaps(gap, float(gap.sum()))
        engine.call_lam(lam)
        return self.notes()

    def gaps(self, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gap of every block as last seen, and what it gains towards lambda zero."""
        self.engine.point.place(raw)
        return self.engine.gaps, self.engine.slopes()

    # -- at rest ---------------------------------------------------------------------------------

    def state(self, is_last: bool) -> State:
        """Its part of the dual point of the last certificate, or of the last iterate."""
        return self.engine.last_state("") if is_last else self.engine.state("")

    def to_save(self) -> dict[str, Any]:
        """Everything that its part of a checkpoint must hold."""
        self.settle(0.0)  # (of a round that was interrupted)
        return self.engine.to_save() | {"v": self._v}

    def write(self, part: Part) -> Part:
        """The same, to a file of its own."""
        return part.written(self.to_save())

    def restore(self, saved: dict[str, Any] | Part) -> Notes:
        """Go on as before `to_save`."""
        saved = saved.values() if isinstance(saved, Part) else saved
        self.engine.restore(saved)
        self._v = Reader(saved).array("v", np.float64, (self.blocks.n_features,)).copy()
        self._before = self._store = self._found = None
        return self.notes()


def _always() -> bool:
    return True
