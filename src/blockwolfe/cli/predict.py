"""``blockwolfe predict`` and ``blockwolfe evaluate``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from blockwolfe.cli import options as o
from blockwolfe.cli.certainty import Margins, NBest, certainty_lines
from blockwolfe.cli.registry import task_of_model
from blockwolfe.cli.showing import OK, note, show, table

__all__ = ["evaluate", "predict"]

Model = Annotated[str, typer.Argument(metavar="MODEL", help="File made by train, or by path.")]
Given = Annotated[
    str, typer.Argument(metavar="DATA", help="A file, - for standard input, or dataset:NAME/SPLIT.")
]
OfPath = Annotated[float | None, typer.Option("--lam", help="Which lambda, if MODEL is a path.")]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Else standard output.")
]


def predict(
    model: Model,
    data: Given,
    output: Output = None,
    lam: OfPath = None,
    format: o.DataFormat = None,
    n_best: NBest = None,
    margins: Margins = False,
    config: o.Config = None,
) -> int:
    """Predict outputs for a file of the kind that the model was trained on.

    Columns get the predicted label as one more column; JSON objects get it as "labels"; CoNLL-U
    files get HEAD; sentence pairs make a line of links, 0-0 1-2; the others one label a line.
    Labels in DATA are not looked at. With --n-best or --margins every example makes a line of JSON:
    its "output", and "n_best" or "margins" (null: nothing else is possible).

    \b
    Examples:
      blockwolfe predict chunker.npz test.txt.gz -o predicted.txt
      cat new.txt | blockwolfe predict chunker.npz - | head
      blockwolfe predict parser.npz raw.conllu > parsed.conllu
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
        lines = reader.write(examples, outputs)
        if n_best is not None or margins:
            lines = certainty_lines(svm, examples.X, outputs, n_best, margins)
    try:
        write_lines(lines, output)
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if output in (None, "-") else output
        raise InputError(f"predictions cannot be written to {name}: {error.strerror}.") from error
    return OK


def evaluate(
    model: Model,
    data: Given,
    lam: OfPath = None,
    format: o.DataFormat = None,
    json: o.Json = False,
    config: o.Config = None,
) -> int:
    """Score a model on data with true outputs.

    Always the mean task loss; then what is usual for the task: accuracy of positions and
    sequences, chunk precision, recall and F1 where labels are BIO tags, attachment of trees,
    alignment error rate, intersection over union of segments, exact matches of label sets.

    \b
    Examples:
      blockwolfe evaluate chunker.npz test.txt.gz
      blockwolfe evaluate parser.npz test.conllu --json | jq .unlabelled_attachment_score
    """
    from blockwolfe.cli.files import load_model, read_later
    from blockwolfe.data.formats.base import located
    from blockwolfe.errors import InputError
    from blockwolfe.problem.evaluate import task_losses
    from blockwolfe.report.outputs.catalogue import view_of

    svm, reader = load_model(model, data, format, lam)
    name, _ = task_of_model(svm)
    examples = read_later(reader, data, labelled=True)
    if examples.Y is None:
        raise InputError(f"{data} has no outputs to compare with.")
    with located(examples.places):
        outputs = svm.predict(examples.X)
        loss = float(task_losses(svm.task_, examples.Y, outputs).mean())
    _tell_of_unknown_labels(svm, examples.Y, data)
    scores = {"task_loss": loss, **view_of(svm.task_).measures(examples.Y, outputs)}
    n = len(outputs)
    rows = [(measure.replace("_", " "), value) for measure, value in scores.items()]
    title = f"{model} on {data}: {n} examples"
    show(json, {"model": model, "data": data, "task": name, "n_examples": n, **scores},
         table(title, ("", ""), rows))  # fmt: skip
    return OK


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
            f"{len(unknown)} times; they count as missed."
        )


def _is_row(y: Any) -> bool:
    return not isinstance(y, str) and hasattr(y, "__len__")
