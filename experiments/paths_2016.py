"""Osokin and others (2016), Figures 4 and 8: the regularisation path against grids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import blockwolfe as bw
from blockwolfe.path.grid import warm_state
from experiments.core.curves import between
from experiments.core.drawing import lines, one_legend, panels
from experiments.core.pages import markdown_table
from experiments.core.plan import Budget, Figure, Run, Statement, Verdict
from experiments.core.sets import load
from experiments.core.solving import warming
from experiments.core.table import Table

SOLVERS = {"FW": "bcfw+gap", "pairwise, cache": "bcfw+gap+pairwise+cache"}
EPS = 0.1
# Of each size and data set: the grid as powers of two, the budget of a path or grid, seeds.
WHOLE = range(15, -16, -1)
GRIDS: dict[str, dict[str, tuple[range, Budget, int]]] = {
    "quick": {"digits": (range(10, 6, -1), Budget(None, 10.0), 1)},
    "full": {
        "OCR-small": (WHOLE, Budget(None, 40.0), 3),
        "OCR-large": (WHOLE, Budget(None, 60.0), 3),
        "horses": (WHOLE, Budget(None, 45.0), 3),
    },
}
MOST_ROWS = 40


def compiled(data: str, method: str) -> None:
    """Compile what a path needs, so that no second contains it."""
    for exact in (True, False):
        options = {"exact": exact, "max_passes": 5, "random_state": 0}
        bw.solve_path(load(data).problem, 0.9, 0.5, method, **options)


def path_rows(
    data: str, method: str, seed: int, budget: Budget, **options: Any
) -> list[dict[str, Any]]:
    """What reaching each lambda took, along a path."""
    compiled(data, method)
    options = {"eps": EPS, "random_state": seed, **budget.limits, **options}
    path = bw.solve_path(load(data).problem, method=method, **options)
    rows = [
        {
            "reached": point.lam_end,
            "passes": point.passes,
            "seconds": point.seconds,
            "gap": point.gap,
        }
        for point in path.breakpoints
    ]
    ending = {"points": len(path), "status": path.status.name, "first": path.lam_max}
    return [{**row, **ending} for row in _some(rows)]


def path_over_grid(
    data: str, method: str, seed: int, budget: Budget, powers: range, **options: Any
) -> list[dict[str, Any]]:
    """A path that ends where the grid does."""
    return path_rows(data, method, seed, budget, lam_min=2.0 ** powers[-1], **options)


def _some(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    at = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(int))
    return [rows[k] for k in at]


def grid_rows(
    data: str,
    method: str,
    seed: int,
    budget: Budget,
    powers: range,
    warm: str | None,
    eps: float = EPS,
) -> list[dict[str, Any]]:
    """The same for a grid; it ends early where the time is over."""
    compiled(data, method)
    problem = load(data).problem
    rows: list[dict[str, Any]] = []
    passes = spent = 0.0
    last = None
    for power in powers:
        lam = 2.0**power
        start = None if last is None else warm_state(problem, last, lam, warm)
        limit = {"time_limit": max(budget.seconds - spent, 0.01), "random_state": seed}
        last = bw.solve(problem, lam, method, eps, start=start, **limit)
        passes += last.counts.effective_passes
        spent += last.seconds
        if last.status.name != "CERTIFIED":
            break
        effort = {"reached": lam, "passes": passes, "seconds": spent}
        rows.append({**effort, "gap": last.certificate.gap})
        if spent >= budget.seconds:
            break
    ending = {"points": len(rows), "status": last.status.name, "first": 2.0 ** powers[0]}
    return [{**row, **ending} for row in rows]


KINDS: dict[str, Callable[..., Any]] = {
    "eps-path": partial(path_over_grid, kappa=0.9),
    "heuristic path": partial(path_over_grid, exact=False, kappa=0.7),
    "grid": partial(grid_rows, warm=None),
    "grid, warm start": partial(grid_rows, warm="primal"),
    "grid, dual warm start": partial(grid_rows, warm="dual"),
}


def comparison_runs(data: str, size: str) -> Iterator[Run]:
    """Paths and grids, with both solvers."""
    name = data if data in GRIDS[size] else "digits"
    powers, budget, n_seeds = GRIDS[size][name]
    for seed, solver, kind in product(range(n_seeds), SOLVERS, KINDS):
        key = {"data": name, "solver": solver, "method": kind, "seed": seed}
        work = partial(KINDS[kind], name, SOLVERS[solver], seed, budget, powers)
        yield path_run(key, work, budget, SOLVERS[solver])


def path_run(key: dict[str, Any], work: Any, budget: Budget, method: str) -> Run:
    """A run that compiles what paths need first."""
    warm = warming(key["data"], method, compiled)
    return Run({**key, "budget": str(budget)}, work, budget.seconds, warm=warm)


def draw_comparison(table: Table) -> Any:
    """Seconds (above) and passes (below) to reach a lambda, a column for each solver."""
    solvers = table.values("solver")
    figure, axes = panels(2, len(solvers), width=3.6)
    for solver, column in zip(solvers, axes.T, strict=True):
        for y, ax in zip(("seconds", "passes"), column, strict=True):
            against_lambda(ax, table.where(solver=solver), y)
            ax.set(title=f"{table.rows[0]['data']}, {solver}", xlabel="lambda reached")
            ax.set_ylabel("CPU seconds" if y == "seconds" else y)
    one_legend(figure, axes)
    return figure


def against_lambda(ax: Any, table: Table, y: str, by: str = "method") -> None:
    """Cumulative effort, from large lambdas on the left to small ones on the right."""
    smaller = Table([{**row, "smaller": 1.0 / max(row["reached"], 1e-12)} for row in table.rows])
    lines(ax, smaller, "smaller", y, by=by)
    ax.set(xscale="log", yscale="log")
    low, high = ax.get_xlim()
    decades = [10.0**power for power in range(-7, 8) if low <= 10.0**power <= high]
    shown = decades[:: 1 if len(decades) < 5 else 2]
    ax.set_xticks(shown, [f"{1.0 / tick:g}" for tick in shown])


def passes_to(rows: Table, lam: float) -> float:
    """The median over seeds of the passes to reach a lambda."""
    found = [
        between(1.0 / run.numbers("reached"), run.numbers("passes"), 1.0 / lam)
        for _, run in rows.groups("seed")
    ]
    return float(np.median(found))


def compare(first: str, other: str, factor: float = 1.0) -> Callable[[Table], Verdict]:
    """Judge that one kind takes at most `factor` times the passes of the other."""

    def judge(table: Table) -> Verdict:
        won, said = [], []
        for (solver,), rows in table.groups("solver"):
            both = [rows.where(method=kind) for kind in (first, other)]
            lam = max(least_reached(run) for kind in both for _, run in kind.groups("seed"))
            ours, theirs = (passes_to(kind, lam) for kind in both)
            won.append(ours <= factor * theirs)
            said.append(f"{solver}, down to {lam:.2g}: {ours:.4g} against {theirs:.4g} passes")
        return Verdict(all(won), "; ".join(said))

    return judge


def least_reached(run: Table) -> float:
    """The smallest lambda of a run."""
    return float(run.numbers("reached").min())


COMPARED = (
    Statement("Warm starts speed up the grid.", compare("grid, warm start", "grid")),
    Statement(
        "The whole path costs about as much as the grid with warm starts (at most twice).",
        compare("eps-path", "grid, warm start", 2.0),
    ),
    Statement(
        "The heuristic path is cheaper than the certified one.",
        compare("heuristic path", "eps-path"),
    ),
)


def how_far(table: Table) -> str:
    """Where each path or grid ended, in its time."""
    rows = []
    for (solver, kind), some in table.groups("solver", "method"):
        ends = [run.rows[-1] for _, run in some.groups("seed")]
        middle = [f"{np.median([end[y] for end in ends]):.4g}" for y in EFFORT]
        rows.append([solver, kind, _end([end["reached"] for end in ends]), *middle])
    header = ["steps", "kind", "smallest lambda", "points", "passes to there", "CPU s to there"]
    return f"How far each went (medians over seeds):\n\n{markdown_table(header, rows)}"


def _end(reached: list[float]) -> str:
    """The end of the grid, or where the time of a run was over."""
    whole = [lam <= 2.0 ** WHOLE[-1] * (1.0 + 1e-9) for lam in reached]
    if all(whole):
        return "2^-15, the end"
    share = f", the end in {sum(whole)} of {len(whole)}" if any(whole) else ""
    return f"{np.median(reached):.3g} (its time was over){share}"


EFFORT = ("points", "passes", "seconds")


LIMITED = "at most a minute of CPU time for a path or grid where the paper has 24 hours."


def comparison(data: str, number: str, differs: str) -> Figure:
    """Paths and grids on one data set."""
    return Figure(
        f"2016-path-{data.lower()}", number, f"Path and grids on {data}",
        "What it took to reach each lambda, large ones on the left, small ones on the right: "
        "the certified path (eps 0.1, kappa 0.9), the heuristic one (kappa 0.7), and a grid of "
        "powers of two, each lambda from scratch or from where the one before ended, with its w or "
        "(ours) its dual weights. A grid promises its gap at its points alone. Seconds are CPU "
        "seconds; verdicts go by passes.",
        differs, lambda size: list(comparison_runs(data, size)), draw_comparison, COMPARED, how_far,
    )  # fmt: skip


FIGURES = (
    comparison("OCR-small", "Figure 8 (b)", LIMITED),
    comparison("OCR-large", "Figure 8 (c)", LIMITED),
    comparison(
        "horses", "Figures 4 and 8 (a)", f"other pictures and features (see above); {LIMITED}"
    ),
)
