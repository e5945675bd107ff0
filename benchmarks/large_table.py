"""OCR-large and CoNLL-2000 to a certified gap, with test error; CRFsuite on the same features.

    python benchmarks/large_table.py [--sets ocr conll] [--methods auto] [--time-limit 300]

CPU seconds of training alone, in one run of one machine. CRFsuite (optional: python-crfsuite) is
run with its own defaults, on the same attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import crfsuite
from common import Benchmark, conll2000, machine, ocr, options, publish, table, timed, warm_up

import blockwolfe as bw

HEADER = ["data", "method", "lam", "ending", "gap", "CPU s", "passes", "measure", "on test"]
SETS = {"ocr": ("OCR-large", lambda home: ocr("large", home)), "conll": ("CoNLL-2000", conll2000)}
CRFSUITE = {"lbfgs": "CRFsuite L-BFGS", "ap": "CRFsuite averaged perceptron"}


def solved(name: str, benchmark: Benchmark, times: float, method: str, given: Any) -> list[Any]:
    """One line: a method at lam = times/n."""
    problem = benchmark.problem
    lam = times / len(problem)
    warm_up(problem, lam, method)
    result, _, cpu_seconds = timed(
        lambda: bw.solve(
            problem, lam, method, tol=given.tol, time_limit=given.time_limit, random_state=0
        )
    )
    return [
        name,
        method,
        f"{times:g}/n",
        result.status.name,
        float(result.certificate.gap),
        cpu_seconds,
        float(result.counts.effective_passes),
        benchmark.measure,
        f"{benchmark.test_score(result.w):.4f}",
    ]


def crfsuite_line(name: str, benchmark: Benchmark, algorithm: str) -> list[Any]:
    """One line: CRFsuite with an algorithm of its own."""
    problem = benchmark.problem
    model = crfsuite.train(problem.X, problem.Y, algorithm, {})
    guesses = crfsuite.predict(model, benchmark.test.X, problem.task.classes_.dtype)
    score = benchmark.score(benchmark.test.Y, guesses)
    nothing = float("nan")
    return [
        *(name, CRFSUITE[algorithm], "", "", nothing, model.cpu_seconds, nothing),
        *(benchmark.measure, f"{score:.4f}"),
    ]


def lines(name: str, benchmark: Benchmark, given: Any) -> Iterator[list[Any]]:
    for method in given.methods:
        for times in given.times:
            yield solved(name, benchmark, times, method, given)
    if given.crfsuite:
        for algorithm in CRFSUITE:
            yield crfsuite_line(name, benchmark, algorithm)


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", default=["auto"])
    parser.add_argument("--times", type=float, nargs="+", default=[1.0, 10.0], help="lam times n")
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds of each run")
    parser.add_argument("--no-crfsuite", dest="crfsuite", action="store_false")
    given = parser.parse_args()
    if given.crfsuite and not crfsuite.IS_THERE:
        given.crfsuite = False
        publish(None, "python-crfsuite is not installed: its lines are left out.")
    rows = []
    for name, load in map(SETS.get, given.sets):
        rows += lines(name, load(given.data_home), given)
    publish(given.output, table(HEADER, rows), machine())


if __name__ == "__main__":
    main()
