"""How examples come to shards: dealt from a problem, or given as shards from the beginning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blockwolfe.distributed.shard import Examples
from blockwolfe.distributed.states import dealt, split_state
from blockwolfe.distributed.survey import loaded
from blockwolfe.dual.growth import corners_of
from blockwolfe.errors import InputError
from blockwolfe.methods.base import Setup
from blockwolfe.problem.blocks import Blocks, make_blocks
from blockwolfe.problem.state import State
from blockwolfe.tasks.reading.inputs import taken

__all__ = ["Dealt", "LoadedExamples"]


class Dealt:
    """The examples of a problem, dealt to shards."""

    def __init__(self, setup: Setup, n_shards: int) -> None:
        assert setup.problem is not None
        self._problem, self._blocks, self._state = setup.problem, setup.blocks, setup.state
        if setup.state.active is None:  # (of one kind in all shards, or they could not be joined)
            self._state = replace(setup.state, active=corners_of(setup.blocks, setup.state))
        self.members = dealt(len(setup.blocks), min(n_shards, len(setup.blocks)))

    def examples(self, k: int) -> Examples:
        """Those of one shard."""
        some, blocks, problem = self.members[k], self._blocks, self._problem
        X, Y = taken(problem.X, some), taken(problem.Y, some)
        return Examples(problem.task, X, Y, blocks.weight[some], blocks.lower, blocks.upper)

    def state(self, k: int) -> State:
        """Where one shard begins."""
        return split_state(self._state, self.members[k])

    def is_numbered_alike(self, k: int, length: np.ndarray, part: np.ndarray) -> bool:
        """Whether the true outputs of shard k are those of the problem, part by part."""
        truth = self._blocks.truth
        whole = State(*truth, np.zeros(len(self._blocks)), part, "")
        own = split_state(whole, self.members[k])
        return np.array_equal(np.diff(own.start), length) and np.array_equal(own.part, part)


@dataclass(frozen=True)
class LoadedExamples:
    """The examples of a shard that is loaded where it lives."""

    task: Any
    shard: Any
    number: int
    total: float  # the weight of all shards
    fingerprint: str | None  # of what it held before; None where there is none
    lower: np.ndarray
    upper: np.ndarray

    def blocks(self, shelf: dict[str, Any]) -> Blocks:
        """In the form that methods work on: made once for each place."""
        if "blocks" not in shelf:
            shelf["blocks"] = self._made()
        return replace(shelf["blocks"], lower=self.lower, upper=self.upper)

    def _made(self) -> Blocks:
        X, Y, weight = loaded(self.shard, self.number)
        made = make_blocks(self.task, X, Y, weight / self.total)
        if self.fingerprint is not None and made.fingerprint != self.fingerprint:
            raise InputError(
                f"shards[{self.number}] gives other examples than before; its function must give "
                "the same ones, in the same order, each time."
            )
        return made
