"""Drawing: light and dark, medians of seeds with the band between the extremes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from cycler import cycler

from experiments.core.curves import band
from experiments.core.plan import Figure
from experiments.core.table import Table

__all__ = ["draw", "lines", "one_legend", "panels"]

STYLES = {"": "default", "-dark": "dark_background"}  # ending of the name: style
GROUND = "#1e2129"
LIT = "#4ea6e6 #ff9f40 #5fd35f #ff6b6b #b794f6 #c49a6c #f58fd0 #a9a9a9 #d4d455 #4fd8e0"
DARK = {
    "figure.facecolor": GROUND, "axes.facecolor": GROUND, "savefig.facecolor": GROUND,
    "axes.prop_cycle": cycler(color=LIT.split()),
}  # fmt: skip
SMALL = {"font.size": 8, "axes.titlesize": 8, "legend.fontsize": 7, "lines.linewidth": 1.2}


def draw(figure: Figure, table: Table, folder: Path, is_dark_too: bool = True) -> list[Path]:
    """Both pictures of a figure, or the light one alone."""
    import matplotlib.pyplot as plt

    from tools.pictures.__main__ import shrink

    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for ending, style in list(STYLES.items())[: 1 + is_dark_too]:
        path = folder / f"{figure.picture}{ending}.png"
        with plt.style.context([style, SMALL, DARK if ending else {}]):
            picture = figure.draw(table)
            _without_small_ticks(picture)
            picture.savefig(path, dpi=100)
            plt.close(picture)
        shrink(path)
        drawn.append(path)
    return drawn


def _without_small_ticks(picture: Any) -> None:
    """Labels between powers of ten would lie over each other."""
    from matplotlib.ticker import NullFormatter

    for ax in picture.axes:
        if ax.get_xscale() == "log":
            ax.xaxis.set_minor_formatter(NullFormatter())


def panels(n_rows: int, n_columns: int, width: float = 3.0, height: float = 2.4) -> Any:
    """A figure and its axes."""
    import matplotlib.pyplot as plt

    size = (width * n_columns + 0.4, height * n_rows + 0.6)
    return plt.subplots(n_rows, n_columns, figsize=size, squeeze=False, layout="constrained")


def lines(
    ax: Any,
    table: Table,
    x: str,
    y: str,
    by: str = "method",
    looks: Mapping[str, dict[str, Any]] | None = None,
    change: Callable[[np.ndarray], np.ndarray] = lambda y: y,
) -> None:
    """A line for each value of a column: the median over seeds, and their extremes as a band."""
    for (name,), rows in table.groups(by):
        runs = [
            (some.numbers(x), change(some.numbers(y)))
            for _, some in rows.groups("seed" if "seed" in rows.rows[0] else by)
        ]
        at, low, middle, high = band(runs)
        look = {"label": str(name), **(looks or {}).get(name, {})}
        (line,) = ax.plot(at, middle, **look)
        ax.fill_between(at, low, high, alpha=0.25, color=line.get_color(), linewidth=0)


def one_legend(figure: Any, axes: Any, columns: int = 4) -> None:
    """The labels of all axes, below them."""
    shown = {line.get_label(): line for ax in axes.flat for line in ax.get_lines()}
    named = {label: line for label, line in shown.items() if not label.startswith("_")}
    figure.legend(named.values(), named, loc="outside lower center", ncols=columns)
