"""``blockwolfe predict`` and ``blockwolfe evaluate``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from blockwolfe.base.words import counted
from blockwolfe.cli import options as o
from blockwolfe.cli.certainty import Margins, NBest, certainty_lines
from blockwolfe.cli.registry import task_of_model
from blockwolfe.cli.showing import OK, note, show, table

__all__ = ["evaluate", "predict"]

Model = Annotated[str, typer.Argument(metavar="MODEL", help="File made by train, or by path.")]
Given = Annotated[
    str, typer.Argument(metavar="DATA", help="A file, - for standard input, or dataset:NAME/SPLIT.")
]
OfPath = Annotated[
    float | None, typer.Option("--lam", metavar="LAM", help="Which lambda, if MODEL is a path.")
]
Objects = Annotated[bool, typer.Option("--json", help="Write one JSON object per example.")]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Else standard output.")
]


Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="NAME",
        help="One more measure, such as chunk_f1_iobes or f1_macro; may be repeated.",
        autocompletion=o.complete_measure,
    ),
]
PerLabel = Annotated[
    bool, typer.Option("--per-label", help="Also precision, recall and F1 of every label.")
]


def predict(
    model: Model,
    data: Given,
    output: Output = None,
    lam: OfPath = None,
    format: o.DataFormat = None,
    json: Objects = False,
    n_best: NBest = None,
    margins: Margins = False,
    config: o.Config = None,
) -> int:
    """Predict outputs for a file of the kind that the model was trained on.

    Columns get the predicted label as one more column; JSON objects get it as "labels"; CoNLL-U
    files get HEAD, or the column of training; sentence pairs make a line of links, 0-0 1-2; the
    others one label a line. With --json each example is one JSON object a line: its words where
    it has some, and its output. With --n-best or --margins, too: its "output", and "n_best" or
    "margins" (null: nothing else is possible). Labels in DATA are not looked at.

    \b
    Examples:
      blockwolfe predict chunker.npz test.txt.gz -o predicted.txt
      cat new.txt | blockwolfe predict chunker.npz - | head
      blockwolfe predict parser.npz raw.conllu > parsed.conllu
      blockwolfe predict tagger.npz raw.conllu --json | jq -c .labels
      blockwolfe predict path.npz new.txt --lam 0.01
      blockwolfe predict chunker.npz new.txt --n-best 3 --margins | jq -c .margins
    """
    from blockwolfe.cli.files import check_apart, load_model, read_later, write_lines
    from blockwolfe.data.formats.base import located
    from blockwolfe.errors import InputError
    from blockwolfe.report.outputs.catalogue import view_of

    if output is not None and output != "-":
        check_apart(output, model, data)
    svm, reader = load_model(model, data, format, lam)
    examples = read_later(reader, data, labelled=False)
    with located(examples.places):
        outputs = view_of(svm.task_).readable(svm.predict(examples.X))
        if n_best is not None or margins:
            lines = certainty_lines(svm, examples.X, outputs, n_best, margins)
        else:
            lines = _objects(reader, examples, outputs) if json else reader.write(examples, outputs)
    try:
        write_lines(lines, output)
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if output in (None, "-") else output
        raise InputError(f"predictions cannot be written to {name}: {error.strerror}.") from error
    return OK


def _objects(reader: Any, examples: Any, outputs: Any) -> Iterator[str]:
    import json

    for made in reader.objects(examples, outputs):
        yield json.dumps(made, ensure_ascii=False)


def evaluate(
    model: Model,
    data: Given,
    measure: Measures = None,
    per_label: PerLabel = False,
    lam: OfPath = None,
    format: o.DataFormat = None,
    json: o.Json = False,
    config: o.Config = None,
) -> int:
    """Score a model on data with true outputs.

    Always the mean task loss and the score of the task; then what is usual for it: accuracy of
    positions and sequences, chunk precision, recall and F1 where labels are tags of chunks,
    attachment of trees, alignment error rate, intersection over union of segments, exact matches
    of label sets.

    \b
    Examples:
      blockwolfe evaluate chunker.npz test.txt.gz
      blockwolfe evaluate tagger.npz test.txt --per-label --measure f1_macro
      blockwolfe evaluate parser.npz test.conllu --json | jq .unlabelled_attachment_score
    """
    from blockwolfe.cli.files import load_model, read_later
    from blockwolfe.data.formats.base import located
    from blockwolfe.errors import InputError, unknown_option
    from blockwolfe.metrics.scorers import scorer_names
    from blockwolfe.problem.evaluate import task_losses
    from blockwolfe.report.outputs.catalogue import view_of
    from blockwolfe.tasks.measuring import measured

    for asked in measure or ():
        if asked not in scorer_names():
            raise unknown_option("measure", asked, scorer_names())
    svm, reader = load_model(model, data, format, lam)
    name, _ = task_of_model(svm)
    examples = read_later(reader, data, labelled=True)
    if examples.Y is None:
        raise InputError(f"{data} has no outputs to compare with.")
    with located(examples.places):
        outputs = svm.predict(examples.X)
        loss = float(task_losses(svm.task_, examples.Y, outputs).mean())
        view = view_of(svm.task_)
        scores = {"task_loss": loss, "score": measured(svm.task_, examples.Y, outputs),
                  **view.measures(examples.Y, outputs),
                  **_asked(measure or (), view, examples.Y, outputs)}  # fmt: skip
        report = _label_report(view, examples.Y, outputs) if per_label else None
    _tell_of_unknown_labels(svm, examples.Y, data)
    n = len(outputs)
    rows = [(each.replace("_", " "), value) for each, value in scores.items()]
    numbers = {"model": model, "data": data, "task": name, "n_examples": n, **scores}
    shown = [table(f"{model} on {data}: {counted(n, 'example')}", ("", ""), rows)]
    if report is not None:
        numbers["labels"] = {str(s.label): s._asdict() for s in report.scores}
        shown.append(report.table())
    show(json, numbers, *shown)
    return OK


def _asked(names: Any, view: Any, Y: Any, Y_hat: Any) -> dict[str, float]:
    """Measures by name; the score of the task is shown in any case."""
    from blockwolfe.metrics.scorers import measure

    truth, found = view.readable(Y), view.readable(Y_hat)
    return {name: measure(name, truth, found) for name in names if name != "score"}


def _label_report(view: Any, Y: Any, Y_hat: Any) -> Any:
    from blockwolfe.errors import OptionError

    report = view.label_report(Y, Y_hat)
    if report is None:
        kind = type(view.task).__name__
        raise OptionError(f"--per-label has no meaning for {kind}, whose outputs are not labels.")
    return report


def _tell_of_unknown_labels(svm: Any, Y: Any, data: str) -> None:
    """Labels that training never saw count as missed; the user should know."""
    classes = getattr(svm, "classes_", None)
    if classes is None or getattr(Y, "ndim", 1) == 2:  # (a table of 0 and 1)
        return
    known = set(classes.tolist())
    flat = [label for y in Y for label in (y if _is_row(y) else [y])]
    plain = [label.item() if hasattr(label, "item") else label for label in flat]
    unknown = [label for label in plain if label not in known]
    if unknown:
        names = ", ".join(repr(label) for label in list(dict.fromkeys(unknown))[:5])
        note(
            f"warning: the model does not know the labels {names}, which {data} has "
            f"{counted(len(unknown), 'time')}; they count as missed."
        )


def _is_row(y: Any) -> bool:
    return not isinstance(y, str) and hasattr(y, "__len__")
