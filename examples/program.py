"""Learning to select under a budget: the front page of a newspaper as a 0/1 program.

    python examples/program.py [--small] [--output FOLDER]

A page has room for so many lines, takes at most two articles of a topic and at least one of
today's. An editor chooses articles; from pages that the editor made we learn what an article is
worth, with the program inside the training. Next to it: worths learned article by article (logistic
regression), and the same program used only at the end.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import blockwolfe as bw
from blockwolfe.structures import program

N_TOPICS = 4
ROWS = ["lines", *(f"topic {k}" for k in range(N_TOPICS)), "today's"]


def page(
    rng: np.random.Generator, taste: np.ndarray, m: int
) -> tuple[bw.tasks.ProgramInput, np.ndarray]:
    """Articles to choose from, the rules, and what the editor chose."""
    features = rng.normal(size=(m, len(taste)))
    lines = rng.integers(10, 60, size=m)
    features[:, 0] = lines / 30.0  # a long article may be worth more, and takes more room
    topic, is_new = rng.integers(N_TOPICS, size=m), rng.random(m) < 0.4
    is_new[0] = True
    A = np.vstack([lines, topic == np.arange(N_TOPICS)[:, None], is_new])
    upper = [120.0, *[2.0] * N_TOPICS, np.inf]
    lower = [-np.inf] * (N_TOPICS + 1) + [1.0]
    worth = features @ taste + 0.3 * rng.normal(size=m)
    x = bw.tasks.ProgramInput(features, A, upper, lower)
    return x, program.maximize(worth, A, upper, lower)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a few seconds")
    parser.add_argument("--output", type=Path, default=Path("program-output"))
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    taste = np.array([1.0, 1.0, -0.7, 0.5, 0.3, 0.0])
    n, m, tol = (8, 6, 0.2) if given.small else (80, 15, 0.02)
    pages = [page(rng, taste, m) for _ in range(2 * n)]
    (X, Y), (X_test, Y_test) = (zip(*part, strict=True) for part in (pages[:n], pages[n:]))
    svm = bw.StructuredSVM(
        bw.tasks.Program(), lam=0.02, tol=tol, method="bcfw+gap+pairwise+cache", random_state=0
    ).fit(X, Y)
    print(svm.certificate_)
    print(f"{svm.result_.counts.oracle_calls} programs solved in {svm.result_.seconds:.1f} s")
    articles = LogisticRegression().fit(np.concatenate([x.features for x in X]), np.concatenate(Y))
    alone = svm.task_.predict(X_test, articles.coef_[0])
    apart = np.mean([svm.task_.loss(y, z) for y, z in zip(Y_test, alone, strict=True)])
    print(
        f"articles on the wrong side, trained with the program: {1 - svm.score(X_test, Y_test):.4f}"
    )
    print(f"                            article by article:       {apart:.4f}")
    wrong = [(y != z).sum() for y, z in zip(Y_test, svm.predict(X_test), strict=True)]
    worst = int(np.argmax(wrong))
    display = bw.SelectionDisplay.from_estimator(svm, X_test[worst], Y_test[worst], ROWS).plot()
    display.figure_.savefig(given.output / "selection.png", dpi=150)
    print(f"picture: {given.output / 'selection.png'}")


if __name__ == "__main__":
    main()
