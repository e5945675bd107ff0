"""Word alignment by maximum matching: which English word goes with which French word.

    python examples/alignment.py [--small] [--output FOLDER] [--data-home HOME]

Uses the Hansards where they are found (training on 100 sentence pairs, testing on 347); with
--small, or without the data, sentences of a toy grammar.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import blockwolfe as bw

NOUNS = {"house": "maison", "cat": "chat", "minister": "ministre", "bill": "loi", "book": "livre"}
ADJECTIVES = {"red": "rouge", "black": "noir", "honest": "honnête", "public": "public"}
VERBS = {"sees": "voit", "reads": "lit", "wants": "veut", "supports": "appuie"}


def noun_phrase(rng: np.random.Generator) -> tuple[list[str], list[str], list[tuple[int, int]]]:
    """English puts the adjective before the noun, French after it."""
    noun, adjective = rng.choice(list(NOUNS)), rng.choice(list(ADJECTIVES))
    if rng.random() < 0.4:
        return ["the", noun], ["le", NOUNS[noun]], [(0, 0), (1, 1)]
    french = ["le", NOUNS[noun], ADJECTIVES[adjective]]
    return ["the", adjective, noun], french, [(0, 0), (1, 2), (2, 1)]


def toy_text(n: int, seed: int) -> tuple[list[Any], list[Any]]:
    """Subject, verb, object, with a full stop that the French side sometimes lacks."""
    rng, X, Y = np.random.default_rng(seed), [], []
    for _ in range(n):
        (e, f, links), (e2, f2, more) = noun_phrase(rng), noun_phrase(rng)
        verb = rng.choice(list(VERBS))
        links = [*links, (len(e), len(f))]
        links += [(i + len(e) + 1, j + len(f) + 1) for i, j in more]
        e, f = [*e, verb, *e2, "."], [*f, VERBS[verb], *f2]
        if rng.random() < 0.7:
            links.append((len(e) - 1, len(f)))
            f.append(".")
        X.append((list(map(str, e)), list(map(str, f))))
        Y.append(bw.tasks.Alignment(links))
    return X, Y


def load(small: bool, home: Any) -> tuple[list[Any], list[Any], list[Any], list[Any], list[Any]]:
    """Text to count words in, training pairs and links, test pairs and links."""
    if not small:
        try:
            parts = ("unlabeled", "test-first100", "test-last347")
            text, train, test = (bw.datasets.load_hansards(part, home) for part in parts)
            return text.X + train.X + test.X, train.X, train.Y, test.X, test.Y
        except bw.DataNotFoundError as error:
            print(f"{error}\nUsing sentences of a toy grammar instead.")
    (X, Y), (X_test, Y_test) = toy_text(30, seed=0), toy_text(60, seed=1)
    return X, X, Y, X_test, Y_test


def error_rate(Y: list[Any], predicted: list[Any]) -> float:
    sure, possible = [y.sure for y in Y], [y.possible for y in Y]
    return bw.datasets.alignment_error_rate(sure, possible, predicted)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a toy problem, in a few seconds")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
    parser.add_argument("--data-home", help="folder of the real data")
    options = parser.parse_args()

    text, X, Y, X_test, Y_test = load(options.small, options.data_home)
    vectorizer = bw.AlignmentVectorizer().fit(text)
    task = bw.tasks.Matching(miss_cost=3.0, normalize=False, project_truth=True)
    svm = bw.StructuredSVM(task, lam=0.02, tol=0.05, random_state=0)
    svm.fit(vectorizer.transform(X), Y)
    predicted = svm.predict(vectorizer.transform(X_test))

    print(svm.certificate_)
    print(f"alignment error rate on {len(Y_test)} other pairs: {error_rate(Y_test, predicted):.3f}")
    best = np.argsort(-np.abs(svm.coef_[:-1]))[:8]
    named = (f"{vectorizer.feature_names_[k]} {svm.coef_[k]:+.2f}" for k in best)
    print("largest weights:", ", ".join(named))

    length = [abs(len(e) + len(f) - 26) for e, f in X_test]
    shown = int(np.argmin(length))
    display = bw.AlignmentDisplay(*X_test[shown], Y_test[shown], predicted[shown]).plot()
    options.output.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(options.output / "alignment.png", dpi=120)


if __name__ == "__main__":
    main()
