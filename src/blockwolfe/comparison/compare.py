"""`compare`: several methods on one problem, under one budget, by one clock."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any

import numpy as np
from rich.console import Console

from blockwolfe.base.checks import is_integer, is_real
from blockwolfe.comparison.result import Comparison, MethodRun
from blockwolfe.errors import OptionError, unknown_option
from blockwolfe.methods.base import Method
from blockwolfe.problem.evaluate import HeldOut
from blockwolfe.problem.problem import Problem, check_lam
from blockwolfe.results.status import Status
from blockwolfe.results.trace import Trace, TraceRow
from blockwolfe.running.events import Event
from blockwolfe.running.limits import Limits
from blockwolfe.solving.setup import (
    check_point,
    check_problem,
    checked_held_out,
    checked_method,
)
from blockwolfe.solving.solve import solve

__all__ = ["compare"]

_BUDGETS = ("max_passes", "max_oracle_calls", "time_limit")


def compare(
    problem: Problem,
    lam: float,
    methods: Any,
    *,
    budget: Any = 30.0,
    seeds: Any = (0,),
    tol: float | None = None,
    targets: Any = (1e-1, 1e-2, 1e-3),
    held_out: Any = None,
    point: str = "best",
    verbose: int = 0,
) -> Comparison:
    """Run several methods on one problem, and show when each certified which gap.

    Parameters
    ----------
    problem, lam : what to solve.
    methods : names such as "bcfw+gap+pairwise", method objects, or a dict from labels to these.
    budget : of each run: seconds, or a dict with any of max_passes, max_oracle_calls, time_limit.
    seeds : every method is run once with each.
    tol : certified gap at which a run ends, relative as in `solve`; by default the smallest target.
    targets : gaps of which the table says when they were first certified.
    held_out : (X, Y) on which the mean task loss is traced; its cost is not counted.
    point : as in `solve`; with "last", primal and held-out loss are those of the dual point's own
        weights, as papers show them, and not of the best ones so far.
    verbose : 1 prints a line for every run as it ends, 2 also shows its progress.

    Compilation is not counted: each method makes an unmeasured pass first. Methods take turns
    within each seed, so that a machine that slows down slows all of them. Ctrl-C ends the run
    at work and returns the comparison of the runs so far.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> found = bw.compare(problem, 0.1, ["bcfw", "fw"], seeds=(0, 1), targets=(0.1, 0.01))
    >>> found.best_primal - found.best_dual <= 0.01
    True
    >>> [row["seconds_to_0.1"] <= row["seconds_to_0.01"] for row in found.summary()]
    [True, True]
    """
    check_problem(problem)
    lam, chosen = check_lam(lam), _checked_methods(problem, methods)
    seeds = _checked_seeds(seeds)
    targets = _checked_targets(targets)
    if tol is None:
        tol = min(targets, default=1e-3)
    limits = _checked_budget(budget, len(problem))
    _check_tol(tol, targets)
    evaluate = checked_held_out(problem, held_out)
    check_point(point)
    how = {"tol": tol, "targets": targets, "point": point, "verbose": int(verbose > 1)}
    console = Console(stderr=True, quiet=not verbose, highlight=False, soft_wrap=True)
    runs = _run_all(problem, lam, chosen, seeds, evaluate, how | limits, console)
    return Comparison(tuple(runs), lam, tol, limits, targets)


def _run_all(
    problem: Problem,
    lam: float,
    methods: dict[str, Method],
    seeds: tuple[int, ...],
    evaluate: HeldOut | None,
    options: dict[str, Any],
    console: Console,
) -> Iterator[MethodRun]:
    for method in methods.values():
        _warm_up(problem, lam, method)
    for seed in seeds:
        for label, method in methods.items():
            meter = _Meter(evaluate)
            result = solve(problem, lam, method, random_state=seed, callbacks=meter, **options)
            trace, cpu_seconds = meter.finish(result.trace, result.w)
            ending = f"{result.status.name}, {result.certificate.figure}"
            console.print(f"{label}, seed {seed}: {ending}, {result.seconds:.3g} s", markup=False)
            done = (label, method, seed, result.status, trace, cpu_seconds)
            yield MethodRun(*done, len(problem), problem.unit)
            if result.status is Status.INTERRUPTED:
                return


def _warm_up(problem: Problem, lam: float, method: Method) -> None:
    """Compile what the method needs, by one pass and its certificate."""
    if not problem.blocks.is_compiled:
        return  # and the oracle may be slow
    result = solve(problem, lam, method, tol=0.0, max_passes=1, random_state=0)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt


class _Meter:
    """A callback that reads the CPU clock and the held-out loss at every row.

    Its clock agrees with the solver's at the first row, so that set-up is in neither, and
    stands still while it evaluates.
    """

    def __init__(self, evaluate: HeldOut | None) -> None:
        self._evaluate = evaluate
        self._zero = time.process_time()
        self._cpu_seconds: list[float] = []
        self._rows: list[TraceRow] = []  # with their held-out loss
        self._told: TraceRow | None = None

    def __call__(self, event: Event) -> None:
        if not self._rows:
            self._zero = time.process_time() - event.row.seconds
        self._read(event.row, event.w)

    def _read(self, row: TraceRow, w: np.ndarray) -> None:
        now = time.process_time()
        self._told = row
        if self._evaluate is not None and not np.isnan(row.primal):
            row = replace(row, held_out_loss=self._evaluate(w))
        self._rows.append(row)
        self._cpu_seconds.append(now - self._zero)
        self._zero += time.process_time() - now

    def finish(self, trace: Trace, w: np.ndarray) -> tuple[Trace, np.ndarray]:
        """The trace with held-out losses, and the CPU seconds of its rows.

        The solver makes its last row anew, without an event, when a final certificate is due.
        """
        if trace[-1] is not self._told:
            del self._rows[len(trace) - 1 :], self._cpu_seconds[len(trace) - 1 :]
            self._read(trace[-1], w)
        return Trace(self._rows), np.array(self._cpu_seconds)


# -- checks, before any work -----------------------------------------------------------------


def _checked_methods(problem: Problem, methods: Any) -> dict[str, Method]:
    """Labels and method objects."""
    if isinstance(methods, (str, Method)) or not isinstance(methods, Iterable):
        raise OptionError(
            f"methods={methods!r} must be a list of methods such as ['bcfw', 'bcfw+gap'], "
            "or a dict from labels to methods."
        )
    if isinstance(methods, Mapping):
        given = [(str(label), method) for label, method in methods.items()]
    else:
        given = [(_label(method), method) for method in methods]
    chosen = [(label, checked_method(problem, method)) for label, method in given]
    if not chosen:
        raise OptionError("methods is empty; name at least one, for example 'bcfw+gap'.")
    labels = [label for label, _ in chosen]
    for label in labels:
        if labels.count(label) > 1:
            raise OptionError(f"methods has {label!r} twice; a dict gives each its own label.")
    return dict(chosen)


def _label(value: Any) -> str:
    """A name as it is; an object with those of its options that differ from the default."""
    if isinstance(value, str):
        return value
    if not is_dataclass(value):
        return repr(value)
    options = [(field, getattr(value, field.name)) for field in fields(value)]
    said = [f"{field.name}={_label(x)}" for field, x in options if x != _default(field)]
    return f"{type(value).__name__}({', '.join(said)})"


def _default(field: Any) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _checked_budget(budget: Any, n_blocks: int) -> dict[str, Any]:
    """Budgets by the names that `solve` has for them."""
    if is_real(budget):
        budget = {"time_limit": budget}
    if not isinstance(budget, Mapping):
        raise OptionError(
            f"budget={budget!r} must be seconds > 0, or a dict with any of {', '.join(_BUDGETS)}."
        )
    for name in budget:
        if name not in _BUDGETS:
            raise unknown_option("budget", name, _BUDGETS)
    try:
        Limits.checked(0.0, **{**dict.fromkeys(_BUDGETS), **budget}, n_blocks=n_blocks)
    except OptionError as error:
        raise OptionError(f"budget: {error}") from error
    return dict(budget)


def _checked_seeds(seeds: Any) -> tuple[int, ...]:
    found = tuple(seeds) if isinstance(seeds, Iterable) else ()
    for seed in found:
        if not is_integer(seed) or seed < 0:
            raise OptionError(f"seeds has {seed!r}; expected integers >= 0.")
    if not found:
        raise OptionError(f"seeds={seeds!r} must be a list of integers, for example (0, 1, 2).")
    return tuple(map(int, found))


def _checked_targets(targets: Any) -> tuple[float, ...]:
    """From the largest down."""
    if isinstance(targets, str) or not isinstance(targets, Iterable):
        raise OptionError(f"targets={targets!r} must be a list of gaps, for example (0.1, 0.01).")
    found = tuple(targets)
    for target in found:
        if not is_real(target) or not 0.0 < float(target) < np.inf:
            raise OptionError(f"targets has {target!r}; expected gaps > 0.")
    return tuple(sorted(set(map(float, found)), reverse=True))


def _check_tol(tol: Any, targets: tuple[float, ...]) -> None:
    Limits.checked(tol, None, None, None, 0)
    if targets and targets[-1] < tol:
        raise OptionError(
            f"targets has {targets[-1]:g}, but runs end at tol={tol:g}; lower tol, or leave it out."
        )
