"""Osokin and others (2016), Figures 4, 7 and 8: the regularisation path against grids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import blockwolfe as bw
from blockwolfe.path.grid import warm_state
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
    "medium": {
        "OCR-small": (WHOLE, Budget(None, 10.0), 1),
        "OCR-large": (WHOLE, Budget(None, 20.0), 1),
        "horses": (range(15, -1, -1), Budget(None, 6.0), 1),
    },
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
        yield _run(key, work, budget, SOLVERS[solver])


def _run(key: dict[str, Any], work: Any, budget: Budget, method: str) -> Run:
    warm = warming(key["data"], method, compiled)
    return Run({**key, "budget": str(budget)}, work, budget.seconds, warm=warm)


def draw_comparison(table: Table) -> Any:
    """Seconds (above) and passes (below) to reach a lambda, a column for each solver."""
    solvers = table.values("solver")
    figure, axes = panels(2, len(solvers), width=3.6)
    for solver, column in zip(solvers, axes.T, strict=True):
        for y, ax in zip(("seconds", "passes"), column, strict=True):
            _against_lambda(ax, table.where(solver=solver), y)
            ax.set(title=f"{table.rows[0]['data']}, {solver}", xlabel="lambda reached", ylabel=y)
    one_legend(figure, axes)
    return figure


def _against_lambda(ax: Any, table: Table, y: str, by: str = "method") -> None:
    """Cumulative effort, from large lambdas on the left to small ones on the right."""
    smaller = Table([{**row, "smaller": 1.0 / max(row["reached"], 1e-12)} for row in table.rows])
    lines(ax, smaller, "smaller", y, by=by)
    ax.set(xscale="log", yscale="log")
    low, high = ax.get_xlim()
    decades = [10.0**power for power in range(-7, 8) if low <= 10.0**power <= high]
    shown = decades[:: 1 if len(decades) < 5 else 2]
    ax.set_xticks(shown, [f"{1.0 / tick:g}" for tick in shown])


def _passes_to(rows: Table, lam: float) -> float:
    """The median over seeds of the passes to reach a lambda."""
    found = []
    for _, run in rows.groups("seed"):
        there = np.flatnonzero(run.numbers("reached") <= lam * (1 + 1e-9))
        found.append(run.numbers("passes")[there[0]])
    return float(np.median(found))


def compare(first: str, other: str, factor: float = 1.0) -> Callable[[Table], Verdict]:
    """Judge that one kind takes at most `factor` times the passes of the other."""

    def judge(table: Table) -> Verdict:
        won, said = [], []
        for (solver,), rows in table.groups("solver"):
            both = [rows.where(method=kind) for kind in (first, other)]
            lam = max(_least(run) for kind in both for _, run in kind.groups("seed"))
            ours, theirs = (_passes_to(kind, lam) for kind in both)
            won.append(ours <= factor * theirs)
            said.append(f"{solver}, down to {lam:.2g}: {ours:.3g} against {theirs:.3g} passes")
        return Verdict(all(won), "; ".join(said))

    return judge


def _least(run: Table) -> float:
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

# -- Figure 7: kappa -------------------------------------------------------------------------

KAPPAS = (0.3, 0.5, 0.7, 0.9, 0.99)
# data, where paths end, budget, kappas, seeds
KAPPA_SETTINGS = {
    "quick": ("digits", 2.0**8, Budget(None, 10.0), (0.5, 0.9), 1),
    "medium": ("OCR-small", 1.0, Budget(None, 4.0), KAPPAS[1:], 1),
    "full": ("OCR-small", 2.0**-15, Budget(None, 15.0), (0.1, *KAPPAS), 3),
}


def kappa_runs(size: str) -> Iterator[Run]:
    """Certified and heuristic paths for several kappa."""
    data, lam_min, budget, kappas, n_seeds = KAPPA_SETTINGS[size]
    for seed, solver, exact, kappa in product(range(n_seeds), SOLVERS, (True, False), kappas):
        kind = "eps-path" if exact else "heuristic path"
        key = {"data": data, "solver": solver, "method": kind, "kappa": kappa, "seed": seed}
        options = {"lam_min": lam_min, "exact": exact, "kappa": kappa}
        work = partial(checked_path, data, SOLVERS[solver], seed, budget, **options)
        yield _run(key, work, budget, SOLVERS[solver])


def checked_path(
    data: str, method: str, seed: int, budget: Budget, **options: Any
) -> list[dict[str, Any]]:
    """A path, and what its w are truly worth where they have to serve last."""
    compiled(data, method)
    problem = load(data).problem
    limits = {**budget.limits, "random_state": seed, "keep_states": True}
    path = bw.solve_path(problem, EPS, method=method, **limits, **options)
    at = np.unique(np.linspace(0, len(path) - 1, min(len(path), 15)).astype(int))
    rows = []
    for k in at:
        point = path.breakpoints[k]
        lam = max(point.lam_end, options["lam_min"])
        true = bw.certify(problem, path.state(problem, lam), lam).gap
        rows.append(
            {
                "reached": point.lam_end,
                "passes": point.passes,
                "seconds": point.seconds,
                "gap": true,
            }
        )
    return [{**row, "points": len(path), "status": path.status.name} for row in rows]


def draw_kappa(table: Table) -> Any:
    """Passes along certified paths, seconds and true gaps along heuristic ones."""
    solvers = table.values("solver")
    figure, axes = panels(3, len(solvers), width=3.6)
    wanted = (("eps-path", "passes"), ("heuristic path", "passes"), ("heuristic path", "gap"))
    for solver, column in zip(solvers, axes.T, strict=True):
        for (kind, y), ax in zip(wanted, column, strict=True):
            _against_lambda(ax, table.where(solver=solver, method=kind), y, by="kappa")
            label = f"true gap, {kind}" if y == "gap" else f"{y}, {kind}"
            ax.set(title=solver, xlabel="lambda", ylabel=label)
            if y == "gap":
                ax.axhline(EPS, color="0.5", linestyle=":", linewidth=1)
    one_legend(figure, axes, columns=6)
    return figure


def middle_is_best(table: Table) -> Verdict:
    """Kappas from 0.5 to 0.9 need the fewest passes of a certified path."""
    won, said = [], []
    for (solver,), rows in table.where(method="eps-path").groups("solver"):
        lam = max(_least(run) for _, run in rows.groups("kappa", "seed"))
        passes = {kappa: _passes_to(some, lam) for (kappa,), some in rows.groups("kappa")}
        best = min(passes, key=passes.__getitem__)
        won.append(0.5 <= best <= 0.9)
        shown = ", ".join(f"{kappa:g}: {value:.0f}" for kappa, value in sorted(passes.items()))
        said.append(f"{solver}, passes down to {lam:.3g} by kappa: {shown}")
    return Verdict(all(won), "; ".join(said))


def heuristic_gaps(kappa: float, within: bool) -> Callable[[Table], Verdict]:
    """Judge whether heuristic paths with this kappa (or larger) keep their true gaps within eps."""

    def judge(table: Table) -> Verdict:
        chosen = [
            row for row in table.where(method="heuristic path").rows
            if (row["kappa"] <= kappa if within else row["kappa"] >= kappa)
        ]  # fmt: skip
        if not chosen:
            return Verdict(None, "not run at this size")
        worst = max(chosen, key=lambda row: row["gap"])
        found = f"largest true gap {worst['gap']:.3g} (kappa {worst['kappa']:g}, {worst['solver']})"
        return Verdict((worst["gap"] <= EPS * (1 + 1e-9)) == within, found)

    return judge


# -- effort by eps ---------------------------------------------------------------------------

# data, grid, budget, gaps, seeds
EPS_SETTINGS = {
    "quick": ("digits", range(8, 4, -1), Budget(None, 10.0), (0.5, 0.2), 1),
    "medium": ("OCR-small", range(13, -1, -1), Budget(None, 5.0), (0.5, 0.2, 0.1), 1),
    "full": ("OCR-small", range(13, -6, -1), Budget(None, 20.0), (0.5, 0.2, 0.1, 0.05, 0.02), 3),
}


def eps_runs(size: str) -> Iterator[Run]:
    """Paths and grids to several gaps."""
    data, powers, budget, all_eps, n_seeds = EPS_SETTINGS[size]
    method = SOLVERS["pairwise, cache"]
    for seed, eps, kind in product(range(n_seeds), all_eps, KINDS):
        key = {"data": data, "method": kind, "eps": eps, "seed": seed}
        made = partial(KINDS[kind], data, method, seed, budget, powers, eps=eps)
        yield _run(key, partial(_ending, made), budget, method)


def _ending(work: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The last row alone."""
    return work()[-1:]


