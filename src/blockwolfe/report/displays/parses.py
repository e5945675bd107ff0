"""Dependency trees drawn as arcs over the words of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockwolfe.errors import InputError
from blockwolfe.structures.spanning_tree import check_heads

__all__ = ["ParseDisplay"]

_RIGHT, _WRONG, _TRUE = "tab:blue", "tab:red", "tab:gray"


class ParseDisplay:
    """A parse over its words; with `true_heads`, wrong arcs in red and missed ones below, in grey.

    >>> display = ParseDisplay(["Birds", "fly"], [0, 1], true_heads=[2, 0])
    >>> display.n_right
    0
    """

    def __init__(
        self, words: Sequence[str], heads: Sequence[int], true_heads: Sequence[int] | None = None
    ) -> None:
        self.words = list(words)
        self.heads: list[int] = check_heads(heads, "heads").tolist()
        truth = heads if true_heads is None else true_heads
        self.true_heads: list[int] = check_heads(truth, "true_heads").tolist()
        if not len(self.words) == len(self.heads) == len(self.true_heads):
            raise InputError(
                f"there are {len(self.words)} words, {len(self.heads)} heads and "
                f"{len(self.true_heads)} true heads; expected as many."
            )

    @classmethod
    def from_estimator(cls, svm: Any, sentence: Sequence[Any], true_heads: Any = None) -> Any:
        """The parse that a fitted estimator finds."""
        return cls.from_predictions(sentence, svm.predict([sentence])[0], true_heads)

    @classmethod
    def from_predictions(cls, sentence: Sequence[Any], heads: Any, true_heads: Any = None) -> Any:
        """Of a sentence as the task takes it: rows (form, tag) or dicts with "form".

        >>> ParseDisplay.from_predictions([("Birds", "NOUN"), ("fly", "VERB")], [2, 0]).words
        ['Birds', 'fly']
        """
        words = [token["form"] if hasattr(token, "keys") else token[0] for token in sentence]
        return cls(words, heads, true_heads)

    @property
    def n_right(self) -> int:
        """Words with the right head."""
        return sum(a == b for a, b in zip(self.heads, self.true_heads, strict=True))

    def plot(self, ax: Any = None) -> ParseDisplay:
        """Draw; needs matplotlib."""
        import matplotlib.pyplot as plt

        place, width = self._places()
        if ax is None:
            _, ax = plt.subplots(figsize=(max(4.0, 0.11 * width), 3.2), layout="constrained")
        for x, word in zip(place, self.words, strict=True):
            ax.text(x, 0.0, word, ha="center", va="center")
        tallest = 1.0
        for c, (head, truth) in enumerate(zip(self.heads, self.true_heads, strict=True), start=1):
            tallest = max(tallest, abs(head - c), abs(truth - c) if head != truth else 0)
            _draw_arc(ax, place, head, c, _RIGHT if head == truth else _WRONG, 1.0)
            if head != truth:
                _draw_arc(ax, place, truth, c, _TRUE, -1.0)
        deepest = 0.6 if self.heads == self.true_heads else 0.7 * tallest + 1.0
        ax.set(xlim=(0, width), ylim=(-deepest, 0.7 * tallest + 1.4))
        ax.set_axis_off()
        ax.set_title(f"{self.n_right} of {len(self.words)} heads are right", fontsize="medium")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _places(self) -> tuple[list[float], float]:
        """Middle of each word, in letters, and the width of the sentence."""
        place, end = [], 1.0
        for word in self.words:
            place.append(end + 0.5 * max(3, len(word)))
            end += max(3, len(word)) + 2.0
        return place, end


def _draw_arc(ax: Any, place: list[float], head: int, child: int, colour: str, up: float) -> None:
    """An arrow from head to child, above the words or below; from straight above for the root."""
    x = place[child - 1]
    arrow = {"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0}
    if head == 0:
        ax.annotate("", (x, 0.4 * up), (x, 1.3 * up), arrowprops={**arrow, "linewidth": 2.5})
        return
    height = up * (0.7 * abs(head - child) + 0.4)
    begin, end = place[head - 1], x
    along = [t / 100 for t in range(101)]
    xs = [begin + (end - begin) * t for t in along]
    ys = [0.4 * up + (height - 0.4 * up) * (1 - (2 * t - 1) ** 4) for t in along]
    ax.plot(xs, ys, color=colour, linewidth=1.3)
    ax.annotate("", (xs[-1], ys[-1]), (xs[-4], ys[-4]), arrowprops=arrow)
