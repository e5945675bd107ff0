"""CPU seconds, visits and oracle calls to certified gaps with `auto`, for two checkouts in turn.

    python benchmarks/solve_table.py [--before OTHER/src] [--jobs 2] [--only OCR CoNLL ...]

Beside them, on the same data in the same run, CPU seconds of CRFsuite and of LinearSVC, which
minimise other objectives and certify nothing, and of methods of ours that are one single choice.
Every line is a process of its own that compiles first. With `--jobs 1` one runs after another,
before and after in turn; with more, neighbours run side by side: then use no more than there are
idle cores. Data that are not found are left out. "Slow oracle" counts calls alone: a decoder in
Python, for which seconds are those of waiting.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HEADER = [
    "data", "lam", "gap", "method", "version", "CPU s", "visits", "oracle calls", "of certificates"
]  # fmt: skip


# -- one line, in a process of its own ---------------------------------------------------------


def ocr(bw: Any, subset: str, home: Any) -> Any:
    letters = bw.datasets.load_ocr(subset, "train", home)
    task = bw.tasks.Chain(26, task_loss="normalized_hamming")
    return bw.Problem(task, letters.X, letters.Y)


def conll(bw: Any, home: Any) -> Any:
    text = bw.datasets.load_conll2000("train", home)
    return bw.Problem(bw.tasks.Chain(task_loss="normalized_hamming"), text.X, text.Y)


def digits(bw: Any) -> Any:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return bw.Problem(bw.tasks.Multiclass(), X / 16.0, y)


def strings(bw: Any) -> Any:
    """Digit strings whose decoder is a task in Python."""
    from slow_oracle_table import Slow

    data = bw.datasets.digit_strings(n_strings=20)
    fitted = bw.Problem(bw.tasks.Chain(10), data.X, data.Y).task
    return bw.Problem(Slow(fitted, 0.0), data.X, data.Y)


def horses(bw: Any, home: Any) -> Any:
    """Superpixels, features scaled as in cut_quality.py."""
    import numpy as np
    from sklearn.preprocessing import StandardScaler

    data = bw.datasets.load_horses("train", home)
    scaler = StandardScaler().fit(np.concatenate([x.nodes for x in data.X]))
    X = [bw.tasks.Graph(scaler.transform(x.nodes), x.edges, x.edge_features) for x in data.X]
    return bw.Problem(bw.tasks.Cut(task_loss="normalized_hamming"), X, data.Y)


def hansards(bw: Any, home: Any) -> Any:
    data = bw.datasets.load_hansards("test-first100", home)
    vectorizer = bw.AlignmentVectorizer(n_iterations=2).fit(data.X)
    return bw.Problem(bw.tasks.Matching(project_truth=True), vectorizer.transform(data.X), data.Y)


def parsing(bw: Any, home: Any) -> Any:
    data = bw.datasets.load_ud_ewt("train", home)
    return bw.Problem(bw.tasks.SpanningTree(), data.X[:3000], data.Y[:3000])


def problem_of(bw: Any, name: str, home: Any) -> Any:
    if name in ("OCR-small", "OCR-large"):
        return ocr(bw, name.partition("-")[2], home)
    return {
        "CoNLL-2000": lambda: conll(bw, home),
        "horses": lambda: horses(bw, home),
        "Hansards": lambda: hansards(bw, home),
        "UD-EWT parsing": lambda: parsing(bw, home),
        "digits": lambda: digits(bw),
        "digit strings, Python": lambda: strings(bw),
    }[name]()


def measure(given: dict[str, Any]) -> dict[str, Any]:
    import blockwolfe as bw

    problem = problem_of(bw, given["data"], given["home"])
    lam = given["times"] / len(problem) if given["times"] else given["lam"]
    if given["method"] in OTHERS:
        return given | NOTHING | {"seconds": OTHERS[given["method"]](problem, lam)}
    bw.solve(problem, lam, given["method"], max_passes=8, random_state=0)  # (compiles)
    options = {"tol": given["gap"], "max_passes": None, "time_limit": 100}
    began = time.process_time()
    result = bw.solve(problem, lam, given["method"], **options, random_state=0)
    counts = result.counts
    return given | {
        "seconds": time.process_time() - began,
        "reached": float(result.certificate.relative_gap),
        "visits": counts.visits,
        "calls": counts.oracle_calls,
        "certificates": counts.certificate_calls,
    }


# -- what others take ---------------------------------------------------------------------------

NAN = float("nan")
NOTHING = {"reached": NAN, "visits": NAN, "calls": NAN, "certificates": NAN}


def crfsuite(algorithm: str, problem: Any, lam: float) -> float:
    """CPU seconds of CRFsuite with its own options."""
    from crfsuite import train

    return train(problem.X, problem.Y, algorithm, {}).cpu_seconds


def linear_svc(problem: Any, lam: float) -> float:
    """CPU seconds of liblinear on the same objective, to its own tolerance."""
    from common import timed
    from sklearn.svm import LinearSVC

    C = 1.0 / (lam * len(problem))
    options = {"multi_class": "crammer_singer", "fit_intercept": False, "max_iter": 100_000}
    return timed(lambda: LinearSVC(C=C, **options).fit(problem.X, problem.Y)).cpu_seconds


OTHERS = {
    "CRFsuite L-BFGS": partial(crfsuite, "lbfgs"),
    "CRFsuite perceptron": partial(crfsuite, "ap"),
    "LinearSVC": linear_svc,
}


# -- all of them --------------------------------------------------------------------------------


def cases(home: Any) -> list[dict[str, Any]]:
    made = []
    for gap in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        for lam, times in ((0.01, 0), (0.001, 0), (0.0, 1)):
            if gap >= 1e-4 or lam == 0.01:  # (finer gaps at small lambdas take minutes)
                made.append({"data": "OCR-small", "lam": lam, "times": times, "gap": gap})
    for times in (1, 10):
        made.append({"data": "OCR-large", "lam": 0.0, "times": times, "gap": 1e-2})
        made.append({"data": "CoNLL-2000", "lam": 0.0, "times": times, "gap": 1e-2})
    made.append({"data": "horses", "lam": 100.0, "times": 0, "gap": 1e-2})
    made.append({"data": "Hansards", "lam": 0.02, "times": 0, "gap": 1e-2})
    made.append({"data": "UD-EWT parsing", "lam": 0.03, "times": 0, "gap": 1e-2})
    made.append({"data": "digits", "lam": 0.0, "times": 1, "gap": 1e-3})
    made.append({"data": "digit strings, Python", "lam": 0.1, "times": 0, "gap": 0.05})
    return [case | {"home": str(home), "method": "auto"} for case in made]


# Single choices, each beside one line of `auto`.
SINGLE = ["bcfw", "bcfw+gap", "bcfw+gap+pairwise", "bcfw+gap+pairwise+cache", "cutting_plane+n"]


def beside(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same cases by single choices of ours, and by others where they do something alike."""
    cases = {case["data"]: case for case in made if case["gap"] >= 1e-3}  # (the last of each)
    found = [case | {"method": method} for case in cases.values() for method in SINGLE]
    for data in ("OCR-small", "OCR-large", "CoNLL-2000"):
        for method in ("CRFsuite L-BFGS", "CRFsuite perceptron"):
            found.append(cases[data] | {"method": method})
    return [*found, cases["digits"] | {"method": "LinearSVC"}]


