"""Outputs that label the nodes of graphs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from blockwolfe.base.markup import Html, element, joined
from blockwolfe.report.outputs.examples import MOST_POSITIONS, chip, chips
from blockwolfe.report.outputs.measures import of_cuts
from blockwolfe.report.outputs.view import View, feature_name

__all__ = ["GraphLabels"]


class GraphLabels(View):
    """A label per node."""

    has_labels = True

    def example(self, x: Any, y: Any, y_hat: Any, feature_names: Any = None) -> Html:
        """Labels of nodes by their numbers; of a large graph those that are wrong."""
        return _nodes(list(y), list(y_hat))

    def measures(self, Y: Any, Y_hat: Any) -> dict[str, float]:
        """Accuracy of nodes, and intersection over union of labels."""
        return of_cuts(Y, Y_hat)

    def weight_name(self, group: str, at: int, names: Any) -> tuple[str, str]:
        """Feature and label of a node; of an edge, the labels of both ends."""
        layout, labels = self.task.layout_, self.task.classes_
        names = names if group == "node" else None
        if (layout.n_node_labels, layout.n_edge_labels) != (len(labels), len(labels) ** 2):
            return feature_name(at, names), ""
        if group == "node":
            feature, label = divmod(at, layout.n_node_labels)
            return feature_name(feature, names), str(labels[label])
        feature, label = divmod(at, layout.n_edge_labels)
        one, other = divmod(label, len(labels))
        return feature_name(feature, names), f"{labels[one]} | {labels[other]}"


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
