"""Run, draw and write up the experiments.

    python -m experiments plan --size quick|full [FIGURE ...]
    python -m experiments run --size SIZE --jobs N [--time-limit SECONDS] [FIGURE ...]
    python -m experiments draw [FIGURE ...]
    python -m experiments pages
    python -m experiments list

A run that has ended is not made again: its file is in experiments/runs/. Tables are written to
experiments/results/, pictures to docs/images/, pages to docs/experiments/.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.catalogue import FIGURES, PAGES
from experiments.core.drawing import draw
from experiments.core.pages import write_pages
from experiments.core.plan import SIZES, Figure
from experiments.core.table import write
from experiments.core.working import FINISHED, RESULTS, carry_out, gathered, planned, table_of

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    """What the first word asks for."""
    given = options().parse_intermixed_args()
    chosen = [FIGURES[name] for name in given.figures or FIGURES]
    results = given.output / "results" if given.output else RESULTS
    finished = given.output / "runs" if given.output else FINISHED
    troubles = []
    if given.what == "list":
        print("\n".join(f"{figure.name}: {figure.title}" for figure in chosen))
    if given.what == "plan":
        print("\n".join(planned(chosen, given.size, finished)))
    if given.what in ("run", "all"):
        troubles = carry_out(chosen, given.size, finished, given.jobs, given.time_limit)
        gather(chosen, given.size, finished, results)
    if given.what in ("draw", "all"):
        for figure in chosen:
            table, folder = table_of(figure, results), given.output or DOCS / "images"
            draw(figure, table, folder, is_dark_too=given.size != "quick")
    if given.what in ("pages", "all"):
        write_pages(PAGES, given.output or DOCS / "experiments", results)
    if troubles:
        sys.exit("\n".join(troubles))


def gather(chosen: list[Figure], size: str, finished: Path, results: Path) -> None:
    """The tables of figures whose runs have all ended."""
    for figure in chosen:
        if (table := gathered(figure, size, finished)) is not None:
            write(results / f"{figure.name}.csv", table)


def options() -> argparse.ArgumentParser:
    """The words of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=["plan", "run", "draw", "pages", "list", "all"])
    parser.add_argument("figures", nargs="*", metavar="FIGURE", choices=[[], *FIGURES])
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each of one thread")
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        default=float("inf"),
        help="no run begins that would not end in time; what has ended is kept",
    )
    parser.add_argument("--output", type=Path, help="a folder for everything, instead")
    return parser


if __name__ == "__main__":
    main()
