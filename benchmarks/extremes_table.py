"""Very many blocks, very long sequences, very many classes: time and memory of a short training.

    python benchmarks/extremes_table.py [--scale 1.0] [--passes 2]

Generated data; each line is a process of its own, which compiles on a thousandth of the data.
"Reading" is `bw.Problem(...)`, a pass is one of
`auto` as it begins, certificate included. Memory is what the process holds at its peak beyond what
it held with the data made: of reading and training, in MB, beside that of the data.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import machine, options, publish, table

import blockwolfe as bw

Made = tuple[Any, Any, Any]  # task, X, Y
HEADER = ["data", "data MB", "reading s", "s a pass", "relative gap", "MB besides"]


def rows(rng: Any, n: int, d: int = 1000, n_entries: int = 5) -> sp.csr_array:
    """Sparse rows with as many entries each."""
    columns = rng.integers(d, size=n * n_entries, dtype=np.int32)
    pointers = np.arange(0, n * n_entries + 1, n_entries)
    return sp.csr_array((np.ones(n * n_entries), columns, pointers), shape=(n, d))


def labels(rng: Any, X: sp.csr_array, n_labels: int) -> np.ndarray:
    """Those of linear scores."""
    return np.asarray(np.argmax(X @ rng.normal(size=(X.shape[1], n_labels)), axis=1))


def many_blocks(scale: float) -> Made:
    """Single labels."""
    rng, n = np.random.default_rng(0), int(1e6 * scale)
    X = rows(rng, n)
    return bw.tasks.Multiclass(10), X, labels(rng, X, 10)


def many_sequences(scale: float) -> Made:
    """Sequences of three positions."""
    rng, n = np.random.default_rng(0), int(1e6 * scale)
    X = rows(rng, 3 * n)
    y = labels(rng, X, 10)
    cuts = range(0, 3 * n, 3)
    return bw.tasks.Chain(10), [X[k : k + 3] for k in cuts], [y[k : k + 3] for k in cuts]


def long_sequence(scale: float) -> Made:
    """One of them has a million positions, ten have ten."""
    rng, length = np.random.default_rng(0), int(1e6 * scale)
    X = [rows(rng, length), *(rows(rng, 10) for _ in range(10))]
    W = rng.normal(size=(1000, 10))
    return bw.tasks.Chain(10), X, [np.argmax(x @ W, axis=1) for x in X]


def many_classes(scale: float) -> Made:
    """Dense rows around a centre for each class."""
    rng, n, n_classes = np.random.default_rng(0), int(1e5 * scale), int(7e4 * scale)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    X = rng.normal(size=(n_classes, 50))[y] + 0.3 * rng.normal(size=(n, 50))
    return bw.tasks.Multiclass(n_classes), X, y


CASES: dict[str, Callable[[float], Made]] = {
    "a million single labels": many_blocks,
    "a million sequences": many_sequences,
    "a sequence of a million positions": long_sequence,
    "70,000 classes, 100,000 rows": many_classes,
}


def peak() -> float:
    """MB that this process has held at its peak."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, scale: float, n_passes: int) -> list[Any]:
    """One line."""
    bare = peak()
    task, X, Y = CASES[name](scale)
    before, began = peak(), time.process_time()
    problem = bw.Problem(task, X, Y)
    read = time.process_time() - began
    few = bw.Problem(*CASES[name](max(0.001 * scale, 1e-4)))
    bw.solve(few, 1.0, max_passes=5, random_state=0)  # (compiles)
    began = time.process_time()
    options = {"max_passes": n_passes, "tol": 1e-9, "random_state": 0}
    result = bw.solve(problem, 1.0 / len(problem), **options)
    taken = (time.process_time() - began) / n_passes
    gap = float(result.certificate.relative_gap)
    return [name, before - bare, read, taken, gap, peak() - before]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 for a million")
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--one", action="store_true", help="in this process, as JSON")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.cases[0], given.scale, given.passes)))
        return
    found = []
    for name in given.cases:
        command = [sys.executable, __file__, "--one", "--cases", name]
        command += ["--scale", str(given.scale), "--passes", str(given.passes)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        found.append(json.loads(done.stdout.splitlines()[-1]))
    publish(given.output, table(HEADER, found), machine())


if __name__ == "__main__":
    main()
