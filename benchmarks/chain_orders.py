"""Test measures and time of chains of order 1, 2 and 3, on OCR and CoNLL-2000.

python benchmarks/chain_orders.py [--sets ocr-small conll2000] [--orders 1 2] [--passes 20]

Every order is trained in the same way, and nothing is chosen on test data: Hamming loss by count,
lam = 3/n, the averaged iterate of uniform BCFW after so many passes.
"""

from __future__ import annotations

import warnings
from typing import Any

from common import conll2000, machine, ocr, options, publish, table, timed, warm_up

import blockwolfe as bw

HEADER = ("data", "order", "weights", "measure", "on test", "CPU seconds", "us a visit")
SETS = {
    "ocr-small": lambda home: ocr("small", home),
    "ocr-large": lambda home: ocr("large", home),
    "conll2000": conll2000,
}


def row(name: str, order: int, passes: int, data: Any) -> tuple[Any, ...]:
    """One chain, trained and tested."""
    given = data.problem
    task = bw.tasks.Chain(order=order, task_loss=bw.tasks.Hamming(normalize=False))
    problem = bw.Problem(task, given.X, given.Y)
    lam, method = 3 / len(problem), "bcfw+averaging"
    warm_up(problem, lam, method)
    run = timed(lambda: bw.solve(problem, lam, method, tol=0.0, max_passes=passes, random_state=0))
    found = data.score(data.test.Y, problem.task.predict(data.test.X, run.value.w))
    visit = 1e6 * run.cpu_seconds / (passes * len(problem))
    return name, order, problem.n_features, data.measure, found, run.cpu_seconds, visit


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["ocr-small", "conll2000"])
    parser.add_argument("--orders", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--passes", type=int, default=20)
    given = parser.parse_args()
    warnings.simplefilter("ignore", bw.NotCertifiedWarning)
    rows = []
    for name in given.sets:
        data = SETS[name](given.data_home)
        rows += [row(name, order, given.passes, data) for order in given.orders]
    publish(given.output, "Chains of several orders.", table(HEADER, rows), machine())


if __name__ == "__main__":
    main()
