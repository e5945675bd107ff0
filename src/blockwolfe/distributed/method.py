"""Shards as a method: its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from blockwolfe.base.checks import check_integer, is_real
from blockwolfe.distributed.engine import ShardedEngine
from blockwolfe.distributed.processes import Processes
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

RUNNERS: dict[str, type[Runner]] = {
    "serial": Serial,
    "threads": Threads,
    "processes": Processes,
}


@register
@dataclass(frozen=True)
class Sharded(Method):
    """Examples split into shards, each with a block-coordinate method of its own.

    Every shard makes visits against its own copy of w; a round ends with an exact joint step along
    what all of them have changed, which never decreases the dual. Certificates are full passes of
    all shards at one w. The same seed and number of shards give the same run to the bit, whatever
    the engine; one shard is the run of `inner` itself. Cores beyond the shards (`n_jobs`) are not
    used, kernels need one shard, and a path needs another method.

    Parameters
    ----------
    n_shards : as many shards, or fewer where there are fewer examples.
    engine : "threads", for tasks of this library and jitted ones; "processes", each with a copy
        of its examples, for oracles in Python; or "serial", one shard after another.
    inner : what each shard does: a `BCFW(...)`, an `Auto(...)`, or the name of one.
    rounds : joint steps in a pass. By default as many as take a fifth of the work, which is counted
        and not timed; at most 8.
    sigma : how many shards each one takes for pulling in its own direction, from 1 to `n_shards`.
        By default it follows what the last rounds have shown.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> bw.solve(problem, lam=0.1, method=bw.Sharded(n_shards=2), tol=1e-3).is_certified
    True
    >>> Sharded(n_shards=4, inner="bcfw+pairwise").inner.step.name
    'pairwise'
    """

    name: ClassVar[str] = "sharded"
    switches: ClassVar[dict[str, dict[str, Any]]] = {
        "serial": {"engine": "serial"},
        "averaging": {"inner": Auto(averaging=True)},
    }

    n_shards: int = 2
    engine: str = "threads"
    inner: Any = field(default_factory=Auto)
    rounds: int | None = None
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
        check_integer("rounds", self.rounds, 1, or_none=True)
        if self.sigma is not None:
            self._check_sigma()

    def _check_sigma(self) -> None:
        if not is_real(self.sigma) or not 1.0 <= float(self.sigma or 0.0) <= self.n_shards:
            raise OptionError(
                f"sigma={self.sigma!r} must be None or a number from 1 to n_shards={self.n_shards}."
            )

    @property
    def words(self) -> str:
        """How many shards, and what they do."""
        return f"{self.n_shards} shards ({self.engine}), {self.inner.words}"

    @property
    def can_walk(self) -> bool:
        """Only where there is nothing to join."""
        return self.n_shards == 1

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
