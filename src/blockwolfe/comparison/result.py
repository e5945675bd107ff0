"""What `compare` returns: every run's trace, and tables of when each gap was certified."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from blockwolfe.base.markup import element, joined, table
from blockwolfe.base.optional import to_pandas, to_polars
from blockwolfe.results.status import Status
from blockwolfe.results.trace import Trace

__all__ = ["Comparison", "MethodRun"]

_MEASURES = ("seconds", "cpu_seconds", "effective_passes")
_LEGEND = "to a gap: seconds (CPU seconds) / effective passes; -: not certified within the budget"


@dataclass(frozen=True, eq=False)
class MethodRun:
    """One run of one method: its trace, and the CPU seconds spent up to each row of it.

    >>> from blockwolfe.results.trace import TraceRow
    >>> rows = [TraceRow(), TraceRow(seconds=2.0, oracle_calls=30, gap=0.01, exact=True)]
    >>> run = MethodRun("bcfw", None, 0, Status.CERTIFIED, Trace(rows), np.array([0.0, 1.9]), 10)
    >>> run.effort_to(0.1)
    {'seconds': 2.0, 'cpu_seconds': 1.9, 'effective_passes': 3.0}
    """

    label: str
    method: Any
    seed: int
    status: Status
    trace: Trace
    cpu_seconds: np.ndarray
    n_blocks: int
    unit: float = 1.0  # of targets: the objective at w = 0

    @property
    def effective_passes(self) -> np.ndarray:
        """Oracle calls per block up to each row, those of certificates included."""
        return (self.trace["oracle_calls"] + self.trace["certificate_calls"]) / self.n_blocks

    def column(self, name: str) -> np.ndarray:
        """A measure of effort, or a column of the trace."""
        return np.asarray(getattr(self, name) if name in _MEASURES[1:] else self.trace[name])

    @property
    def dual(self) -> float:
        """The largest dual value on the way."""
        return float(np.fmax.reduce(self.trace["dual"]))

    @property
    def is_certified(self) -> np.ndarray:
        """Which rows hold a valid certificate."""
        return np.asarray(self.trace["valid"] & ~np.isnan(self.trace["gap"]))

    def effort_to(self, target: float) -> dict[str, float]:
        """What it took to certify a relative gap of at most `target`; NaN if none was."""
        is_small = self.trace["gap"] <= target * self.unit
        reached = np.flatnonzero(self.is_certified & is_small)
        if not len(reached):
            return dict.fromkeys(_MEASURES, float("nan"))
        return {name: float(self.column(name)[reached[0]]) for name in _MEASURES}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Several methods on one problem under one budget; printed, it is a table of medians.

    All runs share what any of them has found out about the optimum of (1): it lies between
    `best_dual` and `best_primal`. So the last primal minus `best_dual` bounds the
    suboptimality of a run, often more tightly than its own gap.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> found = bw.compare(problem, 0.1, ["bcfw", "fw"], budget={"max_passes": 50}, targets=[0.1])
    >>> [(row["method"], row["status"]) for row in found.rows()]
    [('bcfw', 'CERTIFIED'), ('fw', 'CERTIFIED')]
    """

    runs: tuple[MethodRun, ...]
    lam: float
    tol: float
    budget: dict[str, Any]
    targets: tuple[float, ...]

    @property
    def labels(self) -> list[str]:
        """The methods, in the order given."""
        return list(dict.fromkeys(run.label for run in self.runs))

    def runs_of(self, label: str) -> list[MethodRun]:
        """The runs of one method, one per seed."""
        return [run for run in self.runs if run.label == label]

    @property
    def best_dual(self) -> float:
        """The largest dual value of any run: a lower bound of the optimum."""
        return float(np.fmax.reduce([run.dual for run in self.runs]))

    @property
    def best_primal(self) -> float:
        """The smallest certified primal value of any run: an upper bound of the optimum."""
        primals = [run.trace["primal"][run.trace["valid"]] for run in self.runs]
        return float(np.fmin.reduce(np.concatenate(primals), initial=np.inf))

    # -- the numbers -------------------------------------------------------------------------

    def rows(self) -> list[dict[str, Any]]:
        """One dict per run; what was not reached or not measured is NaN."""
        best_dual = self.best_dual
        return [self._row(run, best_dual) for run in self.runs]

    def _row(self, run: MethodRun, best_dual: float) -> dict[str, Any]:
        last = run.trace[-1]
        row = {
            "method": run.label,
            "seed": run.seed,
            "status": run.status.name,
            "gap": last.gap,
            "dual": run.dual,
            "suboptimality": last.primal - best_dual,
            "held_out_loss": last.held_out_loss,
            **{name: float(run.column(name)[-1]) for name in _MEASURES},
        }
        for target in self.targets:
            effort = run.effort_to(target)
            row |= {_to(name, target): effort[name] for name in _MEASURES}
        return row

    def summary(self) -> list[dict[str, Any]]:
        """One dict per method: how its runs ended, and medians over the seeds.

        A target that half of the runs did not reach counts as not reached.
        """
        rows = self.rows()
        return [_median([row for row in rows if row["method"] == m]) for m in self.labels]

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns of `rows`."""
        rows = self.rows()
        return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}

    def to_pandas(self) -> Any:
        """`rows` as a pandas DataFrame (pandas must be installed)."""
        return to_pandas(self.to_dict())

    def to_polars(self) -> Any:
        """`rows` as a polars DataFrame (polars must be installed)."""
        return to_polars(self.to_dict())

    # -- the table ---------------------------------------------------------------------------

    def to_markdown(self) -> str:
        """The summary as a Markdown table, with the line that explains it below."""
        header, *body = self._cells()
        lines = [header, ["---"] * len(header), *body]
        escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        table = "\n".join(f"| {' | '.join(line)} |" for line in escaped)
        return f"{table}\n\n{self._title()}; {_LEGEND}."

    def _repr_html_(self) -> str:
        """The summary, for notebooks."""
        header, *body = self._cells()
        return joined([table(body, header, self._title()), element("small", _LEGEND)])

    def __rich__(self) -> Table:
        header, *body = self._cells()
        table = Table(*header, title=self._title(), caption=_LEGEND)
        for line in body:
            table.add_row(*map(escape, line))
        return table

    def __repr__(self) -> str:
        text = io.StringIO()
        Console(file=text, width=1000, color_system=None).print(self.__rich__())
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    def _title(self) -> str:
        seeds = len({run.seed for run in self.runs})
        lowest = f"between {self.best_dual:.6g} and" if not isnan(self.best_dual) else "at most"
        return (
            f"lam = {self.lam:g}, optimum {lowest} {self.best_primal:.6g}, "
            f"{f'median of {seeds} seeds' if seeds > 1 else 'one seed'}"
        )

    def _cells(self) -> list[list[str]]:
        """Header and lines of the summary, as text."""
        summary = self.summary()
        names = {"gap": "gap", "suboptimality": "P - best dual"}
        if any(not isnan(row["held_out_loss"]) for row in summary):
            names["held_out_loss"] = "held-out loss"
        header = ["method", "ending", *names.values(), "in all"]
        header += [f"to {target:g}" for target in self.targets]
        lines = [header]
        for row in summary:
            line = [row["method"], row["status"], *(_number(row[name]) for name in names)]
            line.append(_effort({name: row[name] for name in _MEASURES}))
            line += [_effort({n: row[_to(n, t)] for n in _MEASURES}) for t in self.targets]
            lines.append(line)
        return lines


def _to(name: str, target: float) -> str:
    return f"{name}_to_{target:g}"


def _median(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows of one method as one."""
    counted = Counter(row["status"] for row in rows)
    status = ", ".join(name if len(counted) == 1 else f"{k} {name}" for name, k in counted.items())
    made = {"method": rows[0]["method"], "status": status, "n_seeds": len(rows)}
    for name in list(rows[0])[3:]:  # all that are numbers
        # a run that never got there is worse than any that did, not a missing value
        values = np.nan_to_num([row[name] for row in rows], nan=np.inf)
        middle = float(np.median(values))
        made[name] = middle if middle < np.inf else float("nan")
    return made


def _number(value: float) -> str:
    return f"{value:.3g}" if not isnan(value) else "-"


def _effort(effort: dict[str, float]) -> str:
    wall, cpu, passes = (effort[name] for name in _MEASURES)
    return f"{wall:.3g} ({cpu:.3g}) / {passes:.4g}" if not isnan(wall) else "-"
