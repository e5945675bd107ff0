"""Shards as a method: its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from blockwolfe.base.checks import check_integer, check_positive, is_real
from blockwolfe.distributed.engine import ShardedEngine
from blockwolfe.distributed.engines import WITH_WORKERS, check_engine, check_installed, runner_of
from blockwolfe.distributed.problem import ShardedProblem
from blockwolfe.distributed.remote import Care
from blockwolfe.errors import OptionError
from blockwolfe.methods.auto import Auto
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.bcfw.settings import BCFW
from blockwolfe.methods.registry import as_method
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.problem import Problem
from blockwolfe.rules.registry import register
from blockwolfe.running.engine import Engine

__all__ = ["Sharded", "of_shards"]


@register
@dataclass(frozen=True)
class Sharded(Method):
    """Examples split into shards, each with a block-coordinate method of its own.

    Every shard makes visits against its own copy of w; a round ends with an exact joint step along
    what all of them have changed, which never decreases the dual. Certificates are full passes of
    all shards at one w. The same seed and number of shards give the same run to the bit, whatever
    the engine; one shard is the run of `inner` itself. Cores beyond the shards (`n_jobs`) are not
    used, and kernels need one shard.

    Parameters
    ----------
    n_shards : as many shards, or fewer where there are fewer examples.
    engine : "threads", for tasks of this library and jitted ones; "processes", each with a copy
        of its examples, for oracles in Python; "ray", an actor of a Ray cluster each (needs the
        extra `ray`); or "serial", one shard after another.
    inner : what each shard does: a `BCFW(...)`, an `Auto(...)`, or the name of one. Where it is
        accelerated (`catalyst`), all shards go by one centre.
    rounds : joint steps in a pass. By default as many as take a fifth of the work, which is counted
        and not timed; at most 8.
    sigma : how many shards each one takes for pulling in its own direction, from 1 to `n_shards`.
        By default it follows what the last rounds have shown.
    address : of a Ray cluster, as `ray.init` takes it. None is the one in use, or else a local one
        for this run alone.
    restarts : how often the worker of a shard, in a process or an actor, is replaced when it is
        lost. The new one begins at the last certificate, or at the last checkpoint where there is
        one; work that was lost is not counted.
    timeout : seconds after which a worker that has not answered is taken for lost. None is a minute
        and ten times what the slowest of the others took. To start, ten minutes are allowed.

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
    address: str | None = field(default=None, repr=False)
    restarts: int = field(default=3, repr=False)
    timeout: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_integer("n_shards", self.n_shards, 1)
        check_engine(self.engine, self.address)
        object.__setattr__(self, "inner", as_method(self.inner))
        if not isinstance(self.inner, (Auto, BCFW)):
            raise OptionError(
                f"inner={self.inner!r} must be a block-coordinate method: BCFW(...), Auto(...) or "
                'a name such as "bcfw+gap+pairwise".'
            )
        check_integer("rounds", self.rounds, 1, or_none=True)
        if self.sigma is not None:
            self._check_sigma()
        self._check_workers()

    def _check_sigma(self) -> None:
        if not is_real(self.sigma) or not 1.0 <= float(self.sigma or 0.0) <= self.n_shards:
            raise OptionError(
                f"sigma={self.sigma!r} must be None or a number from 1 to n_shards={self.n_shards}."
            )

    def _check_workers(self) -> None:
        """What is said of workers in other processes."""
        check_integer("restarts", self.restarts, 0)
        if self.timeout is not None:
            check_positive("timeout", self.timeout, hint=" of seconds, or None")

    @property
    def words(self) -> str:
        """How many shards, and what they do."""
        return f"{self.n_shards} shards ({self.engine}), {self.inner.words}"

    @property
    def has_workers(self) -> bool:
        """Whether shards live in other processes, which may be lost."""
        return self.engine in WITH_WORKERS

    @property
    def is_monotone(self) -> bool:
        """As of the methods of shards: the joint step never decreases the dual."""
        return bool(self.inner.is_monotone)

    @property
    def can_stall(self) -> bool:
        """As of the methods of shards."""
        return bool(self.inner.can_stall)

    @property
    def is_averaged(self) -> bool:
        """As of the methods of shards."""
        return bool(self.inner.is_averaged)

    @property
    def full_pass_every(self) -> float:
        """As of the methods of shards."""
        return float(self.inner.full_pass_every)

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse a kernel, what the method of shards refuses, and a library that is missing."""
        check_installed(self.engine)
        self.inner.check_blocks(blocks)
        if blocks.kernel is not None and self.n_shards > 1:
            raise OptionError(
                f"n_shards={self.n_shards} with a kernel: every shard would need the rows of all "
                "others; use n_shards=1."
            )

    def start(self, setup: Setup) -> Engine:
        """Rounds of shards; of a single one there is nothing to join."""
        is_whole = isinstance(setup.problem, Problem)
        if is_whole and (self.n_shards == 1 or len(setup.blocks) == 1):
            return self.inner.start(setup)
        care = Care(self.restarts, self.timeout)
        if isinstance(setup.problem, ShardedProblem):
            return ShardedEngine(self, setup, setup.problem.run_of(care))
        return ShardedEngine(self, setup, runner_of(self.engine, care, self.address))


def of_shards(method: Method, problem: ShardedProblem) -> Sharded:
    """The method for a problem that comes as shards: the one given, or in each shard."""
    n_shards = len(problem.shards)
    if not isinstance(method, Sharded):
        return Sharded(n_shards, problem.engine, method, address=problem.address)
    if method.n_shards != n_shards:
        raise OptionError(
            f"method has n_shards={method.n_shards}, and the problem {n_shards} shards; give "
            f"Sharded(n_shards={n_shards}, ...)."
        )
    if (method.engine, method.address) != (problem.engine, problem.address):
        raise OptionError(
            f"method has engine={method.engine!r} and address={method.address!r}, and the problem "
            f"{problem.engine!r} and {problem.address!r}; give Sharded the same as the problem."
        )
    return method
