"""`solve`: run a method on a problem until it is certified or a budget ends."""

from __future__ import annotations

from typing import Any

from blockwolfe.base.checks import check_integer
from blockwolfe.distributed.problem import ShardedProblem
from blockwolfe.errors import OptionError
from blockwolfe.problem.problem import Problem, check_lam
from blockwolfe.results.result import Result
from blockwolfe.running.engine import Engine
from blockwolfe.running.limits import Limits
from blockwolfe.running.progress import PassLine
from blockwolfe.solving.early_stopping import Watch
from blockwolfe.solving.goal import Solve
from blockwolfe.solving.setup import (
    Plan,
    check_point,
    check_problem,
    checked_held_out,
    checked_method,
)

__all__ = ["solve"]


def solve(
    problem: Problem | ShardedProblem,
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
    n_iter_no_change: int | None = None,
    targets: Any = (),
    n_jobs: int | None = None,
    checkpoint: Any = None,
    point: str = "best",
    verbose: int = 0,
) -> Result:
    """Minimise lam/2 |w|^2 + mean hinge loss, to a certified gap of at most `tol`.

    Parameters
    ----------
    problem : the task with its data; a `ShardedProblem` where these come as shards.
    lam : regularisation strength, > 0.
    method : "auto", "bcfw", "fw", a name with options such as "bcfw+gap+pairwise+cache",
        or a method object. One without a dual point certifies no gap, and ends by a budget or a
        callback.
    tol : stop when the certified gap P - D is at most this, in units of the objective at w = 0
        (`problem.unit`): the mean of the largest losses, of some examples; 1 for the zero-one loss.
    max_passes, max_oracle_calls, time_limit : budgets, None for no limit; `max_passes="auto"` is
        1000, or 200,000 visits where there are fewer than 200 examples; five visits that need no
        oracle call, because of a cache, count as one. Oracle calls include
        those of certificates, and the last n are kept for the final one; so is time for it. Time
        is seconds at work, without compiling, callbacks and held-out data. Where it does not
        suffice for any certificate, the result has none, and its remedy says how long one takes.
    start : a `State` of the same problem (`result.last_state`) to go on from, at any lambda.
    random_state : seed; the same seed gives the same run (with `n_jobs` > 1 and a Python oracle
        how many are called at a time depends on the clock; `result.method` says how many).
    callbacks : functions of one `Event` per pass; returning True stops the run.
    held_out : (X, Y) on which the mean task loss is traced with every certificate; with a third
        entry, weights of the examples.
    n_iter_no_change : stop early, when the loss on `held_out` of the running average of w has not
        fallen for so many passes, and return the average that was best, with its own certificate.
        It has no effect where the gap reaches `tol` first.
    targets : further gaps, larger than `tol` and in the same units: a certificate is made as soon
        as the estimate reaches the next of them, so that one run shows the time to each.
    n_jobs : cores for full passes and expensive oracles; -1 for all. It does not change
        certificates of compiled tasks, and Python tasks run in processes.
    checkpoint : a `Checkpoint(path, every=60)`: the run is written to a file every so many
        seconds, and the same call goes on from that file after a crash.
    point : which w is returned: "best", the one of least certified primal among the iterate and a
        running average of it ("auto" with a slow oracle: perhaps longer weights than those of the
        dual point), or "last", the weights of the dual point itself.
    verbose : 1 shows a live progress line.

    Ctrl-C ends the run and returns what has been reached, with its certificate.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> result = bw.solve(problem, lam=0.1, tol=1e-6)
    >>> result.status.name, result.certificate.gap <= 1e-6
    ('CERTIFIED', True)
    """
    check_problem(problem, may_be_sharded=True)
    check_point(point)
    lam, chosen = check_lam(lam), checked_method(problem, method)
    limits = Limits.checked(tol, max_passes, max_oracle_calls, time_limit, len(problem), targets)
    plan = Plan.checked(
        problem,
        chosen,
        limits,
        callbacks=callbacks,
        random_state=random_state,
        n_jobs=n_jobs,
        checkpoint=checkpoint,
        start=start,
    )
    evaluate = checked_held_out(problem, held_out)
    watch = _watch(evaluate, n_iter_no_change, checkpoint, point)

    def goal(engine: Engine) -> Solve:
        if watch is not None and (chosen.is_averaged or not chosen.has_dual):
            reason = "returns an average of its own" if chosen.has_dual else "has no dual point"
            raise OptionError(
                f"n_iter_no_change: early stopping returns the weights of least held-out loss "
                f"beside the last dual point, but method {chosen.name!r} {reason}; choose one with "
                "a dual point and without averaging, such as 'auto'."
            )
        return Solve(problem.blocks, evaluate, start is not None, point == "best", watch)

    return plan.carry_out(
        lam,
        goal,
        {"lam": lam, "point": point},
        lambda: PassLine(limits.max_passes),
        verbose,
    )


def _watch(evaluate: Any, n_iter_no_change: Any, checkpoint: Any, point: str) -> Watch | None:
    """What ends a run early; refused where it cannot do so."""
    check_integer("n_iter_no_change", n_iter_no_change, 1, or_none=True)
    if n_iter_no_change is None:
        return None
    if evaluate is None:
        raise OptionError("n_iter_no_change needs held_out=(X, Y), whose loss tells when to stop.")
    if checkpoint is not None:
        raise OptionError(
            "checkpoint: a file does not keep what early stopping knows; leave one of them out."
        )
    if point != "best":
        raise OptionError(
            "point='last' has no meaning with early stopping, which chooses w itself; leave one of "
            "them out."
        )
    return Watch(evaluate, int(n_iter_no_change))
