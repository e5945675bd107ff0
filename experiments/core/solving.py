"""One run of a method of the SVM as rows of a table, and the run that finds the optimum."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

import blockwolfe as bw
from blockwolfe.methods.registry import as_method
from experiments.core.plan import Budget, Run
from experiments.core.sets import load, of_the_same_kind
from experiments.core.table import thinned

__all__ = ["looking_every", "offline_rows", "optimum", "rows_of", "warming"]

SPACING = 1.5  # from one look to the next
TIGHT = 1e-9  # the gap, in units of the objective at w = 0, at which an optimum is known


def looking_every(method: Any, n_passes: int) -> Any:
    """The method with a certificate every so many passes, where that can be chosen."""
    chosen: Any = as_method(method)
    has_choice = "certify_every" in {field.name for field in fields(chosen)}
    return replace(chosen, certify_every=n_passes) if has_choice else chosen


def rows_of(
    data: str,
    lam: float,
    method: Any,
    seed: int,
    budget: Budget,
    columns: Sequence[str],
    most_rows: int = 25,
    test_every: int | None = None,
    point: str = "best",
) -> Iterator[dict[str, Any]]:
    """Rows of one run at which the primal is known: effort, then the columns that are wanted.

    `passes` are the calls for steps over n, `all_passes` those with the calls of certificates;
    `cpu` is CPU seconds. Every `test_every`-th held-out example is looked at, at the `point` that
    `bw.compare` names so.
    """
    problem, test = load(data)
    held_out = (
        None if not test_every or test is None else tuple(part[::test_every] for part in test)
    )
    options = {"seeds": (seed,), "targets": (), "tol": TIGHT, "held_out": held_out, "point": point}
    (run,) = bw.compare(problem, lam, {"it": method}, budget=budget.limits, **options).runs
    trace = run.trace
    effort = {
        "passes": trace["oracle_calls"] / len(problem),
        "all_passes": run.effective_passes,
        "cpu": run.cpu_seconds,
    }
    known = np.flatnonzero(~np.isnan(trace["primal"])).tolist()
    for k in thinned(known, most_rows):
        yield {
            name: float((effort[name] if name in effort else trace[name])[k]) for name in columns
        }


def offline_rows(
    data: str, lam: float, method: Any, seed: int, budget: Budget
) -> list[dict[str, Any]]:
    """Rows of one run whose gaps are computed besides, so that looking changes nothing.

    `all_passes` are calls over n with those of the method's own full passes, `cpu` is CPU seconds
    without the looks; `estimate` is the sum of the gap estimates, `factor` what gap sampling
    promises at a full pass of the method.
    """
    problem = load(data).problem
    warm_up(data, method)
    looks = _Looks(problem)
    options = {"tol": TIGHT, "random_state": seed, "point": "last", **budget.limits}
    bw.solve(problem, lam, method, callbacks=looks, **options)
    looks.look()
    return looks.rows


class _Looks:
    """A callback that computes the true gap now and then, dense at first, and keeps it.

    Moments at which all estimates have just been renewed and others are chosen apart.
    """

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.rows: list[dict[str, Any]] = []
        self._next, self._zero = {True: 1.0, False: 1.0}, time.process_time()
        self._passed: Any = None

    def __call__(self, event: Any) -> None:
        now, row = time.process_time(), event.row
        is_renewed = row.sampling_factor == row.sampling_factor
        self._passed = event, now - self._zero
        if row.passes >= self._next[is_renewed]:
            self._next[is_renewed] = max(self._next[is_renewed] * SPACING, row.passes + 1.0)
            self.look()
        self._zero += time.process_time() - now

    def look(self) -> None:
        """At the last event, if that has not been looked at."""
        if self._passed is None:
            return
        (event, cpu), self._passed = self._passed, None
        row = event.row
        calls = row.oracle_calls + row.certificate_calls
        self.rows.append({
            "all_passes": calls / len(self.problem),
            "cpu": cpu,
            "gap": self.problem.primal(event.w, event.lam) - row.dual,
            "estimate": row.gap_estimate,
            "factor": row.sampling_factor,
            "hits": row.hit_rate,
        })  # fmt: skip


# CPU seconds for an optimum, by size and data set; so many are enough for 1e-9 where they can be.
OPTIMA: dict[str, dict[str, float]] = {
    "quick": {},
    "full": {"CoNLL-2000": 330.0, "OCR-small": 150.0, "OCR-large": 300.0},
}
SHORT = {"quick": 10.0, "full": 60.0}  # of all other data sets


def optimum(data: str, lam: float, size: str) -> Run:
    """The run whose certificate bounds the optimal value; figures share it."""
    budget = Budget(None, OPTIMA[size].get(data, SHORT[size]))
    key = {"data": data, "lam": lam, "method": "optimum", "seed": 0, "budget": str(budget)}
    return Run(
        key, partial(_certified, data, lam, budget), budget.seconds, "optima", warming(data, "auto")
    )


def _certified(data: str, lam: float, budget: Budget) -> list[dict[str, Any]]:
    problem = load(data).problem
    warm_up(data, "auto")
    found = bw.solve(problem, lam, tol=TIGHT, random_state=0, **budget.limits)
    best = found.certificate
    return [{"primal": best.primal, "dual": best.dual, "gap": best.gap, "cpu": found.seconds}]


def warm_up(data: str, method: Any) -> None:
    """A pass and its certificate, so that no second of a run contains what comes but once."""
    bw.solve(load(data).problem, 1.0, method, tol=0.0, max_passes=1, random_state=0)


def warming(data: str, method: Any, how: Callable[[str, Any], None] = warm_up) -> partial[None]:
    """Compiles what runs of a method on such data need."""
    return partial(how, of_the_same_kind(data), method)
