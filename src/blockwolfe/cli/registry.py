"""What the command line knows by name: tasks, formats, datasets. One entry each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from blockwolfe.cli.settings import made_task
from blockwolfe.report.outputs.catalogue import COMMANDS, TaskEntry, entry_of, load_home

__all__ = [
    "DATASETS",
    "FORMATS",
    "TASKS",
    "DatasetEntry",
    "FormatEntry",
    "find_dataset",
    "find_task",
    "format_of",
    "reader_of",
    "task_from",
    "task_of_model",
]


def _find(kind: str, name: str, known: Iterable[str]) -> None:
    from blockwolfe.errors import unknown_option

    if name not in known:
        raise unknown_option(kind, name, known)


@dataclass(frozen=True)
class FormatEntry:
    """A kind of file: its reader, and the suffixes by which it is recognised."""

    home: str
    suffixes: tuple[str, ...]
    help: str

    def make(self, **options: Any) -> Any:
        """A reader for any task."""
        return load_home(self.home)(**options)


FORMATS = {
    "columns": FormatEntry(
        "blockwolfe.data.formats.columns:Columns",
        (".txt", ".conll", ".tsv", ".iob", ".bio", ".col"),
        "CoNLL columns, a token a line, the label last; --template makes the features",
    ),
    "svmlight": FormatEntry(
        "blockwolfe.data.formats.svmlight:SVMLight",
        (".svm", ".dat", ".svmlight", ".libsvm", ".hmm"),
        "label qid:3 1:0.5 7:1 (SVM-light; SVM-hmm with qid)",
    ),
    "jsonl": FormatEntry(
        "blockwolfe.data.formats.jsonlines:JSONLines",
        (".jsonl", ".ndjson", ".json"),
        'a JSON object a line: {"tokens": [{...}], "labels": [...]} or {"features", "label"}',
    ),
    "npz": FormatEntry(
        "blockwolfe.data.formats.arrays:Arrays",
        (".npz",),
        "arrays X, y and, for sequences, offsets",
    ),
    "conllu": FormatEntry(
        "blockwolfe.data.formats.treebank:Treebank",
        (".conllu",),
        "CoNLL-U treebanks: trees, or with --column any column as labels of the words",
    ),
    "alignments": FormatEntry(
        "blockwolfe.data.formats.alignments:Alignments",
        (".align", ".bitext", ".wa", ".e"),
        "source ||| target ||| 0-0 1?2 a line; or STEM.wa with STEM.e and STEM.f beside it",
    ),
}


def format_of(path: str, given: str | None, valid: tuple[str, ...]) -> str:
    """The name of a file's format: given, or inferred from its suffix (without .gz).

    >>> format_of("train.txt.gz", None, ("columns", "npz"))
    'columns'
    """
    from blockwolfe.errors import InputError, OptionError

    if given is not None:
        _find("format", given, FORMATS)
        if given not in valid:
            raise OptionError(
                f"format={given!r} does not fit this task; valid: {', '.join(valid)}."
            )
        return given
    plain = path.removesuffix(".gz")
    for name in valid:
        if plain.endswith(FORMATS[name].suffixes):
            return name
    for name, entry in FORMATS.items():
        if plain.endswith(entry.suffixes):
            raise InputError(
                f"{path} looks like {name}, which this task does not read; it reads "
                f"{', '.join(valid)}. If the name misleads, say --format."
            )
    raise InputError(
        f"the format of {path} cannot be told from its name; say --format "
        f"{', '.join(valid[:-1])}{' or ' if valid[1:] else ''}{valid[-1]}."
    )


TASKS = COMMANDS  # (report and command line share one catalogue of tasks)


def find_task(name: str) -> TaskEntry:
    """The entry of a task."""
    _find("TASK", name, TASKS)
    return TASKS[name]


def task_of_model(svm: Any) -> tuple[str, TaskEntry]:
    """Name and entry of the task of a model."""
    from blockwolfe.errors import InputError

    kind = type(svm.task_)
    entry = entry_of(kind)
    if entry is None or entry.command is None:
        raise InputError(f"the model's task {kind.__name__} is not known to the command line.")
    return entry.command, entry


def task_from(entry: TaskEntry, settings: Iterable[str], min_count: int) -> Any:
    """The task of an entry, with options as ``name=value``."""
    return made_task(load_home(entry.task), settings, {**entry.defaults, "min_count": min_count})


def reader_of(entry: TaskEntry, name: str, **options: Any) -> Any:
    """A reader of a format for the task of an entry."""
    options.setdefault("is_sequence", entry.is_sequence)
    return load_home(entry.readers.get(name, FORMATS[name].home))(**options)


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset: its loader, its splits, and the folder of its files (none: it is made here)."""

    home: str
    task: str
    help: str
    splits: tuple[str, ...] = ("train", "test")
    folder: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def load(self, split: str, data_home: str | None = None) -> Any:
        """One split."""
        _find("split", split, self.splits)
        where = {"data_home": data_home} if self.folder else {}
        return load_home(self.home)(split=split, **self.options, **where)


DATASETS = {
    "ocr-small": DatasetEntry(
        "blockwolfe.datasets:load_ocr",
        "chain",
        "handwritten words, 626 to train on",
        folder="ocr",
        options={"subset": "small"},
    ),
    "ocr-large": DatasetEntry(
        "blockwolfe.datasets:load_ocr",
        "chain",
        "handwritten words, 6251 to train on",
        folder="ocr",
        options={"subset": "large"},
    ),
    "conll2000": DatasetEntry(
        "blockwolfe.datasets:load_conll2000",
        "chain",
        "text chunking of CoNLL-2000",
        folder="conll2000",
    ),
    "ud-ewt": DatasetEntry(
        "blockwolfe.datasets:load_ud_ewt",
        "parsing",
        "dependency trees of English web texts",
        splits=("train", "dev", "test"),
        folder="ud_ewt",
    ),
    "hansards": DatasetEntry(
        "blockwolfe.datasets:load_hansards",
        "alignment",
        "word alignment of English and French",
        splits=("test-first100", "test-last347", "trial", "test", "unlabeled"),
        folder="hansards",
    ),
    "horses": DatasetEntry(
        "blockwolfe.datasets:load_horses",
        "cut",
        "photographs of horses as graphs of superpixels",
        folder="weizmann_horses",
    ),
    "snakes": DatasetEntry(
        "blockwolfe.datasets:load_snakes",
        "graph",
        "snakes on grids, eleven labels",
        folder="snakes",
        options={"binary": False},
    ),
    "scene": DatasetEntry(
        "blockwolfe.datasets:load_scene",
        "multilabel",
        "photographs with six labels",
        folder="scene",
    ),
    "digit-strings": DatasetEntry(
        "blockwolfe.datasets:digit_strings",
        "chain",
        "strings of handwritten digits, made here",
    ),
}


def find_dataset(name: str) -> DatasetEntry:
    """The entry of a dataset."""
    _find("dataset", name, DATASETS)
    return DATASETS[name]