def ended(table: Table) -> Table:
    """Runs that have served all lambdas in their time."""
    end = 2.0 ** EPS_SETTINGS[table.header["size"]][1][-1] * (1.0 + 1e-9)
    return Table([row for row in table.rows if row["reached"] <= end], table.header)


def draw_eps(table: Table) -> Any:
    """Passes and seconds of all of it, by eps."""
    done = ended(table)
    figure, axes = panels(1, 2, width=3.6)
    for y, ax in zip(("passes", "seconds"), axes.flat, strict=True):
        lines(ax, Table(sorted(done.rows, key=lambda row: row["eps"])), "eps", y, looks=MARKS)
        ax.set(xscale="log", yscale="log", xlabel="eps", ylabel=y)
    one_legend(figure, axes)
    return figure


MARKS = {name: {"marker": "o", "markersize": 3} for name in KINDS}


def close_by_eps(table: Table) -> Verdict:
    """The path takes at most twice the passes of the warm grid, at every eps."""
    won, said = [], []
    for (eps,), rows in ended(table).groups("eps"):
        both = [rows.where(method=name) for name in ("eps-path", "grid, warm start")]
        if all(map(len, both)):
            ours, theirs = (float(np.median(some.numbers("passes"))) for some in both)
            won.append(ours <= 2.0 * theirs)
            said.append(f"eps {eps:g}: {ours:.3g} against {theirs:.3g} passes")
    if missing := len(table.values("eps")) - len(won):
        said.append(f"not known for {missing} smaller eps, where runs did not end in time")
    return Verdict(False if not all(won) else None if missing else True, "; ".join(said))


