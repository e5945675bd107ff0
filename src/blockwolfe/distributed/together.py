"""All shards of a run together: what they know and sum up to, and new workers for lost ones."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from blockwolfe.distributed.problem import ShardedProblem
from blockwolfe.distributed.runners import LostError, Runner
from blockwolfe.distributed.shard import Beginning, Notes, Sums
from blockwolfe.distributed.splitting import Dealt
from blockwolfe.distributed.states import in_order
from blockwolfe.distributed.whole import Whole
from blockwolfe.errors import OptionError
from blockwolfe.methods.accelerated import AroundCentre
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.catalyst import Catalyst, Centre
from blockwolfe.results.counts import Counts

__all__ = ["Together"]

Anything = TypeVar("Anything")


class Together(AroundCentre):
    """Shards that are at work somewhere, and the dual point that they make."""

    point: Whole

    def __init__(
        self,
        inner: Method,
        n_shards: int,
        setup: Setup,
        run: Callable[[int, Callable[[int], Any]], Runner],
    ) -> None:
        self.blocks, self.n_blocks = setup.blocks, len(setup.blocks)
        self.split = _split_of(setup, n_shards)
        self.members = self.split.members
        self._sizes = np.array([len(some) for some in self.members])
        self.point = Whole(setup.blocks, setup.lam, setup.state.v, float(setup.state.ell.sum()))
        self._centre, self._problem = Centre(setup.lam), setup.problem
        self._certificate_calls = 0
        self._has_walked = False  # whether lambda is not the one that shards begin with
        self._is_torn = False  # whether v here is not the sum over shards, as after Ctrl-C
        self.runner = run(len(self.members), self._beginnings(setup, inner))
        self._notes: list[Notes] = []
        try:
            self._notes = self._mended(self._checked_notes)
            if all(notes.is_accelerated for notes in self._notes):
                self._take_up(setup.state)
        except BaseException:
            self.end()
            raise
        # (`counts` adds up the sweeps of all shards, each over its own corners)
        self.sweep_share = self._notes[0].sweep_share / len(self.members)

    def _beginnings(self, setup: Setup, inner: Method) -> Callable[[int], Beginning]:
        """What each shard is made from: once, or again where its worker was lost."""
        seeds = setup.rng.integers(2**63, size=len(self.members))
        split, lam = self.split, setup.lam

        def beginning(k: int) -> Beginning:
            return Beginning(split.examples(k), inner, split.state(k), lam, int(seeds[k]))

        return beginning

    def _checked_notes(self) -> list[Notes]:
        """Refuse a task that numbers its parts otherwise where it sees other examples."""
        if isinstance(self.split, Dealt):
            for k, truth in enumerate(self.runner.ask("truth")):
                if not self.split.is_numbered_alike(k, *truth):
                    raise OptionError(
                        "method='sharded': the task numbers the parts of an example otherwise "
                        "where it is given only some of them; use another method for this task."
                    )
        return self.runner.ask("notes")

    def end(self) -> None:
        """Let the shards go."""
        self.runner.end()

    def prepare(self) -> None:
        """In every shard."""
        self._mended(lambda: self.runner.ask("prepare"))

    # -- lost workers ----------------------------------------------------------------------------

    def _mended(self, work: Callable[[], Anything]) -> Anything:
        """What `work` returns, from the beginning of it where workers were lost."""
        while True:
            try:
                return work()
            except LostError:
                self._mend()

    def _mend(self) -> None:
        """New workers for those that are lost, at shards as they were kept; v is theirs now."""
        self._is_torn = True
        while True:
            self.runner.replace_lost()
            with suppress(LostError):
                self.runner.ask("settle", 0.0)
                if self._has_walked:
                    self.runner.ask("shrink", self.lam, None)
                sums, self._notes = self.runner.ask("sums"), self.runner.ask("notes")
                break
        self.point.put_all(sum(s.v for s in sums), self._sum_of_ells(sums))
        self._centre.forget_distance()
        self._is_torn = False

    def _sum_of_ells(self, sums: list[Sums]) -> float:
        return float(in_order(self.members, [s.ell for s in sums]).sum())

    # -- what it knows ---------------------------------------------------------------------------

    @property
    def w(self) -> np.ndarray:
        """The weights of the present iterate."""
        return self.point.w

    @property
    def counts(self) -> Counts:
        """How much work was done, by all shards."""
        names = [field.name for field in fields(Counts)]
        totals = {n: sum(getattr(k.counts, n) for k in self._notes) for n in names}
        totals["certificate_calls"] += self._certificate_calls
        return Counts(**totals)

    @property
    def gap_estimate(self) -> float:
        """Sum of the block gaps as last seen, infinite until all were seen, and the distance."""
        self._centre.measure(self.point, self.counts.visits)
        return self._gap_of_blocks + self._centre.distance

    @property
    def _gap_of_blocks(self) -> float:
        return float(sum(notes.gap for notes in self._notes))

    @property
    def has_visited_open(self) -> bool:
        """Whether every block that had a gap at the last certificate was visited since."""
        return all(notes.has_visited_open for notes in self._notes)

    @property
    def _catalyst(self) -> Catalyst | None:
        """That of the methods of shards, where they agree: a new worker may be early yet."""
        wanted = self._notes[0].catalyst
        return wanted if all(notes.catalyst == wanted for notes in self._notes) else None

    def _curvature(self) -> float:
        total = sum(notes.curvature for notes in self._notes)
        return total / (np.count_nonzero(self.blocks.weight > 0.0) * self._problem.unit)


def _split_of(setup: Setup, n_shards: int) -> Dealt | ShardedProblem:
    problem = setup.problem
    return problem if isinstance(problem, ShardedProblem) else Dealt(setup, n_shards)
