"""Text chunking: a tag for every word of a sentence, from words and parts of speech.

    python examples/tagging.py [--small] [--output FOLDER] [--data-home HOME]

CoNLL-2000 where it is found; with --small, or without it, sentences of a toy grammar. The picture
shows which tag likes to follow which.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import blockwolfe as bw
from blockwolfe.datasets import chunk_f1

NOUNS, VERBS = ["cat", "dog", "bird"], ["saw", "heard", "liked"]


def toy_sentence(rng: np.random.Generator) -> tuple[list[dict[str, str]], list[str]]:
    """Noun phrases and verbs; a noun may stand for a verb ("the saw"), so neighbours matter."""
    tokens: list[dict[str, str]] = []
    tags: list[str] = []

    def add(word: str, tag: str) -> None:
        tokens.append({"word": word, "end": word[-1]})
        tags.append(tag)

    def phrase() -> None:
        add(str(rng.choice(["the", "a"])), "B-NP")
        add(str(rng.choice(NOUNS if rng.random() < 0.7 else VERBS)), "I-NP")

    phrase()
    add(str(rng.choice(VERBS)), "B-VP")
    phrase()
    add(".", "O")
    return tokens, tags


def load(small: bool, home: Any) -> tuple[Any, Any, Any, Any]:
    """Training and test data."""
    if not small:
        try:
            train, test = (bw.datasets.load_conll2000(split, home) for split in ("train", "test"))
            return train.X, train.Y, test.X, test.Y
        except bw.DataNotFoundError as error:
            print(f"{error}\nUsing sentences of a toy grammar instead.")
    rng = np.random.default_rng(0)
    X, Y = zip(*[toy_sentence(rng) for _ in range(60)], strict=True)
    return list(X[:40]), list(Y[:40]), list(X[40:]), list(Y[40:])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a toy problem, in a few seconds")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
    parser.add_argument("--data-home", help="folder of the real data")
    given = parser.parse_args()
    X, Y, X_test, Y_test = load(given.small, given.data_home)
    svm = bw.StructuredSVM(bw.tasks.Chain(), lam=10.0 / len(X), tol=0.02, random_state=0)
    svm.fit(X, Y)
    predicted = [[str(tag) for tag in y] for y in svm.predict(X_test)]
    print(svm.certificate_)
    score = chunk_f1([[str(tag) for tag in y] for y in Y_test], predicted)
    print(f"chunks of {len(Y_test)} other sentences: F1 {score.f1:.3f}")
    display = bw.TransitionsDisplay.from_estimator(svm).plot()
    given.output.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(given.output / "tagging.png", dpi=120)


if __name__ == "__main__":
    main()
