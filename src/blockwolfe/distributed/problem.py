"""A problem whose examples come as shards, which no one machine need hold."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_flag
from blockwolfe.base.ragged import offsets
from blockwolfe.base.words import counted
from blockwolfe.distributed.engines import check_engine, check_installed, runner_of
from blockwolfe.distributed.remote import Care, mended
from blockwolfe.distributed.runners import Lent, Runner
from blockwolfe.distributed.splitting import LoadedExamples
from blockwolfe.distributed.survey import Held, Survey, check_can_learn, fitted_to_all
from blockwolfe.errors import InputError, OptionError
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.bounds import box_of
from blockwolfe.problem.state import State
from blockwolfe.tasks.base import Codes, Corners, Oracles
from blockwolfe.tasks.reading.vectors import check_protocol, fitted_clone

__all__ = ["ShardedProblem"]


class ShardedProblem:
    """lam/2 |w|^2 + mean hinge loss of a task on examples that come as shards.

    For `solve` and `solve_path` with `Sharded`, which they take by themselves: each shard is loaded
    by the worker that holds it, once before all runs and, without `keep`, once in each. Labels,
    names of features and their number are agreed on in the first pass. The dual point stays with
    the shards: a result has no state, and a checkpoint lets a run go on.

    Parameters
    ----------
    task : `Chain` or `Multiclass`; one that learns nothing, as your own; or any with `sample`.
    shards : each (X, Y), (X, Y, sample_weight), or a function without arguments that returns
        one of these, the same each time, and is called where the shard lives.
    engine, address : as of `Sharded`.
    keep : whether workers stay when a run ends, with the examples that they have loaded, for the
        next run: until `close()`, the end of a `with`, or of the problem. Where a worker is lost,
        its shard is loaded again. Without it each run starts workers of its own, which load anew.
    sample : (X, Y) with all labels and features, for the task to learn from in place of the shards.
    bounds : as of `Problem`.

    >>> import blockwolfe as bw
    >>> def load(first):
    ...     return [[first], [first + 1.0]], [0, 1]
    >>> from functools import partial
    >>> shards = [partial(load, 0.0), partial(load, 0.5)]
    >>> problem = bw.ShardedProblem(bw.tasks.Multiclass(), shards, engine="threads")
    >>> problem
    ShardedProblem(Multiclass(), 2 shards, 4 blocks, 4 weights)
    >>> bw.solve(problem, lam=0.1, tol=1e-3).is_certified
    True
    """

    def __init__(
        self,
        task: Any,
        shards: Any,
        engine: str = "threads",
        *,
        address: str | None = None,
        keep: bool = False,
        sample: Any = None,
        bounds: Any = None,
    ) -> None:
        check_protocol(task)
        self.shards = _checked_shards(shards)
        check_engine(engine, address)
        check_installed(engine)
        self.engine, self.address, self.bounds = engine, address, bounds
        self._keeps, self._is_lent = check_flag("keep", keep), False
        self._runner: Runner | None = None
        if sample is None:
            check_can_learn(task)
        elif not isinstance(sample, (tuple, list)) or len(sample) != 2:
            raise InputError(f"sample is a {type(sample).__name__}; expected (X, Y).")
        self.task, self.n_effective, self._held = self._surveyed(task, sample)
        self.weight = np.concatenate([held.weight for held in self._held])
        start = offsets([len(held.weight) for held in self._held])
        self.members = [np.arange(a, b) for a, b in pairwise(start)]

    def _surveyed(self, task: Any, sample: Any) -> tuple[Any, float, list[Held]]:
        """The task, fitted; the sum of all weights; and what each shard holds."""
        runner = runner_of(self.engine, Care(), self.address)(len(self.shards), self._first(task))
        try:
            self._agree(runner, task)
            fitted = task if sample is None else fitted_clone(task, *sample)
            if sample is None and callable(getattr(task, "fit", None)):
                seen = mended(runner, lambda: runner.ask("see"))
                fitted = fitted_to_all(task, seen)
            total = sum(mended(runner, lambda: runner.ask("weigh")))
            held = mended(runner, lambda: runner.ask("hold", fitted, total, self.bounds))
        except BaseException:
            runner.end()
            raise
        if self._keeps:
            runner.leave()
            self._runner, self._end = runner, weakref.finalize(self, runner.end)
        else:
            runner.end()
        for k, one in enumerate(held):
            if one.facts != held[0].facts:
                raise InputError(
                    f"shards[{k}] and shards[0] differ in {_differences(one, held[0])}; expected "
                    "the same of all."
                )
        return fitted, total, held

    def _first(self, task: Any) -> Callable[[int], Any]:
        """What shards are in the first pass."""
        return partial(_survey, task, self.shards)

    def _agree(self, runner: Runner, task: Any) -> None:
        """What there is to do before the shards are surveyors."""

    # -- workers that stay -----------------------------------------------------------------------

    def close(self) -> None:
        """Let kept workers go; runs after that start their own."""
        if self._runner is not None:
            self._end()
            self._runner = None

    def __enter__(self) -> ShardedProblem:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run_of(self, care: Care) -> Callable[[int, Callable[[int], Any]], Runner]:
        """What makes the runner of one run: new workers, or those that were kept."""
        if self._runner is None:
            return runner_of(self.engine, care, self.address)
        if self._is_lent:
            raise OptionError(
                "problem: a run is at work with its workers already; without keep=True each run "
                "has its own."
            )
        return partial(self._lent, self._runner, care)

    def _lent(
        self, runner: Runner, care: Care, n_shards: int, beginning: Callable[[int], Any]
    ) -> Runner:
        self._is_lent = True
        try:
            runner.care = care
            runner.renew(beginning)
        except BaseException:
            self._is_lent = False
            raise
        return Lent(runner, self._take_back)

    def _take_back(self) -> None:
        self._is_lent = False
        if self._runner is not None:
            self._runner.leave()

    def __len__(self) -> int:
        return len(self.weight)

    def __repr__(self) -> str:
        sizes = {"shard": len(self.shards), "block": len(self), "weight": self.n_features}
        told = ", ".join(counted(size, name) for name, size in sizes.items())
        return f"ShardedProblem({self.task!r}, {told})"

    @property
    def n_features(self) -> int:
        """Length d of w."""
        return int(self._held[0].facts["n_features"])

    @cached_property
    def unit(self) -> float:
        """What tolerances count in, as of `Problem`: the mean over shards."""
        share = [held.weight.sum() for held in self._held]
        return float(np.average([held.unit for held in self._held], weights=share))

    @cached_property
    def blocks(self) -> Blocks:
        """All that is known of them here: no examples, and no functions."""
        held, none = self._held, np.zeros(0, dtype=np.int64)
        start = np.zeros(len(self) + 1, dtype=np.int64)
        empty = Corners(start, none.astype(np.int32), np.zeros(0))
        lower, upper = box_of(self.bounds, self.task, self.n_features)
        size = np.concatenate([one.part_size for one in held])
        functions: Any = None
        sizes = [len(one.weight) for one in held]
        return Blocks(
            **held[0].facts,
            n_parts=max(one.n_parts for one in held),
            features=functions,
            oracles=functions,
            uncompiled=Oracles(None, None),
            data=None,
            make_scratch=functions,
            corner_size=size,
            part_size=size,
            truth=empty,
            true_corners=empty,
            true_codes=Codes(*empty),
            column_norm=np.concatenate([one.column_norm for one in held]),
            reads={"shards": [[one.identity for one in held]]},
            n_steps=float(np.average([one.n_steps for one in held], weights=sizes)),
            weight=self.weight,
            lower=lower,
            upper=upper,
        )

    def initial_state(self) -> State:
        """Where a run begins: its parts are with the shards."""
        blocks = self.blocks
        ell, v = np.zeros(len(self)), np.zeros(self.n_features)
        return State(*blocks.truth, ell, v, blocks.fingerprint)

    def examples(self, k: int) -> LoadedExamples:
        """Those of one shard, loaded where they live."""
        known = (self._held[k].fingerprint, self.blocks.lower, self.blocks.upper)
        return LoadedExamples(self.task, self.shards[k], k, self.n_effective, *known)

    def state(self, k: int) -> None:
        """Where one shard begins: at its true outputs."""
        return


def _survey(task: Any, shards: Sequence[Any], k: int) -> Survey:
    return Survey(task, shards[k], k)


def _checked_shards(shards: Any) -> list[Any]:
    if not isinstance(shards, Sequence) or isinstance(shards, str) or not len(shards):
        raise InputError(
            f"shards is a {type(shards).__name__}; expected a list of at least one (X, Y), or of "
            "functions that load one."
        )
    for k, shard in enumerate(shards):
        if not callable(shard) and not (isinstance(shard, (tuple, list)) and len(shard) in (2, 3)):
            raise InputError(
                f"shards[{k}] is a {type(shard).__name__}; expected (X, Y), (X, Y, sample_weight), "
                "or a function without arguments that returns one of these."
            )
    return list(shards)


def _differences(one: Held, other: Held) -> str:
    """The facts that are not the same."""
    return ", ".join(
        f"{name} ({one.facts[name]} and {other.facts[name]})"
        for name in one.facts
        if one.facts[name] != other.facts[name]
    )
