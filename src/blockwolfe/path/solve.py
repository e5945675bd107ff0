"""The regularisation path: from one breakpoint to the next, at the same w."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.checks import check_flag, is_real
from blockwolfe.distributed.problem import ShardedProblem
from blockwolfe.errors import OptionError
from blockwolfe.methods.base import Method, WalkingEngine
from blockwolfe.path.result import Path
from blockwolfe.path.walk import Walk
from blockwolfe.path.weights import Weights
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.problem import Problem, check_lam
from blockwolfe.running.engine import Engine
from blockwolfe.running.limits import Limits
from blockwolfe.running.progress import PathLine
from blockwolfe.solving.setup import Plan, check_problem, checked_method

__all__ = ["checked_ends", "solve_path"]

KAPPA = {True: 0.9, False: 0.7}


def solve_path(
    problem: Problem | ShardedProblem,
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
    eps : the gap that every lambda is to have at most, in units of the objective at w = 0
        (`problem.unit`); `path.eps` is the gap itself.
    lam_min : where to end; None goes on until one w serves every smaller lambda. Where no w
        separates the data to within eps that never comes, and smaller lambdas take ever longer:
        give a lam_min, or a budget.
    method : as in `solve`; any block method without averaging, or "fw".
    kappa : each breakpoint is solved to a gap of kappa eps, in (0, 1). By default 0.9, and 0.7
        for the heuristic path.
    exact : False makes no full passes to certify a breakpoint and uses estimates: cheaper,
        but nothing is certified.
    lam_max : where to begin; needed only under bounds that are not 0 or infinite. By default the
        first breakpoint comes from a closed form, and every larger lambda is served too.
    max_passes, time_limit : budgets for the whole path.
    callbacks : functions of one `Breakpoint` each; returning True ends the path.
    keep_states : keep the dual point of every breakpoint, for independent certificates.
    checkpoint : as in `solve`: the same call goes on from that file after a crash.
    verbose : 1 shows a live progress line.

    Ctrl-C ends the path and returns what has been reached.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> path = solve_path(problem, eps=0.1, lam_min=0.01)
    >>> path.status.name, max(point.gap for point in path.breakpoints) <= 0.1
    ('CERTIFIED', True)
    """
    check_problem(problem, may_be_sharded=True)
    eps, kappa = _checked_eps(eps), _checked_kappa(kappa, exact)
    chosen = _fit_for_paths(checked_method(problem, method))
    ends = checked_ends(lam_min, lam_max)
    blocks = problem.blocks
    if lam_max is None and blocks.is_bounded:
        _check_box(blocks)
    plan = Plan.checked(
        problem,
        chosen,
        Limits.checked(kappa * eps, max_passes, None, time_limit, len(problem)),
        callbacks=callbacks,
        random_state=random_state,
        n_jobs=n_jobs,
        checkpoint=checkpoint,
    )
    if plan.keeping is not None and keep_states:
        raise OptionError("keep_states: a checkpoint keeps no states; leave one of the two out.")
    if isinstance(problem, ShardedProblem) and keep_states:
        raise OptionError("keep_states: dual points stay with the shards; leave it out.")
    path = Path(
        problem.task, eps * problem.unit, kappa, bool(exact), None, Weights(blocks.n_features), []
    )
    path.states = [] if keep_states else None
    identity = {"eps": eps, "kappa": kappa, "exact": bool(exact), "lam_max": ends[1]}
    return plan.carry_out(
        1.0 if ends[1] is None else ends[1],
        lambda engine: Walk(_walking(engine, chosen), blocks, path, ends),
        identity,
        lambda: PathLine(ends[0]),
        verbose,
    )


def checked_ends(lam_min: Any, lam_max: Any) -> tuple[float | None, float | None]:
    """Both ends of a path, each a lambda > 0 or None.

    >>> checked_ends(None, 1)
    (None, 1.0)
    """
    lowest, highest = (None if lam is None else check_lam(lam) for lam in (lam_min, lam_max))
    if lowest is not None and highest is not None and lowest >= highest:
        raise OptionError(f"lam_min={lam_min} must be below lam_max={lam_max}.")
    return lowest, highest


def _checked_eps(eps: Any) -> float:
    if not is_real(eps) or not 0.0 < float(eps) < np.inf:
        raise OptionError(f"eps={eps!r} must be a number > 0: the gap that every lambda may have.")
    return float(eps)


def _checked_kappa(kappa: Any, exact: Any) -> float:
    is_exact = check_flag("exact", exact)
    if kappa is None:
        return KAPPA[is_exact]
    if not is_real(kappa) or not 0.0 < float(kappa) < 1.0:
        raise OptionError(f"kappa={kappa!r} must be a number between 0 and 1, for example 0.9.")
    return float(kappa)


def _fit_for_paths(method: Method) -> Method:
    if method.is_averaged:
        raise OptionError(
            "method: a path cannot be made of averages, because each breakpoint begins at the "
            "last iterate of the one before; leave averaging out."
        )
    if not method.can_walk:
        raise OptionError(
            f"method: {method.words} cannot be taken from one lambda to the next. A path needs a "
            "method that can: of extragradient leave radius out."
        )
    return method


def _walking(engine: Engine, method: Method) -> WalkingEngine:
    if not isinstance(engine, WalkingEngine):
        raise OptionError(
            f"method: {method.name!r} has no dual point to take from one lambda to the next; a "
            "path needs a method such as 'auto', 'bcfw' or 'fw'."
        )
    return engine


def _check_box(blocks: Blocks) -> None:
    """Refuse bounds for which the closed form does not hold: others than signs."""
    is_sign = np.isin(blocks.lower, (0.0, -np.inf)) & np.isin(blocks.upper, (0.0, np.inf))
    if not is_sign.all():
        j = int(np.argmin(is_sign))
        raise OptionError(
            f"weight {j} has the bounds ({blocks.lower[j]:g}, {blocks.upper[j]:g}); the path knows "
            "where to begin only for bounds that are 0 or infinite. Give lam_max, the largest "
            "lambda you want."
        )
