"""The pictures of all solvers on OCR-small, by benchmarks/solvers_figure.py.

It needs the data (`blockwolfe data`), and takes half an hour; a small one is of digit strings.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import blockwolfe as bw

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from common import Benchmark, data_home, ocr  # type: ignore[import-not-found]
from solvers_figure import SOLVERS, compared, draw  # type: ignore[import-not-found]


def main() -> None:
    """Run all solvers, and draw what they did."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a few seconds' worth")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the pictures")
    given = parser.parse_args()
    data = digits() if given.small else ocr("small", data_home())
    lams = [0.1] if given.small else [0.01, 0.001, 1.0 / len(data.problem)]
    names, seconds = list(SOLVERS), 0.1 if given.small else 10.0
    found = [compared(data, lam, names, seconds) for lam in lams]
    draw(found, given.output)


def digits() -> Benchmark:
    """A few strings of digits."""
    train, test = (bw.datasets.digit_strings(10, split=split) for split in ("train", "test"))
    task = bw.tasks.Chain(task_loss="normalized_hamming")
    return Benchmark(bw.Problem(task, train.X, train.Y), test, "", lambda Y, Z: 0.0)


if __name__ == "__main__":
    main()
