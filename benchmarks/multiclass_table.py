"""One label per example against LinearSVC (Crammer-Singer): CPU seconds to the same primal.

    python benchmarks/multiclass_table.py [--small] [--classes 70000]

LinearSVC is run at several tolerances; each of ours until a certificate has a primal as small as
LinearSVC's. No intercept, C = 1, so that both have the same objective. Compilation is not counted,
certificates are. With --classes, one table more: passes over so many classes, and the memory of
the process at its peak.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import machine, options, publish, table
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

import blockwolfe as bw
from blockwolfe.methods.auto import WHOLE

METHODS: dict[str, Any] = {
    "auto": "auto",
    "certified every 2 passes": replace(WHOLE, certify_every=2),
    "whole_blocks": "whole_blocks",
    "bcfw+gap+pairwise": "bcfw+gap+pairwise",
}
TOLERANCES = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5]
HEADER = ["data", "LinearSVC's tol", "primal", "LinearSVC", *METHODS]
LIMIT = 120.0  # seconds of each run


def digits() -> tuple[Any, np.ndarray]:
    """1,797 digits of 64 pixels."""
    X, y = load_digits(return_X_y=True)
    return np.ascontiguousarray(X / 16.0), y


def text(n: int = 20_000, width: int = 50_000, n_labels: int = 20) -> tuple[Any, np.ndarray]:
    """Words drawn by Zipf's law, an eighth of them of the label's own topic; tf-idf, 5 % noise."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1, width + 1)
    rank = np.cumsum(share / share.sum())
    topics = np.array([rng.permutation(width) for _ in range(n_labels)])
    y, length = rng.integers(n_labels, size=n), np.maximum(rng.poisson(190, size=n), 10)
    row = np.repeat(np.arange(n), length)
    word = np.minimum(np.searchsorted(rank, rng.random(len(row))), width - 1)
    is_topical = rng.random(len(row)) < 0.12
    own = topics[y[row], np.minimum(20 * word, width - 1)]
    X = sp.csr_matrix((np.ones(len(row)), (row, np.where(is_topical, own, word))), (n, width))
    X.sum_duplicates()
    rarity = np.log((1 + n) / (1 + np.bincount(X.indices, minlength=width))) + 1
    X.data = (1 + np.log(X.data)) * rarity[X.indices]
    X = sp.diags(1.0 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X
    return X.tocsr(), np.where(rng.random(n) < 0.05, rng.integers(n_labels, size=n), y)


def dense(n: int = 10_000, width: int = 768, n_labels: int = 20) -> tuple[Any, np.ndarray]:
    """Vectors like those of a network: a mean of each label, and correlated noise."""
    rng = np.random.default_rng(0)
    y, decay = rng.integers(n_labels, size=n), np.exp(-np.arange(width) / 150)
    mixing = (rng.normal(size=(width, width)) / np.sqrt(width) * decay).T
    X = 0.12 * rng.normal(size=(n_labels, width))[y] + rng.normal(size=(n, width)) @ mixing
    X += 0.3 * rng.normal(size=(n, width))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def primal(X: Any, y: np.ndarray, coef: np.ndarray) -> float:
    """The objective of both, at C = 1, divided by the number of examples."""
    n, scores = len(y), np.asarray(X @ coef.T)
    true = scores[np.arange(n), y]
    above = scores + 1.0 - true[:, None]
    above[np.arange(n), y] = 0.0
    return float(0.5 * (coef**2).sum() / n + above.max(axis=1).mean())


def of_library(X: Any, y: np.ndarray, tol: float) -> tuple[float, float]:
    """CPU seconds of LinearSVC, and the primal that it ends with."""
    svc = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, tol=tol, random_state=0, max_iter=100_000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        svc.fit(X, y)
        seconds = time.process_time() - began
    return seconds, primal(X, y, svc.coef_)


def of_method(problem: bw.Problem, method: Any, targets: list[float]) -> list[float]:
    """CPU seconds until a certificate has each of these primals."""
    lam, found = 1.0 / len(problem), [float("nan")] * len(targets)
    bw.solve(problem, lam, method, max_passes=2, random_state=0)  # (compiles)
    began = time.process_time()

    def watch(event: Any) -> bool:
        now = time.process_time() - began
        for k, target in enumerate(targets):
            if np.isnan(found[k]) and event.row.primal <= target:
                found[k] = now
        return not np.isnan(found).any()

    bw.solve(problem, lam, method, tol=1e-12, random_state=0, callbacks=watch, time_limit=LIMIT)
    return found


def compared(name: str, data: tuple[Any, np.ndarray]) -> list[list[Any]]:
    """A line for each tolerance."""
    X, y = data
    theirs = [of_library(X, y, tol) for tol in TOLERANCES]
    problem = bw.Problem(bw.tasks.Multiclass(bias=False), X, y)
    targets = [value for _, value in theirs]
    ours = [of_method(problem, method, targets) for method in METHODS.values()]
    lines = []
    for k, (seconds, value) in enumerate(theirs):
        found = [own[k] for own in ours]
        lines.append([name, f"{TOLERANCES[k]:g}", f"{value:.6f}", seconds, *found])
    return lines


def many_classes(n_labels: int, n: int, width: int = 100) -> list[Any]:
    """Two passes over so many classes, none of whose pairs is ever laid out."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_labels, size=n)
    X = (rng.normal(size=(n_labels, width))[y] + 0.5 * rng.normal(size=(n, width))) / width**0.5
    problem = bw.Problem(bw.tasks.Multiclass(n_labels, bias=False), X, y)
    began = time.process_time()
    result = bw.solve(problem, 1.0 / n, max_passes=2, tol=1e-9, random_state=0)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = result.certificate
    return [n_labels, n, width, 8 * problem.n_features / 2**30, peak, seconds, found.gap]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--small", action="store_true", help="little data, for a test")
    parser.add_argument("--classes", type=int, help="a table of memory for so many classes")
    parser.add_argument("--examples", type=int, default=20_000, help="of that table")
    args = parser.parse_args()
    sets: dict[str, Callable[[], tuple[Any, np.ndarray]]]
    sets = {"digits": digits, "text": text, "dense, p = 768": dense}
    if args.small:
        sets = {"text": lambda: text(200, 300, 4), "dense": lambda: dense(150, 10, 3)}
    if args.classes:
        line = many_classes(args.classes, args.examples)
        header = ["classes", "n", "p", "w, GiB", "peak, GiB", "CPU s", "gap"]
        publish(args.output, machine(), table(header, [line]))
        return
    lines = [line for name, make in sets.items() for line in compared(name, make())]
    publish(args.output, machine(), table(HEADER, lines))


if __name__ == "__main__":
    main()
