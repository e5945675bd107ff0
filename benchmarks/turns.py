"""Two checkouts of the library take turns at the same work, to see whether one is slower.

    python benchmarks/turns.py --before OTHER/src --after src [--data DATA] [--rounds 15] [NAME ...]

Machines are shared and their speed drifts, so the two run in processes of their own that take
turns, a short piece of work at a time; what counts is the median of the ratios of neighbours. Each
worker compiles before it is measured. Time is CPU time, except for threads, imports and the help
of the command line.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Piece = Callable[[], Any]


# -- the work, in a worker --------------------------------------------------------------------


def grids(bw: Any, n: int, side: int) -> Any:
    rng = np.random.default_rng(0)
    index = np.arange(side * side).reshape(side, side)
    pairs = [(index[:, :-1], index[:, 1:]), (index[:-1], index[1:])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    X, Y = [], []
    for _ in range(n):
        y, (a, b) = np.zeros((side, side), dtype=int), rng.integers(side, size=2)
        y[max(0, a - 4) : a + 4, max(0, b - 4) : b + 4] = 1
        nodes = np.stack([y + rng.normal(size=y.shape), rng.normal(size=y.shape)], axis=-1)
        features = np.abs(rng.normal(size=(len(edges), 2)))
        X.append(bw.tasks.Graph(nodes.reshape(-1, 2), edges, features))
        Y.append(y.ravel())
    return bw.Problem(bw.tasks.Cut(), X, Y)


def links(bw: Any, n: int, side: int) -> Any:
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(n):
        matching = np.stack([np.arange(side), rng.permutation(side)], axis=1)
        features = rng.normal(size=(side * side, 5))
        features[matching[:, 0] * side + matching[:, 1]] += 0.7
        X.append(bw.tasks.Links(features, None, (side, side)))
        Y.append(matching)
    return bw.Problem(bw.tasks.Matching(), X, Y)


def ocr(bw: Any, subset: str, data: str) -> Any:
    letters = bw.datasets.load_ocr(subset=subset, split="train", data_home=data)
    return bw.Problem(bw.tasks.Chain(26), letters.X, letters.Y)


def conll(bw: Any, data: str) -> Any:
    chunks = bw.datasets.load_conll2000(split="train", data_home=data)
    return bw.Problem(bw.tasks.Chain(), chunks.X, chunks.Y)


def passes(bw: Any, problem: Any, lam: float, method: str, n: int) -> Piece:
    """So many passes from where some passes have led, and one certificate."""
    start = bw.solve(problem, lam, method, tol=0.0, max_passes=n, random_state=0).last_state
    options = {"tol": 0.0, "max_passes": n, "start": start, "random_state": 1}
    return lambda: bw.solve(problem, lam, method, **options)


def certify(bw: Any, problem: Any, lam: float, n_jobs: int) -> Piece:
    state = bw.solve(problem, lam, "bcfw", tol=0.0, max_passes=3, random_state=0).state
    return lambda: bw.certify(problem, state, lam, n_jobs=n_jobs)


WORK: dict[str, Callable[[Any, str], Piece]] = {
    "OCR-small, uniform": lambda bw, d: passes(bw, ocr(bw, "small", d), 0.01, "bcfw+uniform", 20),
    "OCR-small, pairwise": lambda bw, d: passes(bw, ocr(bw, "small", d), 0.01, "bcfw+pairwise", 20),
    "OCR-small, gap pairwise cache": lambda bw, d: passes(
        bw, ocr(bw, "small", d), 0.01, "bcfw+gap+pairwise+cache", 20
    ),
    "OCR-large, uniform": lambda bw, d: passes(bw, ocr(bw, "large", d), 0.001, "bcfw+uniform", 5),
    "OCR-large, gap pairwise cache": lambda bw, d: passes(
        bw, ocr(bw, "large", d), 0.001, "bcfw+gap+pairwise+cache", 5
    ),
    "CoNLL-2000, uniform": lambda bw, d: passes(bw, conll(bw, d), 1e-4, "bcfw+uniform", 3),
    "CoNLL-2000, gap pairwise cache": lambda bw, d: passes(
        bw, conll(bw, d), 1e-4, "bcfw+gap+pairwise+cache", 3
    ),
    "cut, uniform": lambda bw, d: passes(bw, grids(bw, 100, 12), 0.01, "bcfw+uniform", 20),
    "cut, gap pairwise cache": lambda bw, d: passes(
        bw, grids(bw, 100, 12), 0.01, "bcfw+gap+pairwise+cache", 40
    ),
    "matching, uniform": lambda bw, d: passes(bw, links(bw, 200, 15), 0.01, "bcfw+uniform", 20),
    "matching, gap pairwise cache": lambda bw, d: passes(
        bw, links(bw, 200, 15), 0.01, "bcfw+gap+pairwise+cache", 40
    ),
    "full pass, OCR-large": lambda bw, d: certify(bw, ocr(bw, "large", d), 0.01, 1),
    "full pass, CoNLL-2000": lambda bw, d: certify(bw, conll(bw, d), 0.01, 1),
    "full pass, OCR-large, 2 threads": lambda bw, d: certify(bw, ocr(bw, "large", d), 0.01, 2),
}
BY_THE_CLOCK = ("full pass, OCR-large, 2 threads",)


def work(data: str) -> None:
    """Read names from stdin; answer with the seconds of the work of each."""
    import blockwolfe as bw

    pieces: dict[str, Piece] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in pieces:
            pieces[name] = WORK[name](bw, data)
            pieces[name]()
        clock = time.perf_counter if name in BY_THE_CLOCK else time.process_time
        began = clock()
        pieces[name]()
        print(json.dumps(clock() - began), flush=True)


# -- taking turns -----------------------------------------------------------------------------


class Side:
    """One checkout, in a process of its own."""

    def __init__(self, source: Path, data: str) -> None:
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")]),
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, __file__, "--work", "--data", data]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.worker = subprocess.Popen(command, env=self.environment, text=True, **pipes)

    def seconds(self, name: str) -> float:
        """Of one piece of work, in the worker."""
        assert self.worker.stdin is not None
        assert self.worker.stdout is not None
        print(name, file=self.worker.stdin, flush=True)
        return float(json.loads(self.worker.stdout.readline()))

    def seconds_to_run(self, code: str) -> float:
        """Of a program, from its start to its end."""
        began = time.perf_counter()
        command = [sys.executable, "-c", code]
        subprocess.run(command, env=self.environment, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began


PROGRAMS = {
    "import": "import blockwolfe; blockwolfe.solve",
    "help": "import sys; sys.argv[1:] = ['--help']\nfrom blockwolfe.cli import main\nmain()",
}


def report(name: str, before: list[float], after: list[float]) -> None:
    ratios = np.array(after) / np.array(before)
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    print(
        f"| {name} | {1e3 * min(before):.1f} | {1e3 * min(after):.1f} | {middle:.3f} "
        f"| {low:.3f} .. {high:.3f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--before", type=Path)
    parser.add_argument("--after", type=Path, default=Path("src"))
    parser.add_argument("--data", default=os.environ.get("BLOCKWOLFE_DATA", ""))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    if given.work:
        work(given.data)
        return
    sides = [Side(source.resolve(), given.data) for source in (given.before, given.after)]
    print("| work | before, ms | after, ms | after / before, median | middle half |")
    print("|---|---|---|---|---|", flush=True)
    for name in given.names or [*WORK, *PROGRAMS]:
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(given.rounds):
            for side, seconds in zip(sides, times, strict=True):
                run = side.seconds_to_run if name in PROGRAMS else side.seconds
                seconds.append(run(PROGRAMS.get(name, name)))
        report(name, *times)
    for side in sides:
        side.worker.terminate()


if __name__ == "__main__":
    main()
