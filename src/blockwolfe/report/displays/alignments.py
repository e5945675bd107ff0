"""A picture of a word alignment: one sentence pair as a matrix of links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blockwolfe.data.links import Alignment, read_pairs
from blockwolfe.errors import InputError

__all__ = ["AlignmentDisplay"]

_COLOURS = {"sure": "#2f6fb0", "possible": "#c9dcef"}
_RIGHT, _WRONG = "#1b7837", "#c51b1b"


class AlignmentDisplay:
    """Links of one sentence pair: true ones as squares, predicted ones as circles.

    A circle is green where the link is sure or possible, red where it is neither.

    truth : an `Alignment`, or a collection of pairs (source, target); None if unknown.
    predicted : a collection of pairs; None draws the truth alone.

    >>> display = AlignmentDisplay(["a", "cat"], ["un", "chat"], [(0, 0), (1, 1)], [(0, 0), (1, 0)])
    >>> display.right.tolist(), display.wrong.tolist()
    ([[0, 0]], [[1, 0]])
    """

    def __init__(
        self, source: Sequence[str], target: Sequence[str], truth: Any = None, predicted: Any = None
    ) -> None:
        self.source, self.target = list(source), list(target)
        if truth is None or not isinstance(truth, Alignment):
            truth = Alignment(() if truth is None else truth)
        self.sure = self._pairs(truth.sure, "truth")
        self.possible = self._pairs(truth.possible, "truth")
        self.predicted = self._pairs(() if predicted is None else predicted, "predicted")
        known = set(map(tuple, np.concatenate([self.sure, self.possible]).tolist()))
        is_right = np.array([tuple(link) in known for link in self.predicted.tolist()], dtype=bool)
        self.right, self.wrong = self.predicted[is_right], self.predicted[~is_right]

    def _pairs(self, links: Any, name: str) -> np.ndarray:
        pairs, shape = read_pairs(links, name), (len(self.source), len(self.target))
        if (pairs >= shape).any():
            link = tuple(pairs[np.argmax((pairs >= shape).any(axis=1))].tolist())
            raise InputError(
                f"{name} has the link {link}, but the sentences have {shape[0]} and {shape[1]} "
                "words."
            )
        return pairs

    def plot(self, ax: Any = None) -> AlignmentDisplay:
        """Draw; source words are rows, target words are columns. Needs matplotlib."""
        import matplotlib.pyplot as plt
        from matplotlib.patches import Rectangle

        n_rows, n_columns = len(self.source), len(self.target)
        if ax is None:
            size = (2.0 + 0.35 * n_columns, 1.5 + 0.35 * n_rows)
            _, ax = plt.subplots(figsize=size, layout="constrained")
        for name in ("possible", "sure"):
            links = getattr(self, name)
            for i, j in links.tolist():
                ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, color=_COLOURS[name], lw=0))
            if len(links):
                ax.scatter([], [], marker="s", s=80, color=_COLOURS[name], label=name)
        for label, links, colour in (
            ("predicted", self.right, _RIGHT),
            ("predicted, wrong", self.wrong, _WRONG),
        ):
            if len(links):
                ax.scatter(
                    links[:, 1], links[:, 0], s=70, color=colour, ec="white", label=label, zorder=3
                )
        ax.set_xticks(range(n_columns), self.target, rotation=90)
        ax.set_yticks(range(n_rows), self.source)
        ax.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.5, -0.5), aspect="equal")
        ax.set_xticks(np.arange(n_columns + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="0.9", linewidth=0.8)
        ax.tick_params(which="both", length=0)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