# -- the authors' own path -------------------------------------------------------------------

AUTHORS = {"first breakpoint": 4623.17337343666, "breakpoints": 77, "passes": 137}
AUTHORS_END = 28.3


def authors_runs(size: str) -> Iterator[Run]:
    """The path whose numbers are known: OCR-small, eps 0.1, kappa 0.9, BCFW."""
    data, end = ("digits", 500.0) if size == "quick" else ("OCR-small", AUTHORS_END)
    budget = Budget(None, 30.0)
    for sampling, seed in product(("uniform", "gap"), range(3)):
        key, method = {"data": data, "method": sampling, "seed": seed}, f"bcfw+{sampling}"
        work = partial(path_rows, data, method, seed, budget, lam_min=end, kappa=0.9)
        yield _run(key, work, budget, method)


def draw_authors(table: Table) -> Any:
    """Passes by lambda, with the end of the authors' path as a cross."""
    figure, axes = panels(1, 1, width=4.5, height=3.0)
    ax = axes[0, 0]
    _against_lambda(ax, table, "passes")
    if table.rows[0]["data"] == "OCR-small":
        at = 1.0 / AUTHORS_END
        ax.scatter([at], [AUTHORS["passes"]], marker="x", color="C3")
        ax.set_xticks([1e-3, 1e-2, at], ["1000", "100", f"{AUTHORS_END:g}"])
    ax.set(xlabel="lambda reached", ylabel="effective passes")
    one_legend(figure, axes)
    return figure


def same_start(table: Table) -> Verdict:
    """The first breakpoint is a closed form: it has to be the same to all digits."""
    first = float(table.numbers("first")[0])
    if table.rows[0]["data"] != "OCR-small":
        return Verdict(None, "not run at this size")
    away = abs(first / AUTHORS["first breakpoint"] - 1.0)
    return Verdict(away < 1e-9, f"{first:.10g} against {AUTHORS['first breakpoint']:.10g}")


