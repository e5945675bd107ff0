"""Lecture notes on Frank-Wolfe: the rates of the theorems on quadratics over polytopes, measured.

Constants are exact here: the curvature of a quadratic over a polytope is a maximum over pairs of
corners, and pyramidal widths of simplex and cube are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from blockwolfe import optimize
from experiments.core.drawing import lines, one_legend, panels
from experiments.core.minimizing import SLACK, above_rounding, minimum, steps, tail_rate
from experiments.core.pages import markdown_table
from experiments.core.plan import Budget, Figure, Page, Run, Statement, Verdict
from experiments.core.table import Table


class Quadratic(NamedTuple):
    """A quadratic over a polytope, and the constants of the theorems."""

    objective: Any
    domain: Any
    curvature: float  # C_f
    rate: float  # rho = mu / (4 L) (pyramidal width / diameter)^2
    at_start: float  # f above its minimum at the first point
    lowest: float


METHODS = {
    "FW, 2/(k+2)": "fw+predefined",
    "FW, line search": "fw",
    "away": "away",
    "pairwise": "pairwise",
    "fully corrective": "fcfw",
}
GOOD_STEPS = {"away": 0.5, "fully corrective": 1.0}  # share that theorems count, at least
PROBLEMS = ("simplex", "simplex, badly scaled", "cube")
# dimension, steps
SETTINGS = {
    "quick": (8, Budget(60, 5.0)),
    "full": (50, Budget(10_000, 20.0)),
}
ROUNDED = 1e-5  # tables keep six digits


@cache
def problem(name: str, n: int) -> Quadratic:
    """One of `PROBLEMS`; the minimum lies inside a face, the first point outside it."""
    rng = np.random.default_rng(0)
    eigenvalues = np.geomspace(1.0, 30.0, n) if "badly" in name else np.ones(n)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    Q = basis * eigenvalues @ basis.T
    Q = 0.5 * (Q + Q.T)
    if name == "cube":
        domain: Any = optimize.Box(0.0, 1.0, n)
        target = np.concatenate([np.full(n // 2, 1.02), rng.uniform(0.2, 0.8, size=n - n // 2)])
        width, diameter, curvature = 1.0 / np.sqrt(n), np.sqrt(n), float(n)
    else:
        domain = optimize.Simplex(n)
        target = np.zeros(n)
        target[n // 2 :] = rng.dirichlet(np.full(n // 2, 5.0))
        target[: n // 2] = -0.02  # (runs begin at the first corner, outside the face)
        width, diameter = 2.0 / np.sqrt(n), np.sqrt(2.0)  # (n is even)
        diagonal = np.diag(Q)
        curvature = float((diagonal[:, None] + diagonal[None] - 2.0 * Q).max())
    objective = optimize.Quadratic(Q, -Q @ target)
    lowest = minimum(objective, domain)
    first = np.asarray(optimize.minimize(objective, domain, "fw", max_passes=0).x)
    rate = eigenvalues[0] / (4.0 * eigenvalues[-1]) * (width / diameter) ** 2
    return Quadratic(
        objective, domain, curvature, rate, float(objective.value(first)) - lowest, lowest
    )


def runs(size: str) -> Iterator[Run]:
    """Every method on every quadratic; nothing is random."""
    n, budget = SETTINGS[size]
    for name, (label, method) in product(PROBLEMS, METHODS.items()):
        key = {"data": name, "n": n, "method": label, "seed": 0, "budget": str(budget)}
        yield Run(key, partial(rows, name, n, label, method, budget), budget.seconds)


def rows(name: str, n: int, label: str, method: str, budget: Budget) -> list[dict[str, Any]]:
    """A run, with the theorem's bound at every step that is kept."""
    found = problem(name, n)
    taken = steps(found.objective, found.domain, method, 0, budget, found.lowest)
    constants = {"C": found.curvature, "rho": found.rate, "h0": found.at_start}
    return [{**row, "bound": bound(found, label, row["steps"]), **constants} for row in taken]


