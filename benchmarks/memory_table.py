"""Memory that methods take besides the data, and how far they came in so many passes.

    python benchmarks/memory_table.py [--set ocr-large] [--passes 20] [--methods bcfw bundle]

In the setting of the papers, with lam = 1/n. Memory is the peak of all arrays and objects that were
made in training and alive at once (by `tracemalloc`): the data, made before, are not counted.
"""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

from common import conll2000, machine, ocr, options, publish, table, warm_up

import blockwolfe as bw

SETS = {
    "ocr-small": lambda home: ocr("small", home),
    "ocr-large": lambda home: ocr("large", home),
    "conll": conll2000,
}
METHODS = [
    "auto",
    "bcfw",
    "bcfw+pairwise",
    "fw",
    "cutting_plane",
    "cutting_plane+n",
    "bundle",
    "ssg",
    "perceptron",
    "online_eg",
    "excessive_gap",
    "extragradient+entropy",
    "extragradient+entropy+lean",
]
HEADER = ["data", "method", "passes", "relative gap", "MB"]


def line(name: str, problem: bw.Problem, method: str, n_passes: int) -> list[Any]:
    """One method on one set."""
    lam, given = 1.0 / len(problem), {"tol": 1e-6, "max_passes": n_passes, "random_state": 0}
    warm_up(problem, lam, method)
    tracemalloc.start()
    result = bw.solve(problem, lam, method, **given)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    passes, gap = float(result.trace[-1].passes), float(result.certificate.relative_gap)
    return [name, method, passes, gap, peak / 2**20]


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--set", choices=SETS, default="ocr-large")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--passes", type=int, default=20, help="of each run")
    parser.add_argument("--at-most", type=int, help="examples to learn from; all by default")
    given = parser.parse_args()
    problem = SETS[given.set](given.data_home).problem
    if given.at_most is not None:
        n = given.at_most
        problem = bw.Problem(problem.task, problem.X[:n], problem.Y[:n])
    warnings.simplefilter("ignore", bw.NotCertifiedWarning)
    rows = [line(given.set, problem, method, given.passes) for method in given.methods]
    publish(given.output, table(HEADER, rows), machine())


if __name__ == "__main__":
    main()
