"""Solving for a list of lambdas, each from where the one before ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blockwolfe.base.seeds import generator
from blockwolfe.dual.shrink import shrunk_state
from blockwolfe.errors import OptionError, unknown_option
from blockwolfe.problem.problem import Problem, check_lam
from blockwolfe.problem.state import State
from blockwolfe.results.result import Result
from blockwolfe.results.status import Status
from blockwolfe.solving.solve import solve

__all__ = ["check_lams", "solve_grid", "warm_state"]

WARM_STARTS = ("primal", "dual", None)


def solve_grid(
    problem: Problem,
    lams: Any,
    warm_start: str | None = "primal",
    method: Any = "auto",
    tol: float = 1e-3,
    *,
    random_state: Any = None,
    verbose: int = 0,
    **options: Any,
) -> list[Result]:
    """`solve` for every lambda of a list, from the largest to the smallest; results as listed.

    warm_start : "primal" keeps w and rescales the dual weights (the mathematics, "The path"),
        "dual" keeps the dual weights and rescales w, None begins anew for each lambda, as methods
        without dual weights always do.
    options : further options of `solve`, for every lambda. Ctrl-C ends the list: the results so
        far are returned, and None for the others.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> [result.lam for result in solve_grid(problem, [0.1, 1.0], tol=1e-6)]
    [0.1, 1.0]
    """
    lams = check_lams(lams)
    if warm_start not in WARM_STARTS:
        raise unknown_option("warm_start", str(warm_start), map(str, WARM_STARTS))
    if "start" in options or "checkpoint" in options:
        raise OptionError("start and checkpoint belong to one lambda; leave them out of a grid.")
    rng = generator(random_state)
    results: list[Any] = [None] * len(lams)
    last: Result | None = None
    for k in sorted(range(len(lams)), key=lambda k: -lams[k]):
        start = None if last is None else warm_state(problem, last, lams[k], warm_start)
        last = results[k] = solve(
            problem, lams[k], method, tol, start=start, random_state=rng, verbose=verbose, **options
        )
        if last.status is Status.INTERRUPTED:
            break
    return results


def warm_state(
    problem: Problem, last: Result, lam: float, warm_start: str | None = "primal"
) -> State | None:
    """Where to begin for a smaller lambda, after the result of a larger one."""
    if warm_start is None or last.last_state is None or not last.method.takes_start:
        return None
    if warm_start == "dual":
        return last.last_state
    return shrunk_state(problem.blocks, last.last_state, lam / last.lam)


def check_lams(lams: Any) -> list[float]:
    """A list of lambdas > 0, at least one."""
    if isinstance(lams, str) or not isinstance(lams, Iterable):
        raise OptionError(f"lams={lams!r} must be a list of numbers > 0.")
    checked = [check_lam(lam) for lam in lams]
    if not checked:
        raise OptionError("lams is empty; expected at least one lambda > 0.")
    return checked
