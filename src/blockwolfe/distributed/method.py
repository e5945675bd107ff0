"""Shards as a method: its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from blockwolfe.base.checks import check_integer
from blockwolfe.distributed.engine import ShardedEngine
from blockwolfe.distributed.runners import Runner, Serial, Threads
from blockwolfe.errors import OptionError, unknown_option
from blockwolfe.methods.auto import Auto
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.bcfw.settings import BCFW
from blockwolfe.methods.registry import as_method
from blockwolfe.problem.blocks import Blocks
from blockwolfe.rules.registry import register
from blockwolfe.running.engine import Engine

__all__ = ["Sharded"]

RUNNERS: dict[str, type[Runner]] = {"serial": Serial, "threads": Threads}


@register
@dataclass(frozen=True)
class Sharded(Method):
    """Examples split into shards, each with a block-coordinate method of its own.

    >>> Sharded(n_shards=4, inner="bcfw+pairwise").inner.step.name
    'pairwise'
    """

    name: ClassVar[str] = "sharded"
    can_walk = False
    switches: ClassVar[dict[str, dict[str, Any]]] = {
        "serial": {"engine": "serial"},
        "averaging": {"inner": Auto(averaging=True)},
    }

    n_shards: int = 2
    engine: str = "threads"
    inner: Any = field(default_factory=Auto)
    rounds: int = 1
    sigma: float | None = None

    def __post_init__(self) -> None:
        check_integer("n_shards", self.n_shards, 1)
        if self.engine not in RUNNERS:
            raise unknown_option("engine", self.engine, list(RUNNERS))
        object.__setattr__(self, "inner", as_method(self.inner))
        if not isinstance(self.inner, (Auto, BCFW)):
            raise OptionError(
                f"inner={self.inner!r} must be a block-coordinate method: BCFW(...), Auto(...) or "
                'a name such as "bcfw+gap+pairwise".'
            )
        check_integer("rounds", self.rounds, 1)

    @property
    def words(self) -> str:
        """How many shards, and what they do."""
        return f"{self.n_shards} shards ({self.engine}), {self.inner.words}"

    @property
    def is_monotone(self) -> bool:
        """As of the methods of shards: the joint step never decreases the dual."""
        return bool(self.inner.is_monotone)

    @property
    def is_averaged(self) -> bool:
        """As of the methods of shards."""
        return bool(self.inner.is_averaged)

    @property
    def full_pass_every(self) -> float:
        """As of the methods of shards."""
        return float(self.inner.full_pass_every)

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse a kernel, and what the method of shards refuses."""
        self.inner.check_blocks(blocks)
        if blocks.kernel is not None and self.n_shards > 1:
            raise OptionError(
                f"n_shards={self.n_shards} with a kernel: every shard would need the rows of all "
                "others; use n_shards=1."
            )

    def start(self, setup: Setup) -> Engine:
        """Rounds of shards; of a single one there is nothing to join."""
        if self.n_shards == 1 or len(setup.blocks) == 1:
            return self.inner.start(setup)
        return ShardedEngine(self, setup, RUNNERS[self.engine])
