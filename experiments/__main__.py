"""Run, draw and write up the experiments.

    python -m experiments run --size quick|medium|full [FIGURE ...]
    python -m experiments draw [FIGURE ...]
    python -m experiments pages
    python -m experiments list

A run that has ended is not made again: its file is in experiments/runs/. Tables are written to
experiments/results/, pictures to docs/images/, pages to docs/experiments/.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.catalogue import FIGURES, PAGES
from experiments.core.drawing import draw
from experiments.core.pages import write_pages
from experiments.core.plan import SIZES
from experiments.core.table import write
from experiments.core.working import FINISHED, RESULTS, carry_out, table_of

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    """What the first word asks for."""
    given = options().parse_args()
    chosen = [FIGURES[name] for name in given.figures or FIGURES]
    results = given.output / "results" if given.output else RESULTS
    finished = given.output / "runs" if given.output else FINISHED
    if given.what == "list":
        print("\n".join(f"{figure.name}: {figure.title}" for figure in chosen))
    if given.what in ("run", "all"):
        for figure in chosen:
            table = carry_out(figure, given.size, finished)
            write(results / f"{figure.name}.csv", table)
    if given.what in ("draw", "all"):
        for figure in chosen:
            table, folder = table_of(figure, results), given.output or DOCS / "images"
            draw(figure, table, folder, is_dark_too=given.size != "quick")
    if given.what in ("pages", "all"):
        write_pages(PAGES, given.output or DOCS / "experiments", results)


def options() -> argparse.ArgumentParser:
    """The words of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=["run", "draw", "pages", "list", "all"])
    parser.add_argument("figures", nargs="*", metavar="FIGURE", choices=[[], *FIGURES])
    parser.add_argument("--size", choices=SIZES, default="medium")
    parser.add_argument("--output", type=Path, help="a folder for everything, instead")
    return parser


if __name__ == "__main__":
    main()
