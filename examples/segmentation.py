"""Find the horse: figure and ground on superpixels, neighbours that look alike encouraged to agree.

    python examples/segmentation.py [--small] [--output FOLDER] [--data-home HOME]

With ``--small``, or where the photographs are not found, noisy discs on a grid take their place.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

import blockwolfe as bw
from blockwolfe.tasks import Cut, Graph


def horses(home: Any) -> tuple[Any, Any, float]:
    """Train and test pictures with node features scaled alike, and a good lam."""
    train, test = (bw.datasets.load_horses(split, home) for split in ("train", "test"))
    scaler = StandardScaler().fit(np.concatenate([x.nodes for x in train.X]))
    for data in (train, test):
        data.X[:] = [Graph(scaler.transform(x.nodes), x.edges, x.edge_features) for x in data.X]
    return train, test, 100.0


def discs() -> tuple[Any, Any, float]:
    train, test = (bw.datasets.synthetic_grids(12, noise=1.5, random_state=k) for k in (0, 1))
    return train, test, 1000.0


def places(data: Any, x: Graph) -> tuple[np.ndarray, tuple[int, int]]:
    """Row and column of each node, and the shape of the picture."""
    if data.name.startswith("synthetic"):
        return np.stack(np.unravel_index(np.arange(len(x.nodes)), (24, 32)), axis=1), (24, 32)
    columns = [data.feature_names.index(name) for name in ("y", "x")]
    return x.nodes[:, columns], (96, 128)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="noisy discs, in a few seconds")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder of the picture")
    parser.add_argument("--data-home", default=os.environ.get("BLOCKWOLFE_DATA"))
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    try:
        train, test, lam = discs() if given.small else horses(given.data_home)
    except bw.DataNotFoundError as error:
        print(f"{error}\nGoing on with noisy discs.\n")
        train, test, lam = discs()

    svm = bw.StructuredSVM(Cut(), lam=lam, tol=1e-2, random_state=0).fit(train.X, train.Y)
    alone = [[Graph(x.nodes, []) for x in data.X] for data in (train, test)]
    single = bw.StructuredSVM(Cut(), lam=lam, tol=1e-2, random_state=0).fit(alone[0], train.Y)
    print(train)
    print(svm.certificate_)
    print(f"right, each node alone   {single.score(alone[1], test.Y):.1%}")
    print(f"right, with neighbours   {svm.score(test.X, test.Y):.1%}")
    print("weights of edges", svm.coef_[svm.task_.groups["edge"]].round(4))

    guesses, guesses_alone = svm.predict(test.X), single.predict(alone[1])
    figure, axes = plt.subplots(3, 3, figsize=(9, 7), layout="constrained")
    for row, i in zip(axes, range(3), strict=True):
        positions, shape = places(test, test.X[i])
        panels = {"truth": test.Y[i], "alone": guesses_alone[i], "with neighbours": guesses[i]}
        bw.SegmentationDisplay(positions, panels, shape).plot(row)
    path = given.output / "segmentation.png"
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
