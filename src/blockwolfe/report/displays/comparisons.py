"""The picture of a comparison: one line per method, a band over its seeds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.comparison.result import Comparison, MethodRun
from blockwolfe.errors import OptionError, unknown_option

__all__ = ["ComparisonDisplay", "Curve"]

_X = {"effective_passes": "effective passes", "seconds": "seconds", "cpu_seconds": "CPU seconds"}
_Y = {
    "gap": "certified gap",
    "suboptimality": "primal - best dual known",
    "held_out_loss": "held-out loss",
}


class Curve(NamedTuple):
    """A method's median over seeds, and the least and the greatest of them.

    >>> Curve.over_seeds([(np.array([1, 3]), np.array([8, 2])), (np.array([2]), np.array([4]))])
    Curve(x=array([2, 3]), median=array([6., 3.]), low=array([4, 2]), high=array([8, 4]), n_seeds=2)
    """

    x: np.ndarray
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_seeds: int

    @classmethod
    def over_seeds(cls, points: list[tuple[np.ndarray, np.ndarray]]) -> Curve:
        """Of runs that were seen at different x: what was last known of each holds until the next.

        The curve begins where all runs are known.
        """
        start = max(x[0] for x, _ in points)
        grid = np.unique(np.concatenate([x[x >= start] for x, _ in points] + [[start]]))
        held = np.array([y[np.searchsorted(x, grid, side="right") - 1] for x, y in points])
        return cls(grid, np.median(held, axis=0), held.min(axis=0), held.max(axis=0), len(points))


class ComparisonDisplay:
    """One line per method of a comparison: the median over seeds, with a band from least to most.

    `curves` holds what is drawn: a dict from labels to `Curve`. `labels` are all methods of the
    comparison: each has the same colour in all of its displays.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> found = bw.compare(problem, 0.1, ["bcfw", "fw"], targets=[0.1])
    >>> display = ComparisonDisplay.from_comparison(found, y="gap", x="effective_passes")
    >>> bool(display.curves["fw"].median[-1] <= 0.1)
    True
    """

    def __init__(
        self, curves: dict[str, Curve], x: str, y: str, targets: Any = (), labels: Any = None
    ) -> None:
        self.curves, self.x, self.y, self.targets = curves, x, y, targets
        self.labels = list(curves if labels is None else labels)

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, y: str = "gap", x: str = "effective_passes"
    ) -> ComparisonDisplay:
        """The display of "gap", "suboptimality" or "held_out_loss" (y) against effort (x).

        x is "effective_passes", "seconds" or "cpu_seconds".
        """
        for argument, value, valid in (("y", y, _Y), ("x", x, _X)):
            if value not in valid:
                raise unknown_option(argument, value, valid)
        curves = {}
        for label in comparison.labels:
            points = [_points(run, comparison, x, y) for run in comparison.runs_of(label)]
            if known := [(at, value) for at, value in points if len(at)]:
                curves[label] = Curve.over_seeds(known)
        if not curves:
            raise OptionError(f"y={y!r}: no run of the comparison has it. {_remedy(y)}")
        targets = comparison.targets if y == "gap" else ()
        return cls(curves, x, y, targets, comparison.labels)

    @classmethod
    def panels(
        cls, comparison: Comparison, y: str = "gap", axes: Any = None
    ) -> tuple[ComparisonDisplay, ComparisonDisplay]:
        """Draw against effective passes (left) and against seconds (right); needs matplotlib."""
        import matplotlib.pyplot as plt

        against = [cls.from_comparison(comparison, y, x) for x in ("effective_passes", "seconds")]
        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
        left, right = (display.plot(ax) for display, ax in zip(against, axes, strict=True))
        right.ax_.get_legend().remove()  # the lines are the same
        return left, right

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw the lines; needs matplotlib."""
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.lines_ = []
        colours = plt.get_cmap("tab10" if len(self.labels) <= 10 else "tab20")
        for label, curve in self.curves.items():
            size = 3 if len(curve.x) > 1 else 9  # (a single point has no line to be seen by)
            look = {"drawstyle": "steps-post", "markersize": size, "label": label}
            colour = colours(self.labels.index(label) % colours.N)
            (line,) = ax.plot(curve.x, curve.median, ".-", color=colour, **look)
            self.lines_.append(line)
            if curve.n_seeds > 1:
                band = {"step": "post", "alpha": 0.2, "linewidth": 0, "color": line.get_color()}
                ax.fill_between(curve.x, curve.low, curve.high, **band)
        for target in self.targets:
            ax.axhline(target, color="grey", linestyle=":", linewidth=0.8)
        if self.y != "held_out_loss":
            ax.set_yscale("log", nonpositive="mask")
        ax.set(xlabel=_X[self.x], ylabel=_Y[self.y])
        ax.legend(fontsize="small").set_in_layout(False)  # long names must not squeeze the axes
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _points(
    run: MethodRun, comparison: Comparison, x: str, y: str
) -> tuple[np.ndarray, np.ndarray]:
    """Effort and value of the rows in which the value is known."""
    if y == "held_out_loss":
        value = run.column(y)
    else:
        value = run.column("gap" if y == "gap" else "primal").copy()
        value[~run.trace["valid"]] = np.nan
        value -= comparison.best_dual if y == "suboptimality" else 0.0
    is_known = ~np.isnan(value)
    return run.column(x)[is_known], value[is_known]


def _remedy(y: str) -> str:
    if y == "held_out_loss":
        return "Give compare(..., held_out=(X, Y))."
    return "Without an exact oracle nothing is certified."
