"""`solve`: run a method on a problem until it is certified or a budget ends."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from blockwolfe.base.seeds import generator
from blockwolfe.errors import InputError
from blockwolfe.methods.bcfw.cache import check_cache_cap
from blockwolfe.methods.engines import make_engine
from blockwolfe.methods.settings import as_method
from blockwolfe.problem.evaluate import HeldOut, probe_oracle
from blockwolfe.problem.problem import Problem, check_lam
from blockwolfe.problem.state import check_state
from blockwolfe.problem.workers import Workers, check_n_jobs
from blockwolfe.results.result import Result
from blockwolfe.running.checkpoint import (
    Writer,
    checked_checkpoint,
    identity_of,
    read_checkpoint,
)
from blockwolfe.running.driver import Solver
from blockwolfe.running.events import ProgressLine, checked_callbacks
from blockwolfe.running.limits import Limits

__all__ = ["solve"]


def solve(
    problem: Problem,
    lam: float,
    method: Any = "auto",
    tol: float = 1e-3,
    *,
    max_passes: int | str | None = None,
    max_oracle_calls: int | None = None,
    time_limit: float | None = None,
    start: Any = None,
    random_state: Any = None,
    callbacks: Any = (),
    held_out: Any = None,
    targets: Any = (),
    n_jobs: int | None = None,
    checkpoint: Any = None,
    verbose: int = 0,
) -> Result:
    """Minimise (1) to a certified gap of at most `tol`.

    Parameters
    ----------
    problem : the task with its data.
    lam : regularisation strength, > 0.
    method : "auto", "bcfw", "fw", a name with options such as "bcfw+gap+pairwise+cache",
        or a method object.
    tol : stop when the certified gap P - D is at most this (absolute).
    max_passes, max_oracle_calls, time_limit : budgets, None for no limit; `max_passes="auto"` is
        1000, or 200,000 visits where there are fewer than 200 examples. Oracle calls include
        those of certificates, and the last n are kept for the final one; so is time for it.
    start : a `State` of the same problem (`result.last_state`) to go on from, at any lambda.
    random_state : seed; the same seed gives the same run (with `n_jobs` > 1 and a slow Python
        oracle not to the bit: how many are called at a time goes by the clock).
    callbacks : functions of one `Event` per pass; returning True stops the run.
    held_out : (X, Y) on which the mean task loss is traced with every certificate.
    targets : further gaps, larger than `tol`: a certificate is made as soon as the estimate
        reaches the next of them, so that one run tells the time to each.
    n_jobs : cores for full passes and dear oracles; -1 for all. It does not change certificates
        of compiled tasks, and Python tasks run in processes.
    checkpoint : a `Checkpoint(path, every=60)`: the run is written to a file every so many
        seconds, and the same call goes on from that file after a crash.
    verbose : 1 shows a live progress line.

    Ctrl-C ends the run and returns what has been reached, with its certificate.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> result = bw.solve(problem, lam=0.1, tol=1e-6)
    >>> result.status.name, result.certificate.gap <= 1e-6
    ('CERTIFIED', True)
    """
    if not isinstance(problem, Problem):
        raise InputError(
            f"problem is a {type(problem).__name__}; expected blockwolfe.Problem(task, X, Y)."
        )
    lam, chosen, n_jobs = check_lam(lam), as_method(method), check_n_jobs(n_jobs)
    limits = Limits.checked(tol, max_passes, max_oracle_calls, time_limit, len(problem), targets)
    functions = checked_callbacks(callbacks)
    seed = generator(random_state)
    evaluate = HeldOut(problem.task, held_out) if held_out is not None else None
    blocks = problem.blocks
    state = problem.initial_state() if start is None else check_state(blocks, start)
    check_cache_cap(chosen, blocks)
    keeping = checked_checkpoint(checkpoint)
    identity = identity_of(blocks, lam, chosen)
    saved = read_checkpoint(keeping, identity)
    if evaluate is not None:
        evaluate(np.zeros(blocks.n_features))  # data that does not fit is refused before any work
    with (
        ProgressLine(limits.max_passes) if verbose else nullcontext() as line,
        Workers(blocks, n_jobs) as workers,
    ):
        probe_oracle(blocks)
        engine = make_engine(chosen, blocks, state, lam, seed, workers)
        engine.prepare()
        watching = (*functions, line) if line is not None else functions
        writer = Writer(keeping, identity) if keeping is not None else None
        solver = Solver(engine, chosen, limits, watching, evaluate, writer)
        if saved is not None:
            solver.restore(saved)
        return solver.solve(certify_first=start is not None)
