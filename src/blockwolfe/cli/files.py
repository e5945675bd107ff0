"""Data into commands, and results out of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from blockwolfe.base.files import write_atomically
from blockwolfe.base.markup import visible
from blockwolfe.base.schema import Reader, reading
from blockwolfe.cli.registry import find_dataset, format_of, reader_of, task_of_model
from blockwolfe.data.formats.base import Examples, Format, Source, plain_output, read_source
from blockwolfe.errors import InputError, OptionError
from blockwolfe.report.outputs.catalogue import TaskEntry

__all__ = [
    "check_apart",
    "check_output",
    "input_of",
    "is_dataset",
    "load_model",
    "names_of_features",
    "read_later",
    "read_template",
    "read_training",
    "reader_for",
    "unpacked_reader",
    "write_lines",
]

_DATASET = "dataset:"


class Loaded(Format):
    """Examples of a dataset that the library knows, named as ``dataset:ocr-small/train``."""

    name = "dataset"
    output_name = "output"

    def read(self, source: Source, *, labelled: bool) -> Examples:
        """There is no file to read."""
        raise InputError(
            f"the model was trained on a dataset and cannot read {source.name}; give "
            f"{_DATASET}NAME/SPLIT."
        )

    def write(self, examples: Examples, outputs: Any) -> Iterator[str]:
        """A JSON list a line."""
        for output in outputs:
            yield json.dumps(plain_output(output))


def _load_dataset(text: str) -> Examples:
    name, _, split = text.removeprefix(_DATASET).partition("/")
    dataset = find_dataset(name).load(split or "train")
    Y, names = dataset.Y, dataset.label_names
    if getattr(Y, "ndim", 1) == 2 and len(names) == Y.shape[1]:  # a table of label sets
        Y = [{names[k] for k in row.nonzero()[0]} for row in Y]
    return Examples(dataset.X, Y)


def is_dataset(path: str) -> bool:
    """Whether a dataset of the library is named, and no file."""
    return path.startswith(_DATASET)


def reader_for(
    entry: TaskEntry,
    data: list[str],
    name: str | None,
    template: str | None,
    min_count: int,
    column: str | None = None,
) -> Format:
    """The reader of training data, which has learned nothing yet."""
    made: Format
    if all(map(is_dataset, data)):
        if column is not None:
            raise OptionError(f"--column {column} is for files; {data[0]} has its own outputs.")
        made = reader_of(entry, entry.prepares) if entry.prepares else Loaded()
        return made
    kinds = [format_of(path, name, entry.formats) for path in data]
    if len(set(kinds)) > 1:
        raise InputError(f"{data[0]} is {kinds[0]} and another file is not; expected one format.")
    options = {"template": read_template(template), "min_count": min_count, "column": column}
    made = reader_of(entry, kinds[0], **options)
    return made


def read_training(reader: Format, data: list[str]) -> Examples:
    """The examples; the reader learns its features."""
    if all(map(is_dataset, data)):
        return reader.learn_from([_load_dataset(path) for path in data])
    return reader.learn([read_source(path) for path in data])


def read_template(template: str | None) -> str | None:
    """A template as it is written, or from the file that it names."""
    if template is None or "[" in template:
        return template
    return "\n".join(read_source(template).lines())


def read_later(reader: Format, path: str, *, labelled: bool) -> Examples:
    """Examples for a model that is trained."""
    if is_dataset(path):
        return reader.prepare(_load_dataset(path))
    return reader.read(read_source(path), labelled=labelled)


def load_model(
    path: str, data: str, name: str | None, lam: float | None = None
) -> tuple[Any, Format]:
    """A model, and the reader of its input as training has left it; of a path, that of `lam`."""
    svm = _load(path, lam)
    packed = input_of(svm)
    _, entry = task_of_model(svm)
    if packed and name not in (None, packed["format"]):
        raise OptionError(f"--format {name}: this model reads {packed['format']}; leave it out.")
    if packed:
        return svm, unpacked_reader(entry, packed)
    # saved from Python: a format that learns nothing will do
    kind = format_of(data, name, entry.formats)
    reader: Format = reader_of(entry, kind)
    if reader.learns:
        raise InputError(
            f"{path} does not know how its features are made, because it was not made by "
            "`blockwolfe train`; predict in Python, where its features were made."
        )
    reader.unpack({"n_features": getattr(svm.task_, "n_features_in_", 0), "names": None})
    return svm, reader


def _load(path: str, lam: float | None) -> Any:
    from blockwolfe.base.archive import is_kind
    from blockwolfe.estimators.model_file import load
    from blockwolfe.estimators.svm import estimator_with
    from blockwolfe.path.result import PATH, load_path

    if not is_kind(Path(path), PATH):
        if lam is not None:
            raise OptionError(f"--lam is for paths; {path} is a model of one lambda. Leave it out.")
        return load(path)
    found = load_path(path)
    if lam is None:
        raise OptionError(
            f"{path} has weights for every lambda from {found.lam_min:.6g} up; choose one with "
            "--lam."
        )
    svm = estimator_with(found.task, found.coef(lam), lam)
    svm.extra_ = found.extra
    return svm


def input_of(svm: Any) -> dict[str, Any]:
    """What a model's file says of the format of its input; empty where it was made in Python."""
    with reading("the file", "model"):
        read = Reader(svm.extra_.get("input") or {}, "input")
        if read.values:
            read.text("format")
        return read.values


