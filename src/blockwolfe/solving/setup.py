"""Before any work: everything that a run is given is checked, here, whatever its goal."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blockwolfe.base.digest import digest_of
from blockwolfe.base.identity import Identity
from blockwolfe.base.memory import memory_for
from blockwolfe.base.seeds import generator, seed_name
from blockwolfe.distributed.method import of_shards
from blockwolfe.distributed.problem import ShardedProblem
from blockwolfe.errors import InputError, ModelFileError, OptionError, unknown_option
from blockwolfe.methods.base import Method, Setup, WalkingEngine
from blockwolfe.methods.registry import as_method
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.evaluate import HeldOut, probe_oracle
from blockwolfe.problem.problem import FEWER, Problem
from blockwolfe.problem.state import State, check_state
from blockwolfe.problem.workers import Workers, check_n_jobs
from blockwolfe.running.checkpoint import (
    Checkpoint,
    Saved,
    Writer,
    checked_checkpoint,
    read_checkpoint,
    reading_checkpoint,
)
from blockwolfe.running.clock import Clock
from blockwolfe.running.driver import Driver
from blockwolfe.running.engine import Engine
from blockwolfe.running.events import Callback, checked_callbacks
from blockwolfe.running.goals import Goal, Outcome
from blockwolfe.running.limits import Limits
from blockwolfe.running.progress import PassLine, PathLine, shown
from blockwolfe.tasks.base import oracles_of
from blockwolfe.tasks.kernelized.task import is_kernelized
from blockwolfe.tasks.registry import known_tasks, task_named

__all__ = [
    "Plan",
    "check_point",
    "check_problem",
    "checked_held_out",
    "checked_method",
    "identity_of",
]

POINTS = ("best", "last")  # weights that a run may return


def check_problem(problem: Any, may_be_sharded: bool = False) -> None:
    """Refuse anything but a problem."""
    if not isinstance(problem, (Problem, ShardedProblem) if may_be_sharded else Problem):
        only = "; shards can only be solved, by bw.solve" * isinstance(problem, ShardedProblem)
        raise InputError(
            f"problem is a {type(problem).__name__}; expected blockwolfe.Problem(task, X, Y){only}."
        )


def check_point(point: Any) -> None:
    """Refuse what says of no weights that they are returned."""
    if point not in POINTS:
        raise unknown_option("point", point, POINTS)


def checked_method(problem: Problem | ShardedProblem, method: Any) -> Method:
    """A method, from its name where only that is given, all of whose oracles the task has."""
    chosen = as_method(method)
    if isinstance(problem, ShardedProblem):
        return of_shards(chosen, problem)
    offered = oracles_of(problem.task)
    for oracle in chosen.needs:
        if oracle not in offered:
            reason = getattr(problem.task, "lacks", {}).get(oracle)
            reason = "no task has it with a kernel" if is_kernelized(problem.task) else reason
            raise OptionError(
                f"method {chosen.name!r} needs the oracle {oracle!r}, which "
                f"{type(problem.task).__name__} does not have{f' ({reason})' if reason else ''}; "
                f"{_tasks_with(oracle)}."
            )
    return chosen


def _tasks_with(oracle: str) -> str:
    found = [name for name in known_tasks() if oracle in oracles_of(task_named(name))]
    return f"tasks that have it: {', '.join(found)}" if found else "no task here has it"


def checked_held_out(problem: Problem | ShardedProblem, held_out: Any) -> HeldOut | None:
    """What measures the loss on other data; data that does not fit is refused before any work."""
    if held_out is None:
        return None
    evaluate = HeldOut(problem.task, held_out)
    evaluate(np.zeros(problem.n_features))
    return evaluate


def _check_known(identity: Identity) -> None:
    """Refuse to write what nothing could show to be of the same problem later."""
    if identity.obstacles:
        raise InputError(
            f"checkpoint: no later run could be known to be of the same problem, because "
            f"{identity.explained()}. Leave out of the task's __getstate__ what its methods do "
            "without, or give no checkpoint."
        )


def identity_of(blocks: Blocks, method: Method) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    bounds = hashlib.sha256(blocks.lower.tobytes() + blocks.upper.tobytes()).hexdigest()
    return {
        "problem": blocks.fingerprint,
        "bounds": bounds,
        "method": repr(method),
    }


@dataclass(frozen=True)
class Plan:
    """What a run is made of, whatever its goal; checked."""

    problem: Problem | ShardedProblem
    method: Method
    limits: Limits
    callbacks: tuple[Callback, ...]
    rng: np.random.Generator
    seed: str | None  # what was given to draw from; None where nothing was
    n_jobs: int
    start: State | None
    keeping: Checkpoint | None

    @classmethod
    def checked(
        cls,
        problem: Problem | ShardedProblem,
        method: Method,
        limits: Limits,
        *,
        callbacks: Any,
        random_state: Any,
        n_jobs: Any,
        checkpoint: Any,
        start: Any = None,
    ) -> Plan:
        """Refuse what makes no sense."""
        method.check_blocks(problem.blocks)
        keeping, rng = checked_checkpoint(checkpoint), generator(random_state)
        if keeping is not None:
            _check_known(problem.blocks.identity)
        return cls(
            problem,
            method,
            limits,
            checked_callbacks(callbacks),
            rng,
            seed_name(random_state, rng),
            check_n_jobs(n_jobs),
            None if start is None else check_state(problem.blocks, start),
            keeping,
        )

    def carry_out(
        self,
        lam: float,
        make_goal: Callable[[Engine], Goal[Outcome]],
        identity: dict[str, Any],
        line: Callable[[], PassLine | PathLine],
        verbose: Any,
    ) -> Outcome:
        """Begin at lam, or where the checkpoint is, and go on to the end.

        `identity` is what must be the same for a checkpoint to be of this run, beside the problem
        and the method.
        """
        clock = Clock()
        identity = identity_of(self.problem.blocks, self.method) | identity | self._begun()
        saved = read_checkpoint(self.keeping, identity)
        if saved is not None and saved.has_begun:
            identity = saved.identity  # (with its seed, where none is asked for)
        writer = None if self.keeping is None else Writer(self.keeping, identity)
        with (
            memory_for("training", FEWER),
            shown(line, verbose) as lines,
            Workers(self.problem.blocks, self.n_jobs) as workers,
            self._at_work(lam, workers) as engine,
        ):
            callbacks = (*self.callbacks, *lines)
            goal = make_goal(engine)
            self._check_dual(engine)
            engine.prepare()  # (first: what it begins to compile takes longest)
            limits = replace(self.limits, unit=self.problem.unit)
            driver = Driver(engine, goal, self.method, limits, callbacks, writer, clock)
            if saved is not None:
                self._restore(driver, saved)
            workers.pace.look_up = driver.budget.look_up
            return driver.run()

    def _begun(self) -> dict[str, Any]:
        """What else a run begins with."""
        start = None if self.start is None else digest_of([self.start])
        return {"seed": self.seed, "start": start}

    def _restore(self, driver: Driver[Any], saved: Saved) -> None:
        """Go on from the checkpoint, as far as it is one."""
        assert self.keeping is not None
        with reading_checkpoint(self.keeping.path):
            driver.restore(saved)
        if not driver.verify(saved):
            raise ModelFileError(
                f"checkpoint: the certificate in {self.keeping.path} is not that of the point in "
                "it: the file is altered, or the task answers otherwise than it did. Remove the "
                "file, or give another path, to begin anew."
            )

    @contextmanager
    def _at_work(self, lam: float, workers: Workers) -> Iterator[Engine]:
        """The engine, with its workers; what it has started ends with it."""
        problem, blocks = self.problem, self.problem.blocks
        seconds = probe_oracle(blocks)
        state = problem.initial_state() if self.start is None else self.start
        place = None if self.keeping is None else self.keeping.path
        setup = Setup(blocks, state, lam, self.rng, workers, seconds, problem, place)
        engine = self.method.start(setup)
        try:
            yield engine
        finally:
            engine.end()

    def _check_dual(self, engine: Engine) -> None:
        """Refuse what a method without a dual point cannot do: begin at one, end by a gap."""
        is_open = self.limits.is_endless and not self.callbacks
        if self.start is not None and self.method.has_dual and not self.method.takes_start:
            raise OptionError(
                f"start: the method {self.method.name!r} cannot begin at a dual point, which "
                "does not determine all that it keeps; leave start out."
            )
        if not (is_open or self.start is not None):
            return
        has_point = isinstance(engine, WalkingEngine) or engine.state() is not None
        if isinstance(self.problem, ShardedProblem):  # (the point stays with the shards)
            has_point = self.start is None
        if has_point:
            return
        if self.start is not None:
            raise OptionError(
                f"start: the method {self.method.name!r} has no dual point to begin at; leave it "
                "out."
            )
        raise OptionError(
            f"method {self.method.name!r} has no dual point, so that no gap can tell it to stop; "
            "give max_passes, max_oracle_calls, time_limit or a callback."
        )
