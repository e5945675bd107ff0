"""Hamming loss and exact match on scenes: label sets with and without pairs, against scikit-learn.

python benchmarks/multilabel_quality.py [--lam 1e-2 1e-3 ...] [--tol 0.01]

Every model chooses its own strength by the Hamming loss on a fifth of the training photographs
and is then trained again on all of them; the test photographs are looked at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import machine, options, publish, table, timed
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.svm import LinearSVC

import blockwolfe as bw

HEADER = (
    "model",
    "lam",
    "Hamming loss",
    "exact match",
    "held-out Hamming loss",
    "certified gap",
    "seconds",
)


def our(tol: float, **task: Any) -> Callable[[float, int], Any]:
    """A structured SVM."""
    return lambda lam, n: bw.StructuredSVM(
        bw.tasks.Multilabel(**task), lam=lam, tol=tol, max_passes=500, random_state=0
    )


def strength(lam: float, n: int, n_labels: int = 6) -> float:
    """C of scikit-learn for lam: our loss is a mean over labels too."""
    return 1.0 / (lam * n * n_labels)


def svc(lam: float, n: int) -> LinearSVC:
    """The same loss as ours without pairs."""
    return LinearSVC(C=strength(lam, n), loss="hinge", max_iter=200_000, random_state=0)


def logistic(lam: float, n: int) -> LogisticRegression:
    """Another loss."""
    return LogisticRegression(C=strength(lam, n), max_iter=5000)


def models(tol: float) -> dict[str, Callable[[float, int], Any]]:
    """By name: what makes a model from lam and the number of examples."""
    return {
        "blockwolfe, independent": our(tol),
        "blockwolfe, tree": our(tol, pairs="tree"),
        "blockwolfe, full": our(tol, pairs="full"),
        "blockwolfe, full, pairs by x": our(tol, pairs="full", pair_features="x"),
        "blockwolfe, full, attractive": our(tol, pairs="full", attractive=True),
        "LinearSVC, one against rest": lambda lam, n: OneVsRestClassifier(svc(lam, n)),
        "logistic, one against rest": lambda lam, n: OneVsRestClassifier(logistic(lam, n)),
        "logistic, chain": lambda lam, n: ClassifierChain(logistic(lam, n), random_state=0),
    }


def hamming(Y: np.ndarray, Y_hat: np.ndarray) -> float:
    return float(np.mean(Y_hat != Y))


def exact_match(Y: np.ndarray, Y_hat: np.ndarray) -> float:
    return float(np.mean((Y_hat == Y).all(axis=1)))


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument(
        "--lam", type=float, nargs="+", default=[3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4], help="to try"
    )
    parser.add_argument("--tol", type=float, default=5e-3, help="certified gap to train to")
    parser.add_argument("--models", nargs="+", help="those whose names have one of these words")
    given = parser.parse_args()
    train, test = (bw.datasets.load_scene(split, given.data_home) for split in ("train", "test"))
    fitted, held_out, Y_fitted, Y_held_out = train_test_split(
        train.X, train.Y, test_size=0.2, random_state=0
    )
    # A strength that is too weak to be certified in so many passes may be tried all the same.
    warnings.simplefilter("ignore", bw.NotCertifiedWarning)
    rows = []
    for name, make in models(given.tol).items():
        if given.models and not any(word in name for word in given.models):
            continue
        tried = {
            lam: hamming(Y_held_out, make(lam, len(fitted)).fit(fitted, Y_fitted).predict(held_out))
            for lam in given.lam
        }
        lam = min(tried, key=tried.get)
        run = timed(lambda make=make, lam=lam: make(lam, len(train.X)).fit(train.X, train.Y))
        guess = run.value.predict(test.X)
        gap = getattr(run.value, "certificate_", None)
        rows.append(
            (
                name,
                lam,
                hamming(test.Y, guess),
                exact_match(test.Y, guess),
                tried[lam],
                float("nan") if gap is None else gap.gap,
                run.seconds,
            )
        )
    publish(given.output, "Scenes, 1196 test photographs.", table(HEADER, rows), machine())


if __name__ == "__main__":
    main()
