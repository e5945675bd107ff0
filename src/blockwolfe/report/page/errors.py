"""Errors on held-out data: losses, labels that are confused, and the worst examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blockwolfe.base.markup import Html, element, number
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.metrics import LabelScore
from blockwolfe.problem.evaluate import predict, task_losses
from blockwolfe.report.displays.confusion import ConfusionDisplay
from blockwolfe.report.outputs.catalogue import view_of
from blockwolfe.report.outputs.view import View
from blockwolfe.report.page.page import Page, facts, named_table
from blockwolfe.tasks.measuring import measured
from blockwolfe.tasks.reading.inputs import positional

__all__ = ["error_section"]

MOST_LABELS = 40  # in the heat map
N_WORST = 5
_TWO = 2  # labels, of which each may have its intersection over union

_SAID = {"accuracy", "sequence_accuracy", "complete"}  # by other numbers of the section
_SHORT = {
    "unlabelled_attachment_score": "attachment score (UAS)",
    "alignment_error_rate": "alignment error rate (AER)",
    "hamming_loss": "labels wrong (Hamming)",
    "f1": "F1",
    "chunk_f1": "chunk F1",
}


def error_section(page: Page, svm: StructuredSVM, held_out: Any, names: Any) -> None:
    """Add the section on held-out data: (X, Y, what to show of X)."""
    X, Y, shown = map(positional, held_out)
    Y_hat, view = predict(svm.task_, X, svm.w_), view_of(svm.task_)
    losses = task_losses(svm.task_, Y, Y_hat)
    numbers, content = [("mean task loss", number(float(losses.mean())))], []
    if view.has_labels:
        confusion = ConfusionDisplay.from_predictions(Y, Y_hat, labels=view.task.classes_)
        n_labels = int(confusion.matrix.sum())
        numbers.append(("labels right", f"{100 * confusion.accuracy:.2f} % of {n_labels:,}"))
        content.append(_confusion_part(page, confusion))
    elif callable(getattr(svm.task_, "measure", None)):  # (else it is what the next line says)
        numbers.append(("score", f"{measured(svm.task_, Y, Y_hat):.4f}"))
    n_right = int((losses == 0).sum())
    numbers.append(("examples without a mistake", f"{n_right:,} of {len(losses):,}"))
    numbers += _measures(view.measures(Y, Y_hat))
    if not view.has_labels and (report := view.label_report(Y, Y_hat)) is not None:
        content.append(_scores(report.scores))
    content.append(_worst(view, shown, view.readable(Y), view.readable(Y_hat), losses, names))
    page.section("errors", "Errors on held-out data", facts(numbers), *content)


def _measures(found: dict[str, float]) -> list[tuple[str, str]]:
    """What is usual for the task, without what the other numbers say already."""
    n_labels = sum(name.startswith("iou_of_") for name in found)
    return [
        (_SHORT.get(name, name.replace("_", " ").replace("iou", "IoU")), f"{value:.4f}")
        for name, value in found.items()
        if name not in _SAID and (n_labels <= _TWO or not name.startswith("iou_of_"))
    ]


def _confusion_part(page: Page, confusion: ConfusionDisplay) -> Html:
    shown = _most_confused(confusion)
    matrix = confusion.matrix[np.ix_(shown, shown)]
    share = matrix / np.maximum(confusion.matrix.sum(axis=1)[shown], 1)[:, None]
    title = "Confusion matrix"
    if len(shown) < len(confusion.labels):
        title += f" (the {len(shown)} labels with most mistakes of {len(confusion.labels)})"
    figure = page.figure(
        "confusion",
        {
            "title": f"{title}; shaded by share of the true label",
            "labels": [str(confusion.labels[k]) for k in shown],
            "values": matrix,
            "shares": np.round(share, 4),
            "rows": "true",
            "columns": "predicted",
            "unit": "count",
        },
    )
    pairs = [(a, b, f"{count:,}") for a, b, count in confusion.most_frequent(12)]
    tables = element(
        "div",
        _scores(confusion.per_label()),
        element("h3", "Most frequent mistakes") if pairs else "",
        named_table(pairs, ("true", "predicted", "times"), "Most frequent mistakes"),
    )
    return element("div", figure, tables, class_="pair")


def _scores(scores: Sequence[LabelScore]) -> Html:
    rows = [
        (s.label, number(s.precision, 3), number(s.recall, 3), number(s.f1, 3), f"{s.support:,}")
        for s in sorted(scores, key=lambda s: -s.support)
    ]
    header = ("label", "precision", "recall", "F1", "support")
    made = named_table(rows, header, "Each label")
    return element("div", element("h3", "Each label"), made)


def _most_confused(confusion: ConfusionDisplay) -> np.ndarray:
    """Labels in their order; when they are too many, those with most mistakes."""
    wrong = confusion.matrix - np.diag(np.diag(confusion.matrix))
    mistakes = wrong.sum(axis=0) + wrong.sum(axis=1)
    return np.sort(np.argsort(-mistakes, kind="stable")[:MOST_LABELS])


def _worst(view: View, shown: Any, Y: Any, Y_hat: Any, losses: np.ndarray, names: Any) -> Html:
    order = [int(i) for i in np.argsort(-losses, kind="stable")[:N_WORST] if losses[i] > 0]
    if not order:
        return element("p", "No example has a mistake.")
    parts = [
        element(
            "div",
            element("p", f"Example {i}: loss {number(float(losses[i]))}"),
            view.example(shown[i], Y[i], Y_hat[i], names),
            class_="example",
        )
        for i in order
    ]
    legend = element("p", "True outputs; what is wrong is marked with ✗.")
    return element("div", element("h3", "The largest losses"), legend, *parts)