def unpacked_reader(entry: TaskEntry, packed: dict[str, Any]) -> Format:
    """The reader of a model's input as training has left it."""
    if packed["format"] == Loaded.name:
        return Loaded()
    with reading("the file", "model"):
        reader: Format = reader_of(entry, packed["format"], min_count=packed["min_count"])
        reader.unpack(packed)
    return reader


def names_of_features(svm: Any, reader: Format | None) -> Any:
    """Names of the features of a model, as far as its file has them."""
    named = svm.extra_.get("names")
    if named is not None:
        with reading("the file", "model"):
            return {int(column): str(name) for column, name in Reader(named).values.items()}
    n_columns = getattr(svm, "n_features_in_", None)
    if reader is None or getattr(reader, "n_features", n_columns) != n_columns:
        return None  # (a file may say any number, and a list would be as long)
    return reader.feature_names


def check_apart(path: str, *others: str | None) -> None:
    """Refuse an output that is one of the other files of a command."""
    for other in others:
        if other is not None and Path(other).resolve() == Path(path).resolve():
            raise InputError(f"{path} would be written over {other}; name another file.")


def check_output(path: str, *others: str | None) -> None:
    """Refuse an output that cannot be written, or is one of the `others`, before any work."""
    check_apart(path, *others)
    file = Path(path)
    folder = file.parent
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: the folder {folder} does not exist; make it first.")
    if file.exists() and not file.is_file():
        raise InputError(f"cannot write {path}: it is not a regular file; name another.")
    if not os.access(folder, os.W_OK):
        raise InputError(
            f"cannot write {path}: the folder {folder} is read-only; name a file elsewhere."
        )


def write_lines(lines: Iterable[str], output: str | None) -> None:
    """Lines to standard output, or to a file that is whole or not there; always as UTF-8.

    On a terminal, what it would obey is shown instead.
    """
    if output is None or output == "-":
        is_shown = sys.stdout.isatty()
        for line in lines:
            sys.stdout.buffer.write(f"{visible(line) if is_shown else line}\n".encode())
        sys.stdout.buffer.flush()
        return
    file = Path(output)
    if file.exists() and not file.is_file():  # a pipe or a device
        file.write_bytes("".join(f"{line}\n" for line in lines).encode())
        return
    check_output(output)
    write_atomically(file, lambda opened: opened.writelines(f"{x}\n".encode() for x in lines))