def bound(found: Quadratic, label: str, k: float) -> float:
    """What the theorem promises after k steps; none for pairwise steps."""
    if label.startswith("FW"):
        return 2.0 * found.curvature / (k + 2.0)
    if label in GOOD_STEPS:
        return float((1.0 - found.rate) ** (GOOD_STEPS[label] * k) * found.at_start)
    return float("nan")


def draw(table: Table) -> Any:
    """Values above the minimum by steps, with the bounds as dotted lines."""
    names = table.values("data")
    figure, axes = panels(1, len(names))
    for name, ax in zip(names, axes[0], strict=True):
        lines(ax, above_rounding(table.where(data=name)), "steps", "above")
        for label, color in (("FW, 2/(k+2)", "C0"), ("away", "C2"), ("fully corrective", "C4")):
            run = table.where(data=name, method=label)
            ax.plot(run.numbers("steps"), run.numbers("bound"), ":", color=color)
        ax.set(xscale="log", yscale="log", xlabel="steps", title=name, ylim=(SLACK, 30.0))
    axes[0, 0].set_ylabel("value above the minimum")
    one_legend(figure, axes, columns=5)
    return figure


def below_bound(methods: tuple[str, ...], at_least: int = 1) -> Any:
    """Judge that values are below the theorem's bound at every step."""

    def judge(table: Table) -> Verdict:
        ratios = []
        for row in table.rows:
            if row["method"] in methods and row["steps"] >= at_least:
                ratios.append((row["above"] - SLACK) / row["bound"])
        return Verdict(
            max(ratios) <= 1.0 + ROUNDED, f"at most {max(0.0, *ratios):.3g} of the bound"
        )

    return judge


def gap_below(table: Table) -> Verdict:
    """The least gap so far is at most 3 times the bound of values."""
    ratios = []
    for (_, method), run in table.groups("data", "method"):
        if method.startswith("FW"):
            least = np.fmin.accumulate(run.numbers("gap"))
            known = np.isfinite(least) & (run.numbers("steps") >= 1)
            ratios += list(least[known] / (3.0 * run.numbers("bound")[known]))
    return Verdict(max(ratios) <= 1.0, f"at most {max(ratios):.3g} of the bound")


def slope_of(table: Table, name: str, method: str, log: bool) -> float:
    """How fast a run converges at its end: per step, or per factor of e in steps."""
    run = table.where(data=name, method=method)
    x = run.numbers("steps")
    later = x >= 1
    x, above = x[later], run.numbers("above")[later]
    return tail_rate(np.log(x) if log else x, above)


def sublinear(table: Table) -> Verdict:
    """Slopes of plain steps on logarithmic axes."""
    slopes = {
        f"{name}, {method}": slope_of(table, name, method, True)
        for name, method in product(table.values("data"), list(METHODS)[:2])
    }
    said = "; ".join(f"{name}: {value:.2f}" for name, value in slopes.items())
    return Verdict(all(-3.0 < value < 0.0 for value in slopes.values()), f"slopes {said}")


def linear(table: Table) -> Verdict:
    """Each step with an active set gains more than the theorem's share."""
    won, said = [], []
    for name, method in product(table.values("data"), ("away", "pairwise", "fully corrective")):
        measured = _share(table, name, method)
        promised = table.where(data=name).rows[0]["rho"] * GOOD_STEPS.get(method, 0.0)
        if np.isfinite(measured):
            won.append(measured >= promised)
            said.append(f"{name}, {method}: {measured:.2g} (at least {promised:.2g})")
    return Verdict(all(won), f"share lost per step: {'; '.join(said)}")


def _share(table: Table, name: str, method: str) -> float:
    return 1.0 - float(np.exp(slope_of(table, name, method, False)))


