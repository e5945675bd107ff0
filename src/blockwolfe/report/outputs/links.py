"""Outputs that link items of two sides, such as words of a sentence pair."""

from __future__ import annotations

from typing import Any

from blockwolfe.base.markup import Html, element, joined
from blockwolfe.data.links import Alignment, read_pairs
from blockwolfe.report.outputs.examples import marked
from blockwolfe.report.outputs.measures import of_alignments
from blockwolfe.report.outputs.view import PartsView

__all__ = ["Links"]


class Links(PartsView):
    """Pairs (source, target).

    >>> import blockwolfe as bw
    >>> view = Links(bw.tasks.Matching())
    >>> "the ↔ le" in view.example((["the"], ["le"]), [(0, 0)], [(0, 0)])
    True
    """

    def measures(self, Y: Any, Y_hat: Any) -> dict[str, float]:
        """Alignment error rate, precision and recall."""
        return of_alignments(Y, Y_hat)

    def example(self, x: Any, y: Any, y_hat: Any, feature_names: Any = None) -> Html:
        """Both sentences, and each link as two words."""
        truth = y if isinstance(y, Alignment) else Alignment(y)
        sure, possible, guess = (
            set(map(tuple, read_pairs(links, "links").tolist()))
            for links in (truth.sure, truth.possible, y_hat)
        )
        sides = x if isinstance(x, (tuple, list)) and len(x) == 2 else ((), ())

        def word(side: int, at: int) -> str:
            return str(sides[side][at]) if at < len(sides[side]) else str(at)

        def text(link: tuple[int, int]) -> tuple[str]:
            return (f"{word(0, link[0])} ↔ {word(1, link[1])}",)

        found = marked(sure, guess, text, "no links", possible)
        lines = (element("p", " ".join(map(str, side)), class_="muted") for side in sides if side)
        return joined([*lines, found])
