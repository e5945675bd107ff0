"""The picture of the demo: the certificate, the rule that was learned, and some test strings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import blockwolfe as bw

__all__ = ["draw"]

_LONGEST = 8  # digits of a string that are shown
_ROWS = (("true", 0), ("chain", 1), ("one by one", 2))  # of labels under the images


def draw(chain: Any, alone: Any, test: Any, errors: dict[str, float], file: Path) -> None:
    """Draw both models into a file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(11, 7.6), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=(1, 1.05), hspace=0.03)
    top, bottom = halves
    _draw_training(top, chain)
    _draw_strings(bottom, chain, alone, test)
    worst, best = (f"{100 * error:.1f} %" for error in errors.values())
    figure.suptitle(
        f"Strings of handwritten digits: {worst} of the test digits are misread one by one, "
        f"{best} as a chain"
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=100)
    plt.close(figure)


def _draw_training(figure: Any, chain: Any) -> None:
    """Bounds, gap and transitions, side by side."""
    axes = figure.subplots(1, 3)
    bw.ConvergenceDisplay.from_estimator(chain).plot(axes=axes[:2])
    axes[0].set(title="Bounds on the optimum")
    axes[1].set(title=f"Certified gap: {chain.certificate_.gap:.1e}")
    bw.TransitionsDisplay.from_estimator(chain).plot(axes[2])
    axes[2].set(title="Which digit follows which", xlabel="next digit", ylabel="digit")


def _draw_strings(figure: Any, chain: Any, alone: Any, test: Any) -> None:
    """Strings on which the two models differ, in two columns, each digit above its readings."""
    figure.suptitle("Test strings that the two models read differently (red: misread)")
    read = list(zip(test.X, test.Y, chain.predict(test.X), alone.predict(test.X), strict=True))
    differing = [case for case in read if (case[2] != case[3]).any()] or read
    axes = figure.subplots(2, 2).ravel()
    for ax in axes:
        ax.axis("off")
    for ax, (x, *readings) in zip(axes, differing, strict=False):
        _draw_string(ax, x[:_LONGEST], [labels[:_LONGEST] for labels in readings])


def _draw_string(ax: Any, images: Any, readings: list[Any]) -> None:
    """One string: a unit per digit, the images above, a line of labels for each reading."""
    strip = np.concatenate([np.pad(image.reshape(8, 8), 1) for image in images], axis=1)
    ax.imshow(-strip, cmap="gray", extent=(0, len(images), 0, 1))
    for name, row in _ROWS:
        height = -0.35 - 0.55 * row
        ax.text(-0.3, height, name, ha="right", va="center", fontsize=10, color="dimgrey")
        for place, (label, true) in enumerate(zip(readings[row], readings[0], strict=True)):
            is_wrong = label != true
            style = {"color": "tab:red", "weight": "bold"} if is_wrong else {"color": "black"}
            ax.text(place + 0.5, height, str(label), ha="center", va="center", fontsize=11, **style)
    ax.set(xlim=(-2.6, _LONGEST), ylim=(-1.75, 1.05))
