"""Label sets of photographs: what pairs of labels add, and a picture of their weights.

    python examples/multilabel.py [--small] [--output FOLDER] [--data-home HOME]

Uses the Scene photographs where they are found, otherwise generated data.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import train_test_split

import blockwolfe as bw


def load(small: bool, home: Any) -> tuple[tuple[Any, Any], tuple[Any, Any], Any]:
    """Train and test data, and the names of the labels."""
    try:
        if not small:
            train, test = (bw.datasets.load_scene(split, home) for split in ("train", "test"))
            return (train.X, train.Y), (test.X, test.Y), train.label_names
    except bw.DataNotFoundError as error:
        print(f"Generated data, because {error}\n")
    X, Y = make_multilabel_classification(
        240 if small else 2400, n_features=30, n_classes=6, n_labels=2, length=40, random_state=1
    )
    X, X_test, Y, Y_test = train_test_split(X / 10.0, Y, random_state=0)
    return (X, Y), (X_test, Y_test), [f"topic {k}" for k in range(6)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a few seconds, generated data")
    parser.add_argument("--output", type=Path, default=Path("multilabel-output"))
    parser.add_argument("--data-home", help="folder that holds scene/scene.npz")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    (X, Y), (X_test, Y_test), names = load(given.small, given.data_home)
    for pairs in ("independent", "tree", "full"):
        task = bw.tasks.Multilabel(pairs, labels=names)
        svm = bw.StructuredSVM(task, lam=1e-2, tol=1e-2, random_state=0).fit(X, Y)
        guess = svm.predict(X_test)
        print(
            f"{pairs:12s} gap {svm.certificate_.gap:.4f} after {svm.result_.seconds:.2f} s; "
            f"wrong labels {1 - svm.score(X_test, Y_test):.4f}, "
            f"sets exactly right {np.mean((guess == Y_test).all(axis=1)):.4f}"
        )
    print(svm.certificate_)
    print("first test examples:", svm.task_.label_sets(guess[:3]))
    display = bw.LabelPairsDisplay.from_estimator(svm, Y).plot()
    display.figure_.savefig(given.output / "label-pairs.png", dpi=150)
    print(f"picture: {given.output / 'label-pairs.png'}")


if __name__ == "__main__":
    main()
