"""``blockwolfe check``: the contract of a task of your own."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from blockwolfe.cli import options as o
from blockwolfe.cli.registry import FORMATS, find_task, format_of, reader_of
from blockwolfe.cli.settings import made_task
from blockwolfe.cli.showing import NOT_REACHED, OK, note, show
from blockwolfe.report.outputs.catalogue import load_home

__all__ = ["check"]

Named = Annotated[
    str, typer.Argument(metavar="MODULE:TASK", help="A class (or object) in a module.")
]
Given = Annotated[str, typer.Argument(metavar="DATA", help="A file, or - for standard input.")]
Rows = Annotated[bool, typer.Option("--rows", help="Examples are single rows, not sequences.")]
Most = Annotated[int, typer.Option(metavar="N", help="Examples to look at.")]


def check(
    task: Named,
    data: Given,
    format: o.DataFormat = None,
    template: o.Template = None,
    column: o.Column = None,
    rows: Rows = False,
    max_examples: Most = 20,
    seed: o.Seed = 0,
    set: o.Set = None,
    json: o.Json = False,
    config: o.Config = None,
) -> int:
    """Test a task of your own on data: its oracle must maximise, its loss be a loss.

    Exit status: 0 when it is sound, 1 when not (with what is wrong). JSON lines with "x" and "y"
    hold any kind of example.

    \b
    Examples:
      blockwolfe check my_tasks:Ranking examples.jsonl
      blockwolfe check my_tasks:Tagger train.txt --set n_labels=5
      blockwolfe check my_tasks:Tagger en.conllu --column upos
    """
    from blockwolfe.cli.files import read_template
    from blockwolfe.data.formats.base import read_source
    from blockwolfe.errors import OracleError
    from blockwolfe.problem.check_task import check_task

    made = _made(task, set or ())
    kind = format_of(data, format, tuple(FORMATS))
    options = {"is_sequence": not rows, "template": read_template(template), "column": column}
    # (a column of labels is read as the words of a chain are)
    is_tagged = column is not None and not rows
    reader = (
        reader_of(find_task("chain"), kind, **options)
        if is_tagged
        else (FORMATS[kind].make(**options))
    )
    examples = reader.learn([read_source(data)])
    try:
        found = check_task(
            made, examples.X, examples.Y, max_examples=max_examples, random_state=seed
        )
    except OracleError as error:
        if json:
            show(True, {"sound": False, "message": str(error)})
        note(f"the task is not sound: {error}")
        return NOT_REACHED
    counts = {"n_examples": found.n_examples, "n_comparisons": found.n_comparisons,
              "n_enumerated": found.n_enumerated}  # fmt: skip
    show(json, {"sound": True, **counts}, repr(found))
    return OK


def _made(home: str, settings: Any) -> Any:
    from blockwolfe.errors import InputError

    if ":" not in home:
        raise InputError(f"{home!r} must be MODULE:TASK, for example my_tasks:Ranking.")
    sys.path.insert(0, "")  # a module in the folder where the command is run
    try:
        found = load_home(home)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{home} cannot be imported: {error}.") from error
    return made_task(found, settings) if isinstance(found, type) else found
