"""The regularisation path: from one breakpoint to the next, at the same w (SPEC section 4)."""

from __future__ import annotations

import numbers
from contextlib import nullcontext
from typing import Any

import numpy as np

from blockwolfe.base.seeds import generator
from blockwolfe.errors import InputError, OptionError
from blockwolfe.methods.engines import make_engine
from blockwolfe.methods.settings import Method, as_method
from blockwolfe.path.progress import PathLine
from blockwolfe.path.result import Path
from blockwolfe.path.start import check_box
from blockwolfe.path.walker import Walker
from blockwolfe.path.weights import Weights
from blockwolfe.problem.evaluate import probe_oracle
from blockwolfe.problem.problem import Problem, check_lam
from blockwolfe.problem.state import State
from blockwolfe.problem.workers import Workers, check_n_jobs
from blockwolfe.running.checkpoint import (
    Writer,
    checked_checkpoint,
    identity_of,
    read_checkpoint,
)
from blockwolfe.running.events import checked_callbacks
from blockwolfe.running.limits import Limits

__all__ = ["solve_path"]

KAPPA = {True: 0.9, False: 0.7}


def solve_path(
    problem: Problem,
    eps: float,
    lam_min: float | None = None,
    method: Any = "auto",
    kappa: float | None = None,
    exact: bool = True,
    *,
    lam_max: float | None = None,
    max_passes: int | None = None,
    time_limit: float | None = None,
    random_state: Any = None,
    callbacks: Any = (),
    keep_states: bool = False,
    n_jobs: int | None = None,
    checkpoint: Any = None,
    verbose: int = 0,
) -> Path:
    """Weights for every lambda >= `lam_min`, each with a certified gap of at most `eps`.

    Parameters
    ----------
    eps : the gap of (1) that every lambda is to have at most (absolute).
    lam_min : where to end; None goes on until one w serves every smaller lambda. Where no w
        separates the data to within eps that never comes, and smaller lambdas take ever longer:
        give a lam_min, or a budget.
    method : as in `solve`; any block method without averaging, or "fw".
    kappa : each breakpoint is solved to a gap of kappa eps, in (0, 1). By default 0.9, and 0.7
        for the heuristic path.
    exact : False makes no full passes to certify a breakpoint and goes by estimates: cheaper,
        but nothing is certified.
    lam_max : where to begin; needed only under bounds that are not 0 or infinite. By default the
        first breakpoint comes from a closed form, and every larger lambda is served too.
    max_passes, time_limit : budgets for the whole path.
    callbacks : functions of one `Breakpoint` each; returning True ends the path.
    keep_states : keep the dual point of every breakpoint, for independent certificates.
    checkpoint : as in `solve`: the same call goes on from that file after a crash. It is written
        between breakpoints.
    verbose : 1 shows a live progress line.

    Ctrl-C ends the path and returns what has been reached.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> path = solve_path(problem, eps=0.1, lam_min=0.01)
    >>> path.status.name, max(point.gap for point in path.breakpoints) <= 0.1
    ('CERTIFIED', True)
    """
    if not isinstance(problem, Problem):
        raise InputError(
            f"problem is a {type(problem).__name__}; expected blockwolfe.Problem(task, X, Y)."
        )
    eps, kappa = _checked_eps(eps), _checked_kappa(kappa, exact)
    chosen, n_jobs = _checked_method(method), check_n_jobs(n_jobs)
    ends = (_checked_end(lam_min), _checked_end(lam_max))
    if lam_min is not None and lam_max is not None and lam_min >= lam_max:
        raise OptionError(f"lam_min={lam_min} must be below lam_max={lam_max}.")
    limits = Limits.checked(kappa * eps, max_passes, None, time_limit, len(problem))
    functions = checked_callbacks(callbacks)
    blocks = problem.blocks
    if lam_max is None and blocks.is_bounded:
        check_box(blocks)
    keeping = checked_checkpoint(checkpoint)
    if keeping is not None and keep_states:
        raise OptionError("keep_states: a checkpoint keeps no states; leave one of the two out.")
    identity = identity_of(blocks, None, chosen)
    identity |= {"eps": eps, "kappa": kappa, "exact": bool(exact), "lam_max": ends[1]}
    saved = read_checkpoint(keeping, identity)
    with (
        PathLine(ends[0]) if verbose else nullcontext() as line,
        Workers(blocks, n_jobs) as workers,
    ):
        probe_oracle(blocks)
        lam = ends[1] if ends[1] is not None else 1.0
        state = problem.initial_state()
        engine = make_engine(chosen, blocks, state, lam, generator(random_state), workers)
        engine.prepare()
        states: list[State] | None = [] if keep_states else None
        weights = Weights(blocks.n_features)
        path = Path(problem.task, eps, kappa, bool(exact), None, weights, [], None, states)
        watching = (*functions, line) if line is not None else functions
        writer = Writer(keeping, identity) if keeping is not None else None
        walker = Walker(engine, path, limits, ends, watching, writer)
        return walker.walk(saved)


def _checked_end(lam: Any) -> float | None:
    return None if lam is None else check_lam(lam)


def _checked_eps(eps: Any) -> float:
    is_real = isinstance(eps, numbers.Real) and not isinstance(eps, bool)
    if not is_real or not 0.0 < float(eps) < np.inf:
        raise OptionError(f"eps={eps!r} must be a number > 0: the gap that every lambda may have.")
    return float(eps)


def _checked_kappa(kappa: Any, exact: Any) -> float:
    if not isinstance(exact, (bool, np.bool_)):
        raise OptionError(f"exact={exact!r} must be True or False.")
    if kappa is None:
        return KAPPA[bool(exact)]
    is_real = isinstance(kappa, numbers.Real) and not isinstance(kappa, bool)
    if not is_real or not 0.0 < float(kappa) < 1.0:
        raise OptionError(f"kappa={kappa!r} must be a number between 0 and 1, for example 0.9.")
    return float(kappa)


def _checked_method(method: Any) -> Method:
    chosen = as_method(method)
    if getattr(chosen, "averaging", False):
        raise OptionError(
            "method: a path cannot be made of averages, because each breakpoint begins at the "
            "last iterate of the one before; leave averaging out."
        )
    return chosen
