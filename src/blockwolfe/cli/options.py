"""Options that several commands share, and options from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from blockwolfe.cli.methods import EXAMPLES
from blockwolfe.cli.registry import DATASETS, FORMATS, TASKS, find_task, task_from
from blockwolfe.cli.style import did_you_mean

__all__ = [
    "Column",
    "Config",
    "Data",
    "DataFormat",
    "DataHome",
    "Given",
    "Json",
    "Lam",
    "Method",
    "MinCount",
    "NJobs",
    "Run",
    "Seconds",
    "Seed",
    "Set",
    "TaskName",
    "Template",
    "expanded",
    "numbers_of",
]


def _read_config(context: typer.Context, path: str | None) -> str | None:
    """Take defaults from a TOML file: keys at its top, or in a table named as the command."""
    if path is None:
        return None
    import tomllib  # (which the help does not need)

    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:  # (also of text that is not UTF-8)
        raise typer.BadParameter(f"{path} is not TOML: {error}") from error
    own = content.get(context.info_name or "", {})
    if not isinstance(own, dict):
        raise typer.BadParameter(
            f"{path} has {context.info_name} = {own!r}; expected a table, [{context.info_name}]"
        )
    values = {k: v for k, v in content.items() if not isinstance(v, dict)} | own
    given = {name.replace("-", "_"): value for name, value in values.items()}
    valid = {str(p.name) for p in context.command.params if p.name not in ("config", "help")}
    for name in given:
        if name not in valid:
            raise typer.BadParameter(
                f"{path} has {name!r}, which {context.info_name} does not know; "
                f"{did_you_mean(name, valid)}valid: {', '.join(sorted(valid))}"
            )
    known: dict[str, Any] = dict(context.default_map or {})
    context.default_map = {**known, **given}
    return path


def _complete(names: Any) -> Any:
    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


def complete_dataset(incomplete: str) -> list[str]:
    """Names of datasets that begin so."""
    return [name for name in DATASETS if name.startswith(incomplete)]


def complete_measure(incomplete: str) -> list[str]:
    """Names of measures that begin so."""
    from blockwolfe.metrics.scorers import scorer_names

    return [name for name in scorer_names() if name.startswith(incomplete)]


_TASK_HELP = f"What is predicted: {', '.join(TASKS)}."
_DATA_HELP = (
    "Files, gzip or plain, patterns of them in quotes, - for standard input, or dataset:NAME/SPLIT."
)

TaskName = Annotated[
    str, typer.Argument(metavar="TASK", help=_TASK_HELP, autocompletion=_complete(TASKS))
]
Data = Annotated[list[str], typer.Argument(metavar="DATA", help=_DATA_HELP)]
DataFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"Format of DATA where its suffix does not say: {', '.join(FORMATS)}.",
        autocompletion=_complete(FORMATS),
    ),
]
Column = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column of CoNLL-U that a chain predicts, by its name (upos, xpos, feats, deprel, "
        "...) or its number from 0; else upos.",
    ),
]
Template = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Feature templates for columns, such as 'w[0]; w[-1],w[0]; p[0]', or a file of them.",
    ),
]
MinCount = Annotated[
    int, typer.Option(metavar="N", help="How often a feature must occur to be kept.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="An option of the task, as often as needed: bias=false, "
        "'task_loss=hamming(normalize=true, class_weight=balanced)', "
        "'task_loss=cost_matrix([[0, 1], [5, 0]])'.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="WORDS",
        help="auto, fw, bcfw, or bcfw+rules, e.g. bcfw+gap+pairwise+cache.",
        autocompletion=_complete(EXAMPLES),
    ),
]
Lam = Annotated[
    float | None,
    typer.Option(metavar="LAM", help="Strength of regularisation; else the task's own."),
]
Seconds = Annotated[float | None, typer.Option(metavar="SECONDS", help="Budget of seconds.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed; the same seed gives the same run.")]
NJobs = Annotated[int | None, typer.Option(metavar="N", help="Cores to use; -1 for all.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        is_eager=True,
        callback=_read_config,
        help="TOML file with any of these options; flags override it.",
    ),
]
DataHome = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER", help="Folder of datasets; by default BLOCKWOLFE_DATA, else a cache."
    ),
]


@dataclass(frozen=True, kw_only=True)
class Given:
    """A task, and the data that it is trained on."""

    panel: ClassVar[str] = "Data and features"

    task: TaskName
    data: Data
    format: DataFormat = None
    column: Column = None
    template: Template = None
    min_count: MinCount = 1
    set: Set = None

    def made(self) -> Any:
        """The task as an object."""
        return task_from(find_task(self.task), self.set or (), self.min_count)

    def read(self) -> tuple[Any, Any]:
        """The reader, which has learned its features, and the examples."""
        from blockwolfe.cli.files import read_training

        reader, paths = self.reader()
        return reader, read_training(reader, paths)

    def reader(self) -> tuple[Any, list[str]]:
        """The reader, which has learned nothing yet, and the files or datasets."""
        from blockwolfe.cli.files import reader_for

        paths = expanded(self.data)
        made = (self.format, self.template, self.min_count, self.column)
        return reader_for(find_task(self.task), paths, *made), paths


def expanded(data: Sequence[str]) -> list[str]:
    """Files that patterns such as 'part-*.txt.gz' stand for, in the order of their names."""
    from glob import glob, has_magic

    from blockwolfe.errors import InputError

    found: list[str] = []
    for path in data:
        if not has_magic(path) or Path(path).exists() or path.startswith("dataset:"):
            found.append(path)
            continue
        matching = sorted(glob(path, recursive=True))
        if not matching:
            raise InputError(f"no file matches {path}; check the pattern and the folder.")
        found += matching
    return found


@dataclass(frozen=True, kw_only=True)
class Run:
    """How a problem is solved."""

    panel: ClassVar[str] = "Method and budgets"

    method: Method = "auto"
    time_limit: Seconds = None
    seed: Seed = 0
    n_jobs: NJobs = None

    def options(self) -> dict[str, Any]:
        """As functions and estimators call them."""
        shared = {"time_limit": self.time_limit, "n_jobs": self.n_jobs}
        return {"method": self.method, "random_state": self.seed, **shared}


def numbers_of(name: str, text: str) -> list[float]:
    """Numbers with commas between, or an error that names the option.

    >>> numbers_of("lams", "1,0.1")
    [1.0, 0.1]
    """
    from blockwolfe.errors import OptionError

    try:
        return [float(value) for value in text.split(",")]
    except ValueError as error:
        raise OptionError(f"{name}={text!r} must be numbers with commas between.") from error
