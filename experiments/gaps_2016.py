"""Osokin and others (2016), Figures 1 and 2: stale estimates, gap sampling's promise, the cache."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import blockwolfe as bw
from experiments.core.drawing import lines, one_legend, panels
from experiments.core.judging import at_the_end, beyond_chance
from experiments.core.plan import Budget, Figure, Run, Statement, Verdict
from experiments.core.solving import offline_rows, warming
from experiments.core.table import Table

NEVER = 1_000_000  # passes
REFRESHES = {"gap 1": 1, "gap 5": 5, "gap 10": 10, "gap 100": 100, "gap inf": NEVER}
METHODS: dict[str, Any] = {
    "uniform": bw.BCFW(bw.Uniform(), certify_every=NEVER),
    **{
        name: bw.BCFW(bw.GapSampling(refresh_every=every), certify_every=NEVER)
        for name, every in REFRESHES.items()
    },
}
# data, lambda, budget, seeds
SETTINGS = {
    "quick": ("digits", 0.01, Budget(12, 5.0), 2),
    "full": ("OCR-small", 1.0 / 626, Budget(2000, 15.0), 3),
}


def staleness_runs(size: str) -> Iterator[Run]:
    """Uniform sampling, and gap sampling with full passes more or less often."""
    data, lam, budget, n_seeds = SETTINGS[size]
    # Uniform sampling with a full pass after each: its gaps tell what gap sampling promises.
    known = {"uniform, all gaps known": bw.BCFW(bw.Uniform(), certify_every=1)}
    half = Budget((budget.passes or 0) // 2, budget.seconds)
    for seed in range(n_seeds):
        for name, method in {**METHODS, **known}.items():
            spent = half if name in known else budget
            key = {"data": data, "lam": lam, "method": name, "seed": seed, "budget": str(spent)}
            work = partial(offline_rows, data, lam, method, seed, spent)
            yield Run(key, work, spent.seconds, warm=warming(data, method))


def draw_staleness(table: Table) -> Any:
    """(a) gaps, (b) true over estimated gap, (c) the factor of Theorem 2."""
    drawn = Table([row for row in table.rows if row["method"] in METHODS], table.header)
    figure, axes = panels(1, 3)
    drawn = Table([{**row, "quality": _quality(row)} for row in drawn.rows], table.header)
    lines(axes[0, 0], drawn, "all_passes", "gap")
    adaptive = Table([
        row for row in drawn.rows if row["method"] != "uniform" and row["factor"] == ""
    ])  # fmt: skip
    looks = {name: {"color": f"C{k}"} for k, name in enumerate(METHODS)}
    lines(axes[0, 1], adaptive, "all_passes", "quality", looks=looks)
    known = ("uniform, all gaps known", "gap 1", "gap 10")
    promised = Table([r for r in table.rows if r["method"] in known and r["factor"] != ""])
    looks["uniform, all gaps known"] = {"color": "C7"}
    lines(axes[0, 2], promised, "all_passes", "factor", looks=looks)
    labels = ("duality gap", "true gap / estimate", "promised factor of improvement")
    for ax, label in zip(axes.flat, labels, strict=True):
        ax.set(xscale="log", yscale="log", xlabel="effective passes", ylabel=label)
    one_legend(figure, axes)
    return figure


def _quality(row: dict[str, Any]) -> float:
    estimate = row["estimate"]
    return float(row["gap"]) / float(estimate) if estimate not in ("", 0) else float("nan")


def never_renewed(table: Table) -> Verdict:
    """Without full passes the estimate ends below the true gap, and the gap stops falling."""
    runs = [run for _, run in table.where(method="gap inf").groups("seed")]
    stale = [[row for row in run.rows if row["factor"] == ""] for run in runs]
    ratios = [_quality(rows[-1]) for rows in stale]  # (the last full pass of a run renews all)
    middle = float(np.median(ratios))
    behind = beyond_chance(*_both(table, "gap 10", "gap inf"), "all_passes", "'gap inf'")
    found = f"true gap {middle:.3g} times the estimate; with 'gap 10' {behind.found}"
    return Verdict(middle > 2.0 and bool(behind.holds), found)


def every_pass_is_slow(table: Table) -> Verdict:
    """A full pass after every pass is slower than one every ten."""
    verdict = beyond_chance(*_both(table, "gap 10", "gap 1"), "all_passes", "'gap 1'")
    return Verdict(verdict.holds, f"with 'gap 10' {verdict.found}")


def adaptive_is_faster(table: Table) -> Verdict:
    """Gap sampling with full passes every ten is ahead of uniform sampling."""
    verdict = beyond_chance(*_both(table, "gap 10", "uniform"), "all_passes", "uniform sampling")
    return Verdict(verdict.holds, f"with 'gap 10' {verdict.found}")


def _both(table: Table, *methods: str) -> list[Table]:
    return [table.where(method=method) for method in methods]


def promise_is_above_one(table: Table) -> Verdict:
    """The factor of Theorem 2, where it is known."""
    factors = table.numbers("factor")
    factors = factors[np.isfinite(factors)]
    if not len(factors):
        return Verdict(None, "no full pass")
    found = f"from {factors.min():.3g} to {factors.max():.3g}, median {np.median(factors):.3g}"
    return Verdict(bool(factors.min() > 1.0), found)


STALENESS = Figure(
    "2016-staleness", "Figure 1", "How often to renew the gap estimates",
    "Left: the true gap by passes, with uniform sampling and with gap sampling that renews all "
    "estimates after 1, 5, 10, 100 passes or never. Middle: the true gap over the sum of the "
    "estimates, between renewals (right after them it is 1). Right: the factor by which Theorem 2 "
    "promises gap sampling to be better at that point, chi(gaps)^3 / chi(curvatures). A verdict on "
    "two gaps holds where all seeds agree; their least and largest gap stand in brackets.",
    "the paper does not say which lambda it used; here it is 1/n. Curvatures are bounded by "
    "features of the outputs seen, as in the paper.",
    lambda size: list(staleness_runs(size)), draw_staleness,
    (
        Statement("Gap sampling is faster than uniform sampling.", adaptive_is_faster),
        Statement(
            "If estimates are never renewed, the gap is underestimated (twice or more) and the "
            "method gets stuck.",
            never_renewed,
        ),
        Statement("Renewing after every pass wastes too many calls.", every_pass_is_slow),
        Statement("Theorem 2 promises an improvement (a factor above 1).", promise_is_above_one),
    ),
)  # fmt: skip

# -- Figure 2: the cache ---------------------------------------------------------------------

F_VALUES = (0.001, 0.25, 0.5, 1.0)
NU_VALUES = (0.0001, 0.01, 0.1, 1.0)
CACHE_SETTINGS = {
    "quick": ("digits", 0.01, Budget(12, 5.0), (0.25, 1.0), (0.01,), 1),
    "full": ("OCR-small", 1.0 / 626, Budget(2000, 6.0), F_VALUES, NU_VALUES, 3),
}


def cache_runs(size: str) -> Iterator[Run]:
    """Gap sampling and plain steps with every rule for hits."""
    data, lam, budget, all_F, all_nu, n_seeds = CACHE_SETTINGS[size]
    for seed, F, nu in product(range(n_seeds), all_F, all_nu):
        method = bw.BCFW(bw.GapSampling(), cache=bw.Cache(F=F, nu=nu))
        key = {"data": data, "lam": lam, "F": F, "nu": nu, "seed": seed, "budget": str(budget)}
        work = partial(offline_rows, data, lam, method, seed, budget)
        yield Run(key, work, budget.seconds, warm=warming(data, method))


def draw_cache(table: Table) -> Any:
    """Shares of hits and last gaps over F and nu, and gaps by passes of a few rules."""
    figure, axes = panels(1, 3)
    for ax, column, title in zip(
        axes[0],
        ("hits", "gap"),
        ("share of visits that hit", "log10 of the last gap"),
        strict=False,
    ):
        values = _last(table, column)
        if column == "gap":
            values = np.log10(values)
        image = ax.imshow(values, origin="lower", aspect="auto", cmap="viridis")
        ax.set(xlabel="nu", ylabel="F", title=title)
        ax.set_xticks(range(values.shape[1]), [f"{nu:g}" for nu in table.values("nu")])
        ax.set_yticks(range(values.shape[0]), [f"{F:g}" for F in table.values("F")])
        figure.colorbar(image, ax=ax)
    some = [r for r in table.rows if (r["F"], r["nu"]) in SHOWN]
    named = Table([{**r, "method": f"F {r['F']:g}, nu {r['nu']:g}"} for r in some])
    looks = {f"F {F:g}, nu {nu:g}": {"linestyle": dashes} for (F, nu), dashes in SHOWN.items()}
    lines(axes[0, 2], named, "all_passes", "gap", looks=looks)
    axes[0, 2].set(xscale="log", yscale="log", xlabel="effective passes", ylabel="duality gap")
    axes[0, 2].legend()
    return figure


# The recommended rule, and others that hit more or less often.
SHOWN = {
    (0.25, 0.01): "-", (0.001, 0.0001): "--", (1.0, 0.01): ":", (0.001, 0.1): "-.",
    (0.5, 0.01): (0, (5, 1, 1, 1, 1, 1)),
}  # fmt: skip


def _last(table: Table, column: str) -> np.ndarray:
    """Medians over seeds at the end of runs, F down and nu across."""
    return np.array([
        [
            np.median([r.numbers(column)[-1] for _, r in table.where(F=F, nu=nu).groups("seed")])
            for nu in table.values("nu")
        ]
        for F in table.values("F")
    ])  # fmt: skip


def recommended_is_good(table: Table) -> Verdict:
    """F 0.25, nu 0.01 ends within a factor of two of the best rule, at the passes of both."""
    ours = table.where(F=0.25, nu=0.01)
    others = [(key, rows) for key, rows in table.groups("F", "nu") if key != (0.25, 0.01)]
    pairs = {key: at_the_end(ours, rows, "all_passes") for key, rows in others}
    worst = max(pairs, key=lambda key: pairs[key][0] / pairs[key][1])
    factor = pairs[worst][0] / pairs[worst][1]
    found = f"at most {factor:.2g} times the gap of any other (of F {worst[0]:g}, nu {worst[1]:g})"
    return Verdict(factor <= 2.0, found)


def always_hit_stops(table: Table) -> Verdict:
    """F 0.001 and nu 0.0001 hit nearly always, and end with a larger gap."""
    loose, ours = table.where(F=0.001, nu=0.0001), table.where(F=0.25, nu=0.01)
    if not len(loose):
        return Verdict(None, "not run at this size")
    hits = float(np.median([run.numbers("hits")[-1] for _, run in loose.groups("seed")]))
    gap, best = at_the_end(loose, ours, "cpu")
    found = f"{100 * hits:.0f} % of visits hit; gap {gap:.2g} against {best:.2g} in the same time"
    return Verdict(hits > 0.9 and gap > best, found)


CACHE = Figure(
    "2016-cache", "Figure 2", "When a stored corner is good enough",
    "A visit uses a stored corner where its gap is at least max(F times the block's last gap, nu/n "
    "times the total). Left: share of visits that do. Middle: the last gap. Right: gaps by passes.",
    "the paper names the regimes, not the values; the grid is ours, with the recommended F = 0.25, "
    "nu = 0.01 in it.",
    lambda size: list(cache_runs(size)), draw_cache,
    (
        Statement(
            "If both parameters are small, nearly every visit hits, and convergence stops.",
            always_hit_stops,
        ),
        Statement(
            "The method is not very sensitive; F = 0.25, nu = 0.01 is a good choice (within a "
            "factor of two of any other, per pass).",
            recommended_is_good,
        ),
    ),
)  # fmt: skip
