"""Defaults against CRFsuite on many splits of the same data, to tell a difference from luck.

    python benchmarks/splits_table.py [--sets digits ocr-small] [--models crf] [--splits 10]

Training and test sets of `predictions_table.py` are put together and split anew, at random, with
training sets of the same size. Digit strings, which share images, are drawn anew instead: training
and test images stay apart. The table has means over splits, of the last measure of each set, and
the difference from `StructuredSVM` with its defaults on the same split, with its standard error.
(Splits share examples, so that the error is too small rather than too large.)
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from common import machine, options, publish, table
from predictions_table import MODELS, SETS, Data, Records, Trainings, Try, splits

import blockwolfe as bw

HEADER = ["data", "model", "splits", "measure", "difference", "standard error", "CPU s"]


def split(name: str, data: Data, seed: int) -> Data:
    """All examples, split anew into training and test sets of the same sizes."""
    if name == "digits":
        return splits(lambda part: bw.datasets.digit_strings(len(data.Y), (4, 8), seed, part))
    X, Y, n = [*data.X, *data.X_test], [*data.Y, *data.Y_test], len(data.Y)
    order = np.random.default_rng(seed).permutation(len(Y))
    parts = ([V[i] for i in at] for at in (order[:n], order[n:]) for V in (X, Y))
    return Data(*parts, data.has_chunks)


def lines(name: str, data: Data, models: list[str], n_splits: int) -> list[list[Any]]:
    """Our defaults, and every other model beside them."""
    runs = {model: [] for model in ("svm", *models)}
    for seed in range(n_splits):
        part = split(name, data, seed)
        for model, found in runs.items():
            found.append(scored(name, model, part))
    scores = {model: np.array([run.score for run in found]) for model, found in runs.items()}
    rows = []
    for model, found in runs.items():
        apart = scores[model] - scores["svm"]
        error = apart.std(ddof=1) / np.sqrt(n_splits)
        seconds = float(np.median([run.cpu_seconds for run in found]))
        means = (f"{scores[model].mean():.4f}", f"{apart.mean():+.4f}", f"{error:.4f}")
        rows.append([name, MODELS[model].title, n_splits, *means, seconds])
    return rows


def scored(name: str, model: str, data: Data) -> Try:
    """What a model is worth on one split, its options chosen on a part of the training set."""
    found = Trainings(1, Records(None)).best_of(name, MODELS[model], data)
    return Try(data.score(found.Y_hat), found.cpu_seconds)


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["digits", "ocr-small"])
    parser.add_argument(
        "--models", nargs="*", choices=set(MODELS) - {"svm"}, default=["crf", "perceptron"]
    )
    parser.add_argument("--splits", type=int, default=10, help="how many")
    parser.add_argument("--at-most", type=int, help="examples of either part; all by default")
    given = parser.parse_args()
    warnings.simplefilter("ignore", bw.NotCertifiedWarning)
    for name in given.sets:
        data = SETS[name](given.data_home).first(given.at_most)
        rows = lines(name, data, given.models, given.splits)
        publish(given.output, table(HEADER, rows))
    publish(given.output, machine())


if __name__ == "__main__":
    main()
