"""Defaults against CRFsuite on many splits of the same data, to tell a difference from luck.

    python benchmarks/splits_table.py [--sets digits ocr-small] [--models crf] [--splits 10]
    python benchmarks/splits_table.py --folds 5 --settings 3,0.01 5,0.02 [--splits 5]

Training and test sets of `predictions_table.py` are put together and split anew, at random, with
training sets of the same size. Digit strings, which share images, are drawn anew instead: training
and test images stay apart. The table has means over splits, of the last measure of each set, and
the difference from `StructuredSVM` with its defaults on the same split, with its standard error.
(Splits share examples, so that the error is too small rather than too large.)

With `--folds` splits are folds of the training set alone: what defaults may be chosen by. Settings
are other values of lam n and `tol`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from common import machine, options, publish, table
from predictions_table import (
    MODELS,
    SETS,
    Data,
    Model,
    Outcome,
    Records,
    Trainings,
    Try,
    splits,
    structured,
)

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


def fold(name: str, data: Data, number: int, n_folds: int) -> Data:
    """One of the folds of the training set; of digit strings the first, but of other strings."""
    seed = 0
    if name == "digits":
        drawn = bw.datasets.digit_strings(len(data.Y), (4, 8), 100 + number, "train")
        data, seed, number = Data(drawn.X, drawn.Y, [], []), number, 0
    held = np.random.default_rng(seed).permutation(len(data.Y))[number::n_folds]
    rest = np.setdiff1d(np.arange(len(data.Y)), held)
    return Data(*([V[i] for i in at] for at in (rest, held) for V in data[:2]), data.has_chunks)


def setting(text: str) -> Model:
    """`StructuredSVM` with lam n and `tol`, given as in 3,0.02."""
    times, tol = map(float, text.split(","))

    def train(data: Data) -> Outcome:
        svm = bw.StructuredSVM(bw.tasks.Chain(), C=1.0 / times, tol=tol, random_state=0)
        return structured(svm, data)

    return Model(f"StructuredSVM, lam = {times:g}/n, tol = {tol:g}", train)


def lines(name: str, parts: Iterable[Data], models: list[Model]) -> list[list[Any]]:
    """Our defaults, and every other model beside them."""
    runs: dict[str, list[Try]] = {model.title: [] for model in models}
    for part in parts:
        for model in models:
            runs[model.title].append(scored(name, model, part))
    scores = {title: np.array([run.score for run in found]) for title, found in runs.items()}
    ours = scores[models[0].title]
    rows = []
    for title, found in runs.items():
        apart = scores[title] - ours
        error = apart.std(ddof=1) / np.sqrt(len(found))
        seconds = float(np.median([run.cpu_seconds for run in found]))
        means = (f"{scores[title].mean():.4f}", f"{apart.mean():+.4f}", f"{error:.4f}")
        rows.append([name, title, len(found), *means, seconds])
    return rows


def scored(name: str, model: Model, data: Data) -> Try:
    """What a model is worth on one split, its options chosen on a part of the training set."""
    found = Trainings(1, Records(None)).best_of(name, model, data)
    return Try(data.score(found.Y_hat), found.cpu_seconds)


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["digits", "ocr-small"])
    parser.add_argument(
        "--models", nargs="*", choices=set(MODELS) - {"svm"}, default=["crf", "perceptron"]
    )
    parser.add_argument("--settings", nargs="*", type=setting, default=[], help="lam n and tol")
    parser.add_argument("--splits", type=int, default=10, help="how many")
    parser.add_argument("--folds", type=int, help="split the training set alone, into so many")
    parser.add_argument("--at-most", type=int, help="examples of either part; all by default")
    given = parser.parse_args()
    warnings.simplefilter("ignore", bw.NotCertifiedWarning)
    models = [MODELS[name] for name in ("svm", *given.models)] + given.settings
    for name in given.sets:
        data = SETS[name](given.data_home).first(given.at_most)
        numbers = range(given.splits)
        if given.folds:
            parts = (fold(name, data, number, given.folds) for number in numbers)
        else:
            parts = (split(name, data, number) for number in numbers)
        rows = lines(name, parts, models)
        publish(given.output, table(HEADER, rows))
    publish(given.output, machine())


if __name__ == "__main__":
    main()
