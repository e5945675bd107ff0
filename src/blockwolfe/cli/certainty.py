"""How sure a prediction is: ``blockwolfe predict --n-best K`` and ``--margins``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

__all__ = ["Margins", "NBest", "certainty_lines", "certainty_of"]

NBest = Annotated[
    int | None,
    typer.Option(
        "--n-best", metavar="K", help="Write the K best outputs and their scores, as JSON lines."
    ),
]
Margins = Annotated[
    bool,
    typer.Option(
        "--margins",
        help="Write how much worse the best other output is, for each label, as JSON lines.",
    ),
]


def certainty_of(svm: Any, X: Any, n_best: int | None, margins: bool) -> list[dict[str, Any]]:
    """What was asked for of each x, by name, as JSON has it."""
    from blockwolfe.report.outputs.catalogue import view_of

    found: dict[str, list[Any]] = {}
    if n_best is not None:
        view = view_of(svm.task_)
        found["n_best"] = [_pairs(view, scored) for scored in svm.predict(X, n_best=n_best)]
    if margins:
        found["margins"] = [_numbers(each) for each in svm.margins(X)]
    return [dict(zip(found, each, strict=True)) for each in zip(*found.values(), strict=True)]


def _pairs(view: Any, scored: Any) -> list[dict[str, Any]]:
    from blockwolfe.data.formats.base import plain_output

    outputs, scores = zip(*scored, strict=True)
    named = zip(view.readable(list(outputs)), scores, strict=True)
    return [{"output": plain_output(output), "score": score} for output, score in named]


def _numbers(margins: Any) -> Any:
    """Margins of one example; null where no other output is possible."""
    import numpy as np

    if np.ndim(margins):
        return [_numbers(margin) for margin in margins]
    return float(margins) if np.isfinite(margins) else None


def certainty_lines(svm: Any, X: Any, outputs: Any, *asked: Any) -> Iterator[str]:
    """An object for each x: its output, and what was asked for besides."""
    import json

    from blockwolfe.data.formats.base import plain_output

    pairs = zip(map(plain_output, outputs), certainty_of(svm, X, *asked), strict=True)
    return (json.dumps({"output": y, **item}, ensure_ascii=False) for y, item in pairs)
