"""Labels on trees: the part of speech of every word, where the dependency tree is known.

    python examples/tree.py [--small] [--output FOLDER] [--data-home HOME]

A word is known by its spelling only; its head and its dependents tell the rest. Real sentences
(Universal Dependencies English Web Treebank) where they are found; with --small, or without them,
families in which a child usually has its parent's label plus one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import blockwolfe as bw


def family(rng: np.random.Generator, n: int = 12) -> tuple[bw.tasks.Graph, list[int]]:
    """A random tree; nodes show their label in much noise."""
    parent = [int(rng.integers(k)) for k in range(1, n)]
    y = [int(rng.integers(3))]
    for p in parent:
        y.append((y[p] + 1) % 3 if rng.random() < 0.9 else int(rng.integers(3)))
    nodes = np.eye(3)[y] + 0.8 * rng.normal(size=(n, 3))
    return bw.tasks.Graph(nodes, [[p, k + 1] for k, p in enumerate(parent)]), y


def spelling(word: str) -> dict[str, Any]:
    """What the form of a word tells, without its neighbours."""
    features: dict[str, Any] = {f"end{k}": word[-k:].lower() for k in (1, 2, 3)}
    return features | {"capital": word[0].isupper(), "digit": word[0].isdigit()}


def sentences(home: Any) -> tuple[list[Any], list[Any], list[Any], int]:
    """Graphs of words, their parts of speech, the words, and how many are for training."""
    train, test = (bw.datasets.load_ud_ewt(split, home) for split in ("train", "dev"))
    read = list(zip(train.X, train.Y, strict=True))[:3000]
    n = len(read)
    read += list(zip(test.X, test.Y, strict=True))[:1000]
    words = [[word for word, _ in tokens] for tokens, _ in read]
    tokens = [[spelling(word) for word in sentence] for sentence in words]
    vectorizer = bw.TokenVectorizer(min_count=3).fit(tokens[:n])
    X = [
        bw.tasks.Graph(rows, [(head - 1, k) for k, head in enumerate(heads) if head > 0])
        for rows, (_, heads) in zip(vectorizer.transform(tokens), read, strict=True)
    ]
    return X, [[tag for _, tag in sentence] for sentence, _ in read], words, n


def load(small: bool, home: Any) -> tuple[list[Any], list[Any], list[Any], int]:
    """The real data, or families."""
    if not small:
        try:
            return sentences(home)
        except bw.DataNotFoundError as error:
            print(f"{error}\nUsing families instead.")
    rng = np.random.default_rng(0)
    X, Y = zip(*[family(rng) for _ in range(90)], strict=True)
    return list(X), list(Y), [None] * 90, 60


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="families, in a few seconds")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
    parser.add_argument("--data-home", help="folder of the real data")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    X, Y, words, n = load(given.small, given.data_home)
    alone = [bw.tasks.Graph(x.nodes, []) for x in X]  # the same nodes, each for itself
    for title, graphs in (("nodes alone", alone), ("with the tree", X)):
        svm = bw.StructuredSVM(bw.tasks.Tree(), lam=1.0 / n, tol=0.02, random_state=0)
        svm.fit(graphs[:n], Y[:n])
        print(f"{title}: {svm.certificate_}")
        print(f"  labels right on {len(Y) - n} other trees: {svm.score(graphs[n:], Y[n:]):.3f}")
    shown = n + int(np.argmin([abs(len(y) - 12) for y in Y[n:]]))
    display = bw.TreeDisplay.from_estimator(svm, X[shown], Y[shown], words[shown]).plot()
    display.figure_.savefig(given.output / "tree.png", dpi=120)


if __name__ == "__main__":
    main()
