"""The pictures of the papers' experiments, from the tables in experiments/results."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments.catalogue import FIGURES
from experiments.core.drawing import draw
from experiments.core.working import table_of


def main() -> None:
    """Draw every figure, light and dark; nothing is run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="those of one figure")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the pictures")
    given = parser.parse_args()
    for figure in list(FIGURES.values())[: 1 if given.small else None]:
        draw(figure, table_of(figure), given.output)


if __name__ == "__main__":
    main()
