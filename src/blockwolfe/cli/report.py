"""``blockwolfe report``."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Annotated, Any

import typer

from blockwolfe.cli import options as o
from blockwolfe.cli.showing import OK, show

__all__ = ["report"]

Model = Annotated[str, typer.Argument(metavar="MODEL", help="File made by train.")]
Train = Annotated[str | None, typer.Option(metavar="DATA", help="The data of training.")]
HeldOut = Annotated[str | None, typer.Option(metavar="DATA", help="Other data.")]
Page = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The page.")]


def report(
    model: Model,
    output: Page,
    train: Train = None,
    held_out: HeldOut = None,
    json: o.Json = False,
    config: o.Config = None,
) -> int:
    """Write a page about a model and the run that made it: certificate, convergence, errors.

    \b
    Examples:
      blockwolfe report chunker.npz -o report.html
      blockwolfe report chunker.npz -o report.html --train train.txt --held-out test.txt
    """
    from blockwolfe.archive import is_kind
    from blockwolfe.cli.files import check_output, load_model, names_of_features, read_later
    from blockwolfe.errors import InputError
    from blockwolfe.path.result import PATH
    from blockwolfe.report.html import write_report

    check_output(output, model, train, held_out)
    if is_kind(FilePath(model), PATH):
        raise InputError(
            f"{model} is a path; a report is about one model: train it at the lambda you want."
        )
    svm, reader = load_model(model, train or held_out or "dataset:", None)
    given = {"train": train, "held_out": held_out}
    read = {
        name: read_later(reader, data, labelled=True)
        for name, data in given.items()
        if data is not None
    }
    pairs: Any = {name: (some.X, some.Y, reader.shown(some)) for name, some in read.items()}
    names = names_of_features(svm, reader)
    try:
        about = {"command": svm.extra_.get("command"), "feature_names": names}
        write_report(output, svm, **pairs, **about)
    except InputError:
        _locate(svm, read)
        raise
    size = FilePath(output).stat().st_size
    show(json, {"report": output, "bytes": size}, f"{output}: {size / 1e6:.1f} MB")
    return OK


def _locate(svm: Any, read: dict[str, Any]) -> None:
    """Make an error again where it is clear which data it numbers."""
    from blockwolfe.cli.files import located
    from blockwolfe.problem.evaluate import task_losses

    for some in read.values():
        with located(some):
            task_losses(svm.task_, some.Y, svm.predict(some.X))
