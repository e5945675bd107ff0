"""Dependency parsing: trees over the words of sentences, trained to a certified gap.

    python examples/parsing.py [--small] [--output FOLDER] [--data-home HOME]

Real sentences (Universal Dependencies English Web Treebank) where they are found; with --small, or
without them, sentences of a toy grammar.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import blockwolfe as bw

WORDS = {
    "DET": ["the", "a", "every"],
    "ADJ": ["old", "small", "green"],
    "NOUN": ["cat", "dog", "man", "telescope", "hill"],
    "ADP": ["with", "on"],
    "VERB": ["saw", "heard", "liked"],
    "PUNCT": [".", "!"],
}


def toy_sentence(rng: np.random.Generator) -> tuple[list[tuple[str, str]], list[int]]:
    """Subject, verb, object, perhaps with a phrase ("with" belongs to the verb, "on" to a noun)."""
    tags: list[str] = []
    heads: list[int] = []

    def add(tag: str, head: int) -> int:
        tags.append(tag)
        heads.append(head)
        return len(tags)

    def phrase(head: int) -> int:
        n_adjectives = int(rng.integers(3))
        noun = len(tags) + 2 + n_adjectives
        add("DET", noun)
        for _ in range(n_adjectives):
            add("ADJ", noun)
        return add("NOUN", head)

    subject = phrase(0)
    verb = add("VERB", 0)
    heads[subject - 1] = verb
    target = phrase(verb)
    words = [str(rng.choice(WORDS[tag])) for tag in tags]
    for _ in range(int(rng.integers(3))):
        preposition = add("ADP", 0)
        words.append(str(rng.choice(WORDS["ADP"])))
        begin = len(tags)
        noun = phrase(verb if words[-1] == "with" else target)
        words += [str(rng.choice(WORDS[tag])) for tag in tags[begin:]]
        heads[preposition - 1] = noun
    add("PUNCT", verb)
    words.append(str(rng.choice(WORDS["PUNCT"])))
    return list(zip(words, tags, strict=True)), heads


def toy(n: int, seed: int) -> tuple[list[list[tuple[str, str]]], list[list[int]]]:
    rng = np.random.default_rng(seed)
    sentences = [toy_sentence(rng) for _ in range(n)]
    return [x for x, _ in sentences], [y for _, y in sentences]


def main() -> None:
    parser = argparse.ArgumentParser(description="Dependency parsing")
    parser.add_argument("--small", action="store_true", help="sentences of a toy grammar")
    parser.add_argument("--output", type=Path, default=Path(), help="folder for the picture")
    parser.add_argument("--data-home", help="folder that has ud_ewt/")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    try:
        if given.small:
            raise bw.DataNotFoundError
        train, test = (bw.datasets.load_ud_ewt(s, given.data_home) for s in ("train", "test"))
        X, Y, X_test, Y_test = train.X[:4000], train.Y[:4000], test.X, test.Y
        lam, tol = 0.01, 0.03
    except bw.DataNotFoundError:
        (X, Y), (X_test, Y_test) = toy(60, seed=0), toy(200, seed=1)
        lam, tol = 0.01, 0.01
    svm = bw.StructuredSVM(bw.tasks.SpanningTree(), lam=lam, tol=tol, random_state=0).fit(X, Y)
    found = svm.predict(X_test)
    print(svm.certificate_)
    print(f"{len(X)} sentences, {len(svm.coef_)} weights, {svm.result_.seconds:.1f} s")
    score = bw.datasets.unlabelled_attachment_score(Y_test, found)
    print(f"words of {len(X_test)} test sentences with the right head: {score:.3f}")
    shown = [i for i, x in enumerate(X_test) if 8 <= len(x) <= 14][:2]
    _, axes = plt.subplots(len(shown), 1, figsize=(11, 7), layout="constrained")
    for i, ax in zip(shown, axes, strict=True):
        bw.ParseDisplay.from_predictions(X_test[i], found[i], Y_test[i]).plot(ax)
    plt.savefig(given.output / "parsing.png", dpi=120)


if __name__ == "__main__":
    main()