def constants(table: Table) -> str:
    """What goes into the bounds, and what was measured."""
    found = []
    for name in table.values("data"):
        first = table.where(data=name).rows[0]
        shares = [
            _share(table, name, method) for method in ("away", "pairwise", "fully corrective")
        ]
        cells = [f"{share:.2g}" if np.isfinite(share) else "ends at once" for share in shares]
        found.append([name, f"{first['C']:.3g}", f"{first['rho']:.2g}", *cells])
    header = [
        "problem",
        "curvature C",
        "rho",
        "away: share per step",
        "pairwise",
        "fully corrective",
    ]
    return markdown_table(header, found)


RATES = Figure(
    "notes-rates", "Theorems of the notes", "Rates over simplex and cube",
    "How far the value is from its minimum, by steps (one linear oracle call each). Dotted: what "
    "the theorems promise, 2C/(k+2) for plain steps, (1 - rho)^(k/2) h0 for away steps and "
    "(1 - rho)^k h0 for fully corrective ones, with rho = mu/(4L) (pyramidal width / diameter)^2.",
    "the notes have no figures; the quadratics are ours, with the minimum inside a face "
    "and the first point outside it. The "
    "theorem for pairwise steps counts only k / (3 |A|! + 1) good steps, which promises nothing.",
    lambda size: list(runs(size)), draw,
    (
        Statement("Plain steps: f - f* <= 2C/(k+2) after k steps, with either step size.",
                  below_bound(("FW, 2/(k+2)", "FW, line search"))),
        Statement("The least gap so far is at most 3 times that.", gap_below),
        Statement("Plain steps are sublinear where the minimum is inside a face: their slope on "
                  "logarithmic axes stays above -3, where a linear rate gets steeper.", sublinear),
        Statement("Away and fully corrective steps are within their linear bounds at every step.",
                  below_bound(("away", "fully corrective"), 0)),
        Statement("Methods with an active set converge linearly, faster than promised.", linear),
    ),
    constants,
)  # fmt: skip

# -- blocks ----------------------------------------------------------------------------------

# simplices, their dimension, budget, seeds
BLOCK_SETTINGS = {
    "quick": (5, 4, Budget(20, 5.0), 2),
    "full": (100, 10, Budget(1000, 50.0), 5),
}
BLOCK_METHODS = {"block FW": "bcfw", "batch FW": "fw"}


class Blocks(NamedTuple):
    """Least squares over a product of simplices."""

    objective: Any
    domain: Any
    lowest: float
    curvature: float  # sum of those of the blocks
    at_start: float


@cache
def blocks(n: int, size: int) -> Blocks:
    """N simplices; the curvature of a block is the longest difference of its columns, squared."""
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(2 * n, n * size)) / np.sqrt(2 * n), 2.0 * rng.normal(size=2 * n)
    objective = optimize.LeastSquares(A, b)
    domain = optimize.Product([optimize.Simplex(size)] * n)
    curvature = 0.0
    for i in range(n):
        columns = A[:, i * size : (i + 1) * size]
        gram = columns.T @ columns
        lengths = np.diag(gram)
        curvature += float((lengths[:, None] + lengths[None] - 2.0 * gram).max())
    lowest = minimum(objective, domain)
    first = np.asarray(optimize.minimize(objective, domain, "fw", max_passes=0).x)
    at_start = float(objective.value(first)) - lowest
    return Blocks(objective, domain, lowest, curvature, at_start)


def block_runs(size: str) -> Iterator[Run]:
    """One block at a time, with several seeds, and all at once."""
    n, dimension, budget, n_seeds = BLOCK_SETTINGS[size]
    for label, method in BLOCK_METHODS.items():
        for seed in range(n_seeds if label == "block FW" else 1):
            key = {"data": f"{n} simplices", "method": label, "seed": seed}
            work = partial(block_rows, n, dimension, label, method, seed, budget)
            yield Run({**key, "budget": str(budget)}, work, budget.seconds)


