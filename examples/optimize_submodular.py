"""A noisy picture cleaned by minimising a submodular function, beside a maximum flow.

    python examples/optimize_submodular.py [--small] [--output FOLDER]

F(A) is what the pixels in A cost, plus a price for every pair of neighbours of which one is in A:
a cut function with unary terms. `minimize_submodular` knows nothing of graphs. It asks for values
of F, moves to the point of least norm of its base polytope, and proves how far its set is from the
best. All values are integers here, so that a gap below 1 proves the minimum. A maximum flow has
the same answer.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from blockwolfe import optimize

PRICE = 6  # of a pair of neighbours on different sides


class Segmentation:
    """A cut function plus a sum over the members, with the gains that make it fast."""

    def __init__(self, weights: sp.csr_array, costs: np.ndarray) -> None:
        self.cut, self.costs, self.n = optimize.CutFunction(weights), costs, len(costs)

    def __call__(self, members: np.ndarray) -> float:
        return self.cut(members) + self.costs[members].sum()

    def gains(self, order: np.ndarray) -> np.ndarray:
        return self.cut.gains(order) + self.costs[order]


def grid(side: int) -> sp.csr_array:
    """PRICE for every pair of neighbours, in both directions."""
    number = np.arange(side * side).reshape(side, side)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    i, j = (np.concatenate([pair[k].ravel() for pair in pairs]) for k in (0, 1))
    one_way = sp.coo_array((np.full(len(i), float(PRICE)), (i, j)), shape=(number.size,) * 2)
    return sp.csr_array(one_way + one_way.T)


def by_flow(weights: sp.csr_array, costs: np.ndarray) -> int:
    """The same minimum as a cut between a source, joined to pixels that gain, and a target."""
    n, gains = len(costs), np.maximum(-costs, 0.0)
    capacity = np.zeros((n + 2, n + 2), dtype=np.int32)
    capacity[:n, :n] = weights.toarray()
    capacity[n, :n], capacity[:n, n + 1] = gains, np.maximum(costs, 0.0)
    return int(maximum_flow(sp.csr_array(capacity), n, n + 1).flow_value - gains.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a few seconds")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    side = 10 if given.small else 24
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:side, :side] / (side - 1.0) - 0.5
    shape = (np.hypot(x, y) < 0.4) & (np.hypot(x - 0.15, y) > 0.2)
    seen = np.where(shape, -1.0, 1.0) + 1.2 * rng.normal(size=shape.shape)
    weights, costs = grid(side), np.round(10.0 * seen).ravel()

    f = Segmentation(weights, costs)
    found = optimize.minimize_submodular(f, tol=0.99)
    print(found)
    print(f"no set is below {found.lower_bound:.3f}, and values are integers: ", end="")
    print("this is the minimum" if found.gap < 1.0 else "not proven yet")
    print(f"{found.run.counts.oracle_calls} greedy oracle calls, {found.run.seconds:.2f} s")
    print(f"by maximum flow: {by_flow(weights, costs)}")
    clean = np.zeros(side * side, dtype=bool)
    clean[found.members] = True
    print(f"pixels right: {np.mean((seen < 0) == shape):.1%} alone, ", end="")
    print(f"{np.mean(clean.reshape(shape.shape) == shape):.1%} with their neighbours")
    draw({"seen": seen, "true": ~shape, "found": ~clean.reshape(shape.shape)}, given.output)


def draw(pictures: dict[str, np.ndarray], folder: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(pictures), figsize=(6.4, 2.3), layout="constrained")
    for ax, (title, picture) in zip(axes, pictures.items(), strict=True):
        ax.imshow(picture, cmap="gray")
        ax.set(title=title, xticks=[], yticks=[])
    file = folder / "optimize-submodular.png"
    figure.savefig(file, dpi=110)
    plt.close(figure)
    print(f"picture: {file}")


if __name__ == "__main__":
    main()
