"""How sure the model is on held-out data: the least certain examples, and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.markup import Html, element, number
from blockwolfe.errors import InputError, OptionError
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.problem.evaluate import predict
from blockwolfe.report.displays.calibration import CalibrationDisplay
from blockwolfe.report.outputs.catalogue import view_of
from blockwolfe.report.page.page import Page
from blockwolfe.tasks.reading.inputs import count, positional, taken

__all__ = ["certainty_section"]

N_SHOWN = 5
MOST_EXAMPLES = 1000  # that are asked: some tasks decode once for every choice


def certainty_section(page: Page, svm: StructuredSVM, held_out: Any, names: Any) -> None:
    """Add the section, where the task can say how sure it is."""
    if not callable(getattr(svm.task_, "margins", None)):
        return
    first = np.arange(min(MOST_EXAMPLES, count(held_out[0], "X")))
    X, Y, shown = (taken(positional(values), first) for values in held_out)
    try:
        margins = svm.task_.margins(X, svm.w_)
    except OptionError:  # (its options are such that it cannot)
        return
    parts = [_calibration(page, svm, X, Y), _least_certain(svm, X, Y, shown, margins, names)]
    page.section("certainty", "How sure it is", *parts)


def _least_certain(
    svm: StructuredSVM, X: Any, Y: Any, shown: Any, margins: Any, names: Any
) -> Html:
    least = np.array([np.min(margin, initial=np.inf) for margin in margins])
    order = np.argsort(least, kind="stable")[:N_SHOWN]
    view = view_of(svm.task_)
    few = (
        view.readable(taken(Y, order)),
        view.readable(predict(svm.task_, taken(X, order), svm.w_)),
    )
    parts = [
        element(
            "div",
            element("p", f"Example {i}: margin {number(float(least[i]))}"),
            view.example(shown[i], y, y_hat, names),
            class_="example",
        )
        for i, y, y_hat in zip(order, *few, strict=True)
    ]
    text = (
        "The margin of an example is how much worse, by score, the best other output is. What is "
        "wrong is marked with ✗."
    )
    return element("div", element("h3", "The least certain"), element("p", text), *parts)


def _calibration(page: Page, svm: StructuredSVM, X: Any, Y: Any) -> Html | str:
    try:
        temperature, words = _temperature(svm, X, Y)
        marginals = svm.task_.marginals(X, svm.w_, temperature)
        display = CalibrationDisplay.from_marginals(svm.task_, marginals, Y)
    except (InputError, OptionError):  # (no probabilities, or outputs that have none)
        return ""
    bins = display.bins()
    probability = np.array([b.probability for b in bins])
    figure = page.figure(
        "calibration",
        {
            "title": "Calibration",
            "x": {"probability of the likeliest label": probability},
            "series": [
                {"name": "share right", "values": np.array([b.share_right for b in bins])},
                {"name": "as it should be", "values": probability},
            ],
        },
    )
    text = (
        f"Probabilities at temperature {number(temperature)}, {words}. They are off by "
        f"{number(display.error(), 2)} on average (expected calibration error)."
    )
    return element("div", element("p", text), figure)


def _temperature(svm: StructuredSVM, X: Any, Y: Any) -> tuple[float, str]:
    if hasattr(svm, "temperature_"):
        return svm.temperature_, "which fit_temperature has found"
    best_temperature = getattr(svm.task_, "best_temperature", None)
    if best_temperature is None:
        raise InputError("the task has no probabilities.")
    return float(best_temperature(X, Y, svm.w_)), "the likeliest on these data themselves"