def block_rows(
    n: int, dimension: int, label: str, method: Any, seed: int, budget: Budget
) -> list[dict[str, Any]]:
    """Passes, value above the minimum, and the bound 2n/(k+2n) (C + h0)."""
    found = blocks(n, dimension)
    chosen = optimize.BlockFrankWolfe(bw_uniform()) if label == "block FW" else method
    taken = steps(found.objective, found.domain, chosen, seed, budget, found.lowest)
    per_pass = 1.0 if label == "batch FW" else float(n)
    return [
        {
            "passes": row["steps"] / per_pass, "above": row["above"],
            "bound": 2.0 * n / (row["steps"] + 2.0 * n) * (found.curvature + found.at_start)
            if label == "block FW" else float("nan"),
        }
        for row in taken
    ]  # fmt: skip


def bw_uniform() -> Any:
    """Blocks drawn with replacement, as in the theorem."""
    import blockwolfe as bw

    return bw.Uniform()


def draw_blocks(table: Table) -> Any:
    """Values by passes, with the bound."""
    figure, axes = panels(1, 1, width=4.5, height=3.0)
    ax = axes[0, 0]
    lines(ax, table, "passes", "above")
    run = table.where(method="block FW", seed=0)
    ax.plot(run.numbers("passes"), run.numbers("bound"), ":", color="C0", label="the bound")
    ax.set(xscale="log", yscale="log", xlabel="passes", ylabel="value above the minimum")
    ax.set_title(table.rows[0]["data"])
    one_legend(figure, axes)
    return figure


def mean_below(table: Table) -> Verdict:
    """The mean over seeds is below the bound at every pass kept."""
    by_pass: dict[float, list[float]] = {}
    limits: dict[float, float] = {}
    for row in table.where(method="block FW").rows:
        by_pass.setdefault(row["passes"], []).append(row["above"])
        limits[row["passes"]] = row["bound"]
    most = max(float(np.mean(values)) / limits[at] for at, values in by_pass.items())
    return Verdict(most <= 1.0, f"at most {most:.3g} of the bound")


def blocks_ahead(table: Table) -> Verdict:
    """After a tenth of the passes and at the end."""
    one, all_ = (table.where(method=method) for method in BLOCK_METHODS)
    won, said = [], []
    last = min(some.numbers("passes").max() for some in (one, all_))
    for at in (max(1.0, last / 10.0), last):
        ours, theirs = (_value_at(some, at) for some in (one, all_))
        won.append(ours <= theirs)
        said.append(f"pass {at:.0f}: {ours:.2g} against {theirs:.2g}")
    return Verdict(all(won), "; ".join(said))


def _value_at(rows: Table, passes: float) -> float:
    values = [
        run.numbers("above")[run.numbers("passes") <= passes + 1e-9][-1]
        for _, run in rows.groups("seed")
    ]
    return float(np.median(values))


BLOCKS = Figure(
    "notes-blocks", "Theorem on block-coordinate steps", "One block at a time",
    "Least squares over a product of simplices: one block drawn at random at a time, or all at "
    "once. Dotted: the bound 2n/(k+2n) (C + h0) after k visits, C the sum of the blocks' "
    "curvatures. Bands go over seeds.",
    "the notes have no figures; the problem is ours.",
    lambda size: list(block_runs(size)), draw_blocks,
    (
        Statement("E[f - f*] <= 2n/(k+2n) (C + h0) after k visits.", mean_below),
        Statement("After as many oracle calls, one block at a time is ahead of all at once.",
                  blocks_ahead),
    ),
)  # fmt: skip

PAGE = Page(
    "lecture_notes",
    "Lecture notes: rates of Frank-Wolfe methods",
    "Notes of a course by S. Lacoste-Julien on FW, FCFW and BCFW for the structured SVM.",
    "They state rates; here each is measured where all its constants are known.",
    (RATES, BLOCKS),
    (
        (
            "the rate of Nesterov's block projected gradient",
            "its constants cannot be read with certainty in the copy of the notes; the method is "
            "`optimize.minimize(..., 'projected')`",
        ),
        (
            "fully corrective steps are the cutting planes with one slack",
            "an equality of two methods, not a curve",
        ),
    ),
)  # fmt: skip