def as_cheap(table: Table) -> Verdict:
    """No more breakpoints or passes than the authors' program took."""
    if table.rows[0]["data"] != "OCR-small":
        return Verdict(None, "not run at this size")
    points, passes = (_at_end(table.where(method="gap"), name) for name in ("points", "passes"))
    found = f"{points:.0f} breakpoints against 77, {passes:.0f} passes against 137"
    return Verdict(points <= 77 and passes <= 137, found)


def _at_end(rows: Table, column: str) -> float:
    return float(np.median([run.numbers(column)[-1] for _, run in rows.groups("seed")]))


def authors_table(table: Table) -> str:
    """Theirs and ours."""
    ours = {name: table.where(method=name) for name in table.values("method")}
    rows = [["the authors' BCFW", *AUTHORS.values()]] + [
        [f"ours, {name} sampling", f"{some.rows[0]['first']:.12g}",
         f"{_at_end(some, 'points'):.0f}", f"{_at_end(some, 'passes'):.0f}"]
        for name, some in ours.items()
    ]  # fmt: skip
    return markdown_table(["path down to lambda 28.3", *AUTHORS], rows)


def comparison(data: str, number: str, differs: str) -> Figure:
    """Paths and grids on one data set."""
    return Figure(
        f"2016-path-{data.lower()}", number, f"Path and grids on {data}",
        "What it took to reach each lambda, large ones on the left, small ones on the right: "
        "the certified path (eps 0.1, kappa 0.9), the heuristic one (kappa 0.7), and a grid of "
        "powers of two, each lambda from scratch or from where the one before ended, with its w or "
        "its dual weights. Seconds are CPU seconds; verdicts go by passes.",
        differs, lambda size: list(comparison_runs(data, size)), draw_comparison, COMPARED,
    )  # fmt: skip


FIGURES = (
    comparison("OCR-small", "Figure 8 (b)", "a time limit where the paper has 24 hours."),
    comparison(
        "OCR-large", "Figure 8 (c)", "a time limit where the paper has 24 hours.",
    ),
    comparison(
        "horses", "Figures 4 and 8 (a)",
        "other pictures and features (see above); the grid ends where the time does.",
    ),
    Figure(
        "2016-kappa", "Figure 7", "The choice of kappa",
        "Above: passes of certified paths by kappa. Middle: passes of heuristic paths. Below: the "
        "true gap of heuristic paths where each w has to serve last; the dotted line is eps.",
        "the path ends at lambda 1 in the medium version.",
        lambda size: list(kappa_runs(size)), draw_kappa,
        (
            Statement(
                "Kappa too small or too large is slower; 0.5 to 0.9 is good.", middle_is_best
            ),
            Statement("With kappa up to 0.7 the heuristic path keeps its gaps within eps.",
                      heuristic_gaps(0.7, True)),
            Statement("With larger kappa it does not.", heuristic_gaps(0.9, False)),
        ),
    ),
    Figure(
        "2016-path-eps", "Not in the paper", "Path and grids by eps",
        "Passes and seconds of all of it, by the gap that every lambda is to have (pairwise steps "
        "with a cache). Runs that did not end in their time are left out.",
        "the paper has eps = 0.1 alone.", lambda size: list(eps_runs(size)), draw_eps,
        (Statement("The path costs about as much as the warm grid (at most twice), at every eps.",
                   close_by_eps),),
    ),
    Figure(
        "2016-path-authors", "The authors' own numbers", "The path whose numbers are known",
        "Passes of our path on OCR-small (eps 0.1, kappa 0.9, plain steps), and, as a cross, where "
        "the authors' program ended.",
        "the authors' numbers are from one run of their program.",
        lambda size: list(authors_runs(size)), draw_authors,
        (
            Statement("The path begins at lambda 4623.173.", same_start),
            Statement("It takes 77 breakpoints and 137 passes (ours: no more).", as_cheap),
        ),
        authors_table,
    ),
)  # fmt: skip
