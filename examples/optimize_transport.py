"""Sparse optimal transport: a plan with a quadratic term, over doubly stochastic matrices.

    python examples/optimize_transport.py [--small] [--output FOLDER]

n points are moved to n others, in shares where that helps: <C, X> + eps/2 |X|^2 is minimised over
matrices X >= 0 whose rows and columns sum to one. This is the point of the Birkhoff polytope
nearest to -C / eps. Unlike plans with an entropy term, most of its entries are exactly zero.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from blockwolfe import optimize


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a few seconds")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    n = 10 if given.small else 20
    rng = np.random.default_rng(0)
    angle = np.sort(rng.random(n)) * np.pi
    a = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.05 * rng.normal(size=(n, 2))
    b = np.stack([1 - np.cos(angle), 0.4 - np.sin(angle)], axis=1) + 0.05 * rng.normal(size=(n, 2))
    costs = ((a[:, None] - b[None, :]) ** 2).sum(axis=-1)
    cheapest = costs[linear_sum_assignment(costs)].sum()
    plans = {}
    for eps in (0.01, 0.5, 5.0):
        f = optimize.SquaredNorm(-costs.ravel() / eps)
        # f = <C, X> / eps + 1/2 |X|^2 + a constant: a gap of f is eps times that in costs
        result = optimize.minimize(f, optimize.Birkhoff(n), "pairwise", tol=1e-3 / eps)
        X = plans[eps] = result.x
        gap, n_used = eps * result.certificate.gap, len(result.active_sets[0])
        print(f"eps = {eps:g}: {result.status.name}, gap {gap:.1e}, {n_used} permutations in use")
        print(f"  cost {(costs * X).sum():.4f} (least: {cheapest:.4f}), ", end="")
        print(f"{np.sum(X > 0)} of {X.size} entries are not zero")
    draw(a, b, plans, given.output / "optimize-transport.png")
    print(f"picture: {given.output / 'optimize-transport.png'}")


def draw(a: np.ndarray, b: np.ndarray, plans: dict[float, np.ndarray], file: Path) -> None:
    """Lines as strong as the shares that move along them."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(plans), figsize=(8, 2.6), layout="constrained")
    for ax, (eps, X) in zip(axes, plans.items(), strict=True):
        for i, j in np.argwhere(X > 1e-6):
            ends = np.array([a[i], b[j]])
            ax.plot(*ends.T, color="0.3", alpha=float(min(1.0, 0.1 + X[i, j])), linewidth=0.8)
        ax.plot(*a.T, "o", color="C0", markersize=4)
        ax.plot(*b.T, "o", color="C1", markersize=4)
        ax.set(title=f"eps = {eps:g}: {np.sum(X > 0)} links", xticks=[], yticks=[])
    figure.savefig(file, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
