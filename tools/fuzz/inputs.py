"""Mutated input files of every format that the command line knows.

A file is read well, with finite data that can be written and read again and in which no output is
seen in the inputs; or it is refused by an error of the library that names it. Nothing else.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.markup import visible
from blockwolfe.cli.app import run
from blockwolfe.cli.files import read_later, read_training, reader_for
from blockwolfe.cli.registry import FORMATS, TASKS, task_from
from blockwolfe.data.formats.base import Examples, Format, located
from blockwolfe.errors import BlockwolfeError, OptionError, OutOfMemoryError
from blockwolfe.problem.problem import Problem
from blockwolfe.report.outputs.catalogue import TaskEntry
from tools.fuzz.common import note, require
from tools.fuzz.input_files import relabelled, valid_file
from tools.fuzz.mutations import mutated, mutated_arrays
from tools.fuzz.written import check_written

__all__ = ["run_case"]

TEMPLATES = ["w[0]", "w[-1],w[0]; p[0]", "w[0].suffix3\nc1[1]  # two", "c2[0]", "w[-999]"]
CONFIG = 'lam = 1.0\nmin-count = 1\n[train]\nseed = 3\nmethod = "bcfw"\nset = ["bias=false"]\n'
_SHORT = ("--lam", "1", "--max-passes", "2", "-q")
_models: dict[tuple[str, str], bytes] = {}


class Kind(NamedTuple):
    """A task and one of its formats."""

    command: str
    format: str

    @property
    def entry(self) -> TaskEntry:
        """Of the registry."""
        return TASKS[self.command]

    def file(self, folder: Path, draw: Random) -> Path:
        """A valid file."""
        path = folder / f"data{FORMATS[self.format].suffixes[0]}"
        path.write_bytes(valid_file(self.entry, self.format, draw))
        return path


def run_case(seed: int, folder: Path) -> None:
    """One file, mutated, and read in one of the ways in which the command line reads it."""
    draw = Random(seed)
    kind = Kind(*draw.choice([(c, f) for c, entry in TASKS.items() for f in entry.formats]))
    name, way = draw.choices(list(_WAYS.items()), [w for w, _ in _WAYS.values()])[0]
    note(way=name, input=f"{kind.command} {kind.format}")
    way[1](kind, folder, draw)


def _mutate(path: Path, draw: Random) -> None:
    is_npz = path.suffix == ".npz" and draw.random() < 0.7
    content = path.read_bytes()
    path.write_bytes((mutated_arrays if is_npz else mutated)(content, draw))


# -- in this process: what is read, and whether it is sound ------------------------------------


def _read(kind: Kind, folder: Path, draw: Random) -> None:
    path = kind.file(folder, draw)
    template = draw.choice([None, "w[0]; w[-1],w[0]"]) if kind.format == "columns" else None
    _mutate(path, draw)
    _read_well(kind, path, template, draw.choice([1, 1, 2]))


def _template(kind: Kind, folder: Path, draw: Random) -> None:
    kind = Kind("chain", "columns")
    path, file = kind.file(folder, draw), folder / "template"
    file.write_bytes(mutated(draw.choice(TEMPLATES).encode(), draw))
    _read_well(kind, path, str(file), 1)


def _three_files(kind: Kind, folder: Path, draw: Random) -> None:
    """STEM.wa with STEM.e and STEM.f beside it."""
    (folder / "a.e").write_text("x y\nz\n")
    (folder / "a.f").write_text("u v w\nw\n")
    (folder / "a.wa").write_text("1 1 1 S\n0001 2 3 P\n2 1 1 S\n")
    _mutate(folder / f"a.{draw.choice(['wa', 'wa', 'e', 'f'])}", draw)
    _read_well(Kind("alignment", "alignments"), folder / "a.wa", None, 1)


def _read_well(kind: Kind, path: Path, template: str | None, min_count: int) -> None:
    """Read as `train` does."""
    with _errors_that_name(path.parent):
        reader = reader_for(kind.entry, [str(path)], None, template, min_count)
        examples = read_training(reader, [str(path)])
        with located(examples.places):
            Problem(task_from(kind.entry, (), min_count), examples.X, examples.Y)
        _check_finite(examples.X)
        if path.suffix != ".wa":
            _check_blind(kind, reader, examples, path)
            check_written(kind.format, reader, examples)


@contextlib.contextmanager
def _errors_that_name(folder: Path) -> Iterator[None]:
    try:
        yield
    except BlockwolfeError as error:
        is_named = str(folder) in str(error) or isinstance(error, (OptionError, OutOfMemoryError))
        require(is_named, f"an error that does not name the file: {error}")


def _check_finite(X: Any) -> None:
    for x in X if isinstance(X, list) else [X]:
        values = x.data if sp.issparse(x) else x
        if isinstance(values, np.ndarray):
            require(np.isfinite(values).all(), "features that are not finite")


def _check_blind(kind: Kind, reader: Format, examples: Examples, path: Path) -> None:
    """Other outputs in the file, the same inputs: no label is among the features."""
    from blockwolfe.data.formats.base import read_source

    content = read_source(str(path)).content
    is_tagged = kind == ("chain", "conllu")
    path.write_bytes(relabelled(kind.format, content, is_tagged))
    again = read_later(reader, str(path), labelled=False)
    require(_same(again.X, examples.X), "inputs change with the outputs")


def _same(one: Any, other: Any) -> bool:
    """Whether two inputs are equal, whatever they are made of."""
    if sp.issparse(one):
        return one.shape == other.shape and (one != other).nnz == 0
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if hasattr(one, "__dataclass_fields__"):
        return all(_same(getattr(one, f), getattr(other, f)) for f in one.__dataclass_fields__)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


# -- the program itself --------------------------------------------------------------------------


def _use(kind: Kind, folder: Path, draw: Random) -> None:
    """`predict` and `evaluate` of a model on a mutated file."""
    model = folder / "model.npz"
    model.write_bytes(_model(kind, folder))
    path = kind.file(folder, draw)
    _mutate(path, draw)
    for command in ("predict", "evaluate"):
        _run(path, [command, str(model), str(path)])


def _model(kind: Kind, folder: Path) -> bytes:
    if kind not in _models:
        path, model = str(kind.file(folder, Random(0))), folder / "model.npz"
        status, _, errors = _inside(["train", kind.command, path, "-o", str(model), *_SHORT])
        require(status in (0, 1), f"a valid file was refused: {errors}")
        status, _, errors = _inside(["predict", str(model), path])
        require(status == 0, f"the file of training was refused: {errors}")
        _models[kind] = model.read_bytes()
    return _models[kind]


def _train(kind: Kind, folder: Path, draw: Random) -> None:
    """`train` on a mutated file, and what the other commands make of the model."""
    path, model = kind.file(folder, draw), folder / "model.npz"
    _mutate(path, draw)
    if _run(path, ["train", kind.command, str(path), "-o", str(model), *_SHORT]) == 2:
        return
    for arguments in (
        ["inspect", str(model), "--top", "5"],
        ["inspect", str(model), "--json"],
        ["predict", str(model), str(path)],
        ["evaluate", str(model), str(path)],
        ["report", str(model), "-o", str(folder / "r.html"), "--train", str(path)],
    ):
        require(_run(path, arguments) == 0, f"{arguments} refuses what was trained on")


def _config(kind: Kind, folder: Path, draw: Random) -> None:
    path, file = Kind("multiclass", "svmlight").file(folder, draw), folder / "config.toml"
    file.write_bytes(mutated(CONFIG.encode(), draw))
    model = str(folder / "model.npz")
    arguments = ["train", "multiclass", str(path), "-o", model, "--max-passes", "2", "-q"]
    _run(None, [*arguments, "--config", str(file)])


def _shell(kind: Kind, folder: Path, draw: Random) -> None:
    """In a process of its own."""
    path, model = kind.file(folder, draw), folder / "model.npz"
    model.write_bytes(_model(kind, folder))
    _mutate(path, draw)
    command = [sys.executable, "-m", "blockwolfe", "predict", str(model), str(path)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)
    _check_ending(done.returncode, done.stderr.decode("utf-8", "replace"), path, command)


def _run(path: Path | None, arguments: list[str]) -> int:
    """A command; an error must name the file at `path`, and nothing may steer a terminal."""
    status, output, errors = _inside(arguments)
    _check_ending(status, errors, path, arguments)
    if arguments[0] != "predict":  # (which gives the bytes of the file back where they are piped)
        require(visible(output + errors) == output + errors, f"raw control characters: {output}")
    return status


def _check_ending(status: int, errors: str, path: Path | None, command: list[str]) -> None:
    require(status in (0, 1, 2), f"{command} ended with {status}: {errors}")
    require("Traceback" not in errors, f"{command}: a traceback: {errors}")
    if status == 2:
        told = re.findall("^blockwolfe: error: .*", errors, re.MULTILINE)
        require(len(told) == 1, f"{command}: not one line: {errors}")
        require(path is None or str(path) in told[0], f"{command} does not say where: {told}")


def _inside(arguments: list[str]) -> tuple[int, str, str]:
    """The program in this process: status, output, errors."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    errors = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = run(arguments)
    output.flush()
    return status, output.buffer.getvalue().decode(), errors.getvalue()  # type: ignore[attr-defined]


# How often each way is taken.
_WAYS: dict[str, tuple[float, Any]] = {
    "read": (60, _read),
    "three files": (5, _three_files),
    "template": (5, _template),
    "use": (25, _use),
    "train": (4, _train),
    "config": (2, _config),
    "shell": (0.05, _shell),
}
