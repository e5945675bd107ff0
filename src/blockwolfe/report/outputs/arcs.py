"""Outputs that are trees over words: the head of each word."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from blockwolfe.base.markup import Html
from blockwolfe.data.vectorizers.arc_names import arc_feature_names
from blockwolfe.data.vectorizers.arcs import ArcVectorizer
from blockwolfe.report.outputs.examples import chip, chips, words_of
from blockwolfe.report.outputs.measures import of_trees
from blockwolfe.report.outputs.view import PartsView

__all__ = ["Heads"]


class Heads(PartsView):
    """A head per word, 0 for the root."""

    def measures(self, Y: Any, Y_hat: Any) -> dict[str, float]:
        """Attachment score and complete trees."""
        return of_trees(Y, Y_hat)

    def example(self, x: Any, y: Any, y_hat: Any, feature_names: Any = None) -> Html:
        """Each word with the word that it depends on."""
        forms = words_of(x, len(y))
        words = [form or str(t) for t, form in enumerate(forms, start=1)]
        times = Counter(words)

        def head(at: int) -> str:
            if at == 0:
                return "root"
            word = words[at - 1]
            return f"{word} ({at})" if times[word] > 1 else word

        rows = zip(words, map(int, y), map(int, y_hat), strict=True)
        return chips(
            chip(word, f"← {head(true)}", guess=None if true == found else head(found))
            for word, true, found in rows
        )

    def hashed_names(self, columns: np.ndarray, data: Any) -> dict[int, str] | None:
        """From the arcs of the data, where the task makes the features of arcs itself."""
        vectorizer = getattr(self.task, "vectorizer_", None)
        if not isinstance(vectorizer, ArcVectorizer):
            return None
        return arc_feature_names(vectorizer, columns, *data[:2])
