"""``blockwolfe report``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Annotated, Any

import typer

from blockwolfe.cli import options as o
from blockwolfe.cli.showing import OK, show

__all__ = ["report"]

Model = Annotated[str, typer.Argument(metavar="MODEL", help="File made by train, or by path.")]
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

    Of a path: losses, gaps and norms against lambda.

    \b
    Examples:
      blockwolfe report chunker.npz -o report.html
      blockwolfe report chunker.npz -o report.html --train train.txt --held-out test.txt
      blockwolfe report path.npz -o path.html --held-out dev.txt
    """
    from blockwolfe.base.archive import is_kind
    from blockwolfe.cli.files import check_output
    from blockwolfe.path.result import PATH

    check_output(output, model, train, held_out)
    write = _of_path if is_kind(FilePath(model), PATH) else _of_model
    write(model, output, {"train": train, "held_out": held_out})
    size = FilePath(output).stat().st_size
    show(json, {"report": output, "bytes": size}, f"{output}: {size / 1e3:.0f} kB")
    return OK


def _of_model(model: str, output: str, given: dict[str, str | None]) -> None:
    from blockwolfe.cli.files import load_model, names_of_features
    from blockwolfe.report.page.model import write_report

    svm, reader = load_model(model, given["train"] or given["held_out"] or "dataset:", None)
    read = _read(reader, given)
    pairs: Any = {name: (some.X, some.Y, reader.shown(some)) for name, some in read.items()}
    names, command = names_of_features(svm, reader), svm.extra_.get("command")
    with _told_by_line(svm, read):
        write_report(output, svm, **pairs, command=command, feature_names=names)


def _of_path(path: str, output: str, given: dict[str, str | None]) -> None:
    from blockwolfe.cli.files import load_model
    from blockwolfe.path.result import load_path
    from blockwolfe.report.page.path import write_path_report

    found = load_path(path)
    svm, reader = load_model(path, given["train"] or given["held_out"] or "", None, found.lam_max)
    read = _read(reader, given)
    pairs: Any = {name: (some.X, some.Y) for name, some in read.items()}
    with _told_by_line(svm, read):
        write_path_report(output, found, **pairs)


def _read(reader: Any, given: dict[str, str | None]) -> dict[str, Any]:
    from blockwolfe.cli.files import read_later

    return {
        name: read_later(reader, data, labelled=True)
        for name, data in given.items()
        if data is not None
    }


@contextmanager
def _told_by_line(svm: Any, read: dict[str, Any]) -> Iterator[None]:
    """Make an error of the data again where it is clear which file it is of."""
    from blockwolfe.data.formats.base import located
    from blockwolfe.errors import InputError
    from blockwolfe.problem.evaluate import task_losses
    from blockwolfe.report.outputs.catalogue import view_of

    try:
        yield
    except InputError:
        for some in read.values():
            with located(some.places):
                outputs = svm.predict(some.X)
                task_losses(svm.task_, some.Y, outputs)
                view_of(svm.task_).measures(some.Y, outputs)
        raise
