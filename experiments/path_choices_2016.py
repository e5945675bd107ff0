"""Osokin and others (2016), Figure 7, and paths by eps and beside the authors' own numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import blockwolfe as bw
from experiments.core.drawing import lines, one_legend, panels
from experiments.core.pages import markdown_table
from experiments.core.plan import Budget, Figure, Run, Statement, Verdict
from experiments.core.sets import load
from experiments.core.table import Table
from experiments.paths_2016 import (
    EPS,
    KINDS,
    SOLVERS,
    against_lambda,
    compiled,
    least_reached,
    passes_to,
    path_rows,
    path_run,
)

# -- Figure 7: kappa -------------------------------------------------------------------------

KAPPAS = (0.3, 0.5, 0.7, 0.9, 0.99)
# data, where paths end, budget, kappas, seeds
KAPPA_SETTINGS = {
    "quick": ("digits", 2.0**8, Budget(None, 10.0), (0.5, 0.9), 1),
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
        yield path_run(key, work, budget, SOLVERS[solver])


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
    """Passes along certified paths, passes and true gaps along heuristic ones."""
    solvers = table.values("solver")
    named = Table([{**row, "shown": f"kappa {row['kappa']:g}"} for row in table.rows])
    figure, axes = panels(3, len(solvers), width=3.6)
    wanted = (("eps-path", "passes"), ("heuristic path", "passes"), ("heuristic path", "gap"))
    for solver, column in zip(solvers, axes.T, strict=True):
        for (kind, y), ax in zip(wanted, column, strict=True):
            against_lambda(ax, named.where(solver=solver, method=kind), y, by="shown")
            label = f"true gap, {kind}" if y == "gap" else f"{y}, {kind}"
            ax.set(title=solver, xlabel="lambda", ylabel=label)
            if y == "gap":
                ax.axhline(EPS, color="0.5", linestyle=":", linewidth=1)
    one_legend(figure, axes, columns=6)
    return figure


def ended_in_time(table: Table) -> str:
    """How many paths go down to the end."""
    end = KAPPA_SETTINGS[table.header["size"]][1] * (1.0 + 1e-9)
    runs = table.groups("solver", "method", "kappa", "seed")
    ends = [least_reached(run) <= end for _, run in runs]
    return f"{sum(ends)} of {len(ends)} paths go down to lambda {end:.2g} in their time."


def middle_is_best(table: Table) -> Verdict:
    """Kappas from 0.5 to 0.9 need the fewest passes of a certified path."""
    won, said = [], []
    for (solver,), rows in table.where(method="eps-path").groups("solver"):
        lam = max(least_reached(run) for _, run in rows.groups("kappa", "seed"))
        passes = {kappa: passes_to(some, lam) for (kappa,), some in rows.groups("kappa")}
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
        found = (
            f"largest true gap {worst['gap']:.3g} (kappa {worst['kappa']:g}, {worst['solver']}, "
            f"at lambda {worst['reached']:.2g})"
        )
        return Verdict((worst["gap"] <= EPS * (1 + 1e-9)) == within, found)

    return judge


# -- effort by eps ---------------------------------------------------------------------------

# data, grid, budget, gaps, seeds
EPS_SETTINGS = {
    "quick": ("digits", range(8, 4, -1), Budget(None, 10.0), (0.5, 0.2), 1),
    "full": ("OCR-small", range(13, -6, -1), Budget(None, 20.0), (0.5, 0.2, 0.1, 0.05, 0.02), 3),
}


def eps_runs(size: str) -> Iterator[Run]:
    """Paths and grids to several gaps."""
    data, powers, budget, all_eps, n_seeds = EPS_SETTINGS[size]
    method = SOLVERS["pairwise, cache"]
    for seed, eps, kind in product(range(n_seeds), all_eps, KINDS):
        key = {"data": data, "method": kind, "eps": eps, "seed": seed}
        made = partial(KINDS[kind], data, method, seed, budget, powers, eps=eps)
        yield path_run(key, partial(_ending, made), budget, method)


def _ending(work: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The last row alone."""
    return work()[-1:]


def ended(table: Table) -> Table:
    """Runs that have served all lambdas in their time."""
    end = 2.0 ** EPS_SETTINGS[table.header["size"]][1][-1] * (1.0 + 1e-9)
    return Table([row for row in table.rows if row["reached"] <= end], table.header)


def draw_eps(table: Table) -> Any:
    """Passes and seconds of all of it, by eps."""
    done, all_eps = ended(table), table.values("eps")
    figure, axes = panels(1, 2, width=3.6)
    for y, ax in zip(("passes", "seconds"), axes.flat, strict=True):
        lines(ax, Table(sorted(done.rows, key=lambda row: row["eps"])), "eps", y, looks=MARKS)
        label = "CPU seconds" if y == "seconds" else y
        ax.set(xscale="log", yscale="log", xlabel="eps", ylabel=label)
        ax.set_xticks(all_eps, [f"{eps:g}" for eps in all_eps])
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
            said.append(f"eps {eps:g}: {ours:.4g} against {theirs:.4g} passes")
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
        yield path_run(key, work, budget, method)


def draw_authors(table: Table) -> Any:
    """Passes by lambda, with the end of the authors' path as a cross."""
    figure, axes = panels(1, 1, width=4.5, height=3.0)
    ax = axes[0, 0]
    named = [{**row, "method": f"{row['method']} sampling"} for row in table.rows]
    against_lambda(ax, Table(named), "passes")
    if table.rows[0]["data"] == "OCR-small":
        at = 1.0 / AUTHORS_END
        ax.plot([at], [AUTHORS["passes"]], "x", color="C3", label="the authors' end")
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


FIGURES = (
    Figure(
        "2016-kappa", "Figure 7", "The choice of kappa",
        "Above: passes of certified paths by kappa. Middle: passes of heuristic paths. Below: the "
        "true gap of heuristic paths where each w has to serve last; the dotted line is eps.",
        "one data set, and 15 CPU seconds for a path.",
        lambda size: list(kappa_runs(size)), draw_kappa,
        (
            Statement(
                "Kappa too small or too large is slower; 0.5 to 0.9 is good.", middle_is_best
            ),
            Statement("With kappa up to 0.7 the heuristic path keeps its gaps within eps.",
                      heuristic_gaps(0.7, True)),
            Statement("With larger kappa it does not.", heuristic_gaps(0.9, False)),
        ),
        ended_in_time,
    ),
    Figure(
        "2016-path-eps", "Not in the paper", "Path and grids by eps",
        "Passes and seconds of all of it, by the gap that is to be had (pairwise steps with a "
        "cache): at every lambda by the path, at the 19 powers of two from 2^13 to 2^-5 by the "
        "grid. Runs that did not end in their time are left out.",
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
