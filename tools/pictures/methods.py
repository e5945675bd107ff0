"""A picture for each method of docs/methods.md: its line among those of all others.

All run on strings of handwritten digits, in the setting of the papers.
"""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import blockwolfe as bw
from blockwolfe.methods.registry import as_method

# The name of each picture, and the method that stands out in it.
PICTURES = {
    "bcfw": "bcfw",
    "frank-wolfe": "fw",
    "cutting-plane": "cutting_plane",
    "n-slack": "cutting_plane+n",
    "bundle": "bundle",
    "online-eg": "online_eg",
    "excessive-gap": "excessive_gap",
    "extragradient": "extragradient+entropy",
    "ssg": "ssg",
    "subgradient": "subgradient+averaging",
    "perceptron": "perceptron",
    "auto": "auto",
}
PANELS = {
    "suboptimality": "primal - best dual known",
    "held_out_loss": "share of wrong test digits",
}
LAM = 0.01


def main() -> None:
    """Run all methods, and draw every picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a few seconds' worth")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the pictures")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    n_strings, n_passes = (10, 5) if given.small else (200, 200)
    train, test = (
        bw.datasets.digit_strings(n_strings, split=split, random_state=0)
        for split in ("train", "test")
    )
    task = bw.tasks.Chain(task_loss="normalized_hamming")
    problem = bw.Problem(task, train.X, train.Y)
    methods = {name: looking_often(name) for name in PICTURES.values()}
    given_to_all = {"budget": {"max_passes": n_passes}, "held_out": (test.X, test.Y), "tol": 1e-5}
    found = bw.compare(problem, LAM, methods, targets=(), verbose=1, **given_to_all)
    for name, method in PICTURES.items():
        draw(found, method, given.output / f"method-{name}.png")


def looking_often(name: str) -> Any:
    """The method, with a certificate every third pass where that can be chosen."""
    method: Any = as_method(name)
    has_choice = "certify_every" in {field.name for field in fields(method)}
    return replace(method, certify_every=3) if has_choice else method


def draw(found: bw.Comparison, method: str, file: Path) -> None:
    """The lines of all methods in grey, and that of one in colour."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(PANELS), figsize=(6.4, 2.1), layout="constrained")
    for (measure, title), ax in zip(PANELS.items(), axes, strict=True):
        curves = bw.ComparisonDisplay.from_comparison(found, measure).curves
        for label, curve in curves.items():
            look: dict[str, Any] = {"color": "0.8", "linewidth": 0.8, "zorder": 1}
            if label == method:
                look = {"color": "C0", "linewidth": 1.8, "zorder": 2}
            ax.plot(curve.x, curve.median, **look)
        ax.set(xscale="log")
        ax.set_xlabel("passes", fontsize="small")
        ax.set_title(title, fontsize="small")
        ax.tick_params(labelsize="x-small")
    axes[0].set(yscale="log", ylim=(1e-5, 2.0))
    axes[1].set(ylim=(0.0, 0.4))
    figure.savefig(file, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
