"""All solvers on OCR-small: suboptimality, gap and test loss against passes and seconds.

    python benchmarks/solvers_figure.py [--lam 0.01 0.001] [--time-limit 10] [--pictures FOLDER]

One row of the pictures for each lambda, and a table with what each solver has reached at the end.
Full passes that only certify count as passes, and their time counts: those of the batch methods
cost nothing besides. Solvers that may choose look at their primal every
fifth pass.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from common import Benchmark, machine, ocr, options, publish, table

import blockwolfe as bw
from blockwolfe.methods.registry import as_method

SOLVERS = {
    "batch Frank-Wolfe": "fw",
    "BCFW": "bcfw+uniform",
    "BCFW, averaged": "bcfw+uniform+averaging",
    "auto": "auto",
    "SSG": "ssg+last+uniform",
    "SSG, averaged": "ssg+uniform",
    "subgradient, averaged": "subgradient+averaging",
    "perceptron": "perceptron",
    "cutting planes": "cutting_plane",
    "cutting planes, n slacks": "cutting_plane+n",
    "bundle method": "bundle",
    "online EG": "online_eg",
    "excessive gap": "excessive_gap",
    "extragradient, entropy": "extragradient+entropy",
}
CERTIFY_EVERY = 5
TEST_EVERY = 10  # test words that are looked at: a look is to cost less than what it looks at
# Columns of the pictures: what is drawn against effort.
PICTURES = {
    "effective_passes": ("suboptimality", "gap", "held_out_loss"),
    "seconds": ("suboptimality", "gap", "held_out_loss"),
}
MEASURES = {
    "passes": "effective_passes",
    "seconds": "seconds",
    "primal - best dual": "suboptimality",
    "gap": "gap",
    "test loss": "held_out_loss",
}


def solver(name: str) -> Any:
    """The method of this name, with a certificate every fifth pass where that can be chosen."""
    method: Any = as_method(name)
    has_choice = "certify_every" in {field.name for field in fields(method)}
    return replace(method, certify_every=CERTIFY_EVERY) if has_choice else method


def compared(data: Benchmark, lam: float, names: list[str], seconds: float) -> bw.Comparison:
    """All runs at one lambda."""
    methods = {name: solver(SOLVERS[name]) for name in names}
    held_out = (data.test.X[::TEST_EVERY], data.test.Y[::TEST_EVERY])
    return bw.compare(
        data.problem, lam, methods, budget=seconds, targets=[1e-3], held_out=held_out, verbose=1
    )


def rows(found: bw.Comparison) -> list[list[Any]]:
    """What each has reached at the end of its time."""
    return [
        [found.lam, row["method"], *(row[name] for name in MEASURES.values())]
        for row in found.rows()
    ]


def draw(comparisons: list[bw.Comparison], folder: Path) -> None:
    """Two pictures, solvers-passes.png and solvers-seconds.png."""
    folder.mkdir(parents=True, exist_ok=True)
    for effort, measures in PICTURES.items():
        name = effort.removeprefix("effective_")
        draw_one(comparisons, effort, measures, folder / f"solvers-{name}.png")


def draw_one(
    comparisons: list[bw.Comparison], x: str, measures: tuple[str, ...], picture: Path
) -> None:
    """A row of axes for each lambda; one legend for all."""
    import matplotlib.pyplot as plt

    shape = len(comparisons), len(measures)
    size = (4.2 * shape[1], 3.2 * shape[0] + 0.8)
    figure, axes = plt.subplots(*shape, figsize=size, squeeze=False, layout="constrained")
    for found, line in zip(comparisons, axes, strict=True):
        for y, ax in zip(measures, line, strict=True):
            bw.ComparisonDisplay.from_comparison(found, y, x).plot(ax)
            ax.get_legend().remove()
            for curve in ax.get_lines():
                curve.set(marker="", linewidth=1.2)
            ax.set(xscale="log", title=f"lam = {found.lam:.3g}")
            if y == "suboptimality":
                ax.set_ylim(top=10.0)
            if y == "held_out_loss":
                ax.set_ylim(0.19, 0.35)
            if y == "gap":
                ax.set_ylim(top=30.0)
    lines = {line.get_label(): line for ax in axes.flat for line in ax.get_lines()}
    shown = [lines[label] for label in comparisons[0].labels if label in lines]
    figure.legend(handles=shown, loc="outside lower center", ncols=5, fontsize="small")
    figure.savefig(picture, dpi=90)
    plt.close(figure)


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--lam", type=float, nargs="+", help="by default 0.01, 0.001 and 1/n")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds of each run")
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    parser.add_argument("--pictures", type=Path, help="folder to draw them into")
    parser.add_argument("--at-most", type=int, help="words to learn from; all by default")
    given = parser.parse_args()
    data = ocr("small", given.data_home)
    if given.at_most:
        X, Y = data.problem.X[: given.at_most], data.problem.Y[: given.at_most]
        data = data._replace(problem=bw.Problem(data.problem.task, X, Y))
    lams = given.lam or [0.01, 0.001, 1.0 / len(data.problem)]
    found = [compared(data, lam, given.solvers, given.time_limit) for lam in lams]
    lines = [line for one in found for line in rows(one)]
    publish(given.output, table(["lam", "solver", *MEASURES], lines), machine())
    if given.pictures is not None:
        draw(found, given.pictures)


if __name__ == "__main__":
    main()
