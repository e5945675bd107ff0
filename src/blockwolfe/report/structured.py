"""Outputs of many parts as HTML: links, heads, sets, segments, labelled graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Set
from typing import Any

import numpy as np

from blockwolfe.base.markup import Html, element, joined
from blockwolfe.data.links import Alignment, read_pairs
from blockwolfe.report.examples import MOST_POSITIONS, chip, chips, outputs_of, row_text, words_of
from blockwolfe.report.outputs import inner_task
from blockwolfe.tasks.labelling import LabellingTask
from blockwolfe.tasks.matching import Matching
from blockwolfe.tasks.multilabel import Multilabel
from blockwolfe.tasks.parsing import SpanningTree
from blockwolfe.tasks.segments import Segments

__all__ = ["example_of"]


def example_of(task: Any, x: Any, y: Any, y_hat: Any, feature_names: Any = None) -> Html:
    """An example's true and predicted output, as its task would have it read.

    `x` is what is shown of the input: the words of a sentence, those of both sides of a pair.

    >>> import blockwolfe as bw
    >>> "the ↔ le" in example_of(bw.tasks.Matching(), (["the"], ["le"]), [(0, 0)], [(0, 0)])
    True
    """
    task = inner_task(task)
    if isinstance(task, Matching):
        return _links(x, y, y_hat)
    if isinstance(task, SpanningTree):
        return _heads(x, y, y_hat)
    if isinstance(task, Multilabel):
        found = _marked(set(y), set(y_hat), lambda label: (str(label),), "no labels")
        return joined([found, element("p", element("code", row_text(x, feature_names)))])
    if isinstance(task, Segments):
        return _segments(x, y, y_hat)
    if isinstance(task, LabellingTask):
        return _nodes(list(y), list(y_hat))
    return outputs_of(x, y, y_hat, feature_names)


def _marked(
    truth: Set[Any],
    guess: Set[Any],
    text: Callable[[Any], tuple[str, ...]],
    nothing: str,
    possible: Set[Any] = frozenset(),
) -> Html:
    """Every item that is true or predicted: right, wrong or missed (`possible` ones are right)."""
    if not truth | guess:
        return element("p", f"{nothing} ✓")
    made = []
    for item in sorted(truth | guess):
        if item not in guess:
            made.append(chip(*text(item), wrong="✗ missed"))
        elif item in truth:
            made.append(chip(*text(item), right="✓"))
        elif item in possible:
            made.append(chip(*text(item), right="✓ possible"))
        else:
            made.append(chip(*text(item), wrong="✗ wrong"))
    return chips(made)


def _links(x: Any, y: Any, y_hat: Any) -> Html:
    if not isinstance(y, Alignment):
        y = Alignment(y)
    sure, possible, guess = (
        set(map(tuple, read_pairs(links, "links").tolist()))
        for links in (y.sure, y.possible, y_hat)
    )
    sides = x if isinstance(x, (tuple, list)) and len(x) == 2 else ((), ())

    def word(side: int, at: int) -> str:
        return str(sides[side][at]) if at < len(sides[side]) else str(at)

    found = _marked(
        sure,
        guess,
        lambda link: (f"{word(0, link[0])} ↔ {word(1, link[1])}",),
        "no links",
        possible,
    )
    sentences = (element("p", " ".join(map(str, side)), class_="muted") for side in sides if side)
    return joined([*sentences, found])


def _heads(x: Any, y: Any, y_hat: Any) -> Html:
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


def _segments(x: Any, y: Any, y_hat: Any) -> Html:
    truth, guess = ({(int(a), int(b), label) for a, b, label in cut} for cut in (y, y_hat))
    words = words_of(x, max((b for _, b, _ in truth | guess), default=0))

    def text(segment: tuple[int, int, Any]) -> tuple[str, str]:
        begin, end, label = segment
        inside = " ".join(word for word in words[begin:end] if word)
        return inside or f"{begin}..{end - 1}", str(label)

    return _marked(truth, guess, text, "no segments")


def _nodes(truth: list[Any], guess: list[Any]) -> Html:
    """Labels of nodes by their numbers; of a large graph those that are wrong."""
    is_wrong = [bool(true != found) for true, found in zip(truth, guess, strict=True)]
    n_wrong, n = int(np.sum(is_wrong)), len(truth)
    counts = ", ".join(f"{label} ({times})" for label, times in Counter(truth).most_common(12))
    verb = "is" if n_wrong == 1 else "are"
    summary = element("p", f"{n_wrong} of {n} nodes {verb} wrong; the true labels are {counts}.")
    if n > MOST_POSITIONS:
        return joined([summary, _confused_nodes(truth, guess, is_wrong)])
    labels = zip(truth, guess, is_wrong, strict=True)
    return joined([
        summary,
        chips(
            chip(str(t), str(true), guess=str(found) if wrong else None)
            for t, (true, found, wrong) in enumerate(labels)
        ),
    ])  # fmt: skip


def _confused_nodes(truth: list[Any], guess: list[Any], is_wrong: list[bool]) -> Html:
    """A line for each label that was taken for another: which nodes."""
    found: dict[tuple[str, str], list[int]] = {}
    for t in np.flatnonzero(is_wrong):
        found.setdefault((str(truth[t]), str(guess[t])), []).append(int(t))
    lines = []
    for (true, other), nodes in sorted(found.items(), key=lambda pair: -len(pair[1])):
        n_more = len(nodes) - MOST_POSITIONS
        more = f" and {n_more} more" if n_more > 0 else ""
        what = [element("b", true), " taken for ", element("span", f"✗ {other}", class_="bad")]
        lines.append(element("li", *what, f": {_listed(nodes[:MOST_POSITIONS])}{more}"))
    return element("ul", *lines)


def _listed(numbers: list[int]) -> str:
    """Numbers with runs drawn together.

    >>> _listed([1, 2, 3, 7])
    '1-3 7'
    """
    runs: list[list[int]] = []
    for k in numbers:
        if runs and k == runs[-1][1] + 1:
            runs[-1][1] = k
        else:
            runs.append([k, k])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
