"""CPU seconds, visits and oracle calls to certified gaps with `auto`, for two checkouts in turn.

    python benchmarks/solve_table.py [--before OTHER/src] [--jobs 2] [--only ocr conll ...]

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
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HEADER = ["data", "lam", "gap", "version", "CPU s", "visits", "oracle calls", "of certificates"]


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


def problem_of(bw: Any, name: str, home: Any) -> Any:
    if name in ("OCR-small", "OCR-large"):
        return ocr(bw, name.partition("-")[2], home)
    return {"CoNLL-2000": lambda: conll(bw, home), "digits": lambda: digits(bw)}.get(
        name, lambda: strings(bw)
    )()


def measure(given: dict[str, Any]) -> dict[str, Any]:
    import blockwolfe as bw

    problem = problem_of(bw, given["data"], given["home"])
    lam = given["times"] / len(problem) if given["times"] else given["lam"]
    bw.solve(problem, lam, max_passes=8, random_state=0)  # (compiles)
    began = time.process_time()
    result = bw.solve(
        problem, lam, tol=given["gap"], max_passes=None, time_limit=100, random_state=0
    )
    counts = result.counts
    return given | {
        "seconds": time.process_time() - began,
        "reached": float(result.certificate.gap),
        "visits": counts.visits,
        "calls": counts.oracle_calls,
        "certificates": counts.certificate_calls,
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
    made.append({"data": "digits", "lam": 0.0, "times": 1, "gap": 1e-3})
    made.append({"data": "digit strings, Python", "lam": 0.1, "times": 0, "gap": 0.05})
    return [case | {"home": str(home)} for case in made]


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
    gap = found["gap"] if found["reached"] <= found["gap"] else found["reached"]
    numbers = (found["seconds"], found["visits"], found["calls"], found["certificates"])
    return [found["data"], lam, f"{gap:.2g}", found["version"], *numbers]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--before", type=Path, help="the src folder of another checkout")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="beginnings of names of data")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(json.loads(given.measure))))
        return
    from common import data_home, machine, publish, table

    versions = {"before": given.before} if given.before else {}
    versions["after"] = HERE.parent / "src"
    wanted = tuple(given.only or ("",))
    todo = [case for case in cases(data_home()) if case["data"].startswith(wanted)]
    with ThreadPoolExecutor(given.jobs) as pool:
        pairs = [(case, *version) for case in todo for version in versions.items()]
        rows = list(pool.map(lambda pair: line(run(*pair)), pairs))
    publish(None, machine(), table(HEADER, rows))


if __name__ == "__main__":
    main()
