"""Osokin and others (2016), Figures 3, 5 and 6: sampling x steps x cache, on five data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import blockwolfe as bw
from experiments.core.drawing import lines, one_legend, panels
from experiments.core.judging import at_the_end, counted, ratio
from experiments.core.plan import Budget, Figure, Run, Statement, Verdict
from experiments.core.solving import offline_rows, warming
from experiments.core.table import Table

SAMPLINGS = {"uniform": bw.Uniform(), "gap": bw.GapSampling()}
STEPS = {"FW": bw.FW(), "pairwise": bw.Pairwise(), "away": bw.Away()}
CACHES = {"no cache": None, "cache": bw.Cache()}
DASHES = {"uniform": "--", "gap": "-"}
COLORS = {
    ("FW", "no cache"): "C1", ("FW", "cache"): "C0", ("pairwise", "no cache"): "C3",
    ("pairwise", "cache"): "C2", ("away", "no cache"): "C5", ("away", "cache"): "C4",
}  # fmt: skip
# Of each size and data set: budget, lambdas (from the largest), seeds, steps.
TWO, ALL = ("FW", "pairwise"), tuple(STEPS)
SETTINGS: dict[str, dict[str, tuple[Any, ...]]] = {
    "quick": {"digits": (Budget(6, 5.0), (0.1,), 1, TWO)},
    "full": {
        "OCR-small": (Budget(2000, 4.0), (0.1, 0.01, 0.001), 3, ALL),
        "OCR-large": (Budget(2000, 10.0), (0.1, 0.001, 0.0001), 3, ALL),
        "CoNLL-2000": (Budget(2000, 12.0), (0.1, 0.01, 0.0001), 3, ALL),
        "horses": (Budget(2000, 12.0), (1000.0, 100.0, 0.1), 3, ALL),
        "poses": (Budget(2000, 10.0), (0.1, 0.01, 0.001), 3, ALL),
    },
}


def runs(data: str, size: str) -> Iterator[Run]:
    """Every combination, at every lambda, with every seed."""
    name = data if data in SETTINGS[size] else "digits"
    budget, lams, n_seeds, steps = SETTINGS[size][name]
    for lam, seed in product(lams, range(n_seeds)):
        for sampling, step, cache in product(SAMPLINGS, steps, CACHES):
            method = bw.BCFW(SAMPLINGS[sampling], STEPS[step], CACHES[cache])
            key = {
                "data": name, "lam": lam, "sampling": sampling, "step": step, "cache": cache,
                "seed": seed, "budget": str(budget),
            }  # fmt: skip
            work = partial(rows, name, lam, method, seed, budget)
            yield Run(key, work, budget.seconds, warm=warming(name, method))


def rows(data: str, lam: float, method: Any, seed: int, budget: Budget) -> list[dict[str, Any]]:
    """Effort and gap."""
    kept = ("all_passes", "cpu", "gap")
    found = offline_rows(data, lam, method, seed, budget)
    return [{name: row[name] for name in kept} for row in found]


def draw(table: Table) -> Any:
    """The gap against passes (above) and CPU seconds (below), a column for each lambda."""
    table = Table([{**row, "method": _name(row)} for row in table.rows], table.header)
    looks = {
        _name({"sampling": sampling, "step": step, "cache": cache}): {
            "color": COLORS[step, cache], "linestyle": DASHES[sampling],
        }
        for sampling, step, cache in product(SAMPLINGS, STEPS, CACHES)
    }  # fmt: skip
    settings = list(table.groups("data", "lam"))
    figure, axes = panels(2, len(settings))
    for ((data, lam), some), column in zip(settings, axes.T, strict=True):
        for x, ax in zip(("all_passes", "cpu"), column, strict=True):
            lines(ax, some, x, "gap", looks=looks)
            label = "effective passes" if x == "all_passes" else "CPU seconds"
            ax.set(xscale="log", yscale="log", xlabel=label, title=f"{data}, lam = {lam:g}")
    for ax in axes[:, 0]:
        ax.set_ylabel("duality gap")
    one_legend(figure, axes)
    return figure


def _name(row: dict[str, Any]) -> str:
    return f"{row['sampling']}, {row['step']}, {row['cache']}"


# -- what the paper says ---------------------------------------------------------------------


def pairs(table: Table, choice: str, values: tuple[str, str]) -> Iterator[tuple[str, Table, Table]]:
    """Runs that differ in one choice alone, with the name of what they share."""
    others = [name for name in ("lam", "sampling", "step", "cache") if name != choice]
    for key, some in table.groups(*others):
        name = ", ".join(f"lam {part:g}" if not isinstance(part, str) else part for part in key)
        yield name, *(some.where(**{choice: value}) for value in values)


def helps(choice: str, values: tuple[str, str], x: str) -> Callable[[Table], Verdict]:
    """Judge that the second value of a choice has the smaller gap than the first, everywhere."""
    return lambda table: counted(
        (name, ratio(after, before, x))
        for name, before, after in pairs(table, choice, values)
        if len(before) and len(after)
    )


def pairwise_helps_more(table: Table) -> Verdict:
    """The gain of pairwise steps (gap sampling, no cache), by lambda."""
    found = []
    for (lam,), some in table.where(sampling="gap", cache="no cache").groups("lam"):
        found.append((lam, ratio(some.where(step="pairwise"), some.where(step="FW"), "all_passes")))
    found.sort(reverse=True)
    ratios = [value for _, value in found]
    said = ", ".join(f"lam {lam:g}: gap times {value:.2g}" for lam, value in found)
    return Verdict(ratios == sorted(ratios), said)


def best_in_time(wanted: str) -> Callable[[Table], Verdict]:
    """Judge that a combination has the least gap at the end of the common time, at each lambda."""

    def judge(table: Table) -> Verdict:
        won, said = [], []
        named = Table([{**row, "method": _name(row)} for row in table.rows])
        for (lam,), some in named.groups("lam"):
            ours = some.where(method=wanted)
            rivals = [name for name in some.values("method") if name != wanted]
            gaps = {name: at_the_end(ours, some.where(method=name), "cpu") for name in rivals}
            factors = {name: own / other for name, (own, other) in gaps.items()}
            worst = max(factors, key=factors.__getitem__)
            won.append(factors[worst] <= 1.0)
            said.append(f"lam {lam:g}: {factors[worst]:.2g} times the gap of {worst}")
        return Verdict(all(won), "; ".join(said))

    return judge


GAP, CACHE = ("uniform", "gap"), ("no cache", "cache")
COMMON = (
    Statement("Gap sampling always helps, per pass.", helps("sampling", GAP, "all_passes")),
    Statement("Gap sampling always helps, in time.", helps("sampling", GAP, "cpu")),
    Statement("A cache always helps, per pass.", helps("cache", CACHE, "all_passes")),
    Statement("A cache helps in time as well.", helps("cache", CACHE, "cpu")),
    Statement(
        "Pairwise steps reach smaller gaps, per pass.",
        helps("step", ("FW", "pairwise"), "all_passes"),
    ),
    Statement("Pairwise steps help the more, the larger lambda is.", pairwise_helps_more),
)
CHEAP = Statement(
    "Where the oracle is cheap: gap sampling with plain steps and no cache is best in time.",
    best_in_time("gap, FW, no cache"),
)
COSTLY = Statement(
    "Where the oracle is expensive: gap sampling with pairwise steps and a cache is best in time.",
    best_in_time("gap, pairwise, cache"),
)
CAPTION = (
    "The true duality gap, computed besides, against effective passes (above; full passes that "
    "renew estimates are counted) and CPU seconds (below). Solid lines sample by gaps, dashed ones "
    "uniformly; lines are medians over seeds, bands go from the least to the largest. Away steps "
    "are ours."
)


def lengths(table: Table) -> str:
    """How far runs go: what they are compared at."""
    last = [run.rows[-1] for _, run in table.groups("lam", "sampling", "step", "cache", "seed")]
    passes, cpu = ([row[name] for row in last] for name in ("all_passes", "cpu"))
    return (
        f"Runs end after {min(passes):.3g} to {max(passes):.3g} passes, {min(cpu):.2g} to "
        f"{max(cpu):.2g} CPU seconds; two runs are compared where the shorter one ends."
    )


def figure(data: str, number: str, kind: Statement, differs: str) -> Figure:
    """All combinations on one data set."""
    name = f"2016-{data.lower().partition('-2000')[0]}"
    return Figure(
        name, number, f"Sampling, steps and cache on {data}", CAPTION, differs,
        partial(_listed, data), draw, (*COMMON, kind), lengths,
    )  # fmt: skip


def _listed(data: str, size: str) -> list[Run]:
    return list(runs(data, size))


FIGURES = (
    figure(
        "OCR-small", "Figure 5 (OCR-small)", CHEAP,
        "our code.",
    ),
    figure("OCR-large", "Figures 3 and 5 (OCR-large)", CHEAP, "our code."),
    figure(
        "CoNLL-2000", "Figures 3 and 5 (CoNLL)", CHEAP,
        "features made again from the text.",
    ),
    figure(
        "horses", "Figures 3, 5 and 6 (HorseSeg)", COSTLY,
        "HorseSeg with its features is not to be had: here are 328 Weizmann horses on superpixels "
        "with simple features, so lambdas mean something else, and the oracle is far cheaper.",
    ),
    figure(
        "poses", "Figure 6 (LSP-small)", COSTLY,
        "true joints of the first 100 LSP poses, but score maps made up around them; the oracle "
        "takes milliseconds, not two seconds.",
    ),
)  # fmt: skip
