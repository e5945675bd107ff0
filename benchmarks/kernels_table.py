"""Kernels on handwritten words: letter error, support positions, CPU seconds and memory.

    python benchmarks/kernels_table.py choose small      gamma and C by folds of the training set
    python benchmarks/kernels_table.py train small rbf --gamma 0.05 --C 4
    python benchmarks/kernels_table.py train large nystroem --gamma 0.05 --C 1
    python benchmarks/kernels_table.py growth large      cost of a visit as the training set grows

Each `train` is a process of its own, so that its peak of memory is its own, and prints one line of
JSON. The kernels are "linear" (without a kernel), "nystroem" (a feature map before the linear
task), "poly2", "poly3" and "rbf". Nothing is chosen by test data. `--time-limit` ends each training
after so many seconds; its line says how it ended, and at which gap.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any

import numpy as np
from common import data_home, machine
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import blockwolfe as bw

GAMMAS = {
    "linear": [1.0],
    "nystroem": [0.05],
    "poly2": [1 / 128, 1 / 32, 1 / 8],
    "poly3": [1 / 128, 1 / 32, 1 / 8],
    "rbf": [0.02, 0.035, 0.05, 0.07],
}
STRENGTHS = [0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
N_FOLDS = 4
MOST_WORDS = 1200  # of the larger set, among which options are chosen


def model(kernel: str, gamma: float, C: float, options: argparse.Namespace) -> Any:
    budget = {name: getattr(options, name) for name in ("tol", "max_passes", "time_limit")}
    svm = bw.StructuredSVM(bw.tasks.Chain(26), C=C, random_state=0, **budget)
    if kernel == "linear":
        return svm
    if kernel == "nystroem":
        features = Nystroem(gamma=gamma, n_components=options.components, random_state=0)
        return make_pipeline(bw.PerPosition(features), svm)
    kind = {"rbf": {"kernel": "rbf"}, "poly2": {"kernel": "poly", "degree": 2}}.get(
        kernel, {"kernel": "poly", "degree": 3}
    )
    room = {"kernel_cache_mb": options.cache_mb, "kernel_dtype": options.dtype}
    return svm.set_params(task=bw.tasks.Chain(26, gamma=gamma, **kind, **room))


def score_of_fold(given: tuple[Any, ...]) -> float:
    kernel, gamma, C, options, X, Y, train, test = given
    fitted = model(kernel, gamma, C, options)
    fitted.fit([X[i] for i in train], [Y[i] for i in train])
    return float(fitted.score([X[i] for i in test], [Y[i] for i in test]))


def choose(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The mean letter error over folds of the training set, of every kernel, gamma and C."""
    data = bw.datasets.load_ocr(options.data, "train", data_home())
    keep = np.random.default_rng(0).permutation(len(data.X))[:MOST_WORDS]
    X, Y = [data.X[i] for i in keep], [data.Y[i] for i in keep]
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(np.zeros(len(X))))
    kernels = [options.kernel] if options.kernel else [k for k in GAMMAS if k != "nystroem"]
    pairs = [(k, gamma, C) for k in kernels for gamma, C in product(GAMMAS[k], STRENGTHS)]
    jobs = [(*pair, options, X, Y, *fold) for pair in pairs for fold in folds]
    with ProcessPoolExecutor(options.jobs) as pool:
        scores = np.reshape(list(pool.map(score_of_fold, jobs)), (len(pairs), N_FOLDS))
    for (kernel, gamma, C), each in zip(pairs, scores, strict=True):
        yield {"kernel": kernel, "gamma": gamma, "C": C, "error": 1.0 - float(each.mean())}


def train(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One model, trained on all and tested."""
    data, test = (
        bw.datasets.load_ocr(options.data, part, data_home()) for part in ("train", "test")
    )
    few = slice(0, 20)
    model(options.kernel, options.gamma, options.C, options).fit(
        data.X[few], data.Y[few]
    )  # compile
    fitted = model(options.kernel, options.gamma, options.C, options)
    began = time.process_time()
    fitted.fit(data.X, data.Y)
    seconds = time.process_time() - began
    svm = fitted[-1] if options.kernel == "nystroem" else fitted
    began = time.process_time()
    error = 1.0 - float(fitted.score(test.X, test.Y))
    yield {
        **{name: getattr(options, name) for name in ("data", "kernel", "gamma", "C", "tol")},
        "error": round(error, 4),
        "support": svm.n_support_ if options.kernel not in ("linear", "nystroem") else None,
        "cpu_seconds": round(seconds, 1),
        "cpu_seconds_predict": round(time.process_time() - began, 1),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "passes": svm.n_iter_,
        "ending": svm.result_.status.name,
        "relative_gap": round(svm.certificate_.relative_gap, 4),
        "machine": machine(),
    }


def growth(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Microseconds per visit, beside one product of a block's rows with all coefficients."""
    data, task = bw.datasets.load_ocr(options.data, "train", data_home()), bw.tasks.Chain(26)
    for n in (100, 200, 400, 800, 1600):
        given = task.set_params(kernel="rbf", gamma=options.gamma, kernel_cache_mb=4000)
        problem = bw.Problem(given, data.X[:n], data.Y[:n])
        run = (problem, 1.0 / (options.C * n), "bcfw+pairwise")
        bw.solve(*run, max_passes=1, random_state=0)
        began = time.process_time()
        result = bw.solve(*run, tol=0.0, max_passes=10, random_state=0)
        visit = (time.process_time() - began) / result.counts.visits
        kernel, w = problem.blocks.data, result.w
        A = problem.task.coefficients(w)
        began = time.process_time()
        for i in range(n):
            rows = kernel.rows[kernel.offset[i] : kernel.offset[i + 1]]
            rows @ A
        product_seconds = (time.process_time() - began) / n
        yield {
            "words": n,
            "positions": len(A),
            "visit_us": round(1e6 * visit, 1),
            "product_us": round(1e6 * product_seconds, 1),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["choose", "train", "growth"])
    parser.add_argument("data", choices=["small", "large"])
    parser.add_argument("kernel", nargs="?", choices=list(GAMMAS))
    parser.add_argument("--gamma", type=float, default=0.05)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--max-passes", type=int, default=1000)
    parser.add_argument("--time-limit", type=float, help="seconds of one training")
    parser.add_argument("--components", type=int, default=1000)
    parser.add_argument("--cache-mb", type=float, default=1000)
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for row in {"choose": choose, "train": train, "growth": growth}[options.what](options):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