def run(case: dict[str, Any], version: str, source: Path) -> dict[str, Any]:
    paths = [str(source), str(HERE), os.environ.get("PYTHONPATH", "")]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = os.environ | threads | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, __file__, "--measure", json.dumps(case)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1]) | {"version": version}


def line(found: dict[str, Any]) -> list[Any]:
    lam = f"{found['times']}/n" if found["times"] else f"{found['lam']:g}"
    gap = found["reached"] if found["reached"] > found["gap"] else found["gap"]
    numbers = (found["seconds"], found["visits"], found["calls"], found["certificates"])
    return [found["data"], lam, f"{gap:.2g}", found["method"], found["version"], *numbers]


def shown(row: list[Any]) -> list[Any]:
    """The same, as soon as it is there."""
    print(*row, sep="\t", file=sys.stderr, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--before", type=Path, help="the src folder of another checkout")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="beginnings of names of data")
    parser.add_argument("--others", action="store_true", help="single choices, CRFsuite, LinearSVC")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(json.loads(given.measure))))
        return
    from common import data_home, machine, publish, table

    versions = {"before": given.before} if given.before else {}
    versions["after"] = HERE.parent / "src"
    wanted = tuple(given.only or ("",))
    made = cases(data_home())
    pairs = [(case, *version) for case in made for version in versions.items()]
    pairs += [(case, "after", versions["after"]) for case in beside(made) if given.others]
    pairs = [pair for pair in pairs if pair[0]["data"].startswith(wanted)]
    with ThreadPoolExecutor(given.jobs) as pool:
        rows = list(pool.map(lambda pair: shown(line(run(*pair))), pairs))
    publish(None, machine(), table(HEADER, rows))


if __name__ == "__main__":
    main()
