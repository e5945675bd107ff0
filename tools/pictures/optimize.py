"""The picture of docs/optimize.md: the gap of one problem, step by step, by several methods."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from blockwolfe import optimize

METHODS = {
    "fw": "fw",
    "away": "away",
    "pairwise": "pairwise",
    "blended": "blended",
    "fcfw": "fcfw (fully corrective)",
}
LEAST = 1e-10


def main() -> None:
    """Run all methods on a Lasso problem, and draw their gaps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a few seconds' worth")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    n, d, n_steps = (30, 60, 50) if given.small else (200, 500, 2000)
    rng = np.random.default_rng(0)
    A, truth = rng.normal(size=(n, d)), np.zeros(d)
    truth[:20] = rng.normal(size=20)
    b = A @ truth + rng.normal(size=n)
    f = optimize.LeastSquares(A, b, scale=1.0 / n)
    domain = optimize.L1Ball(d, 0.8 * float(np.abs(truth).sum()))
    curves = {}
    for method, label in METHODS.items():
        run = optimize.minimize(f, domain, method, tol=LEAST, max_passes=n_steps)
        curves[label] = (run.trace["visits"], run.trace["gap_estimate"])
        print(f"{method}: {run.status.name}, gap {run.certificate.gap:.1e}")
    draw(curves, given.output / "optimize-methods.png")


def draw(curves: dict[str, tuple[np.ndarray, np.ndarray]], file: Path) -> None:
    """Gaps against steps, both on logarithmic axes."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    for label, (steps, gaps) in curves.items():
        is_shown = np.isfinite(gaps) & (gaps > 0.0)
        ax.plot(steps[is_shown], gaps[is_shown], label=label, linewidth=1.2)
    ax.set(xscale="log", yscale="log", xlabel="steps (one oracle call each)", ylabel="gap")
    ax.set_ylim(bottom=LEAST)
    ax.legend(fontsize="small")
    figure.savefig(file, dpi=140)
    plt.close(figure)


if __name__ == "__main__":
    main()
