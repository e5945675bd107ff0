"""Regions in a noisy picture: labels on a grid, trained with an approximate but bounded oracle.

The best labelling of a grid with four labels is NP-hard to find. The decoder passes messages and
proves how much it may have missed; the certificate of training counts that in.

    python examples/graph.py [--small] [--output FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import blockwolfe as bw

N_LABELS = 4


def picture(side: int, rng: np.random.Generator) -> tuple[bw.tasks.Graph, np.ndarray]:
    """A grid split into regions around random centres; pixels show their label in much noise."""
    place = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=-1)
    centres, owners = rng.random((7, 2)) * side, np.arange(7) % N_LABELS
    nearest = ((place[:, :, None] - centres) ** 2).sum(axis=-1).argmin(axis=-1)
    labels = owners[nearest].ravel()
    pixels = np.eye(N_LABELS)[labels] + 0.9 * rng.normal(size=(side * side, N_LABELS))
    number = np.arange(side * side).reshape(side, side)
    across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    return bw.tasks.Graph(pixels, np.concatenate([across, down])), labels


def main() -> None:
    parser = argparse.ArgumentParser(description="Regions in a noisy picture.")
    parser.add_argument("--small", action="store_true", help="a few seconds' worth")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
    given = parser.parse_args()
    n, side = (8, 8) if given.small else (40, 20)
    rng = np.random.default_rng(0)
    X, Y = zip(*[picture(side, rng) for _ in range(n + 5)], strict=True)
    train, test = (X[:n], Y[:n]), (X[n:], Y[n:])

    single = [bw.tasks.Graph(x.nodes, []) for x in X]  # the same pixels, each for itself
    shown = {"true": Y[-1].reshape(side, side)}
    for title, graphs in (("pixels alone", single), ("with neighbours", X)):
        svm = bw.StructuredSVM(bw.tasks.PairwiseGraph(N_LABELS), lam=100, tol=0.02, random_state=0)
        svm.fit(graphs[:n], train[1])
        print(f"{title}: {svm.certificate_}")
        print(f"  pixels right on test pictures {svm.score(graphs[n:], test[1]):.3f}")
        shown[title] = svm.predict(graphs[-1:])[0].reshape(side, side)

    task, w = svm.task_, svm.coef_
    bounds = [task.decode_bound(x, w) for x in test[0]]
    gaps = [
        upper - float(np.dot(w, task.features(x, y)))
        for x, (y, upper) in zip(test[0], bounds, strict=True)
    ]
    print(f"  test pictures decoded to proven optimality: {np.mean(np.array(gaps) < 1e-6):.0%}")
    given.output.mkdir(parents=True, exist_ok=True)
    path = given.output / "graph.png"
    bw.LabellingDisplay(shown).plot().figure_.savefig(path, dpi=120)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
