"""Outputs that cut a sequence into labelled segments."""

from __future__ import annotations

from typing import Any

from blockwolfe.base.markup import Html
from blockwolfe.report.outputs.examples import marked, words_of
from blockwolfe.report.outputs.measures import of_segments
from blockwolfe.report.outputs.view import PartsView

__all__ = ["LabelledSegments"]


class LabelledSegments(PartsView):
    """Triples (begin, end, label)."""

    def measures(self, Y: Any, Y_hat: Any) -> dict[str, float]:
        """Precision, recall and F1 of segments."""
        return of_segments(Y, Y_hat)

    def example(self, x: Any, y: Any, y_hat: Any, feature_names: Any = None) -> Html:
        """Each segment by its words, or by its bounds where there are none."""
        truth, guess = ({(int(a), int(b), label) for a, b, label in cut} for cut in (y, y_hat))
        words = words_of(x, max((b for _, b, _ in truth | guess), default=0))

        def text(segment: tuple[int, int, Any]) -> tuple[str, str]:
            begin, end, label = segment
            inside = " ".join(word for word in words[begin:end] if word)
            return inside or f"{begin}..{end - 1}", str(label)

        return marked(truth, guess, text, "no segments")
